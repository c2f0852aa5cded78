"""roar-lime, rbr and apds search among the rows that people may be told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from changeproof import (
    Context,
    Counterfactuals,
    Factuals,
    Network,
    Task,
    TrainingData,
    TrainingRecipe,
    evaluation_factuals,
    train,
)
from changeproof.certificates.sampled import favourable_under_draws
from changeproof.datasets.custom import own_task
from changeproof.methods.apds import APDS, CERTIFICATE_OFFSET
from changeproof.methods.method import Candidates, Method
from changeproof.methods.rbr import RBR
from changeproof.methods.roar_lime import RoarLime
from loans import loans

METHODS = [RoarLime, RBR, APDS]
PEOPLE = 25


def loan_task(most_changes: int | None, **actions: dict[str, Any]) -> Task:
    given = {
        "income": {"change": "increase", "step": 50.0},
        "debts": {"change": "decrease"},
        "purpose": {"change": "none"},
        "owner": {"change": "increase", "order": ("no", "yes")},
    }
    return own_task(
        loans(300),
        target="approved",
        favourable="yes",
        name="loans",
        id_column="applicant",
        actions=given | actions,
        most_changes=most_changes,
    )


def context_of(task: Task) -> Context:
    network = train([TrainingRecipe(initialisation_seed=2026)], TrainingData.of(task)).stack[0]
    return Context(task, network, 2026, actions=task.actions)


@pytest.fixture(scope="module", params=[None, 1])
def context(request: pytest.FixtureRequest) -> Context:
    return context_of(loan_task(request.param))


@pytest.fixture(scope="module")
def people(context: Context) -> Factuals:
    return evaluation_factuals(context.task, context.model, 2026, PEOPLE)


def projected_afterwards(
    method: type[Method], context: Context, people: Factuals
) -> Counterfactuals:
    """Return the answers of the published search, made realisable by the base class."""

    class Afterwards(method):  # type: ignore[misc, valid-type]
        def _prepare(self) -> None:
            self.real, self.context = self.context, replace(self.context, actions=None)
            super()._prepare()
            self.context = self.real

        def _search(self, factuals: Factuals) -> Candidates:
            self.context = replace(self.real, actions=None)
            found = super()._search(factuals)
            self.context = self.real
            return found

    return Afterwards().fit(context).generate(people)


@pytest.mark.parametrize("method", METHODS)
def test_answers_are_realisable_as_they_are_and_valid_where_projected_ones_are(
    method: type[Method], context: Context, people: Factuals
) -> None:
    answers = method().fit(context).generate(people)
    found = answers.found
    assert found.any()
    assert answers.base_valid[found].all()
    assert context.task.actions.realisable(people.rows[found], answers.rows[found]).all()
    assert answers.realisation is not None
    assert set(answers.realisation.raw_breach) == {""}
    afterwards = projected_afterwards(method, context, people)
    assert (answers.base_valid | ~afterwards.base_valid).all()


@pytest.mark.parametrize("method", [RoarLime, APDS])
def test_nobody_is_sent_farther_than_by_projecting_unless_that_is_asked_for(
    method: type[Method], context: Context, people: Factuals
) -> None:
    answers, robust = (
        method(farther=farther).fit(context).generate(people) for farther in (False, True)
    )
    mended = projected_afterwards(method, context, people)
    both = np.flatnonzero(mended.base_valid)
    assert len(both)
    length, longest, most = (
        context.task.distances(people.rows[both], each.rows[both])
        for each in (answers, mended, robust)
    )
    assert (length <= longest + 1e-12).all()
    same = most <= longest
    np.testing.assert_array_equal(answers.rows[both[same]], robust.rows[both[same]])
    likely = context.model.probabilities
    other = both[~same]
    assert (likely(answers.rows[other]) >= likely(mended.rows[other])).all()


@pytest.mark.parametrize("method", METHODS)
def test_answers_do_not_depend_on_batch_or_order(
    method: type[Method], context: Context, people: Factuals
) -> None:
    together = method().fit(context).generate(people)
    backwards = method().fit(context).generate(people[np.arange(len(people))[::-1]])
    np.testing.assert_array_equal(backwards.rows[::-1], together.rows)
    alone = method().fit(context).generate(people[[3]])
    np.testing.assert_array_equal(alone.rows[0], together.rows[3])


@pytest.mark.parametrize("method", METHODS)
def test_a_person_with_nothing_left_to_change_gets_a_reason(method: type[Method]) -> None:
    nothing_else = {name: {"change": "none"} for name in ("income", "debts", "owner")}
    context = context_of(loan_task(None, **nothing_else))
    people = evaluation_factuals(context.task, context.model, 2026, PEOPLE)
    answers = method().fit(context).generate(people)
    assert not answers.found.all()
    reasons = set(answers.outcomes[~answers.found])
    assert reasons == {"no realisable row that the model accepts was found"}


def test_what_apds_certifies_has_the_margin_and_holds_under_the_sample(
    context: Context, people: Factuals
) -> None:
    network = context.model
    assert isinstance(network, Network)
    method = APDS().fit(context)
    answers = method.generate(people)
    certified = answers.diagnostics["certified"].astype(bool)
    assert certified.any()
    rows, margins = answers.rows[certified], answers.diagnostics["margin"][certified]
    assert (network.logits(rows) >= margins).all()
    assert method._sample.all_favourable(rows).all()
    for place, row in zip(np.flatnonzero(certified), rows, strict=True):
        seed = 2026 + CERTIFICATE_OFFSET + place
        assert favourable_under_draws(method._box, row, method._samples, seed)


def test_apds_answers_with_the_largest_margin_where_nothing_survives() -> None:
    context = context_of(loan_task(None, income={"change": "none"}))
    people = evaluation_factuals(context.task, context.model, 2026, PEOPLE)
    method = APDS(radius=0.3).fit(context)
    answers = method.generate(people)
    found = np.flatnonzero(answers.found)
    lost = found[~method._sample.all_favourable(answers.rows[found])]
    assert len(lost)
    assert not answers.diagnostics["certified"][lost].any()
    for i in lost:
        margin = answers.diagnostics["margin"][i]
        higher = method._minimal.search(people.rows[[i]], margin + method.margin_step + 1e-4)
        assert np.isnan(higher).all()


def test_the_proof_is_no_longer_than_the_fast_answer(context: Context, people: Factuals) -> None:
    some = people[:3]
    lengths = []
    for engine in ("fast", "exact"):
        answers = APDS(engine=engine).fit(context).generate(some)
        assert answers.base_valid[answers.found].all()
        lengths.append(np.abs(answers.rows - some.rows).sum(axis=1))
    assert (np.isfinite(lengths[0]) <= np.isfinite(lengths[1])).all()
    assert (lengths[1] <= lengths[0] + 1e-9)[np.isfinite(lengths[0])].all()


def test_roar_lime_goes_beyond_the_boundary_of_the_model(
    context: Context, people: Factuals
) -> None:
    """However dear the distance is, the worst surrogate within the radius must agree, if it can."""
    logits = []
    for radius in (0.0, 0.2):
        answers = RoarLime(penalty=5.0, radius=radius).fit(context).generate(people)
        assert answers.base_valid.all()
        assert isinstance(context.model, Network)
        logits.append(context.model.logits(answers.rows).mean())
    assert logits[1] > logits[0] + 0.2
