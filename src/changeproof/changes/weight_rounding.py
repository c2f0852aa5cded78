"""Weights of fewer bits, without any retraining."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from changeproof.changes.family import Label, Several, WeightFamily, either
from changeproof.model import Floats

BITS = (8, 4)


def _summary(bits: Sequence[int]) -> str:
    return f"the weights rounded to {either(bits)} bits, by layer or by output of the layer"


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
    summary = _summary(BITS)
    source = "changeproof, docs/beyond.md"

    def __init__(self, *, bits: Several[Annotated[int, Field(gt=1, lt=32)]] = BITS) -> None:
        self.bits = tuple(bits)
        self.summary = _summary(self.bits)

    def changed(self, weights: Sequence[Floats]) -> Iterator[tuple[str, list[Floats]]]:
        """Yield rounded weights, by layer and by output, for each number of bits."""
        for bits in self.bits:
            yield f"int{bits}, by layer", [rounded(weight, bits) for weight in weights]
            by_output = [[rounded(each, bits) for each in weight] for weight in weights]
            yield f"int{bits}, by output", [np.array(weight) for weight in by_output]


def rounded(weight: Floats, bits: int) -> Floats:
    """Return weights as whole multiples of the step that makes the largest fit into the bits."""
    largest = float(np.abs(weight).max(initial=0.0))
    step = largest / (2 ** (bits - 1) - 1)
    return weight if largest == 0.0 else np.rint(weight / step) * step
