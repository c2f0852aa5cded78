"""Certificates: does every network of a box of parameters call a row favourable?

Answers come from the cheapest argument that gives one. Interval arithmetic proves most rows, a
linear bound carried backwards most of the rest; the network itself or an attack refutes most of
the others; a mixed-integer programme decides what is left. Every row is judged on its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from changeproof.certificates.attack import attack
from changeproof.certificates.backward import tight_neuron_bounds
from changeproof.certificates.box import ParameterBox
from changeproof.certificates.interval import HIGH_MAX, LOW_MIN
from changeproof.certificates.worst_case import solve_worst_case
from changeproof.errors import InputError
from changeproof.model import Booleans, Floats
from changeproof.networks.network import Network

MAX_NODES = 10_000
# What a logit can be off, per unit of the largest logit that the box allows: by rounding in the
# bounds, by HiGHS's tolerances, and by writing down a network in single precision.
ROUNDING = 1e-9
SOLVER_TOLERANCE = 1e-6
SINGLE_PRECISION = 1e-5


class Verdict(StrEnum):
    """What is known about a row."""

    CERTIFIED = "certified"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class Certificates:
    """What is known about every row, over all networks of a box.

    Attributes
    ----------
    box, rows
        The networks and the rows.
    verdicts
        Per row "certified" (all networks give a positive logit), "refuted" (one of them gives a
        negative logit) or "unknown".
    lower
        No network of the box gives a logit below this.
    upper
        The lowest logit that a network of the box was seen to give.
    directions
        The network that was seen, as directions [rows, neurons] (see `ParameterBox.network_at`).
    """

    box: ParameterBox
    rows: Floats
    verdicts: npt.NDArray[np.str_]
    lower: Floats
    upper: Floats
    directions: Floats

    @property
    def certified(self) -> Booleans:
        """Which rows are proven favourable."""
        return np.asarray(self.verdicts == Verdict.CERTIFIED)

    def refuting_network(self, row: int) -> Network:
        """Return a network of the box that calls a refuted row adverse."""
        if self.verdicts[row] != Verdict.REFUTED:
            raise InputError(f"row {row} is {self.verdicts[row]}; only refuted rows have a network")
        return self.box.network_at(self.rows[row], self.directions[row])


def certify(box: ParameterBox, rows: Floats, *, max_nodes: int = MAX_NODES) -> Certificates:
    """Decide for every row whether all networks of a box call it favourable.

    Parameters
    ----------
    box
        The network and the radius of the box around its parameters.
    rows
        Standardised rows, of any sign.
    max_nodes
        Nodes that the solver may explore per row; with 0 it is never asked.

    Returns
    -------
    One verdict per row; one that would need more nodes is unknown, which is not certified.
    """
    rows = box.checked(rows)
    bounds = tight_neuron_bounds(box, rows)
    scale = _scale(bounds)
    lower = bounds[:, LOW_MIN, -1] - ROUNDING * scale
    directions = np.zeros((len(rows), box.flat.n_neurons))
    upper = box.logits_at(rows, directions)
    undecided = (lower <= 0.0) & (upper >= -ROUNDING * scale)
    target = -SINGLE_PRECISION * scale[undecided]
    upper[undecided], directions[undecided] = attack(box, rows[undecided], target=target)
    undecided &= upper >= -ROUNDING * scale
    _solve(box, rows, bounds, undecided, max_nodes, lower, upper, directions)
    return _judged(box, rows, scale, lower, upper, directions)


def worst_logits(box: ParameterBox, rows: Floats, *, max_nodes: int = MAX_NODES) -> Certificates:
    """Close in on the smallest logit of every row, decided or not.

    `lower` and `upper` of what is returned enclose the exact minimum over the box, and meet up
    to the solver's tolerance and single precision unless the nodes did not suffice.
    """
    rows = box.checked(rows)
    bounds = tight_neuron_bounds(box, rows)
    scale = _scale(bounds)
    lower = bounds[:, LOW_MIN, -1] - ROUNDING * scale
    upper, directions = attack(box, rows, target=np.full(len(rows), -np.inf))
    everything = np.ones(len(rows), np.bool_)
    _solve(box, rows, bounds, everything, max_nodes, lower, upper, directions)
    return _judged(box, rows, scale, lower, upper, directions)


def _scale(bounds: Floats) -> Floats:
    """Return the largest logit that intervals allow, and at least one, per row."""
    ends = np.abs(bounds[:, (LOW_MIN, HIGH_MAX), -1])
    return np.asarray(np.maximum(ends.max(axis=1), 1.0))


def _solve(
    box: ParameterBox,
    rows: Floats,
    bounds: Floats,
    chosen: Booleans,
    max_nodes: int,
    lower: Floats,
    upper: Floats,
    directions: Floats,
) -> None:
    """Ask the solver about the chosen rows, and keep what is better than what was known."""
    # With one hidden layer or none, intervals are exact.
    if max_nodes < 1 or len(box.flat.layers) < 3:
        return
    slack = SOLVER_TOLERANCE * _scale(bounds)
    for row in np.flatnonzero(chosen).tolist():
        bound, start = solve_worst_case(box, rows[row], bounds[row], max_nodes)
        reached = box.logits_at(rows[row : row + 1], start[None])[0]
        if reached < upper[row]:
            upper[row], directions[row] = reached, start
        # A bound above what a concrete network gives would be a numerical failure: no proof.
        if bound <= upper[row] + slack[row]:
            lower[row] = max(lower[row], bound - slack[row])


def _judged(
    box: ParameterBox, rows: Floats, scale: Floats, lower: Floats, upper: Floats, directions: Floats
) -> Certificates:
    verdicts = np.full(len(rows), Verdict.UNKNOWN.value)
    verdicts = np.where(lower > 0.0, Verdict.CERTIFIED.value, verdicts)
    verdicts = np.where(upper < -ROUNDING * scale, Verdict.REFUTED.value, verdicts)
    return Certificates(box, rows, verdicts, lower, upper, directions)
