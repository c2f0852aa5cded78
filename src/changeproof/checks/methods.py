"""The contract of a method as checks on a small real task; people run them on their own."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import joblib
import numpy as np
import pandas as pd

from changeproof import methods
from changeproof.checks.bench import BASE_SEED, Bench, Check, Finding, require, task_and_network
from changeproof.datasets.task import Task
from changeproof.evaluation.factuals import evaluation_factuals
from changeproof.methods.answers import (
    ALREADY_FAVOURABLE,
    FACTUAL_NOT_FINITE,
    NOT_FINITE,
    NOT_FOUND,
    UNCHANGED,
    Counterfactuals,
)
from changeproof.methods.kdtree import KDTree
from changeproof.methods.method import Candidates, Context, Factuals, Method
from changeproof.model import Access, Booleans, Floats, Integers, Model
from changeproof.models.learner import ModelStack
from changeproof.models.network import NetworkLearner
from changeproof.models.private import PrivateLearner
from changeproof.networks.network import Network
from changeproof.networks.training import HIDDEN, TrainingRecipe

TOLERANCE = 1e-9
OUT_OF_REACH = 1e6
PEOPLE = 12


def check_method(method: type[Method] | str | Any) -> list[Finding]:
    """Try a method on a small real task and say where it keeps to the contract.

    Parameters
    ----------
    method
        A subclass of `Method`, an object of one, a function of (context, factuals), a name or an
        import path, with settings or without.

    Returns
    -------
    list of Finding
        One per check: `check`, `outcome` ("passed", "failed" or "info"), what was `seen`, and the
        `fix` where it failed.
    """
    subject = methods.REGISTRY.of(method)
    linear = Access.LINEAR in subject.needs
    task, network = task_and_network(hidden=() if linear else HIDDEN)
    network = LinearNetwork.of(network) if linear else network
    model = _forest(task) if Access.VOTES in subject.needs else network
    people = evaluation_factuals(task, model, BASE_SEED, PEOPLE)
    return MethodBench(subject, task, network, people, model).findings()


def _forest(task: Task) -> Model:
    from sklearn.ensemble import RandomForestClassifier  # slow to import

    from changeproof.models.estimator import EstimatorLearner

    learner = EstimatorLearner(RandomForestClassifier(n_estimators=50, max_depth=6))
    return learner.train([TrainingRecipe(initialisation_seed=BASE_SEED)], task)[0]


class PredictionsOnly:
    offers = Access.PREDICTIONS

    def __init__(self, network: Network) -> None:
        self.probabilities = network.probabilities
        self.favourable = network.favourable


class GradientsToo(PredictionsOnly):
    offers = Access.GRADIENTS

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        self.logits_and_gradients = network.logits_and_gradients


class NoVotes:
    """A forest none of whose trees ever votes for a row."""

    offers, n_voters = Access.VOTES, 50

    def votes(self, rows: Floats) -> Integers:
        return np.zeros(len(rows), dtype=np.int64)

    def probabilities(self, rows: Floats) -> Floats:
        return np.zeros(len(rows))

    def favourable(self, rows: Floats) -> Booleans:
        return np.zeros(len(rows), dtype=np.bool_)


class LinearNetwork(Network):
    """A network without hidden layers: a logistic regression."""

    @classmethod
    def of(cls, network: Network) -> LinearNetwork:
        return cls(network.weights, network.biases)

    @property
    def offers(self) -> Access:
        return Access.LINEAR | Access.RELU_PARAMETERS

    @property
    def coefficients(self) -> Floats:
        return np.asarray(self.weights[0][0], dtype=np.float64)

    @property
    def intercept(self) -> float:
        return float(self.biases[0][0])


class LinearNetworkLearner(NetworkLearner):
    """The same as a learner, for methods that train linear models of their own."""

    traits = replace(NetworkLearner.traits, offers=Access.LINEAR | Access.RELU_PARAMETERS)

    def adapted(self, recipe: TrainingRecipe) -> TrainingRecipe:
        return replace(recipe, hidden=())

    def train(self, recipes: Sequence[TrainingRecipe], task: Task) -> Any:
        networks = super().train(recipes, task)
        return ModelStack([LinearNetwork.of(network) for network in networks])


@dataclass(frozen=True, eq=False)
class MethodBench(Bench):
    people: Factuals
    # The base model: the network, or another where that does not offer what the method needs.
    model: Model

    @cached_property
    def context(self) -> Context:
        if Access.LINEAR not in self.model.offers:
            return Context(self.task, self.model, BASE_SEED)
        learner = PrivateLearner(LinearNetworkLearner())
        return Context(self.task, self.model, BASE_SEED, learner)

    @cached_property
    def whole_batch(self) -> Counterfactuals:
        """The answers to all people at once, which others are compared with."""
        return self._answers(self.people)

    def _fitted(self, model: Any = None) -> Any:
        seen = self.context if model is None else replace(self.context, model=model)
        return self._fresh().fit(seen)

    def _answers(self, people: Factuals, model: Any = None) -> Counterfactuals:
        answers: Counterfactuals = self._fitted(model).generate(people)
        return answers

    def _result(self) -> Floats:
        return self._answers(self.people).rows

    def _each(self) -> list[Factuals]:
        return [self.people[i : i + 1] for i in range(len(self.people))]

    def _state(self) -> dict[str, str]:
        arrays = (self.people.rows, self.people.row_ids)
        return super()._state() | {"the factuals": joblib.hash(arrays)}

    def checks(self) -> list[Check]:
        return [
            Check("answers", self.answers, _ANSWERS),
            Check("name and settings", self.settings, _SETTINGS),
            Check("batch size", self.batch_size, _BATCH),
            Check("order", self.order, _BATCH),
            Check("repetition", self.repetition, _RANDOMNESS),
            Check("another process", self.another_process, _RANDOMNESS),
            Check("no side effects", self.side_effects, _SIDE_EFFECTS),
            Check("no answer exists", self.no_answer_exists, _HONEST),
            Check("people who need none", self.people_who_need_none, _BATCH),
            Check("far from the data", self.far_from_the_data, _HONEST),
            Check("constraints", self.constraints, _CONSTRAINTS),
            Check("needs", self.needs, _NEEDS),
            Check("storage", self.storage, _STORAGE),
            Check("speed", self.speed),
        ]

    def answers(self) -> str:
        """Candidates of the right shape, finite or NaN, and never the factual."""
        given = Factuals(self.people.row_ids.copy(), self.people.rows.copy())
        raw = self._fitted()._search(given)
        require(np.array_equal(given.rows, self.people.rows), "the factuals were changed")
        require(isinstance(raw, Candidates), f"_search returned {type(raw).__name__}")
        array = isinstance(raw.rows, np.ndarray)
        require(array, f"the rows of the candidates are {type(raw.rows).__name__}")
        answers, n = self.whole_batch, len(self.people)
        same = int((answers.outcomes == UNCHANGED).sum())
        require(not same, f"{same} of {n} candidates are the factual itself")
        partial = int((answers.outcomes == NOT_FINITE).sum())
        require(not partial, f"{partial} of {n} candidates are infinite or NaN in part")
        require(answers.found.any(), f"nothing found for any of {n} people")
        return f"{answers.found.sum()} of {n} found, {answers.base_valid.sum()} base-valid"

    def settings(self) -> str:
        """A name that plans can use, and settings that rebuild the method."""
        self.name()
        for method in (self.subject, *self.subject.tuning_candidates()):
            again = type(self.subject)(**json.loads(json.dumps(method.settings())))
            same = again.settings() == method.settings() and repr(again) == repr(method)
            require(same, f"{method!r} is rebuilt as {again!r}")
        return repr(self.subject)

    def batch_size(self) -> str:
        alone = [self._answers(one).rows for one in self._each()]
        return self._same(np.concatenate(alone), "one by one")

    def order(self) -> str:
        backwards = np.arange(len(self.people))[::-1]
        return self._same(self._answers(self.people[backwards]).rows[::-1], "backwards")

    def repetition(self) -> str:
        method = self._fitted()
        method.generate(self.people)
        return self._same(method.generate(self.people).rows, "when asked again")

    def no_answer_exists(self) -> str:
        """On a model that never says yes: no exception, never the factual, reasons."""
        *biases, last = self.network.biases
        never: Model = replace(self.network, biases=(*biases, last - OUT_OF_REACH))
        if Access.VOTES in self.model.offers:
            never = NoVotes()
        answers = self._answers(self.people, never)
        for outcome in (UNCHANGED, NOT_FINITE):
            count = int((answers.outcomes == outcome).sum())
            require(not count, f"{outcome} ({count} of {len(answers)})")
        reasons = sorted(set(answers.outcomes[~answers.found]) - {NOT_FOUND})
        why = f"because: {'; '.join(reasons)}" if reasons else "without a reason of its own"
        return f"{(~answers.found).sum()} of {len(answers)} without an answer, {why}"

    def people_who_need_none(self) -> str:
        """People who are favourable already, or unknown in part, do not affect the others."""
        train = self.task.rows("train")
        rows = np.concatenate([train[self.model.favourable(train)][:1], self.people.rows[:3]])
        rows[1, 0] = np.nan
        answers = self._answers(Factuals(np.r_[-1, self.people.row_ids[:3]], rows))
        expected = [ALREADY_FAVOURABLE, FACTUAL_NOT_FINITE]
        require(answers.outcomes[:2].tolist() == expected, str(answers.outcomes[:2]))
        difference = _difference(answers.rows[2:], self.whole_batch.rows[1:3])
        require(difference <= TOLERANCE, f"the others' answers move by {difference:.2g}")
        return "they get a reason; the others' answers stay the same"

    def far_from_the_data(self) -> str:
        """People far outside of the training range get an answer or a reason."""
        far = self.people.rows + 40 * np.sign(self.people.rows)
        answers = self._answers(Factuals(self.people.row_ids, far))
        outcomes = pd.Series(answers.outcomes).value_counts()
        return ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())

    def constraints(self) -> str:
        """Where not everything may change: no exception, the same one by one as in a batch."""
        task = self.task
        fixed, rising, *_ = (feature.name for feature in task.features)
        task = task.replaced(
            actions={fixed: {"change": "none"}, rising: {"change": "increase"}},
            most_changes=max(2, len(task.features) // 2),
        )
        context = replace(self.context, task=task, actions=task.actions)
        batch = self._fresh().fit(context).generate(self.people)
        alone = [self._fresh().fit(context).generate(one) for one in self._each()]
        difference = _difference(np.concatenate([one.rows for one in alone]), batch.rows)
        require(difference <= TOLERANCE, f"one by one, answers differ by up to {difference:.2g}")
        proposed = batch.realisation.raw_distance
        distances = np.concatenate([one.realisation.raw_distance for one in alone])
        difference = _difference(distances, proposed)
        require(difference <= TOLERANCE, f"one by one, proposals differ by up to {difference:.2g}")
        return (
            f"{batch.found.sum()} of {len(batch)} found, {batch.base_valid.sum()} base-valid; "
            f"{(batch.realisation.raw_breach != '').sum()} of {np.isfinite(proposed).sum()} "
            "proposals were not feasible"
        )

    def needs(self) -> str:
        """Works with a model that offers what it says it needs, and no more."""
        needs = self.subject.needs
        kinds = {Access.PREDICTIONS: PredictionsOnly, Access.GRADIENTS: GradientsToo}
        if needs not in kinds:
            return f"{needs}: all that a model can offer"
        model = kinds[needs](self.network)
        answers = self._answers(self.people, model)
        require(answers.found.any(), f"finds nothing with a model that offers {needs} only")
        return f"{needs} are enough"

    def storage(self) -> str:
        names, buffer = self.task.feature_names, io.BytesIO()
        self.whole_batch.to_frame(names).to_parquet(buffer, index=False)
        back = Counterfactuals.from_frame(pd.read_parquet(buffer), names)
        require(_difference(back.rows, self.whole_batch.rows) == 0, "rows come back changed")
        return f"diagnostics: {', '.join(back.diagnostics) or 'none'}"

    def speed(self) -> str:
        mine, kdtree = map(self._milliseconds, (self._fresh(), KDTree()))
        return f"{mine:.3g} ms per person; kdtree {kdtree:.3g} ms"

    def _milliseconds(self, method: Method) -> float:
        method.fit(self.context).generate(self.people)  # compiles and fills caches
        started = time.perf_counter()
        method.generate(self.people)
        return 1e3 * (time.perf_counter() - started) / len(self.people)

    def _same(self, result: Floats, how: str) -> str:
        first = self.whole_batch.rows
        difference = _difference(result, first)
        close = np.isclose(result, first, rtol=0.0, atol=TOLERANCE, equal_nan=True).all(axis=1)
        require(
            difference <= TOLERANCE,
            f"{(~close).sum()} of {len(first)} answers differ {how}, by up to {difference:.2g}",
        )
        return f"the same answers {how}"


def _difference(rows: Floats, others: Floats) -> float:
    """Return the largest difference; infinite where only one of the two has an answer."""
    if (np.isnan(rows) != np.isnan(others)).any():
        return np.inf
    return float(np.nanmax(np.abs(rows - others), initial=0.0))


_ANSWERS = (
    "_search returns Candidates(rows): a float array with a row per factual, in standardised "
    "units; all NaN, with a reason, where there is no answer, and never the factual itself"
)
_SETTINGS = (
    "name: lower-case letters, digits and hyphens; keep every constructor argument under its own "
    "name (self.steps = steps), as a number, text or list that JSON can hold"
)
_BATCH = (
    "answer every person independently: no statistics over the batch, no state that one answer "
    "leaves for the next"
)
_RANDOMNESS = (
    "take random numbers from changeproof.randomness.stream(task.name, base_seed, 'my-method', "
    "row_id), never from a global generator; do not rely on the order of sets"
)
_SIDE_EFFECTS = (
    "copy rows before changing them, do not train the model further, take random numbers from "
    "changeproof.randomness.stream, and seed PyTorch inside of torch.random.fork_rng() only"
)
_HONEST = (
    "where nothing is found, return a row of NaN and say why in Candidates(rows, reasons=[...]); "
    "do not raise, do not return the factual"
)
_CONSTRAINTS = (
    "propose as if everything may change; where people may be told only certain rows, the nearest "
    "such row that _accepts(rows, people) passes is told instead. An answer must not depend on who "
    "else asks"
)
_NEEDS = (
    "set needs to what is used of the model: Access.PREDICTIONS (probabilities, favourable), "
    "Access.GRADIENTS (logits_and_gradients), Access.LINEAR (coefficients, intercept) or "
    "Access.RELU_PARAMETERS (weights, biases)"
)
_STORAGE = "diagnostics are arrays of numbers, booleans or text, one value per factual"
