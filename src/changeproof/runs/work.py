"""How each kind of piece is computed: the bytes of its inputs go in, its own come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score

from changeproof.changes.bank import Bank, build_bank, reserved_recipes
from changeproof.changes.family import BaseModel, Family
from changeproof.changes.magnitude import change_magnitudes
from changeproof.changes.successor import Successors
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.evaluation.counting import changes_nothing
from changeproof.evaluation.factuals import evaluation_factuals, named_factuals, tuning_factuals
from changeproof.evaluation.letters import letter_scores
from changeproof.evaluation.limit import PERCENTS, find_limit, to_be_asked
from changeproof.evaluation.renewal import Asking, renewals
from changeproof.evaluation.survival import survival
from changeproof.methods.method import Context, Counterfactuals, Factuals, Method
from changeproof.methods.tuning import candidates, chosen, tune
from changeproof.model import Floats, Model, Stack
from changeproof.models.decided import ThresholdLearner
from changeproof.models.learner import Learner, stacked
from changeproof.models.private import PrivateLearner
from changeproof.models.remembered import remembering
from changeproof.networks.training import TrainingRecipe
from changeproof.runs.content import (
    arrays_to_bytes,
    models_from_bytes,
    models_to_bytes,
    table_from_bytes,
    table_to_bytes,
)
from changeproof.runs.piece import Kind, Piece

# How far probabilities may be apart when the same model is trained twice.
SAME_PROBABILITIES = 1e-6


class Ingredients(NamedTuple):
    """What a piece is made with, besides its inputs; `families` are those of the whole run."""

    task: Task
    learner: Learner
    method: Method | None
    family: Family | None
    families: tuple[Family, ...]


class Made(NamedTuple):
    """A computed piece: its bytes, and the seconds of the search where people were answered."""

    content: bytes
    search_seconds: float | None = None


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
    return _WORK[piece.kind](piece, ingredients, inputs)


def _make_base(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> Made:
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
    return Made(models_to_bytes(stack, record, {"probabilities": probabilities}))


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


def _make_bank(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> Made:
    """Make a family's changed models; keep them, and how far they are from the base model."""
    base = _base(piece.inputs[0], using, inputs)
    bank = _bank(base, _family(using))
    measured = change_magnitudes(using.task, _model(base), bank.stack)
    table = pd.concat([bank.table, measured], axis="columns")
    return Made(models_to_bytes(bank.stack, {"table": table.to_dict(orient="list")}))


@lru_cache(maxsize=1)
def _bank(base: _Base, family: Family) -> Bank:
    """Make changed models; pieces that share them follow each other."""
    changing = BaseModel(base.seed, _model(base))
    with remembering(base.content):
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


def _make_tuning(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> Made:
    """Score a method's candidate settings on validation rows."""
    base = _base(piece.inputs[0], using, inputs)
    context = _context(piece, base, using)
    factuals = tuning_factuals(context.task, context.model, piece.base_seed)
    with remembering(base.content):
        return Made(table_to_bytes(tune(candidates(_method(using)), context, factuals)))


def _make_answers(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> Made:
    """Have a method answer the people of a base model."""
    base_piece, *tuned = piece.inputs
    base = _base(base_piece, using, inputs)
    context = _context(piece, base, using)
    method = candidates(_method(using))[0]
    for tuning in tuned:
        method = chosen(method, table_from_bytes(inputs[tuning.fingerprint]))
    with remembering(base.content):
        answers = method.fit(context).generate(_factuals(piece, context))
    table = answers.to_frame(context.task.feature_names)
    return Made(table_to_bytes(table), float(answers.seconds.sum()))


def _factuals(piece: Piece, context: Context) -> Factuals:
    if piece.rows is not None:
        return named_factuals(context.task, piece.rows)
    return evaluation_factuals(context.task, context.model, piece.base_seed, piece.factuals)


def _make_survival(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> Made:
    """Put a method's answers to a family's changed models, kept or made again."""
    asked, bank = piece.inputs
    answers = _kept_answers(inputs[asked.fingerprint], tuple(using.task.feature_names))
    stack = _kept_stack(inputs[bank.fingerprint])
    if stack is None:
        stack = _bank(_base(bank.inputs[0], using, inputs), _family(using)).stack
    survived = survival(answers, stack)
    return Made(arrays_to_bytes({"row_id": answers.row_ids, "survived": survived}))


def _make_limit(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> Made:
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
        kept = models_from_bytes(inputs[bank.fingerprint])
        stacks.append(
            _bank(base, families[bank.family]).stack if kept.stack is None else kept.stack
        )
        tables.append(pd.DataFrame(kept.record["table"]))
    people = _factuals(piece, context)
    asked = to_be_asked(context.model, people.rows)
    rows, row_ids = people.rows[asked], people.row_ids[asked]
    kept_values = using.task.kept_of(row_ids, rows)

    def found(stacks: Sequence[Stack], sizes: Sequence[int]) -> Floats:
        changed = stacked([stack[place] for stack in stacks for place in range(len(stack))])
        if context.actions is None or kept_values is None:
            return find_limit(using.task, context.model, changed, sizes, rows, context.actions)
        result = np.full((1 + len(sizes), len(PERCENTS), *rows.shape), np.nan)
        for actions, who in context.actions.by_kept(kept_values):
            result[:, :, who] = find_limit(
                using.task, context.model, changed, sizes, rows[who], actions
            )
        return result

    arrays = {"row_id": row_ids, "rows": found(stacks, [len(stack) for stack in stacks])}
    idle = changes_nothing(tables)
    changing = [stack for stack, bank in zip(stacks, banks, strict=True) if bank.family not in idle]
    if 0 < len(changing) < len(stacks):
        arrays["changing"] = found(changing, [])[0]
    return Made(arrays_to_bytes(arrays))


def _make_letters(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> Made:
    """Have today's model and its successors say how good letters are."""
    asked, bank = piece.inputs
    answers = _kept_answers(inputs[asked.fingerprint], tuple(using.task.feature_names))
    base = _base(bank.inputs[0], using, inputs)
    threshold = using.learner.threshold if isinstance(using.learner, ThresholdLearner) else None
    stack = _bank(base, _family(using)).stack
    scores = letter_scores(answers, _model(base), threshold, stack)
    return Made(arrays_to_bytes(scores.to_arrays()))


def _make_renewals(piece: Piece, using: Ingredients, inputs: Mapping[str, bytes]) -> Made:
    """Have a method advise those whose letters a successor breaks, from their letters on."""
    answers = _kept_answers(inputs[piece.inputs[0].fingerprint], tuple(using.task.feature_names))
    family, actions = _family(using), using.task.actions if piece.realisable else None
    assert isinstance(family, Successors)
    asking = Asking(using.task, piece.base_seed, actions)
    table = renewals(answers, family.at_hand, _method(using), asking)
    return Made(table_to_bytes(table))


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


_WORK: dict[Kind, Callable[[Piece, Ingredients, Mapping[str, bytes]], Made]] = {
    Kind.BASE: _make_base,
    Kind.BANK: _make_bank,
    Kind.TUNING: _make_tuning,
    Kind.COUNTERFACTUALS: _make_answers,
    Kind.SURVIVAL: _make_survival,
    Kind.LIMIT: _make_limit,
    Kind.LETTERS: _make_letters,
    Kind.RENEWALS: _make_renewals,
}
