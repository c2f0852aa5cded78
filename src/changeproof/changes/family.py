"""The contract of a change family: it describes changed models and trains nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from changeproof.datasets.task import Task
from changeproof.model import Model
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingRecipe


@dataclass(frozen=True, eq=False)
class BaseModel:
    """The model that changes, a network unless people brought another, and its seed."""

    seed: int
    network: Model


@dataclass(frozen=True, eq=False)
class Variant:
    """One changed model: the level and replicate of the change, and how the model comes about.

    `change` is a recipe still to be trained or, where nothing is trained, the finished network.
    """

    level: str
    replicate: int
    change: TrainingRecipe | Network


class Family(ABC):
    """A kind of change that may happen to a model."""

    name: ClassVar[str]
    summary: ClassVar[str]

    @abstractmethod
    def variants(self, task: Task, base: BaseModel) -> Sequence[Variant]:
        """Describe the changed models of one base model, always in the same order."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def replicates(shares: dict[float, int]) -> list[tuple[float, int]]:
    """Return (share, replicate) for every replicate of every share."""
    return [(share, r) for share, count in shares.items() for r in range(count)]


def percent(share: float) -> str:
    """Return a share as the level's name."""
    return f"{share:.0%}"


def with_pool(task: Task, train_weights: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Extend weights of the training rows by an update pool that does not count."""
    pool = np.zeros(len(task.split.update), np.float32)
    return np.concatenate([train_weights.astype(np.float32), pool])
