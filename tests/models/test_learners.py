from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC
from torch import nn

from changeproof import (
    Access,
    InputError,
    Network,
    Task,
    TrainingRecipe,
    evaluate,
    get_family,
    load_task,
)
from changeproof.fingerprints import things
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.find import AbsentLearner, as_learner, find_learner, object_reference
from changeproof.models.learner import FunctionLearner, Learner
from changeproof.models.module import ModuleLearner
from changeproof.models.network import NetworkLearner
from changeproof.models.settings import seeded


def fit_logistic(X: Any, y: Any, sample_weight: Any, seed: int) -> Any:
    return LogisticRegression(C=2.0).fit(X, y, sample_weight=sample_weight).predict_proba


def build(n_features: int) -> nn.Module:
    return nn.Sequential(nn.Linear(n_features, 6), nn.Tanh(), nn.Linear(6, 1))


def fit_module(
    module: nn.Module, X: torch.Tensor, y: torch.Tensor, sample_weight: torch.Tensor
) -> None:
    optimiser = torch.optim.Adam(module.parameters(), lr=0.05)
    for _ in range(60):
        optimiser.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(module(X)[:, 0], y, sample_weight)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()


LEARNERS: list[Learner] = [
    NetworkLearner((8,)),
    EstimatorLearner(LogisticRegression()),
    EstimatorLearner(RandomForestClassifier(n_estimators=15)),
    EstimatorLearner(HistGradientBoostingClassifier(max_iter=15)),
    EstimatorLearner(make_pipeline(StandardScaler(), LogisticRegression())),
    EstimatorLearner(KNeighborsClassifier()),
    FunctionLearner(fit_logistic),
    ModuleLearner(build, fit_module),
]


def weights_of(task: Task, generator: np.random.Generator) -> np.ndarray:
    train = generator.integers(0, 4, len(task.split.train))
    return np.concatenate([train, generator.integers(0, 2, len(task.split.update))]).astype(float)


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_training_depends_on_the_recipe_and_nothing_else(learner: Learner, cancer: Task) -> None:
    recipes = [
        TrainingRecipe(initialisation_seed=1),
        TrainingRecipe(
            initialisation_seed=1, row_weights=weights_of(cancer, np.random.default_rng(0))
        ),
    ]
    rows = cancer.rows("test")
    stack = learner.train(recipes, cancer)
    assert len(stack) == 2
    probabilities = stack.probabilities(rows)
    assert probabilities.shape == (2, len(rows))
    np.testing.assert_array_equal(stack.favourable(rows), probabilities >= 0.5)
    np.random.default_rng(5).normal(size=10)
    torch.rand(3)
    again = [learner.train([recipe], cancer)[0] for recipe in recipes]
    for model, expected in zip(again, probabilities, strict=True):
        np.testing.assert_allclose(model.probabilities(rows), expected, atol=1e-12)
    assert not np.allclose(probabilities[0], probabilities[1])
    accuracy = (stack.favourable(rows) == cancer.labels_of("test")).mean(axis=1)
    assert (accuracy > 0.85).all()


@pytest.mark.parametrize("learner", LEARNERS[1:], ids=repr)
def test_a_weight_is_a_repetition_and_a_zero_an_absence(learner: Learner, cancer: Task) -> None:
    weights = weights_of(cancer, np.random.default_rng(3))
    seen: list[tuple[int, float]] = []

    def spy(X: Any, y: Any, sample_weight: Any, seed: int) -> Any:
        seen.append((len(X), float(sample_weight.sum())))
        return lambda rows: np.full(len(rows), 0.7)

    recipe = TrainingRecipe(initialisation_seed=0, row_weights=weights)
    FunctionLearner(spy).train([recipe], cancer)
    assert seen == [(int((weights > 0).sum()), weights.sum())]
    flipped = 1 - np.concatenate([cancer.labels_of("train"), cancer.labels_of("update")])
    wrong = learner.train([TrainingRecipe(initialisation_seed=0, labels=flipped)], cancer)[0]
    predicted = wrong.favourable(cancer.rows("test"))
    assert (predicted != cancer.labels_of("test")).mean() > 0.8


def test_a_model_without_row_weights_is_given_rows_repeatedly(cancer: Task) -> None:
    weights = weights_of(cancer, np.random.default_rng(1))
    recipe = TrainingRecipe(initialisation_seed=0, row_weights=weights)
    model = EstimatorLearner(KNeighborsClassifier(3)).train([recipe], cancer)[0]
    rows = np.concatenate([cancer.rows("train"), cancer.rows("update")])
    labels = np.concatenate([cancer.labels_of("train"), cancer.labels_of("update")])
    counts = weights.astype(int)
    plain = KNeighborsClassifier(3).fit(np.repeat(rows, counts, axis=0), np.repeat(labels, counts))
    expected = plain.predict_proba(cancer.rows("test"))[:, 1]
    np.testing.assert_allclose(model.probabilities(cancer.rows("test")), expected)


def test_networks_by_way_of_the_learner_are_the_same(cancer: Task, cancer_network: Network) -> None:
    network = NetworkLearner().train([TrainingRecipe(initialisation_seed=2026)], cancer)[0]
    np.testing.assert_array_equal(network.weights[0], cancer_network.weights[0])


def test_gradients_of_modules_are_those_of_the_logit(cancer: Task) -> None:
    model: Any = ModuleLearner(build, fit_module).train(
        [TrainingRecipe(initialisation_seed=3)], cancer
    )[0]
    rows = cancer.rows("test")[:4]
    logits, gradients = model.logits_and_gradients(rows)
    assert model.offers is Access.GRADIENTS
    for j in range(3):
        step = np.zeros_like(rows)
        step[:, j] = 1e-6
        slope = (model.logits(rows + step) - model.logits(rows - step)) / 2e-6
        np.testing.assert_allclose(gradients[:, j], slope, atol=1e-6)
    moved: Any = ModuleLearner(build, fit_module).perturbed(model, 0.01, 7)
    pairs = zip(moved.module.parameters(), model.module.parameters(), strict=True)
    largest = max(float((a - b).detach().abs().max()) for a, b in pairs)
    assert largest == pytest.approx(0.01)
    assert (model.logits(rows) == logits).all()


def test_configurations_leave_out_the_present_one() -> None:
    learner = EstimatorLearner(HistGradientBoostingClassifier())
    levels = [level for level, _ in learner.configurations()]
    assert len(levels) == len(set(levels)) == 26
    assert "l2_regularization=0.0 learning_rate=0.1 max_leaf_nodes=31" not in levels
    pipeline = EstimatorLearner(make_pipeline(StandardScaler(), LogisticRegression()))
    values = [other.estimator[-1].C for _, other in pipeline.configurations()]  # type: ignore[attr-defined]
    assert values == [0.01, 0.03, 0.1, 0.3, 3.0, 10.0, 30.0, 100.0]
    assert EstimatorLearner(KNeighborsClassifier()).configurations() == []


def test_seeds_reach_nested_estimators() -> None:
    nested = make_pipeline(StandardScaler(), RandomForestClassifier())
    assert seeded(nested, 17)[-1].random_state == 17


REFERENCES = {
    "mlp": "NetworkLearner(hidden=(32, 32))",
    "mlp:64,16": "NetworkLearner(hidden=(64, 16))",
    "sklearn:LogisticRegression(C=0.5)": "EstimatorLearner(LogisticRegression(C=0.5))",
    "sklearn:KNeighborsClassifier": "EstimatorLearner(KNeighborsClassifier())",
}


@pytest.mark.parametrize("reference", REFERENCES)
def test_references(reference: str) -> None:
    assert repr(find_learner(reference)) == REFERENCES[reference]


def test_default_replacements_are_other_kinds() -> None:
    learner = find_learner("sklearn:RandomForestClassifier")
    names = [level for level, _ in learner.replacements()]
    assert "RandomForestClassifier" not in names
    assert "mlp" in names
    assert find_learner("mlp").replacements() == []
    chosen = find_learner("mlp", replacements=["sklearn:LogisticRegression"])
    assert [level for level, _ in chosen.replacements()] == ["LogisticRegression"]


def test_live_models_get_a_reference_by_what_they_are() -> None:
    first = object_reference(as_learner(LogisticRegression(C=2.0)))
    assert first == object_reference(as_learner(LogisticRegression(C=2.0)))
    assert first != object_reference(as_learner(LogisticRegression(C=3.0)))
    absent = find_learner(first)
    assert isinstance(absent, AbsentLearner)
    assert absent.name == "LogisticRegression"
    assert object_reference(absent) == first
    with pytest.raises(InputError, match="is from another session; pass the model again"):
        absent.train([], load_task("diabetes"))
    another = as_learner(lambda X, y, sample_weight, seed: None)
    assert as_learner(fit_logistic).fingerprint != another.fingerprint


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("forest", "unknown model 'forest'; expected one of: mlp, mlp:64,32, sklearn:"),
        ("mlp:wide", "expected widths such as mlp:64,32"),
        ("sklearn:Forest", "has no classifier 'Forest'; expected one of: .*RandomForest"),
        ("sklearn:LogisticRegression(D=1)", "unexpected keyword argument 'D'"),
        ("sklearn:__import__('os').system('true')", "expected ClassName or ClassName"),
        ("sklearn:LogisticRegression(C=open('x'))", "expected ClassName or ClassName"),
        ("sklearn:LinearSVC", "LinearSVC has no predict_proba"),
        ("python:nowhere_at_all:x", "'nowhere_at_all:x' cannot be imported: ModuleNotFoundError"),
        ("python:math:nothing", "math has no 'nothing'"),
        ("python:math:pi", "cannot use float as a model"),
        ("pickle:model.pkl", "--unpickle-and-run-its-code"),
    ],
)
def test_references_that_lead_nowhere(reference: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_learner(reference)


def test_a_pickle_is_opened_only_on_request(tmp_path: Path) -> None:
    import pickle

    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(LogisticRegression(C=9.0)))
    with pytest.raises(InputError, match="runs whatever code it holds"):
        find_learner(f"pickle:{path}")
    learner = find_learner(f"pickle:{path}", unpickle=True)
    assert repr(learner) == "EstimatorLearner(LogisticRegression(C=9.0))"
    path.write_bytes(b"nonsense")
    with pytest.raises(InputError, match="cannot be loaded"):
        find_learner(f"pickle:{path}", unpickle=True)


def test_what_models_may_not_do(cancer: Task) -> None:
    class Refuses(LogisticRegression):  # type: ignore[misc]
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            raise RuntimeError("no such luck")

    recipe = TrainingRecipe(initialisation_seed=0)
    with pytest.raises(InputError, match=r"could not be fitted on \d+ rows: RuntimeError: no s"):
        EstimatorLearner(Refuses()).train([recipe], cancer)
    for answer, message in (
        (lambda rows: np.zeros((len(rows), 3)), "expected probabilities of shape"),
        (lambda rows: np.full(len(rows), 1.5), "between 0 and 1; got values from 1.5"),
    ):
        model = FunctionLearner(lambda *_, a=answer: a, name="odd").train([recipe], cancer)[0]
        with pytest.raises(InputError, match=message):
            model.probabilities(cancer.rows("test"))
    with pytest.raises(InputError, match="must return a function"):
        FunctionLearner(lambda *_: None, name="odd").train([recipe], cancer)
    with pytest.raises(InputError, match="has no predict_proba"):
        as_learner(LinearSVC())
    with pytest.raises(InputError, match="has no parameter 'depth' to vary"):
        find_learner("sklearn:LogisticRegression", grid={"depth": [1, 2]})
    with pytest.raises(InputError, match="needs a scikit-learn model"):
        find_learner("mlp", grid={"C": [1]})


def make(C: float) -> Any:
    """Return a training function, as a factory does."""

    def fit(X: Any, y: Any, sample_weight: Any, seed: int) -> Any:
        return LogisticRegression(C=C).fit(X, y, sample_weight=sample_weight).predict_proba

    return fit


class Trainer:
    def __init__(self, C: float) -> None:
        self.C = C

    def fit(self, X: Any, y: Any, sample_weight: Any, seed: int) -> Any:
        return LogisticRegression(C=self.C).fit(X, y, sample_weight=sample_weight).predict_proba

    def __call__(self, X: Any, y: Any, sample_weight: Any, seed: int) -> Any:
        return self.fit(X, y, sample_weight, seed)


def with_default(C: float) -> Any:
    return lambda X, y, sample_weight, seed, C=C: make(C)(X, y, sample_weight, seed)


def partly(C: float, X: Any, y: Any, sample_weight: Any, seed: int) -> Any:
    return make(C)(X, y, sample_weight, seed)


def transformed(power: float) -> Any:
    return make_pipeline(FunctionTransformer(lambda rows: rows * power), LogisticRegression())


FACTORIES: dict[str, Any] = {
    "closure": make,
    "default": with_default,
    "partial": lambda C: functools.partial(partly, C),
    "bound method": lambda C: Trainer(C).fit,
    "object": Trainer,
    "parameter": lambda C: LogisticRegression(C=C),
    "function in a pipeline": transformed,
    "module": lambda C: ModuleLearner(lambda n: build(int(C) * n), fit_module, name="net"),
    "training of a module": lambda C: ModuleLearner(
        build, lambda module, X, y, w: fit_module(module, X, y, w * C), name="net"
    ),
}


@pytest.mark.parametrize("kind", FACTORIES)
def test_what_a_model_carries_along_is_part_of_its_fingerprint(kind: str) -> None:
    first, again, other = (as_learner(FACTORIES[kind](C)).fingerprint for C in (1.0, 1.0, 100.0))
    assert first == again
    assert first != other


def test_two_training_functions_of_one_factory_are_two_models(tmp_path: Path) -> None:
    found = [
        evaluate(
            "diabetes", make(C), ["kdtree"], ["bootstrap(replicates=2)"], out=tmp_path / name,
            factuals=5, jobs=1, publish=False,
        )
        for C, name in ((0.01, "one"), (100.0, "other"))
    ]  # fmt: skip
    accuracies = [results.balanced_accuracy("diabetes", 2026) for results in found]
    assert accuracies[0] != accuracies[1]


def test_versions_of_the_packages_of_a_model_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before = as_learner(LogisticRegression()).fingerprint
    known = things.package_version

    def newer(top: str) -> str:
        return "99.0" if top == "sklearn" else known(top)

    monkeypatch.setattr(things, "package_version", newer)
    assert as_learner(LogisticRegression()).fingerprint != before


def test_a_model_without_a_seed_says_so() -> None:
    assert not EstimatorLearner(KNeighborsClassifier()).traits.has_seeds
    assert EstimatorLearner(
        make_pipeline(StandardScaler(), RandomForestClassifier())
    ).traits.has_seeds
    family = get_family("new-initialization")
    for name in ("GaussianNB", "LogisticRegression"):
        assert family.left_out(find_learner(f"sklearn:{name}"), ()) == (
            f"needs a seed: {name} is the same whatever its seed"
        )
    assert not family.left_out(find_learner("mlp"), ())


def test_a_grid_is_the_same_when_its_plan_is_read_again() -> None:
    given, read = {"C": [0.1, 10]}, {"C": (0.1, 10)}
    one, other = (find_learner("sklearn:LogisticRegression", grid=grid) for grid in (given, read))
    assert one.fingerprint == other.fingerprint


def test_a_function_that_only_predicts_is_told_what_was_expected() -> None:
    def predict(rows: object) -> object:
        return rows

    with pytest.raises(InputError, match=r"cannot be called with \(X, y, sample_weight, seed\)"):
        as_learner(predict)
    assert as_learner(lambda *given: given[0]) and as_learner(lambda X, y, w, seed=0: X)
