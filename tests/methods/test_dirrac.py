"""DiRRAc: its worst chance by brute force, its projections, and what its walk gains."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from changeproof import Context, InputError, evaluation_factuals, load_task
from changeproof.methods.dirrac import ACCEPTED, INSIDE, Allowed, DiRRAc, Likely
from changeproof.methods.linear_robust.ball import ParameterBall
from changeproof.model import Floats
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.private import PrivateLearner
from changeproof.networks.training import TrainingRecipe


def likely(seed: int, columns: int, radius: float) -> Likely:
    generator = np.random.default_rng(seed)
    root = 0.3 * generator.normal(size=(columns + 1, columns + 1))
    return Likely(generator.normal(size=columns + 1), root @ root.T, radius)


@pytest.mark.parametrize("radius", [0.0, 0.1, 0.4])
def test_the_chance_is_the_largest_of_all_means_and_deviations(radius: float) -> None:
    """Along a row, the Gelbrich ball is a disc of mean and deviation; each has Cantelli's bound."""
    given = likely(1, 3, radius)
    rows = np.random.default_rng(2).normal(size=(40, 3)) * 2.0
    found = given.risks(rows)[0]
    angles = np.linspace(0.0, 0.5 * np.pi, 20_001)
    for row, risk in zip(rows, found, strict=True):
        extended = np.append(row, 1.0)
        reach = radius * np.sqrt((extended**2).sum())
        mean = float(given.mean @ extended)
        deviation = float(np.sqrt(extended @ given.covariance @ extended))
        if mean <= reach:
            assert risk == 1.0
            continue
        means = mean - reach * np.cos(angles)
        deviations = deviation + reach * np.sin(angles)
        assert risk == pytest.approx((deviations**2 / (means**2 + deviations**2)).max(), rel=1e-6)


def test_a_distribution_reaches_the_chance() -> None:
    """Two models with that mean and deviation: one rejects a row by a hair, as often as said."""
    given = likely(3, 2, 0.0)
    rows = np.random.default_rng(4).normal(size=(20, 2))
    for row, risk in zip(rows, given.risks(rows)[0], strict=True):
        extended = np.append(row, 1.0)
        mean, variance = given.mean @ extended, extended @ given.covariance @ extended
        if risk < 1.0:
            values, shares = np.array([0.0, mean / (1.0 - risk)]), np.array([risk, 1.0 - risk])
            assert (shares * values).sum() == pytest.approx(mean)
            assert (shares * (values - mean) ** 2).sum() == pytest.approx(variance)


@pytest.mark.parametrize("radius", [0.0, 0.2])
def test_its_gradient_is_that_of_small_differences(radius: float) -> None:
    given = likely(5, 4, radius)
    rows = np.random.default_rng(6).normal(size=(60, 4)) * 2.0
    risks, slopes = given.risks(rows)
    # Where the chance is not about to become certain.
    rows, slopes = rows[risks < 0.99], slopes[risks < 0.99]
    assert len(rows) > 10
    for column, step in enumerate(1e-6 * np.eye(4)):
        change = given.risks(rows + step)[0] - given.risks(rows - step)[0]
        np.testing.assert_allclose(slopes[:, column], change / 2e-6, rtol=1e-4, atol=1e-7)


def allowed(seed: int, radius: float) -> tuple[Allowed, Floats]:
    generator = np.random.default_rng(seed)
    n, columns = 12, 4
    ball = ParameterBall(generator.normal(size=columns), -1.0, radius, "2")
    own = generator.normal(size=(n, columns))
    low, high = np.minimum(own, -4.0), np.maximum(own, 4.0)
    way = np.sign(ball.coefficients) * 3.9
    share = np.ones(n)
    for tried in np.linspace(1.0, 0.0, 200):
        enough = ball.worst_logits(own + tried * (way - own)) >= INSIDE
        share = np.where(enough, tried, share)
    near = own + share[:, None] * (way - own)
    budgets = np.abs(near - own).sum(axis=1) + generator.random(n)
    return Allowed(ball, own, low, high, near, budgets), own + 2.0 * generator.normal(size=(n, 4))


@pytest.mark.parametrize(("radius", "slack"), [(0.0, 1e-9), (0.2, 1e-6)])
def test_projections_are_allowed_and_nothing_allowed_is_nearer(radius: float, slack: float) -> None:
    """Of a convex set: no way from the projection into the set leads towards the row."""
    for seed in range(3):
        given, rows = allowed(seed, radius)
        assert (given.ball.worst_logits(given.nearest) >= INSIDE).all()
        found = given.project(rows)
        assert (given.ball.worst_logits(found) >= INSIDE - 1e-12).all()
        assert (np.abs(found - given.factuals).sum(axis=1) <= given.budgets + 1e-9).all()
        assert ((found >= given.low) & (found <= given.high)).all()
        generator = np.random.default_rng(seed)
        others = [
            given.project(given.factuals + 4.0 * generator.normal(size=rows.shape))
            for _ in range(8)
        ]
        for other in (*others, given.nearest):
            towards = ((rows - found) * (other - found)).sum(axis=1)
            assert (towards <= slack).all(), towards.max()


@pytest.mark.parametrize("resample", ["subsets", "bootstrap"])
def test_the_walk_lowers_the_chance_within_its_budget(resample: str) -> None:
    task, learner = load_task("diabetes"), EstimatorLearner(LogisticRegression())
    model = learner.train([TrainingRecipe(initialisation_seed=2026)], task)[0]
    context = Context(task, model, 2026, PrivateLearner(learner))
    people = evaluation_factuals(task, model, 2026, 30)
    far = []
    for extra in (0.0, 1.0):
        settings = {"models": 20, "resample": resample, "extra_distance": extra}
        method = DiRRAc.named("dirrac", settings).fit(context)
        assert isinstance(method, DiRRAc)
        answers = method.generate(people)
        found = answers.found
        assert {*answers.outcomes[~found]} <= {ACCEPTED}
        risks = answers.diagnostics["risk"].astype(float)
        np.testing.assert_allclose(risks[found], method._likely.risks(answers.rows[found])[0])
        far.append(np.array([np.abs(answers.rows - answers.factuals).sum(axis=1), risks]))
    both = np.isfinite(far[0][0]) & np.isfinite(far[1][0])
    assert both.sum() > 20
    (near, first), (farther, second) = far[0][:, both], far[1][:, both]
    assert (farther <= near + 1.0 + 1e-9).all()
    assert (second <= first + 1e-9).all()
    assert second.mean() < first.mean() - 0.1


def test_models_that_are_not_linear_are_refused_in_one_line() -> None:
    task, learner = load_task("diabetes"), EstimatorLearner(LogisticRegression())
    model = learner.train([TrainingRecipe(initialisation_seed=2026)], task)[0]
    trees = PrivateLearner(EstimatorLearner(DecisionTreeClassifier()))
    context = Context(task, model, 2026, trees)
    with pytest.raises(InputError, match=r"those of DecisionTreeClassifier offer .*$"):
        DiRRAc(models=2).fit(context)
