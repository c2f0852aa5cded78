"""What is said of seeds and weights is true of scikit-learn as it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, QuantileTransformer, StandardScaler
from sklearn.svm import SVC

from changeproof import InputError, NetworkLearner, Task, TrainingRecipe, find_learner
from changeproof.model import Model
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.learner import FittedModel
from changeproof.models.settings import probabilities, seed_matters, seeded

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


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        LogisticRegressionCV(
            Cs=2, cv=2, l1_ratios=(0,), use_legacy_attributes=False, scoring="neg_log_loss"
        ),
        SGDClassifier(loss="log_loss"),
        LinearDiscriminantAnalysis(),
        MLPClassifier((4,), max_iter=20),
    ],
    ids=["linear", "pipeline", "chosen", "descent", "discriminant", "perceptron"],
)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_weights_of_estimators_can_be_read_and_changed(estimator: object, cancer: Task) -> None:
    learner, rows = EstimatorLearner(estimator), cancer.rows("test")
    model: Model = learner.train([TrainingRecipe(initialisation_seed=1)], cancer)[0]
    before = model.probabilities(rows)
    weights = learner.weights(model)
    assert [weight.shape[0] for weight in weights] in ([1], [4, 1])
    same = learner.with_weights(model, weights)
    np.testing.assert_array_equal(same.probabilities(rows), before)
    nothing = learner.with_weights(model, [np.zeros_like(weight) for weight in weights])
    assert len(set(nothing.probabilities(rows))) == 1
    np.testing.assert_array_equal(model.probabilities(rows), before)


def test_models_without_weights_say_so(small_task: Task) -> None:
    forest = EstimatorLearner(RandomForestClassifier())
    assert not forest.traits.has_weights
    assert EstimatorLearner(LogisticRegression()).traits.has_weights
    model = forest.train([TrainingRecipe(initialisation_seed=1)], small_task)[0]
    with pytest.raises(InputError, match="RandomForestClassifier has no weights to change"):
        forest.weights(model)
    with pytest.raises(InputError, match="mlp has no weights to change"):
        NetworkLearner().weights(FittedModel(lambda rows: np.zeros(1), "fixed"))
    with pytest.raises(InputError, match="RandomForestClassifier has no parameters to perturb"):
        forest.perturbed(model, 0.1, 1)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 17, 400])
@pytest.mark.parametrize("settings", [{}, {"fit_intercept": False}, {"C": 0.01}])
def test_logistic_regressions_have_the_digits_of_scikit_learn(
    n_rows: int, settings: dict[str, Any]
) -> None:
    generator = np.random.default_rng(n_rows)
    rows, labels = generator.standard_normal((500, 9)), generator.integers(0, 2, 500)
    model = LogisticRegression(**settings).fit(rows, labels)
    asked = generator.standard_normal((n_rows, 9))
    np.testing.assert_array_equal(probabilities(model, asked), model.predict_proba(asked))
    # In another order in memory, and of three classes.
    turned = np.asfortranarray(asked)
    np.testing.assert_array_equal(probabilities(model, turned), model.predict_proba(turned))
    model.fit(rows, generator.integers(0, 3, 500))
    np.testing.assert_array_equal(probabilities(model, asked), model.predict_proba(asked))


def test_logistic_regressions_refuse_what_scikit_learn_refuses() -> None:
    model = LogisticRegression().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    for rows in (np.array([[np.nan, 0.0]]), np.zeros((2, 3)), np.zeros((0, 2))):
        with pytest.raises(ValueError, match=r"NaN|features|0 sample"):
            probabilities(model, rows)
