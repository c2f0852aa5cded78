"""The kinds of pieces: which ones a run has, from what, and how the bytes of each are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score

from changeproof.changes import SUCCESSOR
from changeproof.changes.bank import Bank, build_bank, reserved_recipes
from changeproof.changes.family import BaseModel, Family
from changeproof.changes.magnitude import change_magnitudes
from changeproof.changes.successors import Successors
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.evaluation.factuals import evaluation_factuals, named_factuals, tuning_factuals
from changeproof.evaluation.letters import letter_scores
from changeproof.evaluation.limit import PERCENTS, find_limit, to_be_asked
from changeproof.evaluation.renewal import Asking, renewals
from changeproof.evaluation.survival import survival
from changeproof.fingerprints.sources import code_digest
from changeproof.fingerprints.things import fingerprint
from changeproof.methods.method import Context, Counterfactuals, Factuals, Method
from changeproof.methods.tuning import candidates, chosen, tune
from changeproof.model import Model, Stack
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
from changeproof.runs.costs import (
    answering_cost,
    bank_cost,
    limit_cost,
    training_cost,
    tuning_cost,
)
from changeproof.runs.pieces import Kind, Piece, in_order
from changeproof.runs.plan import TUNING_SEED, Plan
from changeproof.runs.resolve import ResolvedRun

# How far probabilities may be apart when the same model is trained twice.
SAME_PROBABILITIES = 1e-6


def pieces_of(run: ResolvedRun) -> tuple[Piece, ...]:
    """Return every piece of a run, each once and after its inputs."""
    return tuple(in_order(dict.fromkeys(p for name in run.tasks for p in _of_task(run, name))))


def _of_task(run: ResolvedRun, dataset: str) -> Iterator[Piece]:
    """Yield the pieces of a task: base models, then what is made from them."""
    plan = run.plan
    choices = {name: candidates(method) for name, method in run.methods.items()}
    tuned = [name for name, found in choices.items() if len(found) > 1]
    tunings: dict[str, Piece] = {}
    if tuned:
        tuning_base = _base_piece(run, dataset, TUNING_SEED)
        yield tuning_base
        tunings = {name: _tuning_piece(run, tuning_base, name) for name in tuned}
        yield from tunings.values()
    for seed in plan.base_seeds:
        base = _base_piece(run, dataset, seed)
        yield base
        answers = [_answers_piece(run, base, name, tunings.get(name)) for name in run.methods]
        yield from answers
        banks = [_bank_piece(run, base, family) for family in run.families]
        for bank in banks:
            yield bank
            yield from (_survival_piece(answer, bank) for answer in answers)
            if bank.family == SUCCESSOR:
                yield from _letter_pieces(run, answers, bank)
        if plan.limit:
            yield _limit_piece(run, base, [bank for bank in banks if bank.family in run.averaged])


def _base_piece(run: ResolvedRun, dataset: str, seed: int) -> Piece:
    """Return the piece of a base model."""
    task, model = run.tasks[dataset], run.learner.fingerprint[:12]
    key = fingerprint(kind=Kind.BASE, task=task.fingerprint, seed=seed, model=model)
    return Piece(Kind.BASE, dataset, seed, key, cost=training_cost(task, 1))


def _bank_piece(run: ResolvedRun, base: Piece, family: str) -> Piece:
    """Return the piece of one family's changed models, and their magnitudes.

    Models that cannot be kept are made by the worker that asks them.
    """
    bank = replace(
        base,
        kind=Kind.BANK,
        family=family,
        inputs=(base,),
        shares_models=not run.learner.stores_models,
        cost=bank_cost(run.tasks[base.dataset], run.learner, run.families[family]),
    )
    return _fingerprinted(
        bank, run.families[family].fingerprint, "changes.bank", "changes.magnitude"
    )


def _tuning_piece(run: ResolvedRun, base: Piece, method: str) -> Piece:
    """Return the piece of a method's tuning table."""
    tuning = replace(
        base,
        kind=Kind.TUNING,
        method=method,
        inputs=(base,),
        realisable=run.plan.realisable,
        cost=tuning_cost(run.tasks[base.dataset], run.methods[method], run.plan.realisable),
    )
    maker = run.methods[method].fingerprint
    return _fingerprinted(tuning, maker, "methods.tuning", "evaluation.factuals")


def _answers_piece(run: ResolvedRun, base: Piece, method: str, tuning: Piece | None) -> Piece:
    """Return the piece of a method's counterfactuals."""
    plan, task = run.plan, run.tasks[base.dataset]
    answers = replace(
        base,
        kind=Kind.COUNTERFACTUALS,
        method=method,
        inputs=(base,) if tuning is None else (base, tuning),
        factuals=plan.factuals,
        rows=plan.rows,
        realisable=plan.realisable,
        cost=answering_cost(task, run.learner, run.methods[method], _asked(plan), plan.realisable),
    )
    maker = run.methods[method].fingerprint
    return _fingerprinted(answers, maker, "methods.tuning", "evaluation.factuals")


def _asked(plan: Plan) -> int:
    return plan.factuals if plan.rows is None else len(plan.rows)


def _survival_piece(answers: Piece, bank: Piece) -> Piece:
    """Return the piece that says which counterfactuals survive one family's changed models."""
    survival = replace(
        answers,
        kind=Kind.SURVIVAL,
        family=bank.family,
        inputs=(answers, bank),
        factuals=0,
        rows=None,
        realisable=False,
        cost=0.02,
    )
    return _fingerprinted(survival, "", "evaluation.survival")


def _limit_piece(run: ResolvedRun, base: Piece, banks: Sequence[Piece]) -> Piece:
    """Return the piece with the limit of the people of a base model.

    Changed models that cannot be kept are made again for it.
    """
    plan = run.plan
    limit = replace(
        base,
        kind=Kind.LIMIT,
        inputs=(base, *banks),
        factuals=plan.factuals,
        rows=plan.rows,
        realisable=plan.realisable,
        cost=limit_cost(
            run.tasks[base.dataset],
            run.learner,
            [run.families[name] for name in run.averaged],
            _asked(plan),
            plan.realisable,
        ),
    )
    return _fingerprinted(limit, "", "evaluation.limit", "evaluation.factuals")


def _letter_pieces(run: ResolvedRun, answers: Sequence[Piece], bank: Piece) -> Iterator[Piece]:
    """Yield the pieces about letters: their scores and, where it is asked for, their renewals."""
    for answer in answers:
        if answer.method not in run.letters:
            continue
        survival = _survival_piece(answer, bank)
        yield _fingerprinted(replace(survival, kind=Kind.LETTERS), "", "evaluation.letters")
        if run.renewer is not None:
            name = run.renewer.name
            renewals = replace(
                survival,
                kind=Kind.RENEWALS,
                realisable=run.plan.realisable,
                cost=answering_cost(
                    run.tasks[bank.dataset],
                    run.learner,
                    run.renewer,
                    _asked(run.plan),
                    run.plan.realisable,
                ),
            )
            maker = f"{name} {run.renewer.fingerprint}"
            yield _fingerprinted(renewals, maker, "evaluation.renewal")


def _fingerprinted(piece: Piece, maker: str, *modules: str) -> Piece:
    """Return a piece with the fingerprint of all that goes into it.

    `maker` is the fingerprint of its method or family, `modules` is the code of ours beside it.
    """
    # Answers as published need not know that there are others.
    realisable = {"realisable": True} if piece.realisable else {}
    key = fingerprint(
        **realisable,
        kind=piece.kind,
        inputs=[part.fingerprint for part in piece.inputs],
        method=piece.method,
        family=piece.family,
        factuals=piece.factuals,
        rows=piece.rows,
        maker=maker,
        code=code_digest(*(f"changeproof.{module}" for module in modules)),
    )
    return replace(piece, fingerprint=key)


class Ingredients(NamedTuple):
    """What a piece is made with, besides its inputs; `families` are those of the whole run."""

    task: Task
    learner: Learner
    method: Method | None
    family: Family | None
    families: tuple[Family, ...]


# The bytes of a piece, and the seconds of the search where people were answered.
Made = tuple[bytes, float | None]
Maker = Callable[[Piece, Ingredients, Mapping[str, bytes]], bytes | Made]
MAKERS: dict[Kind, Maker] = {}


def makes(kind: Kind) -> Callable[[Maker], Maker]:
    """Register how a kind of piece is made."""

    def register(maker: Maker) -> Maker:
        MAKERS[kind] = maker
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


def compute(piece: Piece, ingredients: Ingredients, inputs: Mapping[str, bytes]) -> Made:
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


@makes(Kind.BANK)
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
    actions = using.task.actions if piece.realisable else None
    return Context(using.task, model, base.seed, learner, actions)


@lru_cache(maxsize=2)
def _reserved(base: _Base, families: tuple[Family, ...]) -> frozenset[str]:
    changing = BaseModel(base.seed, _model(base))
    return frozenset(reserved_recipes(base.task, changing, base.learner, families))


@makes(Kind.TUNING)
def _make_tuning(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> bytes:
    """Score a method's candidate settings on validation rows."""
    base = _base(piece.inputs[0], using, inputs)
    context = _context(piece, base, using)
    factuals = tuning_factuals(context.task, context.model, piece.base_seed)
    with model_cache(base.content):
        return table_to_bytes(tune(candidates(_method(using)), context, factuals))


@makes(Kind.COUNTERFACTUALS)
def _make_answers(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> Made:
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


@makes(Kind.SURVIVAL)
def _make_survival(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> bytes:
    """Put a method's answers to a family's changed models, kept or made again."""
    asked, bank = piece.inputs
    answers = _kept_answers(inputs[asked.fingerprint], tuple(using.task.feature_names))
    stack = _kept_stack(inputs[bank.fingerprint])
    if stack is None:
        stack = _bank(_base(bank.inputs[0], using, inputs), _family(using)).stack
    survived = survival(answers, stack)
    return arrays_to_bytes({"row_id": answers.row_ids, "survived": survived})


@makes(Kind.LIMIT)
def _make_limit(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> bytes:
    """Look for the limit of the people of a base model, with all changed models at hand."""
    base_piece, *banks = piece.inputs
    base = _base(base_piece, using, inputs)
    context = _context(piece, base, using)
    families = {family.name: family for family in using.families}
    stacks = []
    for bank in banks:
        stack = models_from_bytes(inputs[bank.fingerprint]).stack
        stacks.append(_bank(base, families[bank.family]).stack if stack is None else stack)
    models = [stack[place] for stack in stacks for place in range(len(stack))]
    people = _factuals(piece, context)
    asked = to_be_asked(context.model, people.rows)
    sizes = [len(stack) for stack in stacks]
    rows, row_ids, changed = people.rows[asked], people.row_ids[asked], stacked(models)
    kept = using.task.kept_of(row_ids, rows)
    if context.actions is None or kept is None:
        found = find_limit(using.task, context.model, changed, sizes, rows, context.actions)
    else:
        found = np.full((1 + len(sizes), len(PERCENTS), *rows.shape), np.nan)
        for actions, who in context.actions.by_kept(kept):
            some = find_limit(using.task, context.model, changed, sizes, rows[who], actions)
            found[:, :, who] = some
    return arrays_to_bytes({"row_id": row_ids, "rows": found})


@makes(Kind.LETTERS)
def _make_letters(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> bytes:
    """Have today's model and its successors say how good letters are."""
    asked, bank = piece.inputs
    answers = _kept_answers(inputs[asked.fingerprint], tuple(using.task.feature_names))
    base = _base(bank.inputs[0], using, inputs)
    threshold = using.learner.threshold if isinstance(using.learner, ThresholdLearner) else None
    stack = _bank(base, _family(using)).stack
    scores = letter_scores(answers, _model(base), threshold, stack)
    return arrays_to_bytes(scores.to_arrays())


@makes(Kind.RENEWALS)
def _make_renewals(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> bytes:
    """Have a method advise those whose letters a successor breaks, from their letters on."""
    answers = _kept_answers(inputs[piece.inputs[0].fingerprint], tuple(using.task.feature_names))
    family, actions = _family(using), using.task.actions if piece.realisable else None
    assert isinstance(family, Successors)
    asking = Asking(using.task, piece.base_seed, actions)
    table = renewals(answers, family.at_hand, _method(using), asking)
    return table_to_bytes(table)


@lru_cache(maxsize=32)
def _kept_answers(content: bytes, feature_names: tuple[str, ...]) -> Counterfactuals:
    """Return a method's answers; they are put to one family after the other."""
    return Counterfactuals.from_frame(table_from_bytes(content), feature_names)


@lru_cache(maxsize=1)
def _kept_stack(content: bytes) -> Stack | None:
    return models_from_bytes(content).stack


def _method(using: Ingredients) -> Method:
    """Return a method that can be fitted without leaving anything behind in the run's."""
    assert using.method is not None
    return copy(using.method)


def _family(using: Ingredients) -> Family:
    assert using.family is not None
    return using.family
