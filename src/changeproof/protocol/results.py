"""Reading a finished run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from changeproof.changes.bank import Bank
from changeproof.datasets.builtin import load_task
from changeproof.errors import InputError
from changeproof.evaluation.survival import unpack_bits
from changeproof.methods.method import Counterfactuals
from changeproof.networks.model import Booleans
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack
from changeproof.protocol.directory import read_plan
from changeproof.protocol.pieces import Kind, Piece, plan_pieces
from changeproof.protocol.plan import Plan
from changeproof.protocol.store import Store
from changeproof.protocol.timings import timings_table


class Results:
    """Everything that a run has computed, piece by piece.

    Parameters
    ----------
    folder
        The run directory.
    plan
        What of it to read; all of the directory's plan by default.

    Examples
    --------
    >>> results = Results("runs/paper")
    >>> answers = results.counterfactuals("heloc", 2026, "wachter")
    >>> survived = results.survival("heloc", 2026, "wachter")  # [requests, changed networks]
    """

    def __init__(self, folder: str | Path, plan: Plan | None = None) -> None:
        self.folder = Path(folder)
        self.plan: Plan = plan if plan is not None else read_plan(self.folder)
        self._store = Store(self.folder)
        self._pieces = {
            (piece.kind, piece.dataset, piece.base_seed, piece.subject): piece
            for piece in plan_pieces(self.plan)
        }

    def __repr__(self) -> str:
        return f"Results({str(self.folder)!r})"

    def base_network(self, dataset: str, base_seed: int) -> Network:
        """Return a base network."""
        return self._store.load_network(self._piece(Kind.BASE, dataset, base_seed))

    def balanced_accuracy(self, dataset: str, base_seed: int) -> float:
        """Return the balanced accuracy of a base network on the test rows."""
        _, record = self._store.load_networks(self._piece(Kind.BASE, dataset, base_seed))
        return float(record["balanced_accuracy"])

    def bank(self, dataset: str, base_seed: int) -> Bank:
        """Return the changed networks of a base network, and their table with magnitudes."""
        loaded = [
            self._store.load_networks(self._piece(Kind.BANK, dataset, base_seed, family))
            for family in self.plan.families
        ]
        tables = [pd.DataFrame(record["table"]) for _, record in loaded]
        stack = NetworkStack.joined([stack for stack, _ in loaded])
        return Bank(stack, pd.concat(tables, ignore_index=True))

    def variants(self, dataset: str, base_seed: int) -> pd.DataFrame:
        """Return what was changed in each network of the bank, and by how much."""
        tables = [
            self._store.load_networks(self._piece(Kind.BANK, dataset, base_seed, family))[1]
            for family in self.plan.families
        ]
        return pd.concat([pd.DataFrame(record["table"]) for record in tables], ignore_index=True)

    @property
    def timings(self) -> pd.DataFrame:
        """Seconds by stage and subject: how long the pieces took when they were computed."""
        return timings_table(self.folder, list(self._pieces.values()))

    @property
    def tuned_methods(self) -> list[str]:
        """The methods of the plan whose settings were tuned."""
        tuned = {piece.subject for piece in self._pieces.values() if piece.kind is Kind.TUNING}
        return sorted(tuned)

    def tuning(self, dataset: str, method: str) -> pd.DataFrame:
        """Return the scores of a tuned method's candidate settings."""
        for piece in self._pieces.values():
            if (piece.kind, piece.dataset, piece.subject) == (Kind.TUNING, dataset, method):
                return self._store.load_table(piece)
        raise InputError(f"no tuning of {method!r} on {dataset!r} in {self.folder}")

    def counterfactuals(self, dataset: str, base_seed: int, method: str) -> Counterfactuals:
        """Return a method's counterfactuals for the factuals of a base network."""
        piece = self._piece(Kind.COUNTERFACTUALS, dataset, base_seed, method)
        names = load_task(dataset).feature_names
        return Counterfactuals.from_frame(self._store.load_table(piece), names)

    def survival(self, dataset: str, base_seed: int, method: str) -> Booleans:
        """Return [requests, changed networks], networks in the order of `variants`."""
        piece = self._piece(Kind.SURVIVAL, dataset, base_seed, method)
        bits = self._store.load_table(piece)["survived"].to_list()
        return unpack_bits(bits, len(self.variants(dataset, base_seed)))

    def _piece(self, kind: Kind, dataset: str, base_seed: int, subject: str = "") -> Piece:
        try:
            return self._pieces[kind, dataset, base_seed, subject]
        except KeyError:
            asked = " ".join(filter(None, (dataset, str(base_seed), kind.value, subject)))
            raise InputError(f"{asked!r} is not part of the plan in {self.folder}") from None
