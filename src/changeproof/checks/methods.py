"""The contract of a method as checks on a small real task; people run them on their own."""

from __future__ import annotations

import io
import json
import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import joblib
import numpy as np
import pandas as pd

from changeproof.checks.bench import Bench, Check, demand
from changeproof.datasets.task import Task
from changeproof.methods.kdtree import KDTree
from changeproof.methods.method import (
    ALREADY_FAVOURABLE,
    FACTUAL_NOT_FINITE,
    NOT_FINITE,
    NOT_FOUND,
    UNCHANGED,
    Candidates,
    Context,
    Counterfactuals,
    Factuals,
    Method,
)
from changeproof.model import Access, Floats
from changeproof.networks.network import Network

TOLERANCE = 1e-9
OUT_OF_REACH = 1e6


class PredictionsOnly:
    """A model that tells its predictions and nothing else."""

    offers = Access.PREDICTIONS

    def __init__(self, network: Network) -> None:
        self.probabilities = network.probabilities
        self.favourable = network.favourable


class GradientsToo(PredictionsOnly):
    """A model that also tells its gradients."""

    offers = Access.GRADIENTS

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        self.logits_and_gradients = network.logits_and_gradients


@dataclass(frozen=True, eq=False)
class MethodBench(Bench):
    """A method and what it is tried on; every check begins with a new one like it."""

    people: Factuals

    @cached_property
    def context(self) -> Context:
        """What the method sees."""
        return Context(self.task, self.network, self.base_seed)

    @cached_property
    def together(self) -> Counterfactuals:
        """The answers to all people at once, against which the others are held."""
        return self._answers(self.people)

    def _fitted(self, model: Any = None) -> Any:
        seen = self.context if model is None else replace(self.context, model=model)
        return self._fresh().fit(seen)

    def _answers(self, people: Factuals, model: Any = None) -> Counterfactuals:
        answers: Counterfactuals = self._fitted(model).generate(people)
        return answers

    def _asked(self) -> Floats:
        return self._answers(self.people).rows

    def _state(self) -> dict[str, str]:
        arrays = (self.people.rows, self.people.row_ids)
        return super()._state() | {"what was asked": joblib.hash(arrays)}

    def checks(self) -> list[Check]:
        """Return all checks; each says how to mend what it finds."""
        return [
            Check("answers", self.answers, _ANSWERS),
            Check("name and settings", self.settings, _SETTINGS),
            Check("batch size", self.batch, _BATCH),
            Check("order", self.order, _BATCH),
            Check("repetition", self.repetition, _RANDOMNESS),
            Check("another process", self.process, _RANDOMNESS),
            Check("left alone", self.left_alone, _LEFT_ALONE),
            Check("nothing to find", self.nothing_to_find, _HONEST),
            Check("who need not ask", self.need_not_ask, _BATCH),
            Check("far away", self.far_away, _HONEST),
            Check("what may change", self.may_change, _MAY_CHANGE),
            Check("needs", self.needs, _NEEDS),
            Check("storage", self.storage, _STORAGE),
            Check("speed", self.speed, "", judged=False),
        ]

    def answers(self) -> str:
        """Candidates of the right shape, finite or NaN, and never the factual."""
        given = Factuals(self.people.row_ids.copy(), self.people.rows.copy())
        raw = self._fitted()._search(given)
        demand(np.array_equal(given.rows, self.people.rows), "the factuals were changed")
        demand(isinstance(raw, Candidates), f"_search returned {type(raw).__name__}")
        array = isinstance(raw.rows, np.ndarray)
        demand(array, f"the rows of the candidates are {type(raw.rows).__name__}")
        answers, n = self.together, len(self.people)
        same = int((answers.outcomes == UNCHANGED).sum())
        demand(not same, f"{same} of {n} candidates are the factual itself")
        partial = int((answers.outcomes == NOT_FINITE).sum())
        demand(not partial, f"{partial} of {n} candidates are infinite or NaN in part")
        demand(answers.found.any(), f"nothing found for any of {n} people")
        return f"{answers.found.sum()} of {n} found, {answers.base_valid.sum()} base-valid"

    def settings(self) -> str:
        """A name that plans can use, and settings that rebuild the method."""
        self.name()
        for method in (self.tried, *self.tried.tuning_candidates()):
            again = type(self.tried)(**json.loads(json.dumps(method.settings())))
            same = again.settings() == method.settings() and repr(again) == repr(method)
            demand(same, f"{method!r} is rebuilt as {again!r}")
        return repr(self.tried)

    def batch(self) -> str:
        """One by one as together."""
        alone = [self._answers(self.people[i : i + 1]).rows for i in range(len(self.people))]
        return self._same(np.concatenate(alone), "one by one")

    def order(self) -> str:
        """Backwards as forwards."""
        backwards = np.arange(len(self.people))[::-1]
        return self._same(self._answers(self.people[backwards]).rows[::-1], "backwards")

    def repetition(self) -> str:
        """The second time as the first."""
        method = self._fitted()
        method.generate(self.people)
        return self._same(method.generate(self.people).rows, "asked again")

    def nothing_to_find(self) -> str:
        """On a model that never says yes: no exception, no factual, reasons."""
        *biases, last = self.network.biases
        never = Network(self.network.weights, (*biases, last - OUT_OF_REACH))
        answers = self._answers(self.people, never)
        for outcome in (UNCHANGED, NOT_FINITE):
            count = int((answers.outcomes == outcome).sum())
            demand(not count, f"{outcome} ({count} of {len(answers)})")
        reasons = sorted(set(answers.outcomes[~answers.found]) - {NOT_FOUND})
        told = f"because: {'; '.join(reasons)}" if reasons else "no reason of its own"
        return f"{(~answers.found).sum()} of {len(answers)} without an answer, {told}"

    def need_not_ask(self) -> str:
        """People who are favourable already, or unknown in part, disturb nobody."""
        train = self.task.rows("train")
        rows = np.concatenate([train[self.network.favourable(train)][:1], self.people.rows[:3]])
        rows[1, 0] = np.nan
        answers = self._answers(Factuals(np.r_[-1, self.people.row_ids[:3]], rows))
        expected = [ALREADY_FAVOURABLE, FACTUAL_NOT_FINITE]
        demand(answers.outcomes[:2].tolist() == expected, str(answers.outcomes[:2]))
        difference = _difference(answers.rows[2:], self.together.rows[1:3])
        demand(difference <= TOLERANCE, f"the others' answers move by {difference:.2g}")
        return "get a reason; the others' answers stay the same"

    def far_away(self) -> str:
        """People far outside of the training range are answered or refused."""
        far = self.people.rows + 40 * np.sign(self.people.rows)
        answers = self._answers(Factuals(self.people.row_ids, far))
        outcomes = pd.Series(answers.outcomes).value_counts()
        return ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())

    def may_change(self) -> str:
        """Where not everything may change: no exception, one by one as together."""
        task = self._constrained()
        context = replace(self.context, task=task, actions=task.actions)
        together = self._fresh().fit(context).generate(self.people)
        each = (self.people[i : i + 1] for i in range(len(self.people)))
        alone = [self._fresh().fit(context).generate(one) for one in each]
        difference = _difference(np.concatenate([one.rows for one in alone]), together.rows)
        demand(difference <= TOLERANCE, f"one by one, answers differ by up to {difference:.2g}")
        proposed = together.realisation
        assert proposed is not None
        lengths = np.concatenate([one.realisation.raw_distance for one in alone if one.realisation])
        difference = _difference(lengths, proposed.raw_distance)
        demand(difference <= TOLERANCE, f"one by one, proposals differ by up to {difference:.2g}")
        broken = int((proposed.raw_breach != "").sum())
        own = int(np.isfinite(proposed.raw_distance).sum())
        return (
            f"{together.found.sum()} of {len(together)} found, {together.base_valid.sum()} "
            f"base-valid; {broken} of {own} proposals were not feasible"
        )

    def _constrained(self) -> Task:
        """Return the task with something that may not change, and something only one way."""
        task = self.task
        fixed, rising, *_ = (feature.name for feature in task.features)
        actions = {fixed: {"change": "none"}, rising: {"change": "increase"}}
        ids = task.given_ids
        parts = (task.name, task.frame, task.labels, task.split, task.features, ids)
        return Task(*parts, actions=actions, most_changes=max(2, len(task.features) // 2))

    def needs(self) -> str:
        """Works with a model that offers what it needs and not more."""
        needs = self.tried.needs
        if needs is Access.RELU_PARAMETERS:
            return f"says {needs}: all there is"
        model = (PredictionsOnly if needs is Access.PREDICTIONS else GradientsToo)(self.network)
        answers = self._answers(self.people, model)
        demand(answers.found.any(), f"finds nothing with a model that offers {needs} only")
        return f"{needs} are enough"

    def storage(self) -> str:
        """Answers and diagnostics survive a Parquet file."""
        names, buffer = self.task.feature_names, io.BytesIO()
        self.together.to_frame(names).to_parquet(buffer, index=False)
        back = Counterfactuals.from_frame(pd.read_parquet(buffer), names)
        demand(_difference(back.rows, self.together.rows) == 0, "rows come back changed")
        return f"diagnostics: {', '.join(back.diagnostics) or 'none'}"

    def speed(self) -> str:
        """How long a request takes, and kdtree's."""
        mine, kdtree = map(self._milliseconds, (self._fresh(), KDTree()))
        return f"{mine:.3g} ms per person; kdtree {kdtree:.3g} ms"

    def _milliseconds(self, method: Method) -> float:
        method.fit(self.context).generate(self.people)  # whatever is compiled or cached at first
        started = time.perf_counter()
        method.generate(self.people)
        return 1e3 * (time.perf_counter() - started) / len(self.people)

    def _same(self, answers: Floats, how: str) -> str:
        held = self.together.rows
        difference = _difference(answers, held)
        close = np.isclose(answers, held, rtol=0.0, atol=TOLERANCE, equal_nan=True).all(axis=1)
        demand(
            difference <= TOLERANCE,
            f"{(~close).sum()} of {len(held)} answers differ {how}, by up to {difference:.2g}",
        )
        return f"the same answers {how}"


def _difference(rows: Floats, others: Floats) -> float:
    """Return the largest difference; infinite where only one of both has an answer."""
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
    "answer every person by themselves: no statistics over the batch, no state that one answer "
    "leaves behind for the next"
)
_RANDOMNESS = (
    "take random numbers from changeproof.randomness.stream(task.name, base_seed, 'my-method', "
    "row_id), never from a global generator; do not rely on the order of sets"
)
_LEFT_ALONE = (
    "copy rows before changing them, do not train the model further, take random numbers from "
    "changeproof.randomness.stream, and seed PyTorch inside of torch.random.fork_rng() only"
)
_HONEST = (
    "where nothing is found, return a row of NaN and say why in Candidates(rows, reasons=[...]); "
    "do not raise, do not return the factual"
)
_MAY_CHANGE = (
    "propose as if everything may change; where people may be told only certain rows, the nearest "
    "such row that _accepts(rows, people) passes is told instead. An answer must not depend on who "
    "else asks"
)
_NEEDS = (
    "set needs to what is used of the model: Access.PREDICTIONS (probabilities, favourable), "
    "Access.GRADIENTS (logits_and_gradients) or Access.RELU_PARAMETERS (weights, biases)"
)
_STORAGE = "diagnostics are arrays of numbers, booleans or text, one value per factual"
