"""Models that see other columns than those of the task that they are asked about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from changeproof.model import Access, Booleans, Floats, Model
from changeproof.networks.network import Network


@dataclass(frozen=True, repr=False, eq=False)
class RewrittenModel:
    """A model that is given rows after they were rewritten."""

    model: Model
    rewrite: Callable[[Floats], Floats]
    offers: ClassVar[Access] = Access.PREDICTIONS

    def __repr__(self) -> str:
        return f"RewrittenModel({self.model!r})"

    def probabilities(self, rows: Floats) -> Floats:
        """Return the probability of the favourable class, one per row."""
        return self.model.probabilities(self.rewrite(rows))

    def favourable(self, rows: Floats) -> Booleans:
        """Return whether the favourable class is predicted: probability >= 0.5."""
        return self.model.favourable(self.rewrite(rows))


def ignoring(model: Model, columns: Sequence[int]) -> Model:
    """Return the model without its eyes for some columns, which it takes to be at their means.

    A network of ours stays one: it has no weights there.
    """
    places = list(columns)
    if not isinstance(model, Network):
        return RewrittenModel(model, partial(_at_the_mean, columns=places))
    first = model.weights[0].copy()
    first[:, places] = 0.0
    return replace(model, weights=(first, *model.weights[1:]))


def _at_the_mean(rows: Floats, columns: list[int]) -> Floats:
    held = rows.copy()
    held[:, columns] = 0.0
    return held
