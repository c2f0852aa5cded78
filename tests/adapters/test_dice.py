"""All of DiCE's answers are tested, those of the desired class first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from changeproof import Context, Factuals, InputError
from changeproof.adapters.dice import from_dice
from changeproof.adapters.tables import EMPTY_IN_TABLE, people_in, read_choices
from changeproof.methods.answers import FOUND
from changeproof.methods.given import GivenCounterfactuals

COLUMNS = ["a", "b", "c", "d", "e", "approved"]


def example(found: list[list[float]] | None, sparse: list[list[float]] | None = None) -> Any:
    """Return what DiCE keeps about one person: of its objects, only what is read."""
    frames = [
        None if rows is None else pd.DataFrame(rows, columns=COLUMNS) for rows in (found, sparse)
    ]
    return SimpleNamespace(
        data_interface=SimpleNamespace(outcome_name="approved"),
        test_instance_df=pd.DataFrame([[0.0] * 6], columns=COLUMNS),
        final_cfs_df=frames[0],
        final_cfs_df_sparse=frames[1],
        new_outcome=1.0,
    )


def explanation(*examples: Any) -> Any:
    return SimpleNamespace(cf_examples_list=list(examples))


def row(value: float, outcome: float) -> list[float]:
    return [value] * 5 + [outcome]


@pytest.mark.parametrize(
    ("person", "expected"),
    [
        (example([row(1, 1), row(2, 1)]), [1, 2]),
        (example([row(1, 0), row(2, 1), row(3, 1)]), [2, 3, 1]),
        (example([row(1, 0.31), row(2, 0.74)]), [2, 1]),
        (example([row(1, 0), row(2, 0)]), [1, 2]),
        (example([row(1, 1)], [row(7, 1)]), [7]),
        (example(None), [np.nan]),
        (example([]), [np.nan]),
    ],
    ids=["first", "desired", "probability", "none desired", "sparse", "nothing", "no rows"],
)
def test_those_of_the_desired_class_come_first(person: Any, expected: list[float]) -> None:
    frame = from_dice(explanation(person), ids=["p-1"])
    assert frame.columns.tolist() == ["id", "a", "b", "c", "d", "e"]
    assert frame["id"].tolist() == ["p-1"] * len(expected)
    each = [[value] * 5 for value in expected]
    np.testing.assert_array_equal(frame.drop(columns="id").to_numpy(float), each)


def test_all_of_them_are_read_under_names_of_their_own(small_context: Context) -> None:
    ids = small_context.task.row_ids("test")[:3]
    people = explanation(example([row(1, 1), row(4, 1)]), example(None), example([row(2, 1)]))
    tables = read_choices("dice", from_dice(people, ids=ids), small_context.task)
    first, second = tables["dice"], tables["dice-2"]
    assert first["row_id"].tolist() == list(ids)
    assert first["reason"].tolist() == ["", EMPTY_IN_TABLE, ""]
    assert second["row_id"].tolist() == [ids[0]]
    assert first.attrs["notes"] == [
        "1 of 3 rows have no counterfactual",
        "up to 2 rows per person: all are tested, as dice, dice-2",
    ]


@pytest.mark.parametrize(
    ("given", "ids", "features", "message"),
    [
        (explanation(example(None)), [1, 2], None, "explained 1 people but 2 ids were given"),
        (explanation(example(None)), [1], ["a", "z"], r"not about \['z'\]"),
        (explanation(), [], None, "with at least one person"),
        ([example(None)], [1], None, "CounterfactualExplanations that DiCE returns.*got list"),
    ],
)
def test_what_does_not_fit_is_refused(
    given: Any, ids: list[int], features: list[str] | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        from_dice(given, ids, features)


@pytest.mark.filterwarnings("ignore")  # DiCE's own, about pandas and scikit-learn
@pytest.mark.parametrize("search", ["random", "genetic"])
def test_real_explanations_go_through_the_protocol(
    search: str, small_context: Context, small_factuals: Factuals
) -> None:
    dice_ml = pytest.importorskip("dice_ml", reason="dice-ml is not installed (extra: dice)")
    task, model = small_context.task, small_context.model

    class Judge:
        def predict_proba(self, frame: pd.DataFrame) -> np.ndarray:
            yes = model.probabilities(task.standardise(frame.astype(float)))
            return np.column_stack([1 - yes, yes])

        def predict(self, frame: pd.DataFrame) -> np.ndarray:
            return (self.predict_proba(frame)[:, 1] >= 0.5).astype(int)

    labelled = task.frame.assign(approved=task.labels)
    data = dice_ml.Data(
        dataframe=labelled, continuous_features=task.feature_names, outcome_name="approved"
    )
    explainer = dice_ml.Dice(data, dice_ml.Model(model=Judge(), backend="sklearn"), method=search)
    asked = small_factuals[:4]
    people = task.frame.loc[asked.row_ids]
    found = explainer.generate_counterfactuals(
        people, total_CFs=3, desired_class=1, verbose=False, posthoc_sparsity_param=None
    )
    tables = read_choices("dice", from_dice(found, ids=people.index), task)
    table = tables["dice"]
    assert len(tables) == max(len(one.final_cfs_df) for one in found.cf_examples_list) > 1
    np.testing.assert_array_equal(people_in(table, task).rows, asked.rows)
    answers = GivenCounterfactuals(table=table).fit(small_context).generate(asked)
    assert answers.outcomes.tolist() == [FOUND] * 4
    first = [one.final_cfs_df.iloc[0][task.feature_names] for one in found.cf_examples_list]
    expected = task.standardise(pd.DataFrame(first).astype(float))
    np.testing.assert_allclose(answers.rows, expected)
    assert answers.base_valid.all()
