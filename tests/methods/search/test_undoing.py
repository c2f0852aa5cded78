from __future__ import annotations

import numpy as np

from changeproof.methods.search.undoing import changes, shortened, shortest, undone
from realisable import loans_task


def people_and_rows() -> tuple[np.ndarray, np.ndarray]:
    """Twenty people, and for each a realisable row that is somebody else's."""
    task = loans_task()
    rows = task.rows("train")
    return rows[:20], task.actions.project(rows[:20], rows[100:120])


def test_what_is_not_needed_is_put_back_and_what_is_needed_stays() -> None:
    task = loans_task()
    factuals, rows = people_and_rows()
    income = task.features[[feature.name for feature in task.features].index("income")].columns[0]
    rows[:, income] = factuals[:, income] + 1.0
    result = undone(task.actions, factuals, rows, lambda tried, _: tried[:, income] > -np.inf)
    assert (changes(task.actions, factuals, result) > 0).sum(axis=1).tolist() == [1] * 20

    def richer(tried: np.ndarray, who: np.ndarray) -> np.ndarray:
        return np.asarray(tried[:, income] > factuals[who, income])

    needed = undone(task.actions, factuals, rows, richer)
    np.testing.assert_array_equal(needed[:, income], rows[:, income])
    others = np.arange(task.n_features) != income
    np.testing.assert_array_equal(needed[:, others], factuals[:, others])


def test_the_largest_change_goes_first_and_who_has_no_row_keeps_none() -> None:
    task = loans_task()
    factuals, rows = people_and_rows()
    rows[3] = np.nan
    before = changes(task.actions, factuals, rows)
    assert (before[3] == 0).all()

    def two_left(tried: np.ndarray, who: np.ndarray) -> np.ndarray:
        assert 3 not in who
        return np.asarray((changes(task.actions, factuals[who], tried) > 0).sum(axis=1) >= 2)

    result = undone(task.actions, factuals, rows, two_left)
    assert np.isnan(result[3]).all()
    seen = 0
    for own, row, lengths in zip(factuals, result, before, strict=True):
        least = np.sort(lengths[lengths > 0])[:2]
        if len(least) == 2:
            seen += 1
            assert changes(task.actions, own[None], row[None]).sum() == least.sum()
    assert seen > 5


def test_realisable_rows_stay_realisable() -> None:
    task = loans_task()
    factuals, rows = people_and_rows()
    assert task.actions.realisable(factuals, rows).all()
    result = undone(task.actions, factuals, rows, lambda tried, _: (tried > 0).sum(axis=1) % 2 == 0)
    assert (result != rows).any()
    assert task.actions.realisable(factuals, result).all()


def test_numbers_change_no_more_than_is_needed_and_the_shortest_row_is_taken() -> None:
    task = loans_task()
    factuals, rows = people_and_rows()
    place = [feature.name for feature in task.features].index("income")
    income = task.features[place].columns[0]
    wanted = 3_780.0

    def enough(tried: np.ndarray, _: object = None) -> np.ndarray:
        return np.asarray(task.actions.raw(tried)[:, income] >= wanted)

    rows[:, income] = (6_000.0 - task.mean[income]) / task.scale[income]
    poor = ~enough(factuals)
    short = shortened(task.actions, factuals[poor], rows[poor], enough)
    assert task.actions.realisable(factuals[poor], short).all()
    assert enough(short).all()
    raw = task.actions.raw(short)[:, income]
    # Six halvings of the way: a 64th of it, and a step of 50.
    own = task.actions.raw(factuals[poor])[:, income]
    assert (raw <= wanted + (6_000.0 - own) / 64 + 50).all()
    several = np.stack([rows[poor], short, np.full_like(short, np.nan)], axis=1)
    several[0] = np.nan
    best = shortest(task.actions, factuals[poor], several, enough)
    assert np.isnan(best[0]).all()
    lengths = changes(task.actions, factuals[poor], best).sum(axis=1)[1:]
    assert (lengths <= changes(task.actions, factuals[poor], short).sum(axis=1)[1:]).all()
    assert enough(best[1:]).all()
