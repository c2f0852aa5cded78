"""Models by name: what is refused before any work."""

from __future__ import annotations

import pytest

from changeproof.errors import InputError
from changeproof.models.find import MOST_LAYERS, MOST_UNITS, find_learner


@pytest.mark.parametrize(
    "reference",
    [
        "mlp:99999999999",
        f"mlp:{'9' * 5000}",
        f"mlp:8,{MOST_UNITS + 1}",
        f"mlp:{'2,' * MOST_LAYERS}2",
    ],
    ids=["wide", "wider", "second", "deep"],
)
def test_networks_that_nobody_could_train_are_refused(reference: str) -> None:
    with pytest.raises(InputError, match=r"at most 16 hidden layers of at most 4096 units each"):
        find_learner(reference)


def test_wide_networks_are_allowed() -> None:
    assert find_learner(f"mlp:{MOST_UNITS}").name == f"mlp:{MOST_UNITS}"


@pytest.mark.parametrize("reference", ["python:::", "python::", "python:a:", "python::a"])
def test_import_paths_that_lead_nowhere_are_refused(reference: str) -> None:
    with pytest.raises(InputError, match="is not an import path; expected module:attribute"):
        find_learner(reference)
