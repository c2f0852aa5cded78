from __future__ import annotations

import numpy as np
import pytest

from changeproof import Context, Factuals, InputError, Network, Task
from changeproof.methods.shared.first_counterfactuals import first_counterfactuals
from changeproof.methods.sns import RADII, SNS
from changeproof.randomness import stream
from constrained import asked, loans_task


def plain_score(context: Context, row: np.ndarray, points: int) -> float:
    line = [context.model.probabilities((t / points * row)[None])[0] for t in range(1, points + 1)]
    return float(np.mean(line))


def plain_neighbour(context: Context, start: np.ndarray, row_id: int, method: SNS) -> np.ndarray:
    """One person at a time, with differences for slopes."""
    radius, steps = method.chosen_radius, method.steps
    low, high = context.task.training_range
    address = context.task.name, context.base_seed, "sns start", row_id
    here = start + 1e-3 * stream(*address).standard_normal(len(start))
    kept = start
    for _ in range(steps):
        slope = np.array(
            [
                plain_score(context, here + move, method.points)
                - plain_score(context, here - move, method.points)
                for move in 1e-7 * np.eye(len(start))
            ]
        )
        here = here + 2 * radius / steps * slope / np.linalg.norm(slope)
        away = here - start
        if np.linalg.norm(away) > radius:
            here = start + radius * away / np.linalg.norm(away)
        here = np.minimum(np.maximum(here, low), high)
        if context.model.favourable(here[None])[0]:
            kept = here
    return kept


def test_a_plain_search_finds_the_same(small_context: Context, small_factuals: Factuals) -> None:
    method = SNS(radius=0.8, steps=12, points=5, base="wachter").fit(small_context)
    people = small_factuals[:4]
    answers = method.generate(people)
    starts = first_counterfactuals("wachter", small_context, people)
    for start, answer, row_id in zip(starts, answers.rows, people.row_ids.tolist(), strict=True):
        expected = plain_neighbour(small_context, start, row_id, method)
        np.testing.assert_allclose(answer, expected, atol=1e-5)
        assert np.abs(answer - start).max() > 0.1


def test_scores_are_the_mean_along_the_line_from_zero(small_context: Context) -> None:
    method = SNS(radius=0.3, points=7).fit(small_context)
    rows = small_context.task.rows("test")[:9]
    expected = [plain_score(small_context, row, 7) for row in rows]
    np.testing.assert_allclose(method.scores(rows), expected, atol=1e-12)


@pytest.mark.parametrize("base", ["nearest", "wachter"])
def test_answers_stay_in_the_ball_and_score_higher(
    base: str, small_context: Context, small_factuals: Factuals
) -> None:
    method = SNS(radius=0.5, steps=60, base=base).fit(small_context)
    answers = method.generate(small_factuals)
    assert answers.base_valid.all()
    starts = first_counterfactuals(base, small_context, small_factuals)
    low, high = small_context.task.training_range
    inside = ((starts >= low) & (starts <= high)).all(axis=1)
    away = np.sqrt(((answers.rows - starts) ** 2).sum(axis=1))[inside]
    assert (away <= 0.5 + 1e-9).all()
    assert np.median(away) > 0.4
    assert ((answers.rows >= low) & (answers.rows <= high)).all()
    score, before = (answers.diagnostics[name] for name in ("score", "score_before"))
    assert (score > before).mean() > 0.9
    np.testing.assert_array_equal(score, method.scores(answers.rows))


def test_the_radius_is_the_smallest_that_the_rule_allows(small_context: Context) -> None:
    task, model = small_context.task, small_context.model
    chosen = SNS(steps=40).fit(small_context).chosen_radius
    assert chosen in RADII[1:]
    rows, row_ids = task.rows("validation"), task.row_ids("validation")
    adverse = np.flatnonzero(~model.favourable(rows))
    draw = stream(task.name, small_context.base_seed, "sns people")
    adverse = adverse[draw.permutation(len(adverse))[:25]]
    people, train = Factuals(row_ids[adverse], rows[adverse]), task.rows("train")
    for radius, enough in ((chosen, True), (RADII[RADII.index(chosen) - 1], False)):
        method = SNS(steps=40, radius=radius).fit(small_context)
        reached = np.median(method.generate(people).diagnostics["score"])
        assert (reached >= np.median(method.scores(train[model.favourable(train)]))) == enough


def test_without_favourable_rows_nothing_is_found(
    small_task: Task, small_factuals: Factuals
) -> None:
    never = Network((np.zeros((1, 5), np.float32),), (np.array([-1], np.float32),))
    method = SNS(steps=5).fit(Context(small_task, never, 1))
    outcomes = method.generate(small_factuals).outcomes
    assert set(outcomes) == {"no point that the base model accepts was found"}


def test_where_people_may_be_told_only_certain_rows_they_score_as_high() -> None:
    context, people = asked(loans_task(), 12)
    method = SNS(steps=40).fit(context)
    answers = method.generate(people)
    assert answers.base_valid.sum() > 8
    proposed = SNS(steps=40).fit(Context(context.task, context.model, context.base_seed))
    level = method.scores(proposed.generate(people).rows)
    told = method.scores(answers.rows[answers.found])
    assert (told >= level[answers.found]).mean() > 0.8


def test_settings_that_mean_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="radius"):
        SNS(radius=-1.0)
