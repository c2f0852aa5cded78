"""Certificates: does every network of a box of parameters call a row favourable?

Answers come from the cheapest argument that gives one. Interval arithmetic proves most rows, a
linear bound carried backwards most of the rest; the network itself or an attack refutes most of
the others; a mixed-integer programme decides what is left. Every row is judged on its own.

Networks compute, and so do we: all bounds carry what rounding can do to them and to the network's
own sums (see `bounds.py`), and no answer of the solver is taken for true (see `programme.py`).
What is then still open is unknown.
"""

from __future__ import annotations

import numpy as np

from changeproof.certificates.bounds import DRIFT, HIGH_MAX, LOW_MIN, neuron_bounds
from changeproof.certificates.box import ParameterBox
from changeproof.certificates.worst_case import LogitRange, attack, close_in
from changeproof.model import Booleans, Floats

MAX_NODES = 10_000
# Rows whose bounds are held at once, where only the verdict counts.
ROWS_AT_ONCE = 16_384
# Where the solver may rest, per unit of the largest logit that the box allows.
GAP = 1e-7


class Certificates:
    """What is known about every row, over all networks of a box.

    `bounds` are those of all neurons (see `neuron_bounds`). No network of the box gives a logit
    below `lower`; `upper` is the lowest that was seen, with `directions` [rows, neurons].
    """

    def __init__(self, box: ParameterBox, rows: Floats) -> None:
        self.box, self.rows = box, box.checked(rows)
        self.bounds = neuron_bounds(box, self.rows)
        # The network itself is the first that is seen.
        self.directions = np.zeros((len(rows), box.flat.n_neurons))
        self.lower = self.bounds[:, LOW_MIN, -1].copy()
        self.upper = box.logits_at(self.rows, self.directions)

    @property
    def scale(self) -> Floats:
        """The largest logit that the bounds allow, at least one."""
        ends = np.abs(self.bounds[:, (LOW_MIN, HIGH_MAX), -1])
        return np.asarray(np.maximum(ends.max(axis=1), 1.0))

    @property
    def doubt(self) -> Floats:
        """How much the logit of one network may depend on the order of its sums."""
        return np.asarray(self.bounds[:, DRIFT, -1])

    @property
    def certified(self) -> Booleans:
        """Which rows are proven favourable: all networks give a positive logit."""
        return (self.lower > 0.0) & ~self.refuted

    @property
    def refuted(self) -> Booleans:
        """Which rows a network of the box certainly calls adverse: it gives a negative logit."""
        return np.asarray(self.upper < -self.doubt)

    @property
    def undecided(self) -> Booleans:
        """Which rows are neither proven nor refuted, of those with finite bounds."""
        return np.isfinite(self.lower) & (self.lower <= 0.0) & ~self.refuted

    def attack(self, chosen: Booleans) -> None:
        """Search for worse networks of the chosen rows."""
        self.upper[chosen], self.directions[chosen] = attack(self.box, self.rows[chosen])

    def solve(
        self, chosen: Booleans, max_nodes: int, above: float = 0.0, below: Floats | None = None
    ) -> None:
        """Ask the solver about the chosen rows, until their lower or upper end is beyond a limit.

        By default, until they are certified or refuted.
        """
        # With one hidden layer or none, intervals are exact.
        if max_nodes < 1 or len(self.box.flat.layers) < 3:
            return
        below, gap = -self.doubt if below is None else below, GAP * self.scale
        for i in np.flatnonzero(chosen & np.isfinite(self.lower)).tolist():
            known = LogitRange(float(self.lower[i]), float(self.upper[i]), self.directions[i])
            ends = {"above": above, "below": float(below[i]), "gap": float(gap[i])}
            found = close_in(self.box, self.rows[i], self.bounds[i], known, max_nodes, **ends)
            self.lower[i], self.upper[i], self.directions[i] = found


def certify(box: ParameterBox, rows: Floats, *, max_nodes: int = MAX_NODES) -> Certificates:
    """Decide for every standardised row whether all networks of a box call it favourable.

    The solver may explore `max_nodes` nodes per row; with 0 it is never asked. A row that needs
    more is neither certified nor refuted.
    """
    answers = Certificates(box, rows)
    undecided = answers.undecided
    answers.attack(undecided)
    answers.solve(undecided & answers.undecided, max_nodes)
    return answers


def proven_rows(box: ParameterBox, rows: Floats, *, max_nodes: int = MAX_NODES) -> Booleans:
    """Return which rows `certify` proves favourable, and keep nothing else of many rows."""
    starts = range(0, len(rows), ROWS_AT_ONCE)
    parts = [rows[start : start + ROWS_AT_ONCE] for start in starts]
    found = [certify(box, part, max_nodes=max_nodes).certified for part in parts]
    return np.concatenate([np.zeros(0, dtype=np.bool_), *found])
