from __future__ import annotations

import numpy as np
import pytest

from changeproof import Context, Factuals, InputError, Network, Task
from changeproof.methods.trex import TRex, TRexNearest, stabilities
from changeproof.methods.wachter import Wachter
from constrained import asked, loans_task


def plain_stability(method: TRexNearest, point: np.ndarray, row_id: int) -> float:
    """One draw at a time, as the paper writes it."""
    model = method.context.model
    (own,) = model.probabilities(point[None])
    terms = []
    for draw in method._draws(row_id):
        (likely,) = model.probabilities((point + draw)[None])
        terms.append(likely - abs(own - likely))
    return float(np.mean(terms))


def test_stability_is_the_mean_less_the_distance_from_the_point(
    small_context: Context, small_factuals: Factuals
) -> None:
    method = TRexNearest(samples=40).fit(small_context)
    points = small_context.task.rows("train")[:3]
    row_ids = small_factuals.row_ids[:3]
    people = zip(points, row_ids.tolist(), strict=True)
    expected = [plain_stability(method, *each) for each in people]
    np.testing.assert_allclose(method.stability(points, row_ids), expected, atol=1e-12)


def test_draws_are_as_wide_as_a_share_of_the_training_range(small_context: Context) -> None:
    low, high = small_context.task.training_range
    method = TRexNearest(samples=2_000).fit(small_context)
    draws = method._draws(7)
    np.testing.assert_allclose(draws.std(axis=0), 0.1 * (high - low), rtol=0.08)
    assert (draws != method._draws(8)).all()
    again = TRexNearest(samples=2_000).fit(small_context)
    np.testing.assert_array_equal(again._draws(7), draws)


def test_the_nearest_of_the_rows_that_are_as_stable_as_the_quantile(
    small_context: Context, small_factuals: Factuals
) -> None:
    method = TRexNearest(quantile=0.8, samples=100).fit(small_context)
    rows, row_ids = small_context.task.rows("train"), small_context.task.row_ids("train")
    favourable = small_context.model.favourable(rows)
    scores = method.stability(rows[favourable], row_ids[favourable])
    stable = rows[favourable][scores >= np.quantile(scores, 0.8)]
    assert 0.19 < len(stable) / favourable.sum() < 0.22
    answers = method.generate(small_factuals)
    for factual, answer in zip(small_factuals.rows, answers.rows, strict=True):
        nearest = min(stable, key=lambda row: float(((row - factual) ** 2).sum()))
        np.testing.assert_array_equal(answer, nearest)


def test_slopes_are_the_derivatives_of_the_stability(
    small_context: Context, small_factuals: Factuals
) -> None:
    method = TRex(samples=60).fit(small_context)
    points = small_context.task.rows("test")[:6]
    draws = np.stack([method._draws(row_id) for row_id in small_factuals.row_ids[:6].tolist()])
    _, slopes = method._stability_and_slopes(points, draws)
    for column in range(points.shape[1]):
        moved = np.zeros(points.shape[1])
        moved[column] = 1e-6
        above, _ = method._stability_and_slopes(points + moved, draws)
        below, _ = method._stability_and_slopes(points - moved, draws)
        np.testing.assert_allclose((above - below) / 2e-6, slopes[:, column], atol=2e-4)


@pytest.mark.parametrize("base", ["nearest", "wachter"])
def test_the_walk_ends_where_it_is_stable_and_not_before(
    base: str, small_context: Context, small_factuals: Factuals
) -> None:
    method = TRex(base=base, samples=100).fit(small_context)
    answers = method.generate(small_factuals)
    stable = answers.diagnostics["stable"].astype(bool)
    assert answers.base_valid.all()
    assert stable.mean() > 0.8
    scores = method.stability(answers.rows, answers.row_ids)
    np.testing.assert_array_equal(scores >= method.threshold, stable)
    # One step less, and the walk would not have ended.
    steps = answers.diagnostics["steps"]
    some = np.flatnonzero(stable & (steps > 1))[:1]
    shorter = TRex(base=base, samples=100, max_steps=int(steps[some[0]]) - 1).fit(small_context)
    before = shorter.generate(small_factuals[some])
    assert not before.diagnostics["stable"].any()
    low, high = small_context.task.training_range
    moved = (answers.rows - before.rows[0])[some] / (high - low)
    assert np.sqrt((moved**2).sum()) == pytest.approx(0.01)


def test_a_start_that_is_stable_already_is_told_as_it_is(
    small_context: Context, small_factuals: Factuals
) -> None:
    """At quantile 0 the threshold is that of the least stable row."""
    start = Wachter().fit(small_context).generate(small_factuals)
    answers = TRex(base="wachter", quantile=0.0, samples=50).fit(small_context)
    found = answers.generate(small_factuals)
    at_once = found.diagnostics["steps"] == 0
    assert at_once.any()
    np.testing.assert_array_equal(found.rows[at_once], start.rows[at_once])


def test_a_higher_quantile_asks_for_more_and_goes_farther(
    small_context: Context, small_factuals: Factuals
) -> None:
    lengths, thresholds = [], []
    for quantile in (0.3, 0.9):
        method = TRexNearest(quantile=quantile, samples=100).fit(small_context)
        answers = method.generate(small_factuals)
        lengths.append(small_context.task.distances(small_factuals.rows, answers.rows).mean())
        thresholds.append(method.threshold)
    assert thresholds[0] < thresholds[1]
    assert lengths[0] < lengths[1]


def test_where_people_may_be_told_only_certain_rows_these_are_stable() -> None:
    context, people = asked(loans_task(), 12)
    for method in (TRex(samples=100), TRexNearest(samples=100)):
        answers = method.fit(context).generate(people)
        found = np.flatnonzero(answers.found & answers.diagnostics["stable"].astype(bool))
        assert len(found) > 8
        scores = method.stability(answers.rows[found], answers.row_ids[found])
        assert (scores >= method.threshold).all()
        assert answers.base_valid.all()


def test_no_point_is_more_stable_than_the_model_is_sure() -> None:
    generator = np.random.default_rng(3)
    own, likely = generator.random(500), generator.random((500, 20))
    assert (stabilities(own, likely) <= own + 1e-12).all()
    np.testing.assert_allclose(stabilities(own, np.repeat(own[:, None], 5, axis=1)), own)


def test_a_model_that_never_says_yes_is_a_reason(
    small_task: Task, small_factuals: Factuals
) -> None:
    never = Network((np.zeros((1, 5), np.float32),), (np.array([-1], np.float32),))
    for method in (TRexNearest(samples=10), TRex(samples=10)):
        answers = method.fit(Context(small_task, never, 1)).generate(small_factuals)
        assert not answers.found.any()
        assert all("no" in outcome for outcome in answers.outcomes)


def test_settings_that_mean_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="quantile"):
        TRexNearest(quantile=1.5)
    with pytest.raises(InputError, match="base"):
        TRex(base="dice")
