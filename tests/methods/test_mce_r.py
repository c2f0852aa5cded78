from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.planted_attack import smallest_logit
from changeproof import APDS, Context, Factuals, InputError, Network, Task, make_method
from changeproof.certificates.box import ParameterBox
from changeproof.methods.mce_r import MCER
from changeproof.methods.nearest_point import NearestPoint
from worst_cases import worst_logits


def lengths(rows: np.ndarray, factuals: Factuals) -> np.ndarray:
    return np.asarray(np.abs(rows - factuals.rows).sum(axis=1))


def test_closed_form_of_one_neuron() -> None:
    """Along x0, the worst logit is (2 - r) (x0 - r (x0 + 1) - r) - 1 - r."""
    network = Network(
        (np.array([[1.0, 0.5]], np.float32), np.array([[2.0]], np.float32)),
        (np.zeros(1, np.float32), np.array([-1.0], np.float32)),
    )
    rows = np.array([[-1.0, -4.0], [1.0, 4.0]])
    task = Task("two", pd.DataFrame(np.tile(rows, (20, 1))), np.tile([0, 1], 20))
    person, radius, tolerance = Factuals(np.arange(1), np.zeros((1, 2))), 0.03, 1e-3
    method = MCER(radius=radius, tolerance=tolerance, scan=0).fit(Context(task, network, 2026))
    answer = method.generate(person)
    nearest = ((1.0 + radius) / (2.0 - radius) + radius) / (1.0 - radius)
    assert answer.diagnostics["certified"].all()
    assert nearest <= answer.rows[0, 0] <= nearest + tolerance / 2.0 + 1e-6
    assert answer.rows[0, 1] == 0.0


def test_certified_answers_survive_an_attack_of_another_kind_and_no_margin_is_wasted(
    small_context: Context, small_factuals: Factuals
) -> None:
    network = small_context.model
    assert isinstance(network, Network)
    people = small_factuals[:12]
    method = MCER(radius=0.02).fit(small_context)
    answers = method.generate(people)
    assert answers.diagnostics["certified"].all()
    worst = worst_logits(ParameterBox(network, 0.02), answers.rows)
    assert (worst.lower > 0.0).all()
    # The margin before has a network that refuses: little more than the tolerance is left over.
    assert np.median(worst.upper) < 0.02
    for row in answers.rows[:3]:
        assert smallest_logit(network, 0.02, row, 1) > 0.0
    nearest = NearestPoint().fit(small_context).generate(people)
    refused = [smallest_logit(network, 0.02, row, 1) < 0.0 for row in nearest.rows[:3]]
    assert all(refused)
    assert (lengths(nearest.rows, people) < lengths(answers.rows, people)).all()
    assert (answers.diagnostics["margin"] <= network.logits(answers.rows) + 1e-9).all()
    np.testing.assert_allclose(answers.diagnostics["l1_distance"], lengths(answers.rows, people))


def test_bisecting_is_no_farther_than_the_published_loop(
    small_context: Context, small_factuals: Factuals
) -> None:
    people = small_factuals[:12]
    published = MCER(radius=0.02, margin_step=0.1, rounds=100).fit(small_context).generate(people)
    bisected = MCER(radius=0.02).fit(small_context).generate(people)
    assert published.diagnostics["certified"].all()
    steps = (published.diagnostics["margin"] - 1e-4) / 0.1
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    np.testing.assert_array_equal(published.diagnostics["margins_tried"], np.round(steps) + 1)
    longer = lengths(bisected.rows, people) / lengths(published.rows, people)
    assert np.mean(longer) < 1.0
    assert longer.max() < 1.02


def test_the_margin_before_was_refused(small_context: Context, small_factuals: Factuals) -> None:
    method = MCER(radius=0.02, margin_step=0.1).fit(small_context)
    answers = method.generate(small_factuals[:6])
    shorter = MCER(radius=0.02, margin_step=0.1, rounds=2).fit(small_context)
    early = shorter.generate(small_factuals[:6])
    certified = answers.diagnostics["margins_tried"] <= 2
    np.testing.assert_array_equal(early.diagnostics["certified"], certified)
    assert not certified.all()
    worst = worst_logits(ParameterBox(shorter._network, 0.02), early.rows)
    assert (worst.upper[~certified] < 0.0).all()


@pytest.mark.parametrize("method", [MCER(radius=1.0), MCER(rounds=1), MCER(last_margin=1e-4)])
def test_who_runs_out_of_rounds_or_margins_is_answered_but_not_certified(
    method: MCER, small_context: Context, small_factuals: Factuals
) -> None:
    answers = method.fit(small_context).generate(small_factuals[:5])
    assert answers.base_valid.all()
    assert not answers.diagnostics["certified"].any()
    assert np.isfinite(answers.diagnostics["margin"]).all()


def test_the_calibrated_radius_is_that_of_apds(
    small_context: Context, small_factuals: Factuals
) -> None:
    method = make_method('mce-r(radius="calibrated")').fit(small_context)
    answers = method.generate(small_factuals[:2])
    assert isinstance(small_context.model, Network)
    apds = APDS()
    apds.context = small_context
    radius = apds._calibrate(small_context.task, small_context.model)
    assert answers.diagnostics["radius"].tolist() == [radius, radius]
    assert method.promised is not None
    assert method.promised.words.format(**method.settings()) == method.promised.words


@pytest.mark.parametrize(
    ("setting", "value"), [("radius", -1.0), ("radius", "wide"), ("rounds", 0)]
)
def test_settings_that_make_no_sense_are_refused(setting: str, value: object) -> None:
    with pytest.raises(InputError, match=setting):
        MCER(**{setting: value})
