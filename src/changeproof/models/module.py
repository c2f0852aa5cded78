"""PyTorch modules as learners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.model import Access, Booleans, Floats, Model
from changeproof.models.learner import CountedRows, RefittedLearner, Traits

HAS_PYTORCH = find_spec("torch") is not None
if HAS_PYTORCH or TYPE_CHECKING:
    import torch
    from torch import nn


class ModuleModel:
    """A PyTorch module that gives one logit per row."""

    offers = Access.GRADIENTS

    def __init__(self, module: nn.Module, name: str) -> None:
        self.module = module.double().eval()
        self.name = name

    def __repr__(self) -> str:
        return f"ModuleModel({self.name})"

    def _logits(self, rows: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.module(rows)
        if logits.shape not in ((len(rows),), (len(rows), 1)):
            raise InputError(
                f"module {self.name}: expected one logit per row, of shape ({len(rows)},) or "
                f"({len(rows)}, 1); got {tuple(logits.shape)}"
            )
        return logits.reshape(-1)

    def logits(self, rows: Floats) -> Floats:
        with torch.no_grad():
            return np.asarray(self._logits(torch.from_numpy(np.ascontiguousarray(rows))))

    def probabilities(self, rows: Floats) -> Floats:
        return np.asarray(expit(self.logits(rows)))

    def favourable(self, rows: Floats) -> Booleans:
        return self.logits(rows) >= 0.0

    def logits_and_gradients(self, rows: Floats) -> tuple[Floats, Floats]:
        inputs = torch.from_numpy(np.ascontiguousarray(rows)).clone().requires_grad_()
        logits = self._logits(inputs)
        (gradients,) = torch.autograd.grad(logits.sum(), inputs)
        return logits.detach().numpy(), gradients.numpy()

    def perturbed(self, radius: float, seed: int) -> ModuleModel:
        module: Any = deepcopy(self.module)
        generator = torch.Generator().manual_seed(seed)
        moves = [
            torch.empty(p.shape).uniform_(-1.0, 1.0, generator=generator)
            for p in module.parameters()
        ]
        factor = radius / max(float(move.abs().max()) for move in moves)
        with torch.no_grad():
            for parameter, move in zip(module.parameters(), moves, strict=True):
                parameter += move * factor
        return ModuleModel(module, self.name)

    def layer_weights(self) -> list[Floats]:
        """Return the parameters of two and more dimensions; biases and norms have one."""
        return [each.detach().numpy().copy() for each in _weights(self.module)]

    def with_layer_weights(self, weights: Sequence[Floats]) -> ModuleModel:
        module = deepcopy(self.module)
        with torch.no_grad():
            for parameter, weight in zip(_weights(module), weights, strict=True):
                parameter.copy_(torch.from_numpy(weight))
        return ModuleModel(module, self.name)


def _weights(module: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in module.parameters() if parameter.ndim > 1]


class ModuleLearner(RefittedLearner):
    """A PyTorch module with a training function.

    Parameters
    ----------
    build
        ``build(n_features) -> nn.Module``, a module that gives one logit per row.
    fit
        ``fit(module, X, y, sample_weight) -> None`` trains it in place, on float32 tensors.
        PyTorch's generator is seeded before the module is built. A module that has been trained
        is trained further by the same function.
    name
        Its name in tables; by default the name of `build`.
    """

    traits = Traits(
        offers=Access.GRADIENTS,
        follows=Traits().follows | {"start"},
        has_parameters=True,
        has_weights=True,
    )

    def __init__(
        self,
        build: Callable[[int], nn.Module],
        fit: Callable[[nn.Module, torch.Tensor, torch.Tensor, torch.Tensor], None],
        *,
        name: str | None = None,
    ) -> None:
        if not HAS_PYTORCH:
            raise InputError("a ModuleLearner needs PyTorch, which is not installed (extra: torch)")
        self.build, self.fit = build, fit
        self.name = name if name is not None else getattr(build, "__name__", "module")

    def _fit(self, task: Task, seed: int, data: CountedRows, start: Model | None) -> Model:
        if not isinstance(start, ModuleModel | None):
            raise InputError(f"expected a PyTorch model to train further; got {start!r}")
        arrays = data.rows, data.labels, data.weights
        tensors = [torch.from_numpy(array.astype(np.float32)) for array in arrays]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            if start is None:
                module = self.build(task.n_features)
            else:
                module = deepcopy(start.module).float().train()
            if not isinstance(module, nn.Module):
                raise InputError(f"module {self.name}: expected an nn.Module; got {module!r}")
            self.fit(module, *tensors)
        return ModuleModel(module, self.name)
