"""Alibi's answers, as objects or as the text of to_json().

`alibi_explanations.json` holds three real explanations of alibi 0.9.6 (TensorFlow 2.14.1): one of
`Counterfactual` that was found, one that was not, and one of `CounterfactualProto`; the history of
the search ("all") was emptied.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from changeproof import InputError
from changeproof.adapters.alibi import from_alibi

REAL = json.loads((Path(__file__).parent / "alibi_explanations.json").read_text(encoding="utf-8"))
FOUND = [[2.040919065475464, -1.6041301488876343], [np.nan] * 2]
FOUND += [REAL[2]["data"]["cf"]["X"][0]]


def as_object(explanation: Any) -> Any:
    """Return the two fields of alibi's Explanation, arrays as arrays."""
    found = explanation["data"]["cf"]
    arrays = None if found is None else {"X": np.asarray(found["X"], dtype=np.float32)}
    return SimpleNamespace(meta=explanation["meta"], data={"cf": arrays})


@pytest.mark.parametrize("form", [json.dumps, dict, as_object], ids=["text", "parsed", "object"])
def test_real_explanations_become_one_row_per_person(form: Any) -> None:
    frame = from_alibi([form(one) for one in REAL], ids=[4, 5, 6], feature_names=["x", "id"])
    assert frame.columns.tolist() == ["factual_id", "x", "id"]
    assert frame["factual_id"].tolist() == [4, 5, 6]
    np.testing.assert_allclose(frame[["x", "id"]], FOUND, rtol=1e-6)


def test_a_batch_is_one_explanation() -> None:
    rows = np.arange(6.0).reshape(3, 2)
    batch = SimpleNamespace(data={"cf": {"X": rows, "class": np.ones((3, 1))}, "orig": None})
    frame = from_alibi(batch, ids=[7, 8, 9], feature_names=["x", "y"])
    np.testing.assert_array_equal(frame[["x", "y"]], rows)
    np.testing.assert_array_equal(from_alibi([batch], [7, 8, 9], ["x", "y"]), frame)
    assert from_alibi(REAL[0], [7], ["x", "y"])["id"].tolist() == [7]


@pytest.mark.parametrize(
    ("explanations", "ids", "names", "message"),
    [
        (REAL, [1, 2], ["x", "y"], "Alibi explained 3 people but 2 ids were given"),
        (REAL, [1, 2, 3], ["x"], r"explanation 1: expected .*\(people, 1\).*got \(1, 2\)"),
        (["{"], [1], ["x"], "explanation 1: expected the text that to_json"),
        (["[]"], [1], ["x"], "explanation 1: expected a counterfactual explanation .*got list"),
        ([REAL[0], {"data": {}}], [1, 2], ["x", "y"], "explanation 2: .*got dict"),
        ([REAL[1]], [1], ["id", "factual_id", "row_id"], "none can hold the ids"),
    ],
)
def test_what_does_not_fit_is_refused(
    explanations: Any, ids: list[int], names: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        from_alibi(explanations, ids, names)
