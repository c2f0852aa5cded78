"""What estimators predict, classes or numbers, and how they decide between classes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_regressor

from changeproof.datasets.task import Task
from changeproof.datasets.threshold import HALF
from changeproof.errors import InputError
from changeproof.feasible.feature import text_of
from changeproof.models.classes import favourable_classes
from changeproof.models.learner import CountedRows
from changeproof.models.libraries import library_of
from changeproof.models.settings import final_step

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


class Decides(Enum):
    """When an estimator decides for the favourable classes."""

    AT_HALF = "their probability is at least a half"
    LIKELIEST = "one of them is the likeliest; of ties, what it predicts"
    BY_PREDICTING = "it predicts one of them"


@dataclass(frozen=True)
class Outcomes:
    """The classes that an estimator tells apart, and the favourable ones; none where it is numbers.

    Classes are plain values, in the estimator's order. It decides between them as its own `predict`
    does or, if it is trained here for that, `at_half`.
    """

    classes: tuple[Any, ...] = ()
    favourable: tuple[Any, ...] = ()
    at_half: bool = False

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

    def places(self, name: str, estimator: Any) -> list[int]:
        """Return which of the classes of a fitted estimator are favourable; of numbers, none."""
        if not self.classes:
            return []
        classes, wanted = estimator.classes_, set(map(text_of, self.favourable))
        found = [place for place, each in enumerate(classes) if text_of(each) in wanted]
        if not 0 < len(found) < len(classes):
            raise InputError(f"model {name} was trained on the classes {classes.tolist()} only")
        return found

    def decided_by(self, estimator: Any) -> Decides:
        """Return how a fitted estimator decides between its classes."""
        if self.at_half or not self.classes:
            return Decides.AT_HALF
        return Decides.LIKELIEST if takes_the_likeliest(estimator) else Decides.BY_PREDICTING


# What estimators are trained on here: labels, 1 for the favourable ones.
LABELS = Outcomes((0, 1), (1,), at_half=True)
