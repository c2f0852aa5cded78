"""scikit-learn classifiers and pipelines: as learners, and as they are fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from changeproof.datasets.task import Task
from changeproof.datasets.threshold import Threshold
from changeproof.errors import InputError, setting
from changeproof.model import Access, Floats, Model
from changeproof.models.forests.reading import is_read
from changeproof.models.forests.views import ForestView
from changeproof.models.inputs import (
    EncodedInputs,
    Inputs,
    NativeInputs,
    OriginalInputs,
    TableInputs,
    columns_of,
)
from changeproof.models.learner import (
    Alternative,
    CountedRows,
    FittedModel,
    Learner,
    RefittedLearner,
    Traits,
)
from changeproof.models.linear import Linear, is_linear, linear_score
from changeproof.models.matrices import ReadModel, read_estimator
from changeproof.models.outcomes import (
    TIE,
    Outcomes,
    OwnDecision,
    predicts_numbers,
    takes_the_likeliest,
)
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
    predictions,
    probabilities,
    ready,
    seed_matters,
    seeded,
)
from changeproof.models.shipped import ShippedModel
from changeproof.networks.training import TrainingRecipe

# Where fitted models have their weights, and whether they are [inputs, outputs] there.
WEIGHTS = {
    "LogisticRegression": ("coef_", False),
    "LogisticRegressionCV": ("coef_", False),
    "SGDClassifier": ("coef_", False),
    "LinearDiscriminantAnalysis": ("coef_", False),
    "MLPClassifier": ("coefs_", True),
}


class EstimatorModel(FittedModel):
    """A fitted estimator, and how it judges rows: ``judge(estimator, rows)``."""

    def __init__(
        self,
        judge: Callable[..., Any],
        name: str,
        estimator: Any,
        gives_scores: bool = False,
        find_linear: Callable[[Any], Linear | None] | None = None,
        find_forest: Callable[[Any], ForestView | None] | None = None,
    ) -> None:
        super().__init__(partial(judge, estimator), name, gives_scores)
        self.judge, self.estimator, self.find_linear = judge, estimator, find_linear
        self.find_forest = find_forest

    @cached_property
    def as_forest(self) -> ForestView | None:
        return None if self.find_forest is None else self.find_forest(self.estimator)

    def scores(self, rows: Floats) -> Floats:
        if self.as_forest is None:
            return super().scores(rows)
        return self.as_forest.probabilities(rows)

    @cached_property
    def linear(self) -> Linear | None:
        """Its coefficients in the rows that it judges, if it is linear; found when asked for."""
        if self.find_linear is None:
            return None
        try:
            return self.find_linear(self.estimator)
        except ValueError:  # it refuses to judge some values: categories that it has not seen
            return None

    @property
    def offers(self) -> Access:
        return Access.PREDICTIONS if self.linear is None else Access.LINEAR

    @property
    def coefficients(self) -> Floats:
        assert self.linear is not None
        return self.linear.coefficients

    @property
    def intercept(self) -> float:
        assert self.linear is not None
        return self.linear.intercept

    def logits_and_gradients(self, rows: Floats) -> tuple[Floats, Floats]:
        assert self.linear is not None
        return self.linear.logits_and_gradients(rows)

    def layer_weights(self) -> list[Floats]:
        final, attribute, transposed = _weights_of(self.estimator)
        found = getattr(final, attribute)
        return [np.array(each.T) for each in found] if transposed else [np.array(found)]

    def with_layer_weights(self, weights: Sequence[Floats]) -> EstimatorModel:
        changed = deepcopy(self.estimator)
        final, attribute, transposed = _weights_of(changed)
        setattr(final, attribute, [each.T for each in weights] if transposed else weights[0])
        return EstimatorModel(self.judge, self._name, changed, self.gives_scores, self.find_linear)


class DecidingModel(EstimatorModel):
    """A fitted classifier that decides as its own `predict` does; its probabilities agree."""

    def __init__(self, decision: OwnDecision, name: str, estimator: Any) -> None:
        two_classes = len(estimator.classes_) == 2
        linear = two_classes and is_linear(final_step(estimator)[1])
        scores = not hasattr(estimator, "predict_proba")
        find_linear = decision.linear if linear else None
        super().__init__(decision.scores, name, estimator, scores, find_linear)
        self.decision = decision

    @cached_property
    def _reading(self) -> ReadModel | None:
        return read_estimator(self.estimator, self.decision.inputs, self.decision.task)

    @cached_property
    def as_forest(self) -> ForestView | None:
        # Near a tie, probabilities give way to what it predicts.
        return None if self._reading is None else self._reading.view(self.decision.places, TIE)

    @cached_property
    def _asked(self) -> tuple[Any, OwnDecision]:
        """The estimator, or the forest that it was read as, and how that decides."""
        if self._reading is None:
            return self.estimator, self.decision
        return self._reading.estimator, replace(self.decision, inputs=self._reading.inputs)

    def scores(self, rows: Floats) -> Floats:
        estimator, decision = self._asked
        return self._numbers(partial(decision.scores, estimator), rows)

    def probabilities(self, rows: Floats) -> Floats:
        estimator, decision = self._asked
        return self._checked(self._numbers(partial(decision.decided, estimator), rows))

    def with_layer_weights(self, weights: Sequence[Floats]) -> DecidingModel:
        changed = super().with_layer_weights(weights).estimator
        return DecidingModel(self.decision, self._name, changed)


def estimator_model(
    name: str, estimator: Any, inputs: Inputs, outcomes: Outcomes, task: Task
) -> EstimatorModel:
    """Return a fitted estimator as a model of a task's rows: it decides, or predicts numbers."""
    if outcomes.classes:
        places = outcomes.places(name, estimator.classes_)
        likeliest = takes_the_likeliest(estimator)
        return DecidingModel(OwnDecision(inputs, task, places, likeliest), name, estimator)
    return EstimatorModel(partial(_predicted, inputs, task), name, estimator, gives_scores=True)


def _predicted(inputs: Inputs, task: Task, estimator: Any, rows: Floats) -> Any:
    return predictions(estimator, inputs.taken(rows, task))


def _weights_of(estimator: Any) -> tuple[Any, str, bool]:
    final = final_step(estimator)[1]
    name = type(final).__name__
    if name not in WEIGHTS:
        raise InputError(f"{name} has no weights to change")
    return final, *WEIGHTS[name]


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
        What it predicts, where it was fitted before; by default 0 and 1.
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
        outcomes: Outcomes | None = None,
        few_rows: bool = False,
    ) -> None:
        for need in ("fit", "get_params", *([] if outcomes else ["predict_proba"])):
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
            offers=Access.LINEAR if is_linear(final_step(estimator)[1]) else Access.PREDICTIONS,
            has_seeds=seed_matters(estimator, few_rows=few_rows),
            has_weights=kind in WEIGHTS,
            weighs_rows=weight_key(estimator) is not None,
            original=not isinstance(self.inputs, EncodedInputs),
            forests=is_read(estimator),
            gives_scores=not hasattr(estimator, "predict_proba"),
            predicts_numbers=outcomes is not None and not outcomes.classes,
        )

    def __repr__(self) -> str:
        return f"EstimatorLearner({' '.join(repr(self.estimator).split())})"

    def check(self, task: Task) -> None:
        if isinstance(self.inputs, NativeInputs):
            columns = [feature.name for feature in task.features]
            check_columns(self.estimator, self.name, columns)

    def _fit(self, task: Task, seed: int, data: CountedRows, start: Model | None) -> Model:
        estimator, (rows, weights, labels, _) = seeded(fresh(self.estimator), seed), data
        if self.outcomes is not None:
            labels = self.outcomes.targets(data)
        arguments = self.inputs.prepare(estimator, task)
        counts = np.rint(weights).astype(np.int64)
        if (counts == weights).all():
            # A row drawn twice is there twice, for every kind of model.
            rows, labels = np.repeat(rows, counts, axis=0), np.repeat(labels, counts)
        elif (key := weight_key(estimator)) is not None:
            arguments[key] = weights
        else:
            raise InputError(
                f"model {self.name} takes no row weights; expected weights that are whole numbers"
            )
        try:
            estimator.fit(self.inputs.taken(rows, task), labels, **arguments)
        except Exception as error:
            raise InputError(
                f"model {self.name} could not be fitted on {len(rows)} rows: {cause(error)}"
            ) from error
        if self.outcomes is not None:
            return estimator_model(self.name, estimator, self.inputs, self.outcomes, task)
        classes = list(estimator.classes_)
        if classes != [0, 1]:
            raise InputError(f"model {self.name} was trained on the classes {classes} only")
        linear = partial(self._linear, task) if is_linear(final_step(estimator)[1]) else None
        judge, forest = partial(self._judge, task), partial(self._forest, task)
        return EstimatorModel(judge, self.name, estimator, find_linear=linear, find_forest=forest)

    def _judge(self, task: Task, estimator: Any, rows: Floats) -> Any:
        return probabilities(estimator, self.inputs.taken(rows, task))[:, 1]

    def _forest(self, task: Task, estimator: Any) -> ForestView | None:
        if not self.traits.original:
            return ForestView.of(estimator, 1)
        found = read_estimator(estimator, self.inputs, task)
        return None if found is None else found.view([1])

    def _linear(self, task: Task, estimator: Any) -> Linear | None:
        if not self.traits.original and not isinstance(estimator, Pipeline):
            return Linear(estimator.coef_[0], float(estimator.intercept_[0]))
        return linear_score(
            lambda rows: estimator.decision_function(self.inputs.taken(rows, task)),
            task,
            encoded=not self.traits.original,
            probabilities=partial(self._judge, task, estimator),
        )

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

    def fitted(self, task: Task) -> EstimatorModel:
        inputs = TableInputs.of(self.name, self.estimator, task)
        outcomes = Outcomes.of(self.name, self.estimator, task)
        return estimator_model(self.name, self.estimator, inputs, outcomes, task)

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
