"""How each kind of piece is computed from its inputs and kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score

from changeproof.changes import get_family
from changeproof.changes.bank import build_bank
from changeproof.changes.family import BaseModel
from changeproof.changes.magnitude import change_magnitudes
from changeproof.changes.own import own_variants, train_variants
from changeproof.errors import InputError
from changeproof.evaluation.factuals import evaluation_factuals, named_factuals, tuning_factuals
from changeproof.evaluation.survival import pack_bits, survival
from changeproof.methods import get_method
from changeproof.methods.given import GivenCounterfactuals, read_counterfactuals
from changeproof.methods.method import Context, Counterfactuals, Factuals, Method
from changeproof.methods.tuning import chosen_settings, tune
from changeproof.model import Model
from changeproof.models.learner import ModelStack
from changeproof.models.network import NetworkLearner
from changeproof.networks.stack import NetworkStack
from changeproof.networks.training import TrainingData, TrainingRecipe, train
from changeproof.runs.piece import Kind, Piece
from changeproof.runs.store import Store


def compute(piece: Piece, store: Store) -> float | None:
    """Compute a piece whose inputs are all in the store, and keep it there.

    Returns the seconds of the search alone, without fitting, where people were answered.
    """
    return _WORK[piece.kind](piece, store)


def _base(piece: Piece, store: Store) -> None:
    if not piece.about.keeps_networks:
        return _own_base(piece, store)
    task, learner = piece.about.task, piece.about.learner
    assert isinstance(learner, NetworkLearner)
    recipe = learner.adapted(TrainingRecipe(initialisation_seed=piece.base_seed))
    trained = train([recipe], TrainingData.of(task))
    predicted = trained.stack[0].favourable(task.rows("test"))
    record = {
        "best_epoch": int(trained.best_epochs[0]),
        "epochs": int(trained.epochs[0]),
        "balanced_accuracy": balanced_accuracy_score(task.labels_of("test"), predicted),
    }
    store.save_networks(piece, trained.stack, record)


def _own_base(piece: Piece, store: Store) -> None:
    task = piece.about.task
    model = _trained(piece)
    probabilities = model.probabilities(task.rows("test"))
    for what, none in (("favourable", probabilities < 0.5), ("adverse", probabilities >= 0.5)):
        if none.all():
            raise InputError(
                f"model {piece.about.learner.name} predicts no test row of {task.name!r} {what}"
            )
    table = pd.DataFrame({"row_id": task.row_ids("test"), "probability": probabilities})
    store.save_table(piece, table)


@lru_cache(maxsize=2)
def _trained(base: Piece) -> Model:
    recipe = TrainingRecipe(initialisation_seed=base.base_seed)
    return base.about.learner.train([recipe], base.about.task)[0]


def _model(base: Piece, store: Store) -> Model:
    """Return the base model: from the store, or trained again and held against the store."""
    if base.about.keeps_networks:
        return store.load_network(base)
    model, table = _trained(base), store.load_table(base)
    again = model.probabilities(base.about.task.rows("test"))
    if not np.allclose(again, table["probability"], rtol=0.0, atol=1e-6):
        difference = np.abs(again - table["probability"]).max()
        raise InputError(
            f"model {base.about.learner.name} is not the same when trained twice with the same "
            f"seed (probabilities differ by up to {difference:.2g}); training must depend on "
            "nothing but rows, labels, weights and seed"
        )
    return model


def _context(base: Piece, store: Store) -> Context:
    about = base.about
    return Context(about.task, _model(base, store), base.base_seed, about.learner)


def _bank(piece: Piece, store: Store) -> None:
    task, learner = piece.about.task, piece.about.learner
    base = BaseModel(piece.base_seed, store.load_network(piece.inputs[0]))
    assert isinstance(learner, NetworkLearner)
    bank = build_bank(task, base, [get_family(piece.subject)], adapt=learner.adapted)
    measured = change_magnitudes(task, base.network, bank.stack)
    table = pd.concat([bank.table, measured], axis="columns")
    store.save_networks(piece, bank.stack, {"table": table.to_dict(orient="list")})


def _tuning(piece: Piece, store: Store) -> None:
    context = _context(piece.inputs[0], store)
    factuals = tuning_factuals(context.task, context.model, piece.base_seed)
    candidates = get_method(piece.subject).tuning_candidates()
    store.save_table(piece, tune(candidates, context, factuals))


def _counterfactuals(piece: Piece, store: Store) -> float:
    context = _context(piece.inputs[0], store)
    tuned = [store.load_table(tuning) for tuning in piece.inputs[1:]]
    method: Method
    if piece.table:
        table = read_counterfactuals(Path(piece.table), context.task)
        method = GivenCounterfactuals(table=table)
    else:
        method = get_method(piece.subject)(**(chosen_settings(tuned[0]) if tuned else {}))
    method.fit(context)
    answers = method.generate(_factuals(piece, context))
    store.save_table(piece, answers.to_frame(context.task.feature_names))
    return float(answers.seconds.sum())


def _factuals(piece: Piece, context: Context) -> Factuals:
    if piece.rows is not None:
        return named_factuals(context.task, piece.rows)
    return evaluation_factuals(context.task, context.model, piece.base_seed, piece.factuals)


def _survival(piece: Piece, store: Store) -> None:
    if piece.family:
        base = piece.inputs[1]
        changed: NetworkStack | ModelStack = _changed(base, piece.family)[0]
    else:
        banks = piece.inputs[1:]
        changed = NetworkStack.joined([store.load_networks(bank)[0] for bank in banks])
    names = piece.about.task.feature_names
    answers = Counterfactuals.from_frame(store.load_table(piece.inputs[0]), names)
    bits = pack_bits(survival(answers, changed))
    store.save_table(piece, pd.DataFrame({"row_id": answers.row_ids, "survived": bits}))


def _changes(piece: Piece, store: Store) -> None:
    (base,) = piece.inputs
    stack, table = _changed(base, piece.family)
    measured = change_magnitudes(piece.about.task, _model(base, store), stack)
    store.save_table(piece, pd.concat([table, measured], axis="columns"))


@lru_cache(maxsize=1)
def _changed(base: Piece, family: str) -> tuple[ModelStack, pd.DataFrame]:
    """Make the changed models of a family; pieces that share them follow each other."""
    about = base.about
    variants = own_variants(
        about.task, BaseModel(base.base_seed, _trained(base)), about.learner, get_family(family)
    )
    table = pd.DataFrame(
        {
            "family": family,
            "level": [variant.level for variant in variants],
            "replicate": [variant.replicate for variant in variants],
        }
    )
    return train_variants(about.task, variants), table


_WORK: dict[Kind, Callable[[Piece, Store], float | None]] = {
    Kind.BASE: _base,
    Kind.BANK: _bank,
    Kind.TUNING: _tuning,
    Kind.COUNTERFACTUALS: _counterfactuals,
    Kind.CHANGES: _changes,
    Kind.SURVIVAL: _survival,
}
