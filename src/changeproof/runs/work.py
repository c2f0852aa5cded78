"""The kinds of pieces: which ones a run has, from what, and how the bytes of each are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from changeproof.changes import SUCCESSOR
from changeproof.changes.bank import Bank, build_bank, reserved_recipes
from changeproof.changes.family import REPLICATES, BaseModel, Family
from changeproof.changes.magnitude import change_magnitudes
from changeproof.changes.successors import Successors
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.evaluation.counting import changes_nothing
from changeproof.evaluation.factuals import evaluation_factuals, named_factuals, tuning_factuals
from changeproof.evaluation.letters import Asking, letter_scores, renewals
from changeproof.evaluation.limit import PERCENTS, find_limit, to_be_asked
from changeproof.evaluation.survival import survival
from changeproof.fingerprints.sources import code_digest
from changeproof.fingerprints.things import fingerprint
from changeproof.methods.method import Context, Counterfactuals, Factuals, Method
from changeproof.methods.tuning import candidates, chosen, tune
from changeproof.model import Floats, Model, Stack
from changeproof.models.cache import model_cache
from changeproof.models.learner import Learner, stacked
from changeproof.models.private import PrivateLearner
from changeproof.models.thresholds import ThresholdLearner
from changeproof.networks.training import TrainingRecipe
from changeproof.runs.content import (
    arrays_to_bytes,
    models_from_bytes,
    models_to_bytes,
    table_from_bytes,
    table_to_bytes,
)
from changeproof.runs.pieces import Kind, Piece, in_order
from changeproof.runs.plan import TUNING_SEED
from changeproof.runs.resolve import ResolvedRun

# How far probabilities may be apart when the same model is trained twice.
SAME_PROBABILITIES = 1e-6

# Rough guesses of seconds, for progress bars, for starting long pieces first, and for what is not
# worth a worker process. What training a model takes that is not ours:
OWN_FIT = 0.2
# The limit per person; where not every row can be told; with a model that is not ours.
LIMIT, FEASIBLE_LIMIT, OWN_LIMIT = 0.05, 0.3, 1.0
# So many columns double the search for feasible rows.
TWICE_AS_LONG = 200


def pieces_of(run: ResolvedRun) -> tuple[Piece, ...]:
    """Return every piece of a run, each once and after its inputs."""
    every = (piece for name in run.tasks for piece in _OfTask(run, name).pieces())
    return tuple(in_order(dict.fromkeys(every)))


class _OfTask:
    """The pieces of a task, each with all that goes into it and a guess of its seconds."""

    def __init__(self, run: ResolvedRun, dataset: str) -> None:
        self.run, self.dataset = run, dataset
        self.plan, self.task, self.learner = run.plan, run.tasks[dataset], run.learner
        self.asked: dict[str, Any] = {
            "factuals": self.plan.factuals,
            "rows": self.plan.rows,
            "feasible": self.plan.feasible,
        }

    def pieces(self) -> Iterator[Piece]:
        """Yield base models, then what is made from them."""
        run = self.run
        tuned = [name for name, method in run.methods.items() if len(candidates(method)) > 1]
        tunings = {name: self._tuning(self._base(TUNING_SEED), name) for name in tuned}
        for tuning in tunings.values():
            yield from (*tuning.inputs, tuning)
        for seed in self.plan.base_seeds:
            base = self._base(seed)
            yield base
            answers = [self._answers(base, name, tunings.get(name)) for name in run.methods]
            yield from answers
            banks = [self._bank(base, name) for name in run.families]
            for bank in banks:
                yield bank
                yield from (self._put_to(bank, each, Kind.SURVIVAL) for each in answers)
                if bank.family == SUCCESSOR:
                    yield from self._letters(bank, answers)
            if self.plan.limit:
                limit = replace(base, **self.asked, cost=self._limit_cost())
                averaged = [bank for bank in banks if bank.family in run.averaged]
                yield _with_inputs(Kind.LIMIT, limit, (base, *averaged))

    def _base(self, seed: int) -> Piece:
        task, model = self.task.fingerprint, self.learner.fingerprint[:12]
        key = fingerprint(kind=Kind.BASE, task=task, seed=seed, model=model)
        return Piece(Kind.BASE, self.dataset, seed, key, cost=self._training_cost(1))

    def _bank(self, base: Piece, name: str) -> Piece:
        family = self.run.families[name]
        bank = replace(
            base,
            family=name,
            shares_models=not self.learner.stores_models,
            cost=self._bank_cost(family),
        )
        return _with_inputs(Kind.BANK, bank, (base,), family.fingerprint)

    def _tuning(self, base: Piece, name: str) -> Piece:
        method, feasible = self.run.methods[name], self.plan.feasible
        cost = method.cost.tuning * self._longer if feasible else 1.0
        tuning = replace(base, method=name, feasible=feasible, cost=cost)
        return _with_inputs(Kind.TUNING, tuning, (base,), method.fingerprint)

    def _answers(self, base: Piece, name: str, tuning: Piece | None) -> Piece:
        method = self.run.methods[name]
        answers = replace(base, **self.asked, method=name, cost=self._answering_cost(method))
        inputs = (base,) if tuning is None else (base, tuning)
        return _with_inputs(Kind.COUNTERFACTUALS, answers, inputs, method.fingerprint)

    def _put_to(
        self, bank: Piece, answers: Piece, kind: Kind, maker: str = "", **more: Any
    ) -> Piece:
        """Return a piece about what changed models say of answers."""
        asked: dict[str, Any] = {
            "factuals": 0,
            "rows": None,
            "feasible": False,
            "cost": 0.02,
            **more,
        }
        return _with_inputs(
            kind, replace(answers, **asked, family=bank.family), (answers, bank), maker
        )

    def _letters(self, bank: Piece, answers: Sequence[Piece]) -> Iterator[Piece]:
        """Yield scores of letters and, where it is asked for, their renewals."""
        renewer = self.run.renewer
        for each in (each for each in answers if each.method in self.run.letters):
            yield self._put_to(bank, each, Kind.LETTERS)
            if renewer is not None:
                maker = f"{renewer.name} {renewer.fingerprint}"
                more = {"feasible": self.plan.feasible, "cost": self._answering_cost(renewer)}
                yield self._put_to(bank, each, Kind.RENEWALS, maker, **more)

    def _training_cost(self, networks: float) -> float:
        products = len(self.task.split.train) * (self.task.n_features * 32 + 32 * 32)
        return 0.002 + networks * products * 3.5e-8

    def _bank_cost(self, family: Family) -> float:
        models = family.expected_models
        if not family.trains:
            made = 0.0 if self.learner.stores_models else models / REPLICATES * OWN_FIT
            return self._training_cost(0.0) + made
        if not self.learner.stores_models:
            return models * OWN_FIT
        return self._training_cost(models * family.cost)

    @property
    def _longer(self) -> float:
        """How many times as long the search for feasible rows takes with so many columns."""
        return 1.0 + self.task.n_features / TWICE_AS_LONG

    @property
    def _people(self) -> int:
        return self.plan.factuals if self.plan.rows is None else len(self.plan.rows)

    def _answering_cost(self, method: Method) -> float:
        cost = method.cost
        if not self.learner.stores_models:
            return 0.05 + self._people * cost.own_model + cost.models * OWN_FIT
        each = cost.feasible * self._longer if self.plan.feasible else cost.per_person
        trained = self._training_cost(0.7 * cost.models) if cost.models else 0.0
        return 0.05 + self._people * each + trained

    def _limit_cost(self) -> float:
        """Models that are not kept are made again for it."""
        if self.learner.stores_models:
            return 0.1 + self._people * (FEASIBLE_LIMIT if self.plan.feasible else LIMIT)
        made = sum(self._bank_cost(self.run.families[name]) for name in self.run.averaged)
        return made + self._people * OWN_LIMIT


def _with_inputs(kind: Kind, piece: Piece, inputs: tuple[Piece, ...], maker: str = "") -> Piece:
    """Return a piece of a kind, with the fingerprint of all that goes into it.

    `maker` is the fingerprint of its method or family.
    """
    # Answers as published need not know that there are others.
    feasible = {"feasible": True} if piece.feasible else {}
    key = fingerprint(
        **feasible,
        kind=kind,
        inputs=[part.fingerprint for part in inputs],
        method=piece.method,
        family=piece.family,
        factuals=piece.factuals,
        rows=piece.rows,
        maker=maker,
        code=code_digest(*(f"changeproof.{module}" for module in CODE[kind])),
    )
    return replace(piece, kind=kind, inputs=inputs, fingerprint=key)


class Ingredients(NamedTuple):
    """What a piece is made with, besides its inputs; `families` are those of the whole run."""

    task: Task
    learner: Learner
    method: Method | None
    family: Family | None
    families: tuple[Family, ...]


# The bytes of a piece, and the seconds of the search where people were answered.
Computed = tuple[bytes, float | None]
Maker = Callable[[Piece, Ingredients, Mapping[str, bytes]], bytes | Computed]
MAKERS: dict[Kind, Maker] = {}
CODE: dict[Kind, tuple[str, ...]] = {}


def makes(kind: Kind, *modules: str) -> Callable[[Maker], Maker]:
    """Register how a kind of piece is made, and the code of ours that it depends on."""

    def register(maker: Maker) -> Maker:
        MAKERS[kind], CODE[kind] = maker, modules
        return maker

    return register


@dataclass(frozen=True)
class _Base:
    """A base model that is kept, as what is made from it finds it."""

    fingerprint: str
    seed: int
    learner: Learner
    task: Task = field(compare=False)
    content: bytes = field(default=b"", compare=False)


def compute(piece: Piece, ingredients: Ingredients, inputs: Mapping[str, bytes]) -> Computed:
    """Compute a piece from its inputs, which are there by fingerprint."""
    made = MAKERS[piece.kind](piece, ingredients, inputs)
    return made if isinstance(made, tuple) else (made, None)


@makes(Kind.BASE)
def _make_base(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> bytes:
    """Train a base model; keep it, and how it judges the test rows."""
    task = using.task
    stack = _trained(_Base(piece.fingerprint, piece.base_seed, using.learner, task))
    probabilities = stack[0].probabilities(task.rows("test"))
    predicted = stack[0].favourable(task.rows("test"))
    for decided, what, then in (
        (not predicted.any(), "accepts nobody", "no advice can lead to what it never decides"),
        (predicted.all(), "accepts everybody", "nobody needs advice"),
    ):
        if decided:
            raise InputError(
                f"{using.learner.name} {what} of the {len(predicted)} test rows of {task.name!r}, "
                f"so {then}; perhaps another threshold, weights for the rarer outcome, or another "
                "model"
            )
    from sklearn.metrics import balanced_accuracy_score  # 0.4 s that reading a run does without

    accuracy = balanced_accuracy_score(task.labels_of("test"), predicted)
    record = {"balanced_accuracy": float(accuracy)}
    return models_to_bytes(stack, record, {"probabilities": probabilities})


def _base(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> _Base:
    content = inputs[piece.fingerprint]
    return _Base(piece.fingerprint, piece.base_seed, using.learner, using.task, content)


@lru_cache(maxsize=2)
def _trained(base: _Base) -> Stack:
    return base.learner.train([TrainingRecipe(initialisation_seed=base.seed)], base.task)


@lru_cache(maxsize=2)
def _model(base: _Base) -> Model:
    """Return a base model as it was kept, or trained again and held against what was kept."""
    kept = models_from_bytes(base.content)
    if kept.stack is not None:
        return kept.stack[0]
    model = _trained(base)[0]
    again = model.probabilities(base.task.rows("test"))
    difference = np.abs(again - kept.arrays["probabilities"]).max()
    if difference > SAME_PROBABILITIES:
        raise InputError(
            f"model {base.learner.name} is not the same when trained twice with the same "
            f"seed (probabilities differ by up to {difference:.2g}); training must depend on "
            "nothing but rows, labels, weights and seed"
        )
    return model


@makes(Kind.BANK, "changes.bank", "changes.magnitude")
def _make_bank(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> bytes:
    """Make a family's changed models; keep them, and how far they are from the base model."""
    base = _base(piece.inputs[0], using, inputs)
    bank = _bank(base, _family(using))
    measured = change_magnitudes(using.task, _model(base), bank.stack)
    table = pd.concat([bank.table, measured], axis="columns")
    return models_to_bytes(bank.stack, {"table": table.to_dict(orient="list")})


@lru_cache(maxsize=1)
def _bank(base: _Base, family: Family) -> Bank:
    """Make changed models; pieces that share them follow each other."""
    changing = BaseModel(base.seed, _model(base))
    with model_cache(base.content):
        return build_bank(base.task, changing, [family], base.learner)


def _context(piece: Piece, base: _Base, using: Ingredients) -> Context:
    model = _model(base)
    reserved = partial(_reserved, base, using.families)
    learner = PrivateLearner(using.learner, reserved)
    actions = using.task.actions if piece.feasible else None
    return Context(using.task, model, base.seed, learner, actions)


@lru_cache(maxsize=2)
def _reserved(base: _Base, families: tuple[Family, ...]) -> frozenset[str]:
    changing = BaseModel(base.seed, _model(base))
    return frozenset(reserved_recipes(base.task, changing, base.learner, families))


@makes(Kind.TUNING, "methods.tuning", "evaluation.factuals")
def _make_tuning(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> bytes:
    """Score a method's candidate settings on validation rows."""
    base = _base(piece.inputs[0], using, inputs)
    context = _context(piece, base, using)
    factuals = tuning_factuals(context.task, context.model, piece.base_seed)
    with model_cache(base.content):
        return table_to_bytes(tune(candidates(_method(using)), context, factuals))


@makes(Kind.COUNTERFACTUALS, "methods.tuning", "evaluation.factuals")
def _make_answers(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> Computed:
    """Have a method answer the people of a base model."""
    base_piece, *tuned = piece.inputs
    base = _base(base_piece, using, inputs)
    context = _context(piece, base, using)
    method = candidates(_method(using))[0]
    for tuning in tuned:
        method = chosen(method, table_from_bytes(inputs[tuning.fingerprint]))
    with model_cache(base.content):
        answers = method.fit(context).generate(_factuals(piece, context))
    table = answers.to_frame(context.task.feature_names)
    return table_to_bytes(table), float(answers.seconds.sum())


def _factuals(piece: Piece, context: Context) -> Factuals:
    if piece.rows is not None:
        return named_factuals(context.task, piece.rows)
    return evaluation_factuals(context.task, context.model, piece.base_seed, piece.factuals)


@makes(Kind.SURVIVAL, "evaluation.survival")
def _make_survival(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> bytes:
    """Put a method's answers to a family's changed models, kept or made again."""
    asked, bank = piece.inputs
    answers = _stored_answers(inputs[asked.fingerprint], tuple(using.task.feature_names))
    stack = _stored_stack(inputs[bank.fingerprint])
    if stack is None:
        stack = _bank(_base(bank.inputs[0], using, inputs), _family(using)).stack
    survived = survival(answers, stack)
    return arrays_to_bytes({"row_id": answers.row_ids, "survived": survived})


@makes(Kind.LIMIT, "evaluation.limit", "evaluation.factuals", "evaluation.counting")
def _make_limit(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> bytes:
    """Look for the limit of the people of a base model, with all changed models at hand.

    Where families change nothing about it, also for that over the others: whether they count is
    known when all base models are finished.
    """
    base_piece, *banks = piece.inputs
    base = _base(base_piece, using, inputs)
    context = _context(piece, base, using)
    families = {family.name: family for family in using.families}
    stacks, tables = [], []
    for bank in banks:
        stored = models_from_bytes(inputs[bank.fingerprint])
        stack = stored.stack
        stacks.append(_bank(base, families[bank.family]).stack if stack is None else stack)
        tables.append(pd.DataFrame(stored.record["table"]))
    people = _factuals(piece, context)
    asked = to_be_asked(context.model, people.rows)
    rows, row_ids = people.rows[asked], people.row_ids[asked]
    kept = using.task.kept_of(row_ids, rows)

    def found(stacks: Sequence[Stack], sizes: Sequence[int]) -> Floats:
        changed = stacked([stack[place] for stack in stacks for place in range(len(stack))])
        if context.actions is None or kept is None:
            return find_limit(using.task, context.model, changed, sizes, rows, context.actions)
        result = np.full((1 + len(sizes), len(PERCENTS), *rows.shape), np.nan)
        for actions, who in context.actions.by_kept(kept):
            result[:, :, who] = find_limit(
                using.task, context.model, changed, sizes, rows[who], actions
            )
        return result

    arrays = {"row_id": row_ids, "rows": found(stacks, [len(stack) for stack in stacks])}
    idle = changes_nothing(tables)
    changing = [stack for stack, bank in zip(stacks, banks, strict=True) if bank.family not in idle]
    if 0 < len(changing) < len(stacks):
        arrays["changing"] = found(changing, [])[0]
    return arrays_to_bytes(arrays)


@makes(Kind.LETTERS, "evaluation.letters")
def _make_letters(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> bytes:
    """Have today's model and its successors say how good letters are."""
    asked, bank = piece.inputs
    answers = _stored_answers(inputs[asked.fingerprint], tuple(using.task.feature_names))
    base = _base(bank.inputs[0], using, inputs)
    threshold = using.learner.threshold if isinstance(using.learner, ThresholdLearner) else None
    stack = _bank(base, _family(using)).stack
    scores = letter_scores(answers, _model(base), threshold, stack)
    return arrays_to_bytes(scores.to_arrays())


@makes(Kind.RENEWALS, "evaluation.letters")
def _make_renewals(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> bytes:
    """Have a method advise those whose letters a successor breaks, from their letters on."""
    answers = _stored_answers(inputs[piece.inputs[0].fingerprint], tuple(using.task.feature_names))
    family, actions = _family(using), using.task.actions if piece.feasible else None
    assert isinstance(family, Successors)
    asking = Asking(using.task, piece.base_seed, actions)
    table = renewals(answers, family.at_hand, _method(using), asking)
    return table_to_bytes(table)


@lru_cache(maxsize=32)
def _stored_answers(content: bytes, feature_names: tuple[str, ...]) -> Counterfactuals:
    """Return a method's answers; they are put to one family after the other."""
    return Counterfactuals.from_frame(table_from_bytes(content), feature_names)


@lru_cache(maxsize=1)
def _stored_stack(content: bytes) -> Stack | None:
    return models_from_bytes(content).stack


def _method(using: Ingredients) -> Method:
    """Return a method that can be fitted without leaving anything behind in the run's."""
    assert using.method is not None
    return copy(using.method)


def _family(using: Ingredients) -> Family:
    assert using.family is not None
    return using.family
