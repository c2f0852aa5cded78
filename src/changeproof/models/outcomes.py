"""What fitted estimators predict, classes or numbers, and how their own decisions are read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import is_regressor

from changeproof.arithmetic.functions import sigmoids
from changeproof.datasets.task import Task
from changeproof.datasets.threshold import HALF, agreeing
from changeproof.errors import InputError
from changeproof.feasible.feature import text_of
from changeproof.model import Booleans, Floats
from changeproof.models.classes import are_among, favourable_classes, favourable_share
from changeproof.models.inputs import Inputs
from changeproof.models.learner import CountedRows
from changeproof.models.libraries import library_of
from changeproof.models.linear import Linear, linear_score
from changeproof.models.settings import final_step, predictions, probabilities

# So near to a tie, the likeliest class need not be the one that a model predicts.
TIE = 1e-6
# Kinds that predict the likeliest class, ties aside. Of all others, `predict` is asked for every
# row: a support vector machine, or a classifier with a tuned threshold, decides otherwise.
LIKELIEST = {
    "sklearn": {
        *("LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis"),
        *("SGDClassifier", "DecisionTreeClassifier", "ExtraTreeClassifier"),
        *("RandomForestClassifier", "ExtraTreesClassifier", "AdaBoostClassifier"),
        *("GradientBoostingClassifier", "HistGradientBoostingClassifier", "MLPClassifier"),
        *("GaussianNB", "BernoulliNB", "MultinomialNB", "ComplementNB", "CategoricalNB"),
        *("KNeighborsClassifier", "RadiusNeighborsClassifier"),
    },
    "xgboost": {"XGBClassifier", "XGBRFClassifier"},
    "lightgbm": {"LGBMClassifier"},
    "catboost": {"CatBoostClassifier"},
}
OBJECTIVES = (None, "binary:logistic", "multi:softprob", "multi:softmax", "binary", "multiclass")


def predicts_numbers(estimator: Any) -> bool:
    """Return whether an estimator is a regressor."""
    if hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function"):
        return False
    final = final_step(estimator)[1]
    if library_of(final) == "catboost":
        return hasattr(final, "predict")
    try:
        return bool(is_regressor(final))
    except AttributeError:  # not an estimator of scikit-learn's kind
        return False


def takes_the_likeliest(estimator: Any) -> bool:
    """Return whether `predict` is known to be the likeliest class, ties aside."""
    final = final_step(estimator)[1]
    library = library_of(final)
    if type(final).__name__ not in LIKELIEST.get(library, ()):
        return False
    if library == "sklearn":
        return True
    if library == "catboost":
        return len(final.classes_) > 2 or final.get_probability_threshold() == HALF
    return final.get_params().get("objective") in OBJECTIVES


@dataclass(frozen=True)
class Outcomes:
    """The classes that an estimator tells apart, and the favourable ones; none where it is numbers.

    Classes are plain values, in the estimator's order.
    """

    classes: tuple[Any, ...] = ()
    favourable: tuple[Any, ...] = ()

    @classmethod
    def of(cls, name: str, estimator: Any, task: Task) -> Self:
        """Return what a fitted estimator predicts on a task."""
        if predicts_numbers(estimator):
            return cls()
        classes = np.asarray(estimator.classes_).tolist()
        places = favourable_classes(name, classes, task)
        return cls(tuple(classes), tuple(classes[place] for place in places))

    def refitted_on(self, task: Task) -> Self:
        """Return what refits on a task tell apart: of several classes, those that it knows."""
        known = len(self.classes) <= 2 or task.outcomes is not None
        return self if known else type(self)((0, 1), (1,))

    def targets(self, data: CountedRows) -> npt.NDArray[Any]:
        """Return what an estimator is fitted on: numbers, or classes as it had them before."""
        if not self.classes:
            return np.asarray(data.outcomes)
        if len(self.classes) == 2:
            adverse = [each for each in self.classes if each not in self.favourable]
            return np.asarray(np.array([*adverse, *self.favourable])[data.labels])
        known = {text_of(each): each for each in self.classes}
        return np.array([known.get(text_of(each), each) for each in data.outcomes])

    def places(self, name: str, classes: npt.NDArray[Any]) -> list[int]:
        """Return which of the classes of a refit are favourable."""
        wanted = set(map(text_of, self.favourable))
        found = [place for place, each in enumerate(classes) if text_of(each) in wanted]
        if not 0 < len(found) < len(classes):
            raise InputError(f"model {name} was trained on the classes {classes.tolist()} only")
        return found


@dataclass(frozen=True)
class OwnDecision:
    """How a fitted classifier judges the rows of a task, and decides: as its own `predict` does.

    `places` are the favourable ones of its classes. Where it predicts the `likeliest` class, only
    ties are put to `predict`.
    """

    inputs: Inputs
    task: Task
    places: list[int]
    likeliest: bool

    def scores(self, estimator: Any, rows: Floats) -> Floats:
        """Return the probability of the favourable classes together, or a score without them."""
        taken = self.inputs.taken(rows, self.task)
        if hasattr(estimator, "predict_proba"):
            return np.asarray(probabilities(estimator, taken)[:, self.places].sum(axis=1))
        return self._margins(estimator, taken)

    def decided(self, estimator: Any, rows: Floats) -> Floats:
        """Return probabilities that are at least a half exactly where the classifier accepts.

        Of several classes, the best favourable one is compared with the best other one.
        """
        taken = self.inputs.taken(rows, self.task)
        if not hasattr(estimator, "predict_proba"):
            margins = self._margins(estimator, taken)
            return agreeing(sigmoids(margins), self._accepts(estimator, taken))
        shares = np.asarray(probabilities(estimator, taken), dtype=np.float64)
        found, leads = favourable_share(shares, self.places)
        accepted, asked = leads >= 0.0, np.ones(len(rows), dtype=np.bool_)
        if self.likeliest:
            asked = np.abs(leads) <= TIE
        if asked.any():
            some = taken.iloc[asked] if isinstance(taken, pd.DataFrame) else taken[asked]
            accepted[asked] = self._accepts(estimator, some)
        return agreeing(found, accepted)

    def linear(self, estimator: Any) -> Linear | None:
        """Return the coefficients of a linear classifier of two classes, if it has some."""
        sign = 1.0 if self.places == [1] else -1.0
        return linear_score(
            lambda rows: sign * estimator.decision_function(self.inputs.taken(rows, self.task)),
            self.task,
            encoded=False,
            probabilities=partial(self.scores, estimator)
            if hasattr(estimator, "predict_proba")
            else None,
        )

    def _accepts(self, estimator: Any, taken: Any) -> Booleans:
        wanted = [estimator.classes_[place] for place in self.places]
        return are_among(np.asarray(predictions(estimator, taken)).reshape(-1), wanted)

    def _margins(self, estimator: Any, taken: Any) -> Floats:
        """Return a score without probabilities: above 0 where the best class is favourable."""
        scores = np.asarray(estimator.decision_function(taken), dtype=np.float64)
        if scores.ndim == 1:
            return scores if self.places == [1] else -scores
        if scores.shape[1] != len(estimator.classes_):
            raise InputError("its decision function compares classes in pairs, not each by itself")
        return favourable_share(scores, self.places)[1]
