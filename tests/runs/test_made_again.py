"""Changed models that cannot be kept, of a base model that can: made again by who asks them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from changeproof import BaseModel, InputError, Results, build_bank, evaluate, get_family
from changeproof.evaluation.factuals import survival
from changeproof.models.find import find_learner
from changeproof.runs.content import models_from_bytes
from changeproof.runs.pieces import Kind
from changeproof.runs.store import Store
from loans import loans

FAMILIES = ["recalibration(replicates=4)", "decision-threshold", "measurement-error(replicates=3)"]
METHODS = ["kdtree", "wachter(penalty=1.0, learning_rate=0.01)"]


def lent(folder: Path, families: list[str], *, jobs: int, limit: bool) -> Results:
    table = loans(200).drop(columns=["applicant", "purpose"])
    return evaluate(
        table, "mlp:4", METHODS, families, target="approved", favourable="yes", factuals=4,
        base_seeds=[2026], limit=limit, feasible=False, jobs=jobs, publish=False, out=folder,
    )  # fmt: skip


@pytest.mark.usefixtures("always_workers")
def test_models_that_are_not_kept_are_made_again(tmp_path: Path) -> None:
    one = lent(tmp_path / "one", FAMILIES, jobs=1, limit=True)
    stored = {
        piece.family: models_from_bytes(Store(one.folder).load(piece)).stack is not None
        for piece in one.manifest.pieces
        if piece.kind is Kind.BANK
    }
    assert stored == dict(zip(FAMILIES, [False, True, True], strict=True))
    message = r"not all changed models of family 'recalibration\(replicates=4\)' are networks"
    with pytest.raises(InputError, match=message):
        one.bank("data", 2026)
    assert len(one.variants("data", 2026)) == 11
    assert np.isfinite(one.variants("data", 2026)["probability_mae"]).all()

    # What was found is what the models say that anybody can make.
    base = BaseModel(2026, one.base_network("data", 2026))
    families = [get_family(name) for name in one.plan.families]
    bank = build_bank(one.task("data"), base, families, find_learner("mlp:4"))
    for method in METHODS:
        answers = one.counterfactuals("data", 2026, method)
        expected = survival(answers, bank.stack)
        np.testing.assert_array_equal(one.survived("data", 2026, method), expected)
    by_all = one.limit("data", 2026).rows[0, 0]
    assert len(by_all) == 4
    assert bank.stack.favourable(by_all).all()

    # The same bytes in other processes, and asked in another order.
    two = lent(tmp_path / "two", FAMILIES[::-1], jobs=2, limit=False)
    pieces = [{path.name for path in (r.folder / "pieces").rglob("*.*")} for r in (one, two)]
    assert len(pieces[1]) == 14
    assert pieces[1] < pieces[0], "but for the limit, which only the first has"
