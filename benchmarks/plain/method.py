"""What the plain methods have in common: a PyTorch module, and one person at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import SimpleNamespace
from typing import Self

import numpy as np
import torch

from changeproof import Context, Method, Network


class PlainMethod(ABC):
    """The plain counterpart of a method of the package, with the same settings.

    The network is evaluated by PyTorch in double precision, so that a decision at the threshold
    is that of the package.
    """

    def __init__(self, method: Method) -> None:
        self.settings = SimpleNamespace(**method.settings())

    def fit(self, context: Context) -> Self:
        self.context = context
        assert isinstance(context.model, Network)
        self.module = context.model.to_torch().double()
        self.training_rows = context.task.rows("train")
        self.prepare()
        return self

    def prepare(self) -> None:  # noqa: B027 (a hook that some leave empty)
        """Do what is done once per base model."""

    @abstractmethod
    def answer(self, row_id: int, row: np.ndarray) -> np.ndarray:
        """Return one counterfactual, NaN where there is none."""

    def probabilities(self, rows: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return self.module(torch.from_numpy(rows))[:, 0].numpy()

    def favourable(self, rows: np.ndarray) -> np.ndarray:
        return self.probabilities(rows) >= 0.5
