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
from changeproof.changes.bank import Bank, build_bank, change_magnitudes, reserved_recipes
from changeproof.changes.family import REPLICATES, BaseModel, Family
from changeproof.changes.successors import Successors
from changeproof.datasets.task import Task
from changeproof.errors import InputError, one_line
from changeproof.evaluation.counting import changes_nothing, counting_families
from changeproof.evaluation.factuals import (
    evaluation_factuals,
    named_factuals,
    survival,
    tuning_factuals,
)
from changeproof.evaluation.imprecise import held_imprecisely
from changeproof.evaluation.letters import letter_scores, renewals
from changeproof.evaluation.limit import find_future_limit, find_limit, rejected
from changeproof.evaluation.reasons import find_reasons
from changeproof.feasible.actions import Actions
from changeproof.fingerprints.sources import code_digest
from changeproof.fingerprints.things import fingerprint
from changeproof.methods.alternatives import left_alone
from changeproof.methods.answers import Counterfactuals
from changeproof.methods.method import Context, Factuals, Method
from changeproof.methods.tuning import candidates, chosen, tune
from changeproof.model import Floats, Model, Stack
from changeproof.models.cache import model_cache
from changeproof.models.learner import Learner, stacked
from changeproof.models.private import PrivateLearner
from changeproof.models.thresholds import ThresholdLearner
from changeproof.networks.training import TrainingRecipe
from changeproof.runs.content import (
    Refit,
    arrays_to_bytes,
    models_from_bytes,
    models_to_bytes,
    table_from_bytes,
    table_to_bytes,
)
from changeproof.runs.judged import refits_of
from changeproof.runs.pieces import FUTURES, Kind, Piece, first_choice, further_choice, in_order
from changeproof.runs.plan import TUNING_SEED
from changeproof.runs.resolve import ResolvedRun

# How far probabilities may be apart when the same model is trained twice.
SAME_PROBABILITIES = 1e-6

# Rough guesses of seconds, for progress bars, for starting long pieces first, and for what is not
# worth a worker process. What training a model takes that is not ours:
OWN_FIT = 0.2
# The limit per person; where not every row can be told; with a model that is not ours.
LIMIT, FEASIBLE_LIMIT, OWN_LIMIT = 0.05, 0.3, 1.0
# The reasons for a decision, per person.
REASONS = 0.02
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

    def pieces(self) -> Iterator[Piece]:
        """Yield base models, then what is made from them."""
        run, plan = self.run, self.plan
        feasible = plan.feasible
        people: dict[str, Any] = {"factuals": plan.factuals, "rows": plan.rows}
        tunings: dict[str, list[Piece]] = {name: [] for name in run.methods}
        for name, method in run.methods.items():
            if len(candidates(method)) > 1:
                base = self._base(TUNING_SEED)
                cost = method.cost.tuning * self._longer if feasible else 1.0
                more: dict[str, Any] = {"method": name, "feasible": feasible, "cost": cost}
                tuning = _made_from([base], Kind.TUNING, method.fingerprint, **more)
                tunings[name] = [tuning]
                yield from (base, tuning)
        for base in map(self._base, plan.base_seeds):
            yield base
            answers = []
            for name, method in run.methods.items():
                more = {"method": name, "feasible": feasible, "cost": self._answering_cost(method)}
                inputs = [base, *tunings[name]]
                key = method.fingerprint
                answers.append(_made_from(inputs, Kind.COUNTERFACTUALS, key, **people, **more))
            yield from answers
            further = [each for first in answers for each in self._further(first)]
            yield from further
            banks = []
            for name, family in run.families.items():
                bank = _made_from(
                    [base],
                    Kind.BANK,
                    family.fingerprint,
                    family=name,
                    shares_models=not self.learner.stores_models,
                    cost=self._bank_cost(family),
                )
                banks.append(bank)
                yield bank
                yield from (_judging(bank, each, Kind.SURVIVAL) for each in (*answers, *further))
                if name == SUCCESSOR:
                    yield from self._letters(bank, answers)
            if run.judged is not None and run.judged.refitted:
                yield _made_from([base], Kind.REFIT, cost=OWN_FIT)
                yield from (_made_from([each], Kind.REFIT, method=each.method) for each in answers)
            if plan.imprecise:
                yield from (
                    _made_from([each], Kind.IMPRECISE, method=each.method)
                    for each in (*answers, *further)
                )
            if plan.reasons:
                more = {"feasible": True, "cost": 0.05 + self._people * REASONS * self._longer}
                yield _made_from([base], Kind.REASONS, **people, **more)
            if plan.limit:
                needed = [bank for bank in banks if bank.family in self._limit_families]
                more = {"feasible": feasible, "cost": self._limit_cost()}
                yield _made_from([base, *needed], Kind.LIMIT, **people, **more)

    def _further(self, first: Piece) -> Iterator[Piece]:
        """Yield the second, third, … answers of a method, each made from those before."""
        if first.method in self.plan.counterfactuals:
            return
        earlier = [first]
        for number in range(2, self.plan.alternatives + 1):
            name = further_choice(first.method, number)
            more = {each: getattr(first, each) for each in ("factuals", "rows", "feasible", "cost")}
            key = self.run.methods[first.method].fingerprint
            inputs = [*first.inputs, *earlier]
            piece = _made_from(inputs, Kind.COUNTERFACTUALS, key, method=name, **more)
            earlier.append(piece)
            yield piece

    def _base(self, seed: int) -> Piece:
        task, model = self.task.fingerprint, self.learner.fingerprint[:12]
        key = fingerprint(kind=Kind.BASE, task=task, seed=seed, model=model)
        return Piece(Kind.BASE, self.dataset, seed, key, cost=self._training_cost(1))

    def _letters(self, bank: Piece, answers: Sequence[Piece]) -> Iterator[Piece]:
        renewer = self.run.renewer
        for each in (each for each in answers if each.method in self.run.letters):
            yield _judging(bank, each, Kind.LETTERS)
            if renewer is not None:
                maker = f"{renewer.name} {renewer.fingerprint}"
                more = {"feasible": self.plan.feasible, "cost": self._answering_cost(renewer)}
                yield _judging(bank, each, Kind.RENEWALS, maker, **more)

    def _training_cost(self, networks: float) -> float:
        products = len(self.task.split.train) * (self.task.n_features * 32 + 32 * 32)
        return 0.002 + networks * products * 3.5e-8

    def _bank_cost(self, family: Family) -> float:
        models = family.expected_models
        if self.learner.stores_models:
            return self._training_cost(models * family.cost if family.trains else 0.0)
        if family.trains:
            return models * OWN_FIT
        return self._training_cost(0.0) + models / REPLICATES * OWN_FIT

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

    @property
    def _limit_families(self) -> list[str]:
        """Families that count, whose limit is that of models, and sequences: that of futures."""
        counting, families = self.run.counting_families, self.run.families
        return [name for name in families if name in counting or families[name].sequence]

    def _limit_cost(self) -> float:
        """Models that are not kept are made again for it."""
        searches = 1 + sum(family.sequence for family in self.run.families.values())
        if self.learner.stores_models:
            each = FEASIBLE_LIMIT if self.plan.feasible else LIMIT
            return 0.1 + searches * self._people * each
        made = sum(self._bank_cost(self.run.families[name]) for name in self._limit_families)
        return made + searches * self._people * OWN_LIMIT


def _judging(bank: Piece, answers: Piece, kind: Kind, maker: str = "", **more: Any) -> Piece:
    """Return a piece about what changed models say of answers."""
    more = {"cost": 0.02, "method": answers.method, "family": bank.family} | more
    return _made_from([answers, bank], kind, maker, **more)


def _made_from(inputs: Sequence[Piece], kind: Kind, maker: str = "", **more: Any) -> Piece:
    """Return a piece of a kind, with the fingerprint of all that goes into it.

    `maker` is the fingerprint of its method or family, `more` are fields of the piece.
    """
    first = inputs[0]
    piece = Piece(kind, first.dataset, first.base_seed, "", inputs=tuple(inputs), **more)
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
    return replace(piece, fingerprint=key)


class Ingredients(NamedTuple):
    """What a piece is made with, besides its inputs; `families` are those of the whole run."""

    task: Task
    learner: Learner
    method: Method | None
    family: Family | None
    families: tuple[Family, ...]


class Making(NamedTuple):
    """A piece that is to be made, with what it is made with and the bytes of its inputs."""

    piece: Piece
    using: Ingredients
    inputs: Mapping[str, bytes]

    def content(self, piece: Piece) -> bytes:
        return self.inputs[piece.fingerprint]

    def base(self, piece: Piece) -> _Base:
        using = self.using
        content = self.content(piece)
        return _Base(piece.fingerprint, piece.base_seed, using.learner, using.task, content)

    @property
    def method(self) -> Method:
        """A method that can be fitted without leaving anything behind in the run's."""
        assert self.using.method is not None
        return copy(self.using.method)

    @property
    def family(self) -> Family:
        assert self.using.family is not None
        return self.using.family

    def answers(self, piece: Piece) -> Counterfactuals:
        return _stored_answers(self.content(piece), tuple(self.using.task.feature_names))

    def context(self, base: _Base) -> Context:
        reserved = partial(_reserved, base, self.using.families)
        learner = PrivateLearner(base.learner, reserved)
        actions = base.task.actions if self.piece.feasible else None
        return Context(base.task, _model(base), base.seed, learner, actions)

    def factuals(self, context: Context) -> Factuals:
        piece = self.piece
        if piece.rows is not None:
            return named_factuals(context.task, piece.rows)
        return evaluation_factuals(context.task, context.model, piece.base_seed, piece.factuals)


# The bytes of a piece, and the seconds of the search where people were answered.
Computed = tuple[bytes, float | None]
Maker = Callable[[Making], bytes | Computed]
MAKERS: dict[Kind, Maker] = {}
CODE: dict[Kind, tuple[str, ...]] = {}


def makes(kind: Kind, *modules: str) -> Callable[[Maker], Maker]:
    """Register how a kind of piece is made, and the code of ours that it depends on."""

    def register(maker: Maker) -> Maker:
        MAKERS[kind], CODE[kind] = maker, modules
        return maker

    return register


def compute(piece: Piece, ingredients: Ingredients, inputs: Mapping[str, bytes]) -> Computed:
    made = MAKERS[piece.kind](Making(piece, ingredients, inputs))
    return made if isinstance(made, tuple) else (made, None)


@dataclass(frozen=True)
class _Base:
    """A base model that is kept, as what is made from it finds it."""

    fingerprint: str
    seed: int
    learner: Learner
    task: Task = field(compare=False)
    content: bytes = field(default=b"", compare=False)


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


def kept_base(run: ResolvedRun, piece: Piece, content: bytes) -> Model:
    """Return the base model that a piece of a run keeps."""
    return _model(_kept(run, piece, content))


def made_bank(run: ResolvedRun, piece: Piece, base_content: bytes) -> Bank:
    """Make the changed models of a piece of a run, as they are made for it."""
    return _bank(_kept(run, piece.inputs[0], base_content), run.families[piece.family])


def _kept(run: ResolvedRun, piece: Piece, content: bytes) -> _Base:
    task = run.tasks[piece.dataset]
    return _Base(piece.fingerprint, piece.base_seed, run.learner, task, content)


@lru_cache(maxsize=1)
def _refit(base: _Base) -> Model | str:
    """Fit a model as shipped again, on the training rows; or return why it cannot be."""
    recipe = TrainingRecipe(initialisation_seed=base.seed)
    try:
        with model_cache(base.content):
            return refits_of(base.learner).train([recipe], base.task)[0]
    except InputError as error:
        if isinstance(error.__cause__, OSError | MemoryError):  # another try may end differently
            raise
        return one_line(error)


@lru_cache(maxsize=1)
def _bank(base: _Base, family: Family) -> Bank:
    """Make changed models; pieces that share them follow each other."""
    changing = BaseModel(base.seed, _model(base))
    with model_cache(base.content):
        return build_bank(base.task, changing, [family], base.learner)


@lru_cache(maxsize=2)
def _reserved(base: _Base, families: tuple[Family, ...]) -> frozenset[str]:
    changing = BaseModel(base.seed, _model(base))
    return frozenset(reserved_recipes(base.task, changing, base.learner, families))


@lru_cache(maxsize=32)
def _stored_answers(content: bytes, feature_names: tuple[str, ...]) -> Counterfactuals:
    """Return a method's answers; they are put to one family after the other."""
    return Counterfactuals.from_frame(table_from_bytes(content), feature_names)


@lru_cache(maxsize=1)
def _stored_stack(content: bytes) -> Stack | None:
    return models_from_bytes(content).stack


@makes(Kind.BASE)
def _make_base(making: Making) -> bytes:
    piece, task, learner = making.piece, making.using.task, making.using.learner
    stack = _trained(_Base(piece.fingerprint, piece.base_seed, learner, task))
    probabilities = stack[0].probabilities(task.rows("test"))
    predicted = stack[0].favourable(task.rows("test"))
    if predicted.all() or not predicted.any():
        accepts, so = (
            ("all", "nobody needs advice") if predicted.all() else ("none", "no advice helps")
        )
        raise InputError(
            f"{learner.name} accepts {accepts} of the {len(predicted)} test rows of {task.name!r}, "
            f"so {so}; try another threshold, weights for the rarer outcome, or another model"
        )
    from sklearn.metrics import balanced_accuracy_score  # 0.4 s that reading a run does without

    accuracy = balanced_accuracy_score(task.labels_of("test"), predicted)
    record = {"balanced_accuracy": float(accuracy)}
    return models_to_bytes(stack, record, {"probabilities": probabilities})


@makes(Kind.BANK, "changes.bank")
def _make_bank(making: Making) -> bytes:
    """Make a family's changed models; keep them, and how far they are from the base model."""
    base = making.base(making.piece.inputs[0])
    bank = _bank(base, making.family)
    measured = change_magnitudes(base.task, _model(base), bank.stack)
    table = pd.concat([bank.table, measured], axis="columns")
    return models_to_bytes(bank.stack, {"table": table.to_dict(orient="list")})


@makes(Kind.TUNING, "methods.tuning", "evaluation.factuals")
def _make_tuning(making: Making) -> bytes:
    base = making.base(making.piece.inputs[0])
    context = making.context(base)
    factuals = tuning_factuals(context.task, context.model, base.seed)
    with model_cache(base.content):
        return table_to_bytes(tune(candidates(making.method), context, factuals))


@makes(Kind.COUNTERFACTUALS, "methods.tuning", "evaluation.factuals", "methods.alternatives")
def _make_answers(making: Making) -> Computed:
    base_piece, *others = making.piece.inputs
    tuned = [each for each in others if each.kind is Kind.TUNING]
    earlier = [making.answers(each) for each in others if each.kind is Kind.COUNTERFACTUALS]
    base = making.base(base_piece)
    context = making.context(base)
    with model_cache(base.content):
        method = _fitted(making, base, context, tuned).for_choice(1 + len(earlier))
        people = making.factuals(context)
        answers = method.generate(people, left_alone(base.task, people.row_ids, earlier))
    table = answers.to_frame(context.task.feature_names)
    return table_to_bytes(table), float(answers.seconds.sum())


# The method that was fitted last: further choices are made with that of the first.
_LAST: dict[tuple[str, ...], Method] = {}


def _fitted(making: Making, base: _Base, context: Context, tuned: Sequence[Piece]) -> Method:
    piece, method = making.piece, candidates(making.method)[0]
    parts = [base.fingerprint, method.fingerprint, *(each.fingerprint for each in tuned)]
    key = (*parts, first_choice(piece.method), str(piece.feasible))
    if key not in _LAST:
        for tuning in tuned:
            method = chosen(method, table_from_bytes(making.content(tuning)))
        _LAST.clear()
        _LAST[key] = method.fit(context)
    return _LAST[key]


@makes(Kind.SURVIVAL, "evaluation.factuals")
def _make_survival(making: Making) -> bytes:
    """Put a method's answers to a family's changed models, kept or made again."""
    answered, bank = making.piece.inputs
    answers = making.answers(answered)
    stack = _stored_stack(making.content(bank))
    if stack is None:
        stack = _bank(making.base(bank.inputs[0]), making.family).stack
    survived = survival(answers, stack)
    return arrays_to_bytes({"row_id": answers.row_ids, "survived": survived})


@makes(Kind.LIMIT, "evaluation.limit", "evaluation.factuals", "evaluation.counting")
def _make_limit(making: Making) -> bytes:
    """Look for the limit of the people of a base model, with all changed models at hand.

    Where families change nothing about it, also for that over the others: whether they count is
    known when all base models are finished. Sequences have a limit of their own, over futures.
    """
    base_piece, *banks = making.piece.inputs
    base = making.base(base_piece)
    context = making.context(base)
    families = {family.name: family for family in making.using.families}
    stacks, tables = {}, {}
    for bank in banks:
        stored = models_from_bytes(making.content(bank))
        stack, name = stored.stack, bank.family
        stacks[name] = _bank(base, families[name]).stack if stack is None else stack
        tables[name] = pd.DataFrame(stored.record["table"])
    people = making.factuals(context)
    asked = rejected(context.model, people.rows)
    rows, row_ids = people.rows[asked], people.row_ids[asked]
    everybody = context.actions
    if everybody is not None:
        everybody = everybody.for_people(base.task.personal_of(row_ids))
    kept = base.task.kept_of(row_ids, rows)

    def everyone(search: Callable[[Floats, Actions | None], Floats]) -> Floats:
        """Search for all; people who keep different features in different searches."""
        if everybody is None or kept is None or not len(rows):
            return search(rows, everybody)
        parts = [(who, search(rows[who], may)) for may, who in everybody.by_kept(kept)]
        result = np.full((*parts[0][1].shape[:-2], *rows.shape), np.nan)
        for who, part in parts:
            result[..., who, :] = part
        return result

    def over(names: Sequence[str], sizes: Sequence[int]) -> Floats:
        own = [stacks[name] for name in names]
        changed = stacked([stack[place] for stack in own for place in range(len(stack))])
        return everyone(partial(find_limit, base.task, context.model, changed, sizes))

    counting = counting_families(families)
    arrays = {"row_id": row_ids, "rows": over(counting, [len(stacks[name]) for name in counting])}
    idle = changes_nothing(tables[name] for name in counting)
    changing = [name for name in counting if name not in idle]
    if 0 < len(changing) < len(counting):
        arrays["changing"] = over(changing, [])[0]
    for name in (name for name in stacks if families[name].sequence):
        futures = tables[name]["replicate"].tolist()
        search = partial(find_future_limit, base.task, context.model, stacks[name], futures)
        arrays[f"{FUTURES}{name}"] = everyone(search)
    return arrays_to_bytes(arrays)


@makes(Kind.LETTERS, "evaluation.letters")
def _make_letters(making: Making) -> bytes:
    """Have today's model and its successors say how good letters are."""
    answered, bank = making.piece.inputs
    base = making.base(bank.inputs[0])
    threshold = base.learner.threshold if isinstance(base.learner, ThresholdLearner) else None
    stack = _bank(base, making.family).stack
    scores = letter_scores(making.answers(answered), _model(base), threshold, stack)
    return arrays_to_bytes(scores.to_arrays())


@makes(Kind.RENEWALS, "evaluation.letters")
def _make_renewals(making: Making) -> bytes:
    """Have a method advise those whose letters a successor breaks, from their letters on."""
    piece, task, family = making.piece, making.using.task, making.family
    assert isinstance(family, Successors)
    answers, actions = making.answers(piece.inputs[0]), task.actions if piece.feasible else None
    table = renewals(answers, family.at_hand, making.method, task, piece.base_seed, actions)
    return table_to_bytes(table)


@makes(Kind.REFIT, "evaluation.factuals")
def _make_refit(making: Making) -> bytes:
    """Have a refit of the judged model judge the test rows, or the answers of a method."""
    (source,) = making.piece.inputs
    base = making.base(source.inputs[0] if source.inputs else source)
    refit = _refit(base)
    if making.piece.method:
        answers = making.answers(source)
        row_ids, judged = answers.row_ids, answers.base_valid
        accepted = None if isinstance(refit, str) else survival(answers, stacked([refit]))[:, 0]
    else:
        rows, row_ids = base.task.rows("test"), np.asarray(base.task.row_ids("test"))
        judged = _model(base).favourable(rows)
        accepted = None if isinstance(refit, str) else refit.favourable(rows)
    if accepted is None:
        return Refit(row_ids, judged, np.zeros_like(judged), str(refit)).to_bytes()
    return Refit(row_ids, judged, accepted).to_bytes()


@makes(Kind.IMPRECISE, "evaluation.imprecise")
def _make_imprecise(making: Making) -> bytes:
    """Have the base model judge what comes of a method's answers that are followed imprecisely."""
    (source,) = making.piece.inputs
    base, answers = making.base(source.inputs[0]), making.answers(source)
    held = held_imprecisely(base.task, _model(base), answers, base.seed)
    return arrays_to_bytes({"row_id": answers.row_ids, "held": held})


@makes(Kind.REASONS, "evaluation.reasons", "evaluation.factuals")
def _make_reasons(making: Making) -> bytes:
    """Look for the reasons why the base model rejects its people."""
    base = making.base(making.piece.inputs[0])
    context = making.context(base)
    people = making.factuals(context)
    found = find_reasons(base.task, context.model, people, base.task.actions)
    return arrays_to_bytes(found.to_arrays())
