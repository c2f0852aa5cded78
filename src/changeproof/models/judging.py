"""Fitted estimators that judge the rows of a task: the one way from rows to decisions."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from changeproof.arithmetic.functions import sigmoids
from changeproof.datasets.task import Task
from changeproof.datasets.threshold import agreeing
from changeproof.errors import InputError
from changeproof.model import Access, Booleans, Floats, Integers
from changeproof.models.classes import TIE, are_among, favourable_share
from changeproof.models.forests.views import ForestView
from changeproof.models.inputs import EncodedInputs, Inputs
from changeproof.models.learner import FittedModel
from changeproof.models.linear import Linear, is_linear, linear_score
from changeproof.models.matrices import read_estimator
from changeproof.models.outcomes import Decides, Outcomes
from changeproof.models.settings import final_step, predictions, probabilities

# Where fitted models have their weights, and whether they are [inputs, outputs] there.
WEIGHTS = {
    "LogisticRegression": ("coef_", False),
    "LogisticRegressionCV": ("coef_", False),
    "SGDClassifier": ("coef_", False),
    "LinearDiscriminantAnalysis": ("coef_", False),
    "MLPClassifier": ("coefs_", True),
}


class EstimatorModel(FittedModel):
    """A fitted estimator that judges the rows of a task.

    `places` are the favourable ones of its classes; without any, it predicts numbers. Forests are
    evaluated by kernels of our own, with the same digits.
    """

    def __init__(
        self,
        name: str,
        estimator: Any,
        inputs: Inputs,
        task: Task,
        places: Sequence[int] = (),
        decides: Decides = Decides.AT_HALF,
    ) -> None:
        self._has_shares = bool(places) and hasattr(estimator, "predict_proba")
        super().__init__(None, name, gives_scores=not self._has_shares)
        self.estimator, self.inputs, self.task = estimator, inputs, task
        self.places, self.decides = list(places), decides

    @classmethod
    def of(
        cls, name: str, estimator: Any, inputs: Inputs, outcomes: Outcomes, task: Task
    ) -> EstimatorModel:
        places, decides = outcomes.places(name, estimator), outcomes.decided_by(estimator)
        return cls(name, estimator, inputs, task, places, decides)

    @cached_property
    def as_forest(self) -> ForestView | None:
        own = self.decides is not Decides.AT_HALF
        return read_estimator(self.estimator, self.inputs, self.task, self.places, own)

    def scores(self, rows: Floats) -> Floats:
        """Return the probability of the favourable classes together, or a score or number."""
        forest = self.as_forest
        return self._numbers(self._scores if forest is None else forest.scores, rows)

    def probabilities(self, rows: Floats) -> Floats:
        """Return probabilities that are at least a half exactly where the estimator accepts."""
        forest = self.as_forest
        judge = self._decided if forest is None else forest.probabilities
        return self._checked(self._numbers(judge, rows))

    def _scores(self, rows: Floats) -> Any:
        taken = self.inputs.taken(rows, self.task)
        if not self.places:
            return predictions(self.estimator, taken)
        if self._has_shares:
            return probabilities(self.estimator, taken)[:, self.places].sum(axis=1)
        return self._margins(taken)

    def _decided(self, rows: Floats) -> Any:
        """Of several classes, the best favourable one is compared with the best other one."""
        if self.decides is Decides.AT_HALF:
            return self._scores(rows)
        taken = self.inputs.taken(rows, self.task)
        if not self._has_shares:
            return agreeing(sigmoids(self._margins(taken)), self._accepts(taken))
        shares = np.asarray(probabilities(self.estimator, taken), dtype=np.float64)
        found, leads = favourable_share(shares, self.places)
        accepted, asked = leads >= 0.0, np.ones(len(rows), dtype=np.bool_)
        if self.decides is Decides.LIKELIEST:
            asked = np.abs(leads) <= TIE
        if asked.any():
            some = taken.iloc[asked] if isinstance(taken, pd.DataFrame) else taken[asked]
            accepted[asked] = self._accepts(some)
        return agreeing(found, accepted)

    def _accepts(self, taken: Any) -> Booleans:
        wanted = [self.estimator.classes_[place] for place in self.places]
        return are_among(np.asarray(predictions(self.estimator, taken)).reshape(-1), wanted)

    def _margins(self, taken: Any) -> Floats:
        """Return a score without probabilities: above 0 where the best class is favourable."""
        scores = np.asarray(self.estimator.decision_function(taken), dtype=np.float64)
        if scores.ndim == 1:
            return scores if self.places == [1] else -scores
        if scores.shape[1] != len(self.estimator.classes_):
            raise InputError("its decision function compares classes in pairs, not each by itself")
        return favourable_share(scores, self.places)[1]

    @cached_property
    def linear(self) -> Linear | None:
        """Its coefficients in the rows that it judges, if it is linear; found when asked for."""
        final = final_step(self.estimator)[1]
        if not self.places or not is_linear(final) or len(self.estimator.classes_) != 2:
            return None
        encoded = isinstance(self.inputs, EncodedInputs)
        if encoded and not isinstance(self.estimator, Pipeline):
            return Linear(final.coef_[0], float(final.intercept_[0]))
        shares = self._scores if self._has_shares else None
        try:
            return linear_score(self._log_odds, self.task, encoded=encoded, probabilities=shares)
        except ValueError:  # it refuses to judge some values: categories that it has not seen
            return None

    def _log_odds(self, rows: Floats) -> Floats:
        found: Floats = self.estimator.decision_function(self.inputs.taken(rows, self.task))
        return found if self.places == [1] else -found

    @property
    def offers(self) -> Access:
        if self.linear is not None:
            return Access.LINEAR
        forest = self.as_forest
        return Access.PREDICTIONS if forest is None or forest.voting is None else Access.VOTES

    @property
    def n_voters(self) -> int:
        """How many trees there are, of a forest that offers votes."""
        assert self.as_forest is not None
        return len(self.as_forest.forest.trees)

    def votes(self, rows: Floats) -> Integers:
        """Return how many trees predict the favourable class, of a forest that offers votes."""
        assert self.as_forest is not None
        return self.as_forest.votes(rows)

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
        about = (self.inputs, self.task, self.places, self.decides)
        return EstimatorModel(self._name, changed, *about)


def _weights_of(estimator: Any) -> tuple[Any, str, bool]:
    final = final_step(estimator)[1]
    name = type(final).__name__
    if name not in WEIGHTS:
        raise InputError(f"{name} has no weights to change")
    return final, *WEIGHTS[name]
