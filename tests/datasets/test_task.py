from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from changeproof import InputError, Split, Task, load_task, own_task


def test_standardisation_uses_training_rows_only_and_can_be_undone(small_task: Task) -> None:
    train = small_task.rows("train")
    np.testing.assert_allclose(train.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(train.std(axis=0), 1.0, atol=1e-12)
    assert np.abs(small_task.rows("test").mean(axis=0)).max() > 1e-3
    ids = small_task.row_ids("test")
    back = small_task.original(small_task.rows("test"))
    np.testing.assert_allclose(back, small_task.frame.loc[ids], rtol=1e-12)
    np.testing.assert_allclose(small_task.standardise(back), small_task.rows("test"), atol=1e-12)


def test_columns_are_matched_by_name_when_standardising(small_task: Task) -> None:
    shuffled = small_task.frame[["e", "a", "d", "c", "b"]]
    np.testing.assert_array_equal(
        small_task.standardise(shuffled), small_task.standardise(small_task.frame)
    )
    with pytest.raises(InputError, match=r"have no columns \['b'\]"):
        small_task.standardise(small_task.frame.drop(columns="b"))


def test_parts_are_disjoint_and_cover_everything(small_task: Task) -> None:
    ids = [small_task.row_ids(part) for part in ("train", "update", "validation", "test")]
    assert [len(part) for part in ids] == [200, 40, 40, 120]
    assert sorted(np.concatenate(ids)) == sorted(small_task.frame.index)


def test_split_is_stratified(small_task: Task) -> None:
    for part in ("train", "update", "validation", "test"):
        assert small_task.labels_of(part).mean() == pytest.approx(0.5, abs=0.02)


def test_distance_scale_falls_back_where_a_feature_hardly_varies() -> None:
    generator = np.random.default_rng(0)
    mostly_zero = np.zeros(100)
    mostly_zero[::5] = generator.normal(size=20)
    frame = pd.DataFrame({"x": generator.normal(size=100), "rare": mostly_zero, "constant": 3.0})
    task = Task("edge", frame, np.arange(100) % 2)
    scale = task.distance_scale
    train = task.rows("train")
    assert scale[0] == pytest.approx(np.median(np.abs(train[:, 0] - np.median(train[:, 0]))))
    assert scale[1] == pytest.approx(train[:, 1].std())
    assert scale[2] == 1.0
    assert np.isfinite(train).all()


@given(st.integers(0, 399), st.integers(0, 399), st.floats(0.1, 10))
def test_distance_is_a_scaled_absolute_difference(first: int, second: int, factor: float) -> None:
    task = _task()
    rows = task.standardise(task.frame)
    x, y = rows[[first]], rows[[second]]
    terms = [abs(y[0, j] - x[0, j]) / task.distance_scale[j] for j in range(3)]
    distance = task.distances(x, y)[0]
    assert distance == pytest.approx(sum(terms) / 3)
    assert task.distances(y, x)[0] == distance
    assert (distance == 0) == (first == second)
    assert task.distances(x, x + factor * (y - x))[0] == pytest.approx(factor * distance)


KINDS = {
    "text": ["no", "yes"],
    "flag": [False, True],
    "number": [0, 1],
    "other numbers": [10, 35],
}


@given(st.integers(2, 40), st.floats(0.02, 0.5))
def test_a_feature_counts_once_however_it_is_encoded(categories: int, share: float) -> None:
    """Neither many categories nor rare ones make advice look nearer or farther."""
    generator = np.random.default_rng(categories)
    rare = np.where(np.arange(400) < max(2, share * 400), 1, 0)
    town = generator.integers(0, categories, 400)
    town[:categories] = np.arange(categories)
    frame = pd.DataFrame(
        {
            "income": generator.normal(3000, 500, 400),
            "town": [f"town {place}" for place in town],
            **{name: [values[place] for place in rare] for name, values in KINDS.items()},
            "outcome": np.arange(400) % 2,
        }
    )
    task = own_task(frame, target="outcome", favourable=1)
    person = task.standardise(task.frame.iloc[[0]])
    told = task.readable(person)
    other = f"town {0 if town[0] else 1}"
    for name, new in {"town": other, **{name: values[0] for name, values in KINDS.items()}}.items():
        moved = task.encoded(told.assign(**{name: [new]}))
        assert task.distances(person, moved)[0] == pytest.approx(1.0 / 6.0), name
    spread = task.distance_scale[0] * task.scale[0]
    moved = task.encoded(told.assign(income=told["income"] + spread))
    assert task.distances(person, moved)[0] == pytest.approx(1.0 / 6.0)
    assert task.n_counted == 6 and "6 features" in repr(task)


@pytest.mark.parametrize("name", ["breast-cancer", "diabetes", "wine-quality", "heloc"])
def test_the_distance_of_the_paper_is_the_paper_s(name: str) -> None:
    """Numbers only: the mean over columns of the change by MAD, to the last bit."""
    task = load_task(name)
    train = task.rows("train")
    mad = np.median(np.abs(train - np.median(train, axis=0)), axis=0)
    scale = np.where(mad < 1e-8, train.std(axis=0), mad)
    rows, others = train[:50], train[50:100]
    expected = (np.abs(others - rows) / scale).mean(axis=1)
    assert task.distances(rows, others).tobytes() == expected.tobytes()


def _task() -> Task:
    generator = np.random.default_rng(3)
    frame = pd.DataFrame(generator.normal(size=(400, 3)), columns=["a", "b", "c"])
    return Task("t", frame, generator.integers(0, 2, 400))


GOOD = pd.DataFrame({"a": np.arange(40.0), "b": np.ones(40)})
LABELS = np.arange(40) % 2


@pytest.mark.parametrize(
    ("frame", "labels", "message"),
    [
        (GOOD.assign(b=np.where(np.arange(40) == 3, np.nan, 1.0)), LABELS, "'b' holds 1 missing"),
        (GOOD.assign(a=np.inf), LABELS, "'a' holds 40 missing or infinite"),
        (GOOD.assign(a="text"), LABELS, "'a' is .*, not numeric"),
        (GOOD, LABELS[:-1], "40 rows but labels of shape"),
        (GOOD, LABELS + 1, r"must be 0 \(adverse\) or 1 \(favourable\); got \[2\]"),
        (GOOD.set_index(np.zeros(40, int)), LABELS, "row id 0 appears more than once"),
        (GOOD.set_index(np.array([f"r{i}" for i in range(40)])), LABELS, "must be integers"),
        (GOOD, np.zeros(40, int), "at least 20 rows and 10 of each label"),
    ],
)
def test_bad_data_is_refused_by_name(frame: pd.DataFrame, labels: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Task("bad", frame, labels)


def test_outcomes_that_are_numbers_come_with_the_range_that_is_favourable(small_task: Task) -> None:
    points = 600.0 + small_task.labels
    with pytest.raises(InputError, match="expected favourable_values, the range of its outcomes"):
        small_task.replaced(outcomes=points, favourable_values=())
    with pytest.raises(InputError, match=r"rows but outcomes of shape \(3,\)"):
        small_task.replaced(outcomes=points[:3])
    task = small_task.replaced(outcomes=points, favourable_values=[">=601"])
    assert task.favourable_range is not None
    assert (task.favourable_range.accepts(points) == small_task.labels).all()


def test_fingerprint_tells_tasks_apart(small_task: Task) -> None:
    same = Task("small", small_task.frame.copy(), small_task.labels)
    assert same.fingerprint == small_task.fingerprint
    changed = small_task.frame.copy()
    changed.iloc[5, 2] += 1e-9
    flipped = small_task.labels.copy()
    flipped[0] = 1 - flipped[0]
    others = [
        Task("small", changed, small_task.labels),
        Task("small", small_task.frame, flipped),
        Task("other", small_task.frame, small_task.labels),
        Task("small", small_task.frame, small_task.labels, Split.stratified(small_task.labels, 1)),
    ]
    assert len({task.fingerprint for task in [small_task, *others]}) == 5


def test_splits_of_the_paper() -> None:
    sizes = {
        name: tuple(
            len(load_task(name).row_ids(p)) for p in ("train", "update", "validation", "test")
        )
        for name in ("breast-cancer", "diabetes", "wine-quality", "heloc")
    }
    assert sizes == {
        "breast-cancer": (284, 57, 57, 171),
        "diabetes": (384, 76, 77, 231),
        "wine-quality": (3248, 649, 650, 1950),
        "heloc": (4145, 829, 829, 2488),
    }


def test_fingerprints_of_the_embedded_tasks_stay() -> None:
    marks = {
        "breast-cancer": "cbe8173a5ea02f1df8f6d3535bcd63352105a4e559ba66f328360746da8e8b67",
        "diabetes": "a8a1f18e74eb55dfc0b709f6b80e6a597e886b7c871ef8bd3fd06180f1533de7",
        "wine-quality": "70389f0e3ed58b447e7b341926a8c0f594cad4f22e70dedf8345c58673070405",
        "heloc": "d699b9fcb3be6b4b94d6640be1be7f238b4e63e302babe71a11188737b9dabbf",
    }
    assert {name: load_task(name).fingerprint for name in marks} == marks


def test_ids_name_the_rows() -> None:
    assert Task("t", GOOD, LABELS).ids.tolist() == list(range(40))
    names = [f"p{number}" for number in range(40)]
    task = Task("t", GOOD, LABELS, ids=names)
    assert task.ids.loc[task.row_ids("test")].tolist() == [names[i] for i in task.row_ids("test")]
    with pytest.raises(InputError, match="40 rows but 39 ids"):
        Task("t", GOOD, LABELS, ids=names[1:])
    with pytest.raises(InputError, match="id 'p0' appears more than once"):
        Task("t", GOOD, LABELS, ids=[*names[:-1], "p0"])


def test_over_time_the_earlier_rows_are_known_and_no_time_is_cut_apart() -> None:
    generator = np.random.default_rng(3)
    years = np.repeat([2015, 2016, 2017], [30, 50, 40])
    order = generator.permutation(120)
    frame = pd.DataFrame({"a": generator.normal(size=120)})
    labels = generator.integers(0, 2, 120)
    beside = pd.DataFrame({"year": years[order]})
    task = Task("years", frame, labels, beside=beside, time="year")
    split = task.over_time().split
    assert beside["year"].iloc[split.update].tolist() == [2017] * 40, (
        "80 and 40 rows, not 60 and 60"
    )
    known = np.concatenate([split.train, split.validation, split.test])
    assert sorted([*known, *split.update]) == list(range(120))
    assert task.over_time().over_time().fingerprint == task.over_time().fingerprint
    alike = Task("years", frame, labels, beside=beside.assign(year=2015), time="year")
    with pytest.raises(InputError, match="all rows have the same time"):
        alike.over_time()
