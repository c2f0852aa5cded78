"""How each kind of piece is computed from its inputs and kept."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from sklearn.metrics import balanced_accuracy_score

from changeproof.changes import get_family
from changeproof.changes.bank import build_bank
from changeproof.changes.family import BaseModel
from changeproof.changes.magnitude import change_magnitudes
from changeproof.datasets.builtin import load_task
from changeproof.evaluation.survival import pack_bits, survival
from changeproof.methods import get_method
from changeproof.methods.method import Context, Counterfactuals
from changeproof.methods.tuning import chosen_settings, tune
from changeproof.networks.stack import NetworkStack
from changeproof.networks.training import TrainingData, TrainingRecipe, train
from changeproof.protocol.factuals import evaluation_factuals, tuning_factuals
from changeproof.protocol.pieces import Kind, Piece
from changeproof.protocol.store import Store


def compute(piece: Piece, store: Store) -> None:
    """Compute a piece whose inputs are all in the store, and keep it there."""
    _WORK[piece.kind](piece, store)


def _base(piece: Piece, store: Store) -> None:
    task = load_task(piece.dataset)
    trained = train([TrainingRecipe(initialisation_seed=piece.base_seed)], TrainingData.of(task))
    predicted = trained.stack[0].favourable(task.rows("test"))
    record = {
        "best_epoch": int(trained.best_epochs[0]),
        "epochs": int(trained.epochs[0]),
        "balanced_accuracy": balanced_accuracy_score(task.labels_of("test"), predicted),
    }
    store.save_networks(piece, trained.stack, record)


def _bank(piece: Piece, store: Store) -> None:
    task = load_task(piece.dataset)
    base = BaseModel(piece.base_seed, store.load_network(piece.inputs[0]))
    bank = build_bank(task, base, [get_family(piece.subject)])
    measured = change_magnitudes(task, base.network, bank.stack)
    table = pd.concat([bank.table, measured], axis="columns")
    store.save_networks(piece, bank.stack, {"table": table.to_dict(orient="list")})


def _tuning(piece: Piece, store: Store) -> None:
    task = load_task(piece.dataset)
    network = store.load_network(piece.inputs[0])
    context = Context(task, network, piece.base_seed)
    factuals = tuning_factuals(task, network, piece.base_seed)
    store.save_table(piece, tune(get_method(piece.subject).tuning_candidates(), context, factuals))


def _counterfactuals(piece: Piece, store: Store) -> None:
    task = load_task(piece.dataset)
    network = store.load_network(piece.inputs[0])
    tuned = [store.load_table(tuning) for tuning in piece.inputs[1:]]
    method = get_method(piece.subject)(**(chosen_settings(tuned[0]) if tuned else {}))
    method.fit(Context(task, network, piece.base_seed))
    factuals = evaluation_factuals(task, network, piece.base_seed, piece.factuals)
    store.save_table(piece, method.generate(factuals).to_frame(task.feature_names))


def _survival(piece: Piece, store: Store) -> None:
    answers_piece, *banks = piece.inputs
    names = load_task(piece.dataset).feature_names
    answers = Counterfactuals.from_frame(store.load_table(answers_piece), names)
    stack = NetworkStack.joined([store.load_networks(bank)[0] for bank in banks])
    bits = pack_bits(survival(answers, stack))
    store.save_table(piece, pd.DataFrame({"row_id": answers.row_ids, "survived": bits}))


_WORK: dict[Kind, Callable[[Piece, Store], None]] = {
    Kind.BASE: _base,
    Kind.BANK: _bank,
    Kind.TUNING: _tuning,
    Kind.COUNTERFACTUALS: _counterfactuals,
    Kind.SURVIVAL: _survival,
}
