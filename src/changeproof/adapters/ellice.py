"""ElliCE (the ellice package) as a method: robust for every last layer of a Rashomon ellipsoid.

Turbal, Voitsitska, Semenova: ElliCE: Efficient and Provably Robust Algorithmic Recourse via the
Rashomon Sets (NeurIPS 2025). The search is theirs; this is what the contract of a method asks.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from changeproof.errors import InputError
from changeproof.fingerprints.things import package_version
from changeproof.methods.method import Candidates, Factuals, Method
from changeproof.model import Access, Floats
from changeproof.networks.network import Network
from changeproof.randomness import stream

HAS_ELLICE = find_spec("ellice") is not None
if HAS_ELLICE or TYPE_CHECKING:
    import ellice
    import torch

OUTCOME = "favourable"
REASONS = {
    "valid": "ElliCE's search ended at no row that the base network accepts",
    "robust": "ElliCE's search ended at no row that its whole ellipsoid accepts",
    "none": "ElliCE's search ended where it began",
}
NO_TRAINING_ROW = "no training row that may be told is accepted by ElliCE's whole ellipsoid"


@dataclass(kw_only=True, eq=False, repr=False)
class ElliCE(Method):
    """Ask ElliCE for a row that every last layer near the trained one accepts.

    The layers before the last stay as they are. The last layer may be any whose training loss,
    by its second-order expansion at the trained weights, is at most `robustness_epsilon` above
    the trained one: an ellipsoid, over which the lowest logit of a row has a closed form.
    An answer counts as certified if that lowest logit is positive. Settings have ElliCE's names
    and defaults.

    Where not everything may change, ElliCE is told what each person's features may be. Categories
    and whole steps are left to the mending of the base class.

    Parameters
    ----------
    method
        "continuous" (gradient steps) or "data_supported" (the nearest certified training row).
    robustness_epsilon
        How much training loss the last layers of the ellipsoid may lose.
    regularization_coefficient
        What is added to the diagonal of the Hessian.
    sparsity
        Whether few features shall change.
    requires
        Which rows are answers: "valid" (the base network accepts), "robust" (all of the ellipsoid
        accepts) or "none" (any).
    learning_rate, max_iterations, patience
        Of the gradient steps: their size, how many at most, and how many without progress.
    robustness_weight, proximity_weight
        What the lowest logit and the distance weigh in the loss. By default distance does not
        count: steps end at the first row that the whole ellipsoid accepts.
    """

    name = "ellice"
    summary = "a row that every last layer of a Rashomon ellipsoid accepts (the ellice package)"
    needs = Access.RELU_PARAMETERS

    method: Literal["continuous", "data_supported"] = "continuous"
    robustness_epsilon: float = 0.01
    regularization_coefficient: float = 1e-4
    sparsity: bool = False
    requires: Literal["valid", "robust", "none"] = "valid"
    learning_rate: float = 0.1
    max_iterations: int = 1000
    patience: int = 50
    robustness_weight: float = 1.0
    proximity_weight: float = 0.0

    def __post_init__(self) -> None:
        if not HAS_ELLICE:
            raise InputError(
                "ElliCE needs the ellice package, which is not installed (extra: ellice); "
                "pip install 'changeproof[ellice]'"
            )

    @property
    def fingerprint(self) -> str:
        """Hash of the code and of the settings, with the versions of what does the work."""
        versions = [f"{name} {package_version(name)}" for name in ("ellice", "torch")]
        return " ".join([super().fingerprint, *versions])

    def _prepare(self) -> None:
        task, network = self.context.task, self.context.model
        assert isinstance(network, Network)
        self._columns = [f"x{place}" for place in range(task.n_features)]
        rows = pd.DataFrame(task.rows("train"), columns=self._columns)
        data = ellice.Data(
            dataframe=rows.assign(**{OUTCOME: task.labels_of("train")}),
            target_column=OUTCOME,
            continuous_features=self._columns,
        )
        # ElliCE takes the last module for the last layer, so the sigmoid has to go.
        with torch.random.fork_rng(devices=[]):
            logits = torch.nn.Sequential(*list(network.to_torch())[:-1])
        self._explainer = ellice.Explainer(logits, data, backend="pytorch", device="cpu")

    def _search(self, factuals: Factuals) -> Candidates:
        rows, worst = np.full(factuals.rows.shape, np.nan), np.full(len(factuals), np.nan)
        task, actions = self.context.task, self.context.actions
        low, high = (
            (np.broadcast_to(each, rows.shape) for each in task.training_range)
            if actions is None
            else actions.bounds(factuals.rows)
        )
        with _quiet_and_alone():
            for i, row_id in enumerate(factuals.row_ids.tolist()):
                # A seed per person, in case ElliCE draws at random.
                seed = stream(task.name, self.context.base_seed, "ellice", row_id).integers(2**32)
                torch.manual_seed(int(seed))
                person = factuals.rows[i]
                found = self._answer(person, low[i], high[i])
                if len(found):
                    own = found[self._columns].to_numpy(dtype=np.float64)[0]
                    rows[i] = _in_double_precision(own, high[i], low[i], person)
                    worst[i] = found["worst_case_prob_target"].to_numpy()[0]
        none = (np.isnan(rows) | (rows == factuals.rows)).all(axis=1)
        rows[none], worst[none] = np.nan, np.nan
        reason = REASONS[self.requires] if self.method == "continuous" else NO_TRAINING_ROW
        return Candidates(
            rows,
            reasons=[reason if nothing else "" for nothing in none.tolist()],
            diagnostics={"certified": worst > 0.5, "worst_case_probability": worst},
        )

    def _answer(self, person: Floats, low: Floats, high: Floats) -> pd.DataFrame:
        """Return ElliCE's answer to a person: a row, which may be the person's own, or none."""
        permitted = None
        if self.context.actions is not None:
            limits = zip(self._columns, low.tolist(), high.tolist(), strict=True)
            permitted = {column: [least, most] for column, least, most in limits}
        answer: pd.DataFrame = self._explainer.generate_counterfactuals(
            pd.DataFrame([person], columns=self._columns),
            method=self.method,
            permitted_range=permitted,
            robustness_epsilon=self.robustness_epsilon,
            regularization_coefficient=self.regularization_coefficient,
            sparsity=self.sparsity,
            requires=self.requires,
            target_class=1,
            return_probs=True,
            progress_bar=False,
            optimization_params={
                "learning_rate": self.learning_rate,
                "max_iterations": self.max_iterations,
                "patience": self.patience,
                "robustness_weight": self.robustness_weight,
                "proximity_weight": self.proximity_weight,
            },
        )
        return answer


def _in_double_precision(row: Floats, *known: Floats) -> Floats:
    """Restore the numbers that ElliCE has rounded to single precision; the last ones given win."""
    row = row.copy()
    for exact in known:
        same = row.astype(np.float32) == exact.astype(np.float32)
        row[same] = exact[same]
    return row


@contextmanager
def _quiet_and_alone() -> Iterator[None]:
    """Silence ElliCE's output and warnings, use one thread, and keep its random state apart."""
    threads = torch.get_num_threads()
    with (
        warnings.catch_warnings(),
        redirect_stdout(io.StringIO()),
        torch.random.fork_rng(devices=[]),
    ):
        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
