"""The bank: the changed networks of one base network, made from their descriptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from changeproof.changes.family import BaseModel, Family
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack
from changeproof.networks.training import TrainingData, TrainingRecipe, train


@dataclass(frozen=True, eq=False)
class Bank:
    """Changed networks and, row by row, what was changed.

    `table` has the columns family, level, replicate, best_epoch and epochs (0 where nothing was
    trained), in the order of the stack.
    """

    stack: NetworkStack
    table: pd.DataFrame

    def __len__(self) -> int:
        return len(self.stack)


def build_bank(
    task: Task,
    base: BaseModel,
    families: Sequence[Family],
    *,
    threads: int = 1,
    adapt: Callable[[TrainingRecipe], TrainingRecipe] = lambda recipe: recipe,
) -> Bank:
    """Make the changed networks of one base network, family after family.

    `adapt` may change the families' recipes, for a base network of another width.
    """
    if not isinstance(base.network, Network):
        raise InputError(f"a bank holds networks of ours; got a base model {base.network!r}")
    described = [
        (family.name, variant) for family in families for variant in family.variants(task, base)
    ]
    recipes = {
        position: adapt(variant.change)
        for position, (_, variant) in enumerate(described)
        if isinstance(variant.change, TrainingRecipe)
    }
    trained = train(list(recipes.values()), TrainingData.of(task), threads=threads)
    networks: list[Network] = [
        variant.change if isinstance(variant.change, Network) else base.network
        for _, variant in described
    ]
    best_epochs = np.zeros(len(described), np.int64)
    epochs = np.zeros(len(described), np.int64)
    for number, position in enumerate(recipes):
        networks[position] = trained.stack[number]
        best_epochs[position] = trained.best_epochs[number]
        epochs[position] = trained.epochs[number]
    table = pd.DataFrame(
        {
            "family": [family for family, _ in described],
            "level": [variant.level for _, variant in described],
            "replicate": [variant.replicate for _, variant in described],
            "best_epoch": best_epochs,
            "epochs": epochs,
        }
    )
    return Bank(NetworkStack.of(networks), table)
