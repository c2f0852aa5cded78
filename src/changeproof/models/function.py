"""Any training function as a learner."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.model import Floats, Model
from changeproof.models.learner import FittedModel, RefittedLearner, Traits

PARAMETERS = ("X", "y", "sample_weight", "seed")


class FunctionLearner(RefittedLearner):
    """A function ``fit(X, y, sample_weight, seed)`` that returns ``predict_proba``.

    Parameters
    ----------
    fit
        Called with standardised rows [rows, features], labels 0 (adverse) and 1 (favourable),
        how often each row counts, and a seed. Returns a function of rows that gives the
        probability of the favourable class, [rows] or [rows, 2].
    name
        Its name in tables; by default the function's name.
    """

    traits = Traits(gives_scores=True)

    def __init__(self, fit: Callable[..., Any], name: str | None = None) -> None:
        if not callable(fit):
            raise InputError(f"a training function must be callable; got {fit!r}")
        self.fit = fit
        _refuse_others(fit)
        self.name = name if name is not None else getattr(fit, "__name__", type(fit).__name__)

    def _model(self, task: Task, seed: int, rows: Floats, weights: Floats, labels: Any) -> Model:
        predict = self.fit(rows, labels, weights, seed)
        if not callable(predict):
            raise InputError(
                f"training function {self.name}{PARAMETERS} must return a function of rows that "
                f"gives probabilities; got {type(predict).__name__}"
            )
        return FittedModel(predict, self.name)


def _refuse_others(fit: Callable[..., Any]) -> None:
    """Refuse what cannot be called with what a training function gets, such as one that predicts.

    What does not tell its parameters is tried.
    """
    try:
        signature = inspect.signature(fit)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*PARAMETERS)
    except TypeError:
        name = getattr(fit, "__name__", type(fit).__name__)
        raise InputError(
            f"model {name}{signature} cannot be called with ({', '.join(PARAMETERS)}); expected a "
            "function that trains, and returns one that predicts. A function that only predicts "
            "is used as it is beside a successor, or as onnx:FILE"
        ) from None
