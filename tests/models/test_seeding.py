"""What is said of seeds is true of scikit-learn as it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, QuantileTransformer
from sklearn.svm import SVC

from changeproof import Task, find_learner
from changeproof.models.estimator import EstimatorLearner, seeded
from changeproof.models.seeding import seed_matters

BOOSTED = HistGradientBoostingClassifier(max_iter=5)


class Mine(LogisticRegression):  # type: ignore[misc]
    pass


SAME = [
    LogisticRegression(),
    LogisticRegression(solver="newton-cholesky"),
    LogisticRegressionCV(Cs=2, cv=3),
    BOOSTED,
    HistGradientBoostingClassifier(max_iter=5, early_stopping=True, validation_fraction=None),
    GaussianProcessClassifier(),
    CalibratedClassifierCV(SVC(probability=False), cv=2),
    make_pipeline(QuantileTransformer(n_quantiles=20), LogisticRegression()),
    make_pipeline(KBinsDiscretizer(), LogisticRegression()),
]
OTHER = [
    LogisticRegression(solver="saga", max_iter=3),
    LogisticRegression(solver="sag", max_iter=3),
    HistGradientBoostingClassifier(max_iter=5, early_stopping=True),
    HistGradientBoostingClassifier(max_iter=5, max_features=0.5),
    make_pipeline(QuantileTransformer(n_quantiles=20, subsample=60), LogisticRegression()),
    RandomForestClassifier(n_estimators=2),
]


def predictions(estimator: Any, task: Task, seed: int) -> Any:
    fitted = seeded(estimator, seed).fit(task.rows("train"), task.labels_of("train"))
    return fitted.predict_proba(task.rows("test"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", SAME + OTHER, ids=repr)
def test_a_seed_matters_where_it_is_said_to(estimator: Any, small_task: Task) -> None:
    other = any(estimator is each for each in OTHER)
    assert seed_matters(estimator, few_rows=True) == other
    first, *more = (predictions(estimator, small_task, seed) for seed in range(4))
    assert any(not np.array_equal(first, each) for each in more) == other


def test_what_is_not_known_may_use_its_seed() -> None:
    assert seed_matters(Mine(), few_rows=True)
    assert seed_matters(make_pipeline(QuantileTransformer(), Mine()), few_rows=True)


def test_many_rows_are_not_all_used_alike() -> None:
    assert not EstimatorLearner(BOOSTED, few_rows=True).traits.has_seeds
    learner = find_learner("sklearn:HistGradientBoostingClassifier")
    assert learner.traits.has_seeds and learner.sized(10_001).traits.has_seeds
    few = learner.sized(10_000)
    assert not few.traits.has_seeds
    assert not any(other.learner.traits.has_seeds for other in few.configurations())
    replaced = find_learner("mlp", replacements=["sklearn:HistGradientBoostingClassifier"])
    assert [each.learner.traits.has_seeds for each in replaced.sized(600).replacements()] == [False]
