"""What families have in common that change the weights of a model by a rule."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np

from changeproof.changes.family import BaseModel, Family, Variant
from changeproof.datasets.task import Task
from changeproof.model import Floats
from changeproof.models.learner import Learner


class WeightFamily(Family):
    """Change the weights of a model by a rule that leaves nothing to chance.

    Subclasses implement `changed`.
    """

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
