"""scikit-learn classifiers and pipelines: as learners, and as they are fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from changeproof.datasets.task import Task
from changeproof.datasets.threshold import Threshold
from changeproof.errors import InputError, setting
from changeproof.model import Access, Model
from changeproof.models.forests.reading import is_read
from changeproof.models.inputs import (
    EncodedInputs,
    Inputs,
    NativeInputs,
    OriginalInputs,
    TableInputs,
    columns_of,
)
from changeproof.models.judging import WEIGHTS, EstimatorModel
from changeproof.models.learner import (
    Alternative,
    CountedRows,
    Learner,
    RefittedLearner,
    Traits,
)
from changeproof.models.linear import is_linear
from changeproof.models.outcomes import LABELS, Outcomes, predicts_numbers
from changeproof.models.settings import (
    cause,
    check_columns,
    default_grid,
    few_rows_limit,
    final_step,
    fresh,
    is_boosted,
    known_settings,
    model_digest,
    ready,
    seed_matters,
    seeded,
)
from changeproof.models.shipped import ShippedModel
from changeproof.networks.training import TrainingRecipe

# Forests that take the mean of their trees, so that the trees can be said to vote.
VOTING = ("RandomForestClassifier", "ExtraTreesClassifier")


class EstimatorLearner(RefittedLearner):
    """A scikit-learn classifier or pipeline with `predict_proba`, cloned for every training.

    Parameters
    ----------
    estimator
        A classifier; fitted or not, it is cloned and never changed. Clones are trained on one
        thread, since many are trained side by side.
    grid
        The training configurations: parameters and their values, as for scikit-learn's
        `ParameterGrid`. There are defaults for common classifiers.
    original
        Whether it takes the original features as a DataFrame, not standardised and one-hot
        encoded rows. By default true for a pipeline with a `ColumnTransformer`, and for boosters,
        which take categories and missing values as they are.
    inputs
        How it takes the columns of a table, where it was fitted to one before.
    outcomes
        What it predicts, where it was fitted before; by default labels.
    few_rows
        Whether it is trained on few rows, of which some kinds leave nothing to chance (see
        `seed_matters`).
    """

    def __init__(
        self,
        estimator: Any,
        *,
        grid: Mapping[str, Sequence[Any]] | None = None,
        original: bool | None = None,
        name: str | None = None,
        inputs: Inputs | None = None,
        outcomes: Outcomes = LABELS,
        few_rows: bool = False,
    ) -> None:
        for need in ("fit", "get_params", *(["predict_proba"] if outcomes.at_half else [])):
            if not hasattr(estimator, need):
                raise InputError(
                    f"model {type(estimator).__name__} has no {need}; expected a scikit-learn "
                    "classifier that gives probabilities"
                )
        estimator = ready(estimator)
        self.estimator, self.outcomes, self.few_rows = estimator, outcomes, few_rows
        self.inputs = _usual_inputs(estimator, original) if inputs is None else inputs
        self.grid = None if grid is None else grid_of(grid)
        kind = type(final_step(estimator)[1]).__name__
        self.name = kind if name is None else name
        self.traits = Traits(
            offers=_offers(final_step(estimator)[1], outcomes),
            has_seeds=seed_matters(estimator, few_rows=few_rows),
            has_weights=kind in WEIGHTS,
            weighs_rows=weight_key(estimator) is not None,
            original=not isinstance(self.inputs, EncodedInputs),
            forests=is_read(final_step(estimator)[1]),
            gives_scores=not hasattr(estimator, "predict_proba"),
            predicts_numbers=not outcomes.classes,
            decides_at_half=len(outcomes.classes) == 2,
        )

    def __repr__(self) -> str:
        return f"EstimatorLearner({' '.join(repr(self.estimator).split())})"

    def check(self, task: Task) -> None:
        if isinstance(self.inputs, NativeInputs):
            columns = [feature.name for feature in task.features]
            check_columns(self.estimator, self.name, columns)

    def _fit(self, task: Task, seed: int, data: CountedRows, start: Model | None) -> Model:
        estimator, rows, weights = seeded(fresh(self.estimator), seed), data.rows, data.weights
        targets = self.outcomes.targets(data)
        arguments = self.inputs.prepare(estimator, task)
        counts = np.rint(weights).astype(np.int64)
        if (counts == weights).all():
            # A row drawn twice is there twice, for every kind of model.
            rows, targets = np.repeat(rows, counts, axis=0), np.repeat(targets, counts)
        elif (key := weight_key(estimator)) is not None:
            arguments[key] = weights
        else:
            raise InputError(
                f"model {self.name} takes no row weights; expected weights that are whole numbers"
            )
        try:
            estimator.fit(self.inputs.taken(rows, task), targets, **arguments)
        except Exception as error:
            raise InputError(
                f"model {self.name} could not be fitted on {len(rows)} rows: {cause(error)}"
            ) from error
        return EstimatorModel.of(self.name, estimator, self.inputs, self.outcomes, task)

    def offers_on(self, task: Task) -> Access:
        """Return whether its models are linear; for a pipeline, one is trained to find out."""
        if self.traits.offers is Access.PREDICTIONS or not isinstance(self.estimator, Pipeline):
            return self.traits.offers
        return self._train_one(TrainingRecipe(initialisation_seed=0), task).offers

    def configurations(self) -> list[Alternative]:
        """Return the grid without the present setting."""
        grid = default_grid(self.estimator) if self.grid is None else self.grid
        known = known_settings(self.estimator)
        if unknown := [key for key in grid if key not in known]:
            raise InputError(
                f"model {self.name} has no parameter {unknown[0]!r} to vary; "
                f"expected one of: {', '.join(sorted(known))}"
            )
        alternatives = []
        for point in ParameterGrid(grid):
            if all(known[key] == value for key, value in point.items()):
                continue
            level = " ".join(f"{key.split('__')[-1]}={value}" for key, value in point.items())
            learner = EstimatorLearner(
                fresh(self.estimator).set_params(**point),
                name=self.name,
                inputs=self.inputs,
                outcomes=self.outcomes,
                few_rows=self.few_rows,
            )
            alternatives.append(Alternative(level, learner))
        return alternatives

    def sized(self, rows: int) -> Self:
        found = copy(super().sized(rows))
        found.few_rows = rows <= few_rows_limit(self.estimator)
        has_seeds = seed_matters(self.estimator, few_rows=found.few_rows)
        found.traits = replace(found.traits, has_seeds=has_seeds)
        return found


def _offers(estimator: Any, outcomes: Outcomes) -> Access:
    """Return what methods may use of models of this kind, as a rule."""
    if is_linear(estimator):
        return Access.LINEAR
    votes = type(estimator).__name__ in VOTING and is_read(estimator)
    several = votes and estimator.n_estimators > 1 and len(outcomes.classes) == 2
    return Access.VOTES if several else Access.PREDICTIONS


def _usual_inputs(estimator: Any, original: bool | None) -> Inputs:
    if is_boosted(estimator) and original is not False:
        return NativeInputs.of(estimator)
    if original is None:
        steps = estimator.steps if isinstance(estimator, Pipeline) else []
        original = any(isinstance(step, ColumnTransformer) for _, step in steps)
    return OriginalInputs() if original else EncodedInputs()


class ShippedEstimator(ShippedModel):
    """A fitted scikit-learn classifier, regressor or pipeline."""

    def __init__(self, estimator: Any, name: str, reference: str) -> None:
        self.estimator, self.name, self.reference = estimator, name, reference
        self.predicts_numbers = predicts_numbers(estimator)
        if not self.predicts_numbers and not hasattr(estimator, "classes_"):
            raise InputError(f"model {name} is not fitted: it has no classes_; fit it first")
        self.columns = columns_of(estimator)
        self.digest = model_digest(estimator)

    def _fitted(self, task: Task) -> EstimatorModel:
        inputs = TableInputs.of(self.name, self.estimator, task)
        outcomes = Outcomes.of(self.name, self.estimator, task)
        return EstimatorModel.of(self.name, self.estimator, inputs, outcomes, task)

    def unseen(self, task: Task) -> dict[str, list[Any]]:
        return TableInputs.of(self.name, self.estimator, task).unseen(task)

    def decides_at(self, task: Task, given: Threshold | None) -> Threshold | None:
        if not self.predicts_numbers or given is not None:
            return given
        if task.favourable_range is None:
            raise InputError(
                f"model {self.name} predicts numbers; say which are favourable: "
                f"{setting(favourable='>=620')} or {setting(favourable='200:300')}"
            )
        return task.favourable_range

    def refits(self, task: Task) -> Learner:
        lacks_numbers = self.predicts_numbers and task.favourable_range is None
        if lacks_numbers or not hasattr(self.estimator, "fit"):
            return super().refits(task)
        inputs = TableInputs.of(self.name, self.estimator, task)
        outcomes = Outcomes.of(self.name, self.estimator, task).refitted_on(task)
        return EstimatorLearner(self.estimator, name=self.name, inputs=inputs, outcomes=outcomes)


def grid_of(given: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Return a grid with lists, also where a plan that is read again has tuples."""
    return {key: list(values) for key, values in given.items()}


def weight_key(estimator: Any) -> str | None:
    """Return the name under which `fit` takes row weights, if it does."""
    prefix, final = final_step(estimator)
    return f"{prefix}sample_weight" if has_fit_parameter(final, "sample_weight") else None
