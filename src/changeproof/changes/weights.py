"""The weights of a model changed by a fixed rule, without any retraining."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from changeproof.changes.family import (
    BaseModel,
    Family,
    Label,
    Several,
    Share,
    Variant,
    either,
    percent,
)
from changeproof.datasets.task import Task
from changeproof.model import Floats
from changeproof.models.learner import Learner


class WeightFamily(Family):
    """Change the weights of a model by a fixed rule; biases stay as they are."""

    source = "changeproof, docs/beyond.md"
    trains = False
    needs = "weights"

    @abstractmethod
    def changed(self, weights: Sequence[Floats]) -> Iterator[tuple[str, list[Floats]]]:
        """Yield levels, and what becomes of the weights [outputs, ...] of every layer."""

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> list[Variant]:
        """Return the changed models; what changes nothing, or the same as another, is left out."""
        weights = learner.weights(base.model)
        seen, variants = [weights], []
        for level, changed in self.changed(weights):
            if not any(all(map(np.array_equal, changed, other)) for other in seen):
                seen.append(changed)
                variants.append(Variant(level, 0, learner.with_weights(base.model, changed)))
        return variants


class WeightRounding(WeightFamily):
    """Round the weights to whole numbers of few bits, each times a step.

    The largest weight becomes the largest number; one step serves a whole layer, or every output of
    the layer has its own. Biases stay as they are.

    Parameters
    ----------
    bits
        To how many bits the weights are rounded, the sign among them.
    """

    name = "weight-rounding"
    label = Label("Weight rounding", "round", "Weight rounding")

    def __init__(self, *, bits: Several[Annotated[int, Field(gt=1, lt=32)]] = (8, 4)) -> None:
        self.bits = tuple(bits)
        found = either(self.bits)
        self.summary = f"the weights rounded to {found} bits, by layer or by output of the layer"

    def changed(self, weights: Sequence[Floats]) -> Iterator[tuple[str, list[Floats]]]:
        for bits in self.bits:
            yield f"int{bits}, by layer", [rounded(weight, bits) for weight in weights]
            by_output = [[rounded(each, bits) for each in weight] for weight in weights]
            yield f"int{bits}, by output", [np.array(weight) for weight in by_output]


def rounded(weight: Floats, bits: int) -> Floats:
    """Return weights as whole multiples of the step that makes the largest fit into the bits."""
    largest = float(np.abs(weight).max(initial=0.0))
    step = largest / (2 ** (bits - 1) - 1)
    return weight if largest == 0.0 else np.rint(weight / step) * step


class MagnitudePruning(WeightFamily):
    """Set a share of the weights to zero: the smallest of every layer, or of all layers.

    Biases stay as they are.

    Parameters
    ----------
    shares
        The shares of the weights that become zero, each at least one weight.
    """

    name = "magnitude-pruning"
    label = Label("Magnitude pruning", "prune", "Magn. pruning")

    def __init__(self, *, shares: Several[Share] = (0.10, 0.30, 0.50)) -> None:
        self.shares = tuple(shares)
        found = either([100 * share for share in self.shares])
        self.summary = (
            f"{found} % of the weights set to zero, the smallest of each or of all layers"
        )

    def changed(self, weights: Sequence[Floats]) -> Iterator[tuple[str, list[Floats]]]:
        sizes = np.cumsum([weight.size for weight in weights])[:-1]
        for share in self.shares:
            yield f"{percent(share)}, by layer", [pruned(weight, share) for weight in weights]
            flat = pruned(np.concatenate([weight.ravel() for weight in weights]), share)
            parts = zip(np.split(flat, sizes), weights, strict=True)
            yield f"{percent(share)}, of all", [part.reshape(w.shape) for part, w in parts]


def pruned(weight: Floats, share: float) -> Floats:
    """Return weights with the smallest share set to zero; among equals, the first."""
    count = max(1, round(share * weight.size)) if share > 0 else 0
    result = weight.copy()
    smallest = np.argsort(np.abs(weight), axis=None, kind="stable")[:count]
    result.reshape(-1)[smallest] = 0.0
    return result
