"""Boosted trees as the libraries keep them: fitted boosters of XGBoost, LightGBM and CatBoost.

A booster is kept in the library's own format, which runs no code when it is read. It cannot be
fitted again: it does not know how it was trained.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import re
from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from changeproof.datasets.task import Task
from changeproof.errors import InputError, one_line
from changeproof.model import Floats
from changeproof.models.classes import favourable_classes
from changeproof.models.forests.forest import Link, linked
from changeproof.models.inputs import CATEGORY, ColumnType, TableInputs, columns_of
from changeproof.models.judging import EstimatorModel
from changeproof.models.libraries import library_of, required
from changeproof.models.outcomes import Decides
from changeproof.models.shipped import ShippedModel

Frame = pd.DataFrame | Floats
# The objectives whose one number per row is the probability of class 1.
XGBOOST_SHARES = ("binary:logistic", "reg:logistic")
LIGHTGBM_SHARES = ("binary", "cross_entropy")


class Booster(ShippedModel):
    """A fitted booster in its library's own format.

    A library is a subclass: how bytes become a booster, of which classes it gives probabilities,
    and how it judges rows. It has the digits of the library's classifier.

    Attributes
    ----------
    library
        The name of the library, which is also that of the extra.
    classes_
        The classes that it gives probabilities of; None where it gives one score.
    """

    library: ClassVar[str]
    classes_: tuple[Any, ...] | None

    def __init__(self, content: bytes, name: str, reference: str) -> None:
        self.content, self.name, self.reference = content, name, reference
        self.kind = f"booster ({self.library})"
        self.digest = hashlib.sha256(content).hexdigest()
        required(self.library, reference)
        try:
            booster = self.library_model
            self.columns, self.classes_ = columns_of(booster), self._classes(booster)
        except Exception as error:
            raise InputError(
                f"{reference} is no model of {self.library}: {one_line(error)}"
            ) from error

    def _fitted(self, task: Task) -> EstimatorModel:
        inputs = TableInputs.of(self.name, self.library_model, task)
        self._check_types(dict(inputs.types), task)
        classes = self.classes_
        places = [] if classes is None else favourable_classes(self.name, classes, task)
        several = classes is not None and len(classes) > 2
        decides = Decides.LIKELIEST if several else Decides.AT_HALF
        return EstimatorModel(self.name, self, inputs, task, places, decides)

    def unseen(self, task: Task) -> dict[str, list[Any]]:
        return TableInputs.of(self.name, self.library_model, task).unseen(task)

    def predict_proba(self, frame: Frame) -> Any:
        numbers = self._numbers(self.library_model, frame)
        return np.column_stack([1.0 - numbers, numbers]) if numbers.ndim == 1 else numbers

    def predict(self, frame: Frame) -> Any:
        """Return scores, or the likeliest classes."""
        if self.classes_ is None:
            return self._numbers(self.library_model, frame)
        return np.array(self.classes_)[self.predict_proba(frame).argmax(axis=1)]

    def _check_types(self, types: Mapping[str, ColumnType], task: Task) -> None:
        """Refuse types that would have to be guessed."""

    @property
    def library_model(self) -> Any:
        """The booster itself."""
        return loaded(type(self), self.content)

    @classmethod
    @abstractmethod
    def of(cls, booster: Any, name: str, reference: str) -> Self:
        """Return a booster as a fitted model."""

    @classmethod
    @abstractmethod
    def load(cls, content: bytes) -> Any:
        """Return the booster that bytes hold."""

    @abstractmethod
    def _classes(self, booster: Any) -> tuple[Any, ...] | None:
        """Return the classes that a booster gives probabilities of; None for scores."""

    @abstractmethod
    def _numbers(self, booster: Any, frame: Frame) -> Any:
        """Return scores, probabilities of class 1, or probabilities [rows, classes]."""


class XgboostBooster(Booster):
    """A booster of XGBoost, in its JSON or UBJSON."""

    library = "xgboost"

    @classmethod
    def of(cls, booster: Any, name: str, reference: str) -> Self:
        return cls(bytes(booster.save_raw("ubj")), name, reference)

    @classmethod
    def load(cls, content: bytes) -> Any:
        import xgboost

        booster = xgboost.Booster({"nthread": 1})
        booster.load_model(bytearray(content))
        return booster

    def _classes(self, booster: Any) -> tuple[Any, ...] | None:
        learner = json.loads(booster.save_config())["learner"]
        objective = learner["objective"]["name"]
        self._predicts_classes = objective == "multi:softmax"
        if objective.startswith("multi:"):
            return tuple(range(int(learner["learner_model_param"]["num_class"])))
        return (0, 1) if objective in XGBOOST_SHARES else None

    def _check_types(self, types: Mapping[str, ColumnType], task: Task) -> None:
        for column, wanted in types.items():
            written = task.raw.get(column)
            if not wanted.levels and (written is None or written.dtype != CATEGORY):
                raise InputError(
                    f"model {self.name} does not say which categories of {column!r} its codes "
                    "stand for; train it with xgboost 3.1 or later on a DataFrame with categories"
                )

    def _numbers(self, booster: Any, frame: Frame) -> Any:
        import xgboost

        rows = xgboost.DMatrix(frame, enable_categorical=True, nthread=1)
        attributes = booster.attributes()
        # Of a file that scikit-learn's interface wrote, that interface takes the best rounds only.
        best = attributes.get("best_iteration") if "scikit_learn" in attributes else None
        rounds = (0, 0 if best is None else int(best) + 1)
        if not self._predicts_classes:
            return booster.predict(rows, iteration_range=rounds)
        margins = booster.predict(rows, iteration_range=rounds, output_margin=True)
        return linked(Link.SOFTMAX_SINGLE, margins)


class LightgbmBooster(Booster):
    """A booster of LightGBM, in its text format."""

    library = "lightgbm"

    @classmethod
    def of(cls, booster: Any, name: str, reference: str) -> Self:
        return cls(booster.model_to_string().encode(), name, reference)

    @classmethod
    def load(cls, content: bytes) -> Any:
        import lightgbm

        return lightgbm.Booster(model_str=content.decode())

    def _classes(self, booster: Any) -> tuple[Any, ...] | None:
        found = re.search(r"^objective=(\w+)", self.content.decode(), re.MULTILINE)
        count = booster.num_model_per_iteration()
        if count > 1:
            return tuple(range(count))
        return (0, 1) if found is not None and found[1] in LIGHTGBM_SHARES else None

    def _numbers(self, booster: Any, frame: Frame) -> Any:
        return booster.predict(frame, num_threads=1)


class CatboostModel(Booster):
    """A model of CatBoost, in its binary format."""

    library = "catboost"

    @classmethod
    def of(cls, booster: Any, name: str, reference: str) -> Self:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.cbm"
            booster.save_model(str(path), format="cbm")
            return cls(path.read_bytes(), name, reference)

    @classmethod
    def load(cls, content: bytes) -> Any:
        import catboost

        return catboost.CatBoost().load_model(blob=content)

    def _classes(self, booster: Any) -> tuple[Any, ...] | None:
        return tuple(booster.classes_) or None

    def _numbers(self, booster: Any, frame: Frame) -> Any:
        kind = "RawFormulaVal" if self.classes_ is None else "Probability"
        return booster.predict(frame, prediction_type=kind, thread_count=1)


@lru_cache(maxsize=8)
def loaded(kind: type[Booster], content: bytes) -> Any:
    return kind.load(content)


# XGBoost cannot let go of boosters any more when the interpreter takes itself apart.
atexit.register(loaded.cache_clear)

KINDS: dict[str, type[Booster]] = {
    kind.library: kind for kind in (XgboostBooster, LightgbmBooster, CatboostModel)
}


def as_booster(booster: Any, name: str, reference: str) -> Booster:
    """Return a booster that is no estimator as a fitted model."""
    return KINDS[library_of(booster)].of(booster, name, reference)
