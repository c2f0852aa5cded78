"""What else people ask of advice, against cases with a known answer and a slow way."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from changeproof.datasets.custom import own_task
from changeproof.datasets.task import Task
from changeproof.evaluation import advice
from changeproof.evaluation.advice import (
    NEIGHBOURS,
    Plausibility,
    breach_shares,
    inside_data,
    measure_advice,
)
from changeproof.evaluation.other_units import OtherUnits
from changeproof.feasible.rules import CATEGORY, FIXED, RANGE, STEP
from changeproof.methods.answers import FOUND, NOT_FOUND, Counterfactuals, Realisation
from loans import loans


@pytest.fixture(scope="module")
def task() -> Task:
    return own_task(
        loans(),
        target="approved",
        favourable="yes",
        id_column="applicant",
        actions={"owner": {"change": "none"}},
    )


def answers_of(
    task: Task, told: pd.DataFrame, valid: list[bool], realisation: Realisation | None = None
) -> Counterfactuals:
    """Return answers to the first test rows: what they are told, or nothing where that is NaN."""
    n = len(told)
    rows = np.full((n, task.n_features), np.nan)
    found = told.notna().all(axis=1).to_numpy()
    rows[found] = task.encoded(told[found])
    return Counterfactuals(
        task.row_ids("test")[:n],
        task.rows("test")[:n],
        rows,
        np.where(found, FOUND, NOT_FOUND).astype(np.str_),
        np.array(valid),
        np.zeros(n),
        {},
        realisation,
    )


def test_closed_case(task: Task) -> None:
    told = task.readable(task.rows("test")[:4]).astype(object)
    told.loc[0, "income"] += 10.01  # one feature
    told.loc[1, ["income", "debts"]] = [3000.0, (told.loc[1, "debts"] + 1) % 6]  # two
    told.loc[2, "income"] = 10**6  # outside the data
    told.loc[3] = np.nan
    found = answers_of(task, told, [True, True, False, False])
    measured = measure_advice(task, found, Plausibility(task), OtherUnits(task))
    assert measured.features_changed == 1.5
    assert measured.inside_data == 100.0
    assert measured.without_answer == 50.0  # nothing found, and one outside the range
    assert measured.raw_broken == pytest.approx(100 / 3)
    assert measured.raw_base_validity == pytest.approx(200 / 3)
    assert np.isnan([measured.validity_change, measured.distance_change]).all()
    low, high = task.training_range
    moved = np.abs(found.rows[:2] - found.factuals[:2]) / (high - low)
    assert measured.l1_min_max == pytest.approx(moved.mean())
    assert measured.l2_min_max == pytest.approx(np.sqrt((moved**2).sum(axis=1)).mean())
    assert measured.lof == pytest.approx(OtherUnits(task).lof(found.rows[:2]).mean())
    shares = {way: share for way, share in breach_shares(task, found).items() if share}
    assert shares == {RANGE: pytest.approx(100 / 3)}
    assert not inside_data(task, found.rows[2:3]).any()


def test_what_mending_cost(task: Task) -> None:
    told = task.readable(task.rows("test")[:4]).astype(object)
    told["income"] = [3000.0, 3100.0, 3200.0, np.nan]
    raw = Realisation(
        np.array([FIXED, "", STEP, CATEGORY], dtype=object),
        np.array([True, True, True, True]),
        np.array([0.1, 0.2, 0.3, 0.4]),
    )
    found = answers_of(task, told, [True, False, True, False], raw)
    measured = measure_advice(task, found, Plausibility(task), OtherUnits(task))
    assert measured.raw_broken == 75.0
    assert measured.validity_change == -50.0
    assert measured.without_answer == 25.0
    distances = task.distances(found.factuals[[0, 2]], found.rows[[0, 2]])
    assert measured.distance_change == pytest.approx((distances - [0.1, 0.3]).mean())
    assert breach_shares(task, found)[FIXED] == 25.0


def test_plausibility_against_the_slow_way(task: Task) -> None:
    plausible = Plausibility(task)
    good = task.rows("train")[task.labels_of("train") == 1]

    def slow(row: np.ndarray, others: np.ndarray) -> float:
        distances = sorted((np.abs(others - row) / task.distance_scale).sum(axis=1))
        return float(np.mean(distances[:NEIGHBOURS]))

    usual = np.median([slow(row, np.delete(good, i, axis=0)) for i, row in enumerate(good)])
    rows = task.rows("test")[:20]
    assert np.allclose(plausible.of(rows), [slow(row, good) / usual for row in rows])
    far = rows + 50.0
    assert (plausible.of(far) > plausible.of(rows)).all()


def test_without_answers_all_is_undefined(task: Task) -> None:
    told = task.readable(task.rows("test")[:3]).astype(object)
    told.loc[:] = np.nan
    measured = measure_advice(
        task, answers_of(task, told, [False] * 3), Plausibility(task), OtherUnits(task)
    )
    assert measured.without_answer == 100.0
    assert np.isnan([measured.features_changed, measured.plausibility, measured.raw_broken]).all()
    assert np.isnan([measured.lof, measured.l1_min_max, measured.l2_min_max]).all()


def test_what_is_usual_among_many_rows_is_measured_on_some(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Plausibility(task)
    monkeypatch.setattr(advice, "MOST_MEASURED", 10)
    some = Plausibility(task)
    good = task.rows("train")[task.labels_of("train") == 1]
    chosen = good[np.linspace(0, len(good) - 1, 10).astype(int)] / task.distance_scale
    far = np.abs(chosen[:, None] - good / task.distance_scale).sum(axis=2)
    nearest = np.sort(far, axis=1)[:, 1 : 1 + NEIGHBOURS].mean(axis=1)
    assert some.usual == pytest.approx(np.median(nearest))
    assert some.usual != whole.usual
    # Their neighbours are looked for among all: rows are as far as they were.
    rows = task.rows("test")[:5]
    assert np.allclose(some.of(rows) * some.usual, whole.of(rows) * whole.usual)
