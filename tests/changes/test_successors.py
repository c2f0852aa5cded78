from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import shipped
from changeproof import InputError, Task, read_counterfactuals
from changeproof.changes.bank import build_bank, change_magnitudes
from changeproof.changes.family import BaseModel
from changeproof.changes.successors import Successors, read_successors, split_threshold
from changeproof.methods import get_method
from changeproof.models.find import shipped_learner
from changeproof.networks.training import TrainingRecipe


def test_successors_are_changed_models_as_they_are(frame: pd.DataFrame, task: Task) -> None:
    today, later = shipped.current(frame), shipped.stricter(frame)
    told = shipped.letters(frame, today)
    letters = {"letters": read_counterfactuals(told, task)}
    given = {"next": later, "firm": (later, 0.7), "house": shipped.scores(told, later)}
    family = read_successors(given, task, letters)
    learner = shipped_learner(today, task)
    base = learner.train([TrainingRecipe(initialisation_seed=2026)], task)[0]
    bank = build_bank(task, BaseModel(2026, base), [family], learner)
    assert bank.table["level"].tolist() == ["next", "firm", "house"]
    rows = task.rows("test")
    shares = later.predict_proba(task.readable(rows)[shipped.FEATURES])[:, 1]
    np.testing.assert_array_equal(bank.stack[0].favourable(rows), shares >= 0.5)
    np.testing.assert_array_equal(bank.stack[1].favourable(rows), shares >= 0.7)
    measured = change_magnitudes(task, base, bank.stack)
    changed = (shares >= 0.5) != base.favourable(rows)
    assert measured["hard_disagreement"][0] == changed.mean() > 0
    assert measured.loc[2].isna().all() and not measured.loc[:1].isna().any(axis=None)
    assert family.only_letters == "house is a table of scores, which is known on the letters only"


def test_records_say_where_successors_are_from_and_what_they_are(
    frame: pd.DataFrame, task: Task
) -> None:
    first, second = (
        read_successors({"next": (shipped.stricter(frame), at)}, task, {}, threshold="0.6")
        for at in (None, 0.7)
    )
    assert first.records["next"].startswith("object:LogisticRegression@0.6#")
    assert second.records["next"].startswith("object:LogisticRegression@0.7#")
    assert first.fingerprint != second.fingerprint
    read = Successors(records=first.records)
    assert read.fingerprint == first.fingerprint
    with pytest.raises(InputError, match="successors next are from another session"):
        read.variants(task, BaseModel(2026, first.at_hand["next"].model(task)), None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("pickle:next.pkl@0.55", ("pickle:next.pkl", "0.55")),
        ("python:models:next@<=0.2", ("python:models:next", "<=0.2")),
        ("pickle:folder@home/next.pkl", ("pickle:folder@home/next.pkl", None)),
        ("onnx:next.onnx", ("onnx:next.onnx", None)),
    ],
)
def test_a_threshold_stands_behind_a_reference(
    reference: str, parts: tuple[str, str | None]
) -> None:
    assert split_threshold(reference) == parts


def test_a_threshold_behind_a_reference_has_to_be_one() -> None:
    with pytest.raises(InputError, match="threshold 'high' is not a number"):
        split_threshold("python:models:next@high")


def test_what_cannot_be_a_successor_is_refused(frame: pd.DataFrame, task: Task) -> None:
    with pytest.raises(InputError, match="unknown successor 'mlp'; expected one of: python:mod"):
        read_successors({"next": "mlp"}, task, {})
    with pytest.raises(InputError, match="pass --unpickle-and-run-its-code"):
        read_successors({"next": "pickle:next.pkl"}, task, {})
    scores = shipped.scores(shipped.letters(frame, shipped.current(frame)), shipped.current(frame))
    with pytest.raises(InputError, match=r"expected one table of counterfactuals .* there is none"):
        read_successors({"house": scores}, task, {})
    with pytest.raises(InputError, match="model next calls no test row of 'data' favourable"):
        read_successors({"next": (shipped.stricter(frame), 0.999999)}, task, {})


def test_who_can_renew_depends_on_the_successor(frame: pd.DataFrame, task: Task) -> None:
    def points(people: pd.DataFrame) -> pd.Series[float]:
        return people["income"] / 10_000

    given = {"next": shipped.stricter(frame), "points": (points, 0.25)}
    both = read_successors(given, task, {}).at_hand
    against = {
        name: [each.reason_against(get_method(method)(), task) for each in both.values()]
        for name, method in (("kdtree", "kdtree"), ("wachter", "wachter"), ("betarce", "betarce"))
    }
    assert against["kdtree"] == ["", ""]
    reason = "wachter needs gradients of a model; this one offers predictions"
    assert against["wachter"] == ["", reason]
    assert against["betarce"][0] == ""
    assert "trains models of its own; points is used as it is" in against["betarce"][1]
