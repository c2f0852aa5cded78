"""PROPLACE as published, with HiGHS: a master and an adversary take turns until none refuses."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, vstack

from changeproof import Network
from changeproof.certificates.box import ParameterBox
from worst_cases import refuting_network, worst_logits

MOST_TURNS = 100


class HullProgramme:
    """Columns: lengths of changes, weights of the vertices, then the neurons of every network."""

    def __init__(self, factual: np.ndarray, vertices: np.ndarray) -> None:
        self.factual, self.vertices = factual, vertices
        n, k = len(factual), len(vertices)
        self.n_columns, self.first_weight = n + k, n
        self.upper = [np.inf] * n + [1.0] * k
        self.binary = [False] * (n + k)
        self.rows: list[dict[int, float]] = []
        self.least: list[float] = []
        ways = vertices - factual
        for feature in range(n):
            for sign in (1.0, -1.0):
                weights = {n + i: -sign * float(ways[i, feature]) for i in range(k)}
                self._row({feature: 1.0, **weights}, 0.0)
        for sign in (1.0, -1.0):
            self._row({n + i: sign for i in range(k)}, sign)

    def _row(self, columns: dict[int, float], least: float) -> None:
        self.rows.append(columns)
        self.least.append(least)

    def _column(self, upper: float, binary: bool = False) -> int:
        self.upper.append(upper)
        self.binary.append(binary)
        self.n_columns += 1
        return self.n_columns - 1

    def add(self, network: Network, epsilon: float) -> None:
        """Demand of one network a logit of epsilon; each neuron has a switch."""
        k = len(self.vertices)
        values = self.vertices.T  # [inputs, columns that make them]
        columns = [self.first_weight + i for i in range(k)]
        low = high = np.empty(0)
        for layer, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
            w, b = weight.astype(np.float64), bias.astype(np.float64)
            if layer == 0:
                sums = w @ values + b[:, None]
                slopes, ends = w @ values, (sums.min(axis=1), sums.max(axis=1))
            else:
                slopes = w
                up, down = np.maximum(w, 0.0), np.minimum(w, 0.0)
                ends = (up @ low + down @ high + b, up @ high + down @ low + b)
            if layer == len(network.weights) - 1:
                self._row(dict(zip(columns, slopes[0].tolist(), strict=True)), epsilon - b[0])
                return
            made = []
            for i in range(len(b)):
                least, most = min(float(ends[0][i]), 0.0) - 1e-6, max(float(ends[1][i]), 0.0) + 1e-6
                h, switch = self._column(most), self._column(1.0, binary=True)
                linear = dict(zip(columns, slopes[i].tolist(), strict=True))
                self._row({h: 1.0, **{c: -v for c, v in linear.items()}}, float(b[i]))
                self._row(
                    {h: -1.0, switch: least, **linear}, least - float(b[i])
                )  # h <= value - least (1 - switch)
                self._row({h: -1.0, switch: most}, 0.0)
                made.append(h)
            columns, low = made, np.maximum(ends[0], 0.0)
            high = np.maximum(ends[1], 0.0)

    def solve(self) -> np.ndarray | None:
        """Return the nearest point, or None where there is none."""
        matrix = vstack(
            [
                csr_array(
                    (list(row.values()), ([0] * len(row), list(row))), shape=(1, self.n_columns)
                )
                for row in self.rows
            ]
        )
        costs = np.zeros(self.n_columns)
        costs[: self.first_weight] = 1.0
        answer = milp(
            costs,
            constraints=LinearConstraint(matrix, np.array(self.least), np.inf),
            integrality=np.array(self.binary, dtype=int),
            bounds=Bounds(0.0, np.array(self.upper)),
        )
        if answer.x is None:
            return None
        weights = answer.x[self.first_weight :][: len(self.vertices)]
        return np.asarray(weights @ self.vertices)


def nearest_in_hull(
    box: ParameterBox, factual: np.ndarray, vertices: np.ndarray, epsilon: float
) -> np.ndarray | None:
    """Return the published answer: the nearest point of a hull that the box accepts."""
    programme = HullProgramme(factual, vertices)
    programme.add(box.network, epsilon)
    for _ in range(MOST_TURNS):
        point = programme.solve()
        if point is None:
            return None
        worst = worst_logits(box, point[None])
        if not worst.refuted[0]:
            return point
        programme.add(refuting_network(worst, 0), epsilon)
    raise AssertionError("the published loop did not end")
