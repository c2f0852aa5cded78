from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from changeproof import (
    Access,
    BaseModel,
    InputError,
    Network,
    NetworkLearner,
    Task,
    Variant,
    build_bank,
    get_family,
    own_task,
)
from changeproof.changes.bank import models_of
from changeproof.changes.followed_advice import advised
from loans import loans


@dataclass(eq=False)
class Linear:
    """Accepts rows whose weighted sum reaches a bar."""

    weights: Any
    bar: float
    offers = Access.PREDICTIONS

    def favourable(self, rows: Any) -> Any:
        return rows @ np.asarray(self.weights) >= self.bar

    def probabilities(self, rows: Any) -> Any:
        return 1 / (1 + np.exp(self.bar - rows @ np.asarray(self.weights)))


@pytest.fixture
def line() -> Task:
    frame = pd.DataFrame({"x": np.linspace(-2.0, 2.0, 100), "y": np.linspace(-1.0, 1.0, 100)})
    return Task("line", frame, np.arange(100) % 2)


def test_people_stop_at_the_first_tenth_that_is_accepted(line: Task) -> None:
    model = Linear([1.0, 0.0], 0.35)
    train = line.rows("train")
    (goal,) = [row for row in train if row[0] == train[train[:, 0] >= 0.35][:, 0].min()]
    person = np.array([[-1.0, -1.0]])
    (found,) = advised(line, model, person)
    share = np.ceil(10 * 1.35 / (goal[0] + 1.0)) / 10
    np.testing.assert_allclose(found, person[0] + share * (goal - person[0]))
    assert np.isnan(advised(line, Linear([1.0, 0.0], 99.0), person)).all()
    assert advised(line, model, person[:0]).shape == (0, 2)


def test_categories_change_at_once_and_what_may_not_change_stays() -> None:
    given: dict[str, Any] = {"target": "approved", "favourable": "yes", "id_column": "applicant"}
    task = own_task(loans(200), **given, actions={"debts": {"change": "none"}})
    income = [column == 0 for column in range(task.n_features)]
    model = Linear(np.array(income, dtype=float), 1.0)
    people = task.rows("update")[~model.favourable(task.rows("update"))]
    found = advised(task, model, people)
    assert np.isfinite(found).all()
    assert model.favourable(found).all()
    told, before = task.decoded(found), task.decoded(people)
    np.testing.assert_allclose(told["debts"], before["debts"], atol=1e-12)
    for feature in task.features:
        if feature.categories:
            # As some row of the data has them, to the last digit.
            columns = list(feature.columns)
            known = {row.tobytes() for row in task.rows("train")[:, columns]}
            assert {row.tobytes() for row in found[:, columns]} <= known
    # Who may change nothing that matters cannot follow.
    fixed = own_task(loans(200), **given, actions={"income": {"change": "none"}})
    assert np.isnan(advised(fixed, model, people)).all()


def followers(variant: Variant, task: Task) -> Any:
    changed: Any = variant.task
    return changed.rows("update")[len(task.split.update) :]


def test_followers_are_favourable_rows_on_the_same_scale(
    small_task: Task, small_network: Network
) -> None:
    base, learner = BaseModel(2026, small_network), NetworkLearner()
    variants = get_family("followed-advice").variants(small_task, base, learner)
    pool = small_task.rows("update")
    rejected = pool[~small_network.favourable(pool)]
    for variant, share in zip(variants, [1.0] + [0.25] * 4 + [0.5] * 3, strict=True):
        changed: Any = variant.task
        for part in ("train", "validation", "test"):
            np.testing.assert_array_equal(changed.rows(part), small_task.rows(part))
        moved = followers(variant, small_task)
        assert len(moved) == round(share * len(rejected))
        assert small_network.favourable(moved).all()
        assert (changed.labels_of("update")[len(pool) :] == 1).all()
        weights: Any = variant.change.row_weights  # type: ignore[union-attr]
        known = len(small_task.split.train)
        expected = [1.0] * known + [0.0] * len(pool) + [1.0] * len(moved)
        assert weights.tolist() == expected


def test_a_round_follows_from_the_models_of_the_round_before(
    small_task: Task, small_network: Network
) -> None:
    base, learner = BaseModel(2026, small_network), NetworkLearner()
    family = get_family("followed-advice(replicates=2)")

    def second(models: list[Any]) -> list[Variant]:
        rounds = family.rounds(small_task, base, learner)
        assert {variant.level for variant in next(rounds)} == {"round 1"}
        return list(rounds.send(models))

    first = family.variants(small_task, base, learner)
    content, strict = Linear(np.zeros(5), -1.0), Linear([1.0, 0.0, 0.0, 0.0, 0.0], 1.0)
    nobody, some = second([content, strict])
    # Nobody is rejected, so nobody moves; under the other model all who are rejected may have to.
    np.testing.assert_array_equal(followers(nobody, small_task), followers(first[0], small_task))
    moved = followers(some, small_task)
    again = second([strict, strict])[0]
    assert strict.favourable(followers(again, small_task)).all()
    assert len(moved) >= len(followers(first[1], small_task))
    assert {v.level for v in (nobody, some)} == {"round 2"}


def test_futures_do_not_depend_on_each_other(small_task: Task, small_network: Network) -> None:
    base, learner = BaseModel(2026, small_network), NetworkLearner()
    few, many = (
        build_bank(small_task, base, [get_family(f"followed-advice(replicates={n})")], learner)
        for n in (2, 3)
    )
    assert few.table["level"].tolist() == [f"round {n}" for n in (1, 2, 3) for _ in range(2)]
    kept = many.table["replicate"] < 2
    left = [many.stack[int(place)] for place in np.flatnonzero(kept)]
    for one, other in zip(few.stack, left, strict=True):  # type: ignore[call-overload]
        assert one.parameters.tobytes() == other.parameters.tobytes()  # type: ignore[attr-defined]
    rounds = get_family("followed-advice(replicates=2)").rounds(small_task, base, learner)
    models = models_of(next(rounds), small_task, learner)
    again = models_of(rounds.send(models), small_task, learner)
    found = [network.parameters.tobytes() for network in (*models, *again)]  # type: ignore[attr-defined]
    assert found == [few.stack[n].parameters.tobytes() for n in range(4)]  # type: ignore[attr-defined]


def test_where_nobody_is_rejected_nobody_follows(small_task: Task) -> None:
    base = BaseModel(1, Linear(np.zeros(5), -1.0))
    with pytest.raises(InputError, match="no person of the update pool of small can follow advice"):
        get_family("followed-advice").variants(small_task, base, NetworkLearner())
