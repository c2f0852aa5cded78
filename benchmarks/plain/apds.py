"""AP-Delta-S for one person: a mixed-integer programme per margin, network after network judged."""

from __future__ import annotations

import math
import time

import numpy as np
import torch
from torch import nn
from torch.func import functional_call

from benchmarks.plain.draws import moved_parameters
from benchmarks.plain.method import PlainMethod
from benchmarks.plain.programme import Programme

MARGIN_SLACK = 1e-4


class PlainAPDS(PlainMethod):
    # The published code's limit; a search that needs longer ends with a TimeoutError.
    seconds = 30.0

    def prepare(self) -> None:
        s = self.settings
        self.radius = self.calibrated() if s.radius is None else s.radius
        self.centre = [p.detach().float() for p in self.module.parameters()]
        self.names = [name for name, _ in self.module.named_parameters()]
        self.samples = math.ceil(math.log(1.0 - s.confidence) / math.log(s.robustness))

    def calibrated(self) -> float:
        """Return the largest parameter change of one pass over bootstraps of the update pool."""
        s, task = self.settings, self.context.task
        rows = torch.tensor(task.rows("update"), dtype=torch.float32)
        labels = torch.tensor(task.labels_of("update"), dtype=torch.float32)
        largest = 0.0
        for replica in range(s.replicas):
            generator = np.random.default_rng(self.context.base_seed + 200_000 + replica)
            drawn = generator.integers(0, len(rows), len(rows))
            network = self.context.model.to_torch()
            before = [parameter.detach().clone() for parameter in network.parameters()]
            optimiser = torch.optim.Adam(network.parameters(), lr=s.update_learning_rate)
            for batch in np.array_split(drawn, range(s.update_batch, len(drawn), s.update_batch)):
                optimiser.zero_grad()
                nn.BCELoss()(network(rows[batch])[:, 0], labels[batch]).backward()
                optimiser.step()
            for old, new in zip(before, network.parameters(), strict=True):
                largest = max(largest, float((new - old).detach().abs().max()))
        return largest

    def answer(self, row_id: int, row: np.ndarray) -> np.ndarray:
        s = self.settings
        deadline = time.perf_counter() + self.seconds
        for number in range(
            math.floor((s.last_margin - s.first_margin) / s.margin_step + 1e-9) + 1
        ):
            margin = s.first_margin + number * s.margin_step
            point = self.closest(row, margin + MARGIN_SLACK, deadline - time.perf_counter())
            if point is not None and self.survives(point, self.context.base_seed):
                # The certificate on a sample of its own is part of the job. (Whose it is does not
                # matter here: the package's is that of the person's place among all.)
                self.certified = self.survives(point, self.context.base_seed + 1_000_003 + row_id)
                return point
        return np.full_like(row, np.nan)

    def survives(self, point: np.ndarray, seed: int) -> bool:
        """Return whether all networks drawn from the box call a point favourable."""
        generator = torch.Generator().manual_seed(seed)
        row = torch.from_numpy(point[None])
        with torch.no_grad():
            tensors = moved_parameters(self.centre, self.radius, self.samples, generator)
            for moved in zip(*tensors, strict=True):
                parameters = dict(zip(self.names, (p.double() for p in moved), strict=True))
                if float(functional_call(self.module, parameters, row)) < 0.5:
                    return False
        return True

    def closest(self, row: np.ndarray, target: float, seconds: float) -> np.ndarray | None:
        """Return the closest point inside the training range that has a logit, if there is one."""
        network = self.context.model
        low, high = self.context.task.training_range
        programme = Programme()
        inputs: list[int] = []
        before: list[int] = []
        for value, least, most in zip(row, low, high, strict=True):
            feature = programme.variable(least, most)
            change = programme.variable(0.0, math.inf, cost=1.0)
            programme.at_most({feature: 1.0, change: -1.0}, value)
            programme.at_most({feature: -1.0, change: -1.0}, -value)
            inputs.append(feature)
        features = list(inputs)
        for layer, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
            if layer:
                inputs = [programme.relu(variable) for variable in before]
            least = np.array([programme.lower[i] for i in inputs])
            most = np.array([programme.upper[i] for i in inputs])
            before = []
            for weights, constant in zip(weight.astype(float), bias.astype(float), strict=True):
                smallest = np.minimum(weights * least, weights * most).sum() + constant
                largest = np.maximum(weights * least, weights * most).sum() + constant
                variable = programme.variable(smallest, largest)
                terms = dict(zip(inputs, weights.tolist(), strict=True))
                programme.at_most(terms | {variable: -1.0}, -constant)
                opposite = {i: -value for i, value in terms.items()}
                programme.at_most(opposite | {variable: 1.0}, constant)
                before.append(variable)
        if programme.upper[before[0]] < target:
            return None
        programme.lower[before[0]] = max(programme.lower[before[0]], target)
        if seconds <= 0.0:
            raise TimeoutError("no time left for another margin")
        solved = programme.solve(seconds=seconds)
        return None if solved is None else solved[1][features]
