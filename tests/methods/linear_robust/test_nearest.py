"""Where columns are numbers in ranges: exact, certified, and no nearer row is."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from changeproof import Context, InputError, Task, evaluation_factuals, load_task, make_method
from changeproof.checks.methods import LinearNetwork, LinearNetworkLearner
from changeproof.methods.linear_robust.ball import Norm, ParameterBall, length
from changeproof.methods.linear_robust.nearest import NearestRows
from changeproof.methods.shared.knapsack import cheapest
from changeproof.model import Floats
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.private import PrivateLearner
from changeproof.networks.training import TrainingRecipe

NORMS: tuple[Norm, ...] = ("inf", "1", "2")
PEOPLE = 8


def problem(seed: int, norm: Norm, columns: int | None = None) -> NearestRows:
    """Return a random problem of a few people whom the model in the middle rejects."""
    generator = np.random.default_rng(seed)
    d = int(generator.integers(1, 7)) if columns is None else columns
    coefficients = generator.normal(size=d)
    factuals = generator.normal(size=(PEOPLE, d))
    low = np.minimum(factuals, generator.normal(size=(PEOPLE, d)) - 1.0)
    high = np.maximum(factuals, generator.normal(size=(PEOPLE, d)) + 1.0)
    logits = (factuals * coefficients).sum(axis=1)
    radius = float(generator.choice([0.0, 0.05, 0.2, 0.5]))
    ball = ParameterBall(coefficients, -float(logits.max()) - 0.01, radius, norm)
    return NearestRows(ball, generator.random(d) + 0.1, factuals, low, high)


def least_cost(given: NearestRows, person: int, parameters: Floats | None = None) -> float:
    """Return the cost of the nearest row by a linear programme; infinite where there is none.

    Of all models of a ball ("inf" and "1") or, if `parameters` are given, of this one model.
    """
    ball, own = given.ball, given.factuals[person]
    d = len(own)
    radius = ball.radius if parameters is None else 0.0
    weights, intercept = ball.coefficients, ball.intercept
    if parameters is not None:
        weights, intercept = parameters[:-1], float(parameters[-1])
    # Moves up, moves down, and what is at least as large as sizes: of each column, or of all.
    sizes = d if ball.norm == "inf" else 1
    rows = [np.r_[-weights, weights, np.full(sizes, radius)]]
    ends = [float((weights * own).sum()) + intercept - (radius if ball.norm == "inf" else 0.0)]
    for column, sign in product(range(d), (1.0, -1.0)):
        row = np.zeros(2 * d + sizes)
        row[[column, d + column]] = sign, -sign
        row[2 * d + (column if ball.norm == "inf" else 0)] = -1.0
        rows.append(row)
        ends.append(-sign * own[column])
    up, down = given.high[person] - own, own - given.low[person]
    bounds = [(0.0, float(most)) for most in (*up, *down)]
    bounds += [(0.0 if ball.norm == "inf" else 1.0, None)] * sizes  # type: ignore[list-item]
    costs = np.r_[given.weights, given.weights, np.zeros(sizes)]
    found = linprog(costs, A_ub=np.array(rows), b_ub=np.array(ends), bounds=bounds)
    assert found.status in (0, 2)
    return float(found.fun) if found.status == 0 else np.inf


@pytest.mark.parametrize("norm", ["inf", "1"])
def test_cost_is_that_of_a_linear_programme(norm: Norm) -> None:
    answered = 0
    for seed in range(20):
        given = problem(seed, norm)
        rows = given.find(0.0)
        costs = (given.weights * np.abs(rows - given.factuals)).sum(axis=1)
        for person in range(PEOPLE):
            least = least_cost(given, person)
            assert np.isfinite(costs[person]) == np.isfinite(least)
            if np.isfinite(least):
                answered += 1
                assert costs[person] == pytest.approx(least, rel=1e-9, abs=1e-9)
    assert answered > 40


def test_one_model_of_the_euclidean_ball_allows_no_nearer_row() -> None:
    """The one that is least favourable to the answer: no row that it accepts is nearer."""
    answered = 0
    for seed in range(15):
        given = problem(seed, "2")
        rows = given.find(0.0)
        for person in np.flatnonzero(np.isfinite(rows).all(axis=1)).tolist():
            row = rows[person]
            worst = least_favourable(given.ball, row)
            cost = float((given.weights * np.abs(row - given.factuals[person])).sum())
            assert cost == pytest.approx(least_cost(given, person, worst), rel=1e-7, abs=1e-7)
            answered += 1
        # Who has no answer: even the row with the highest worst logit falls short.
        for person in np.flatnonzero(np.isnan(rows).any(axis=1))[:2].tolist():
            best = np.clip(given.factuals[person], given.low[person], given.high[person])
            for _ in range(400):
                slope = least_favourable(given.ball, best)[:-1]
                best = np.clip(best + 0.05 * slope, given.low[person], given.high[person])
            assert given.ball.worst_logits(best[None])[0] < 1e-2
    assert answered > 40


def least_favourable(ball: ParameterBall, row: Floats) -> Floats:
    """Return the parameters of a ball that give a row its least logit, written out plainly."""
    extended = np.append(row, 1.0)
    if ball.norm == "inf":
        move = np.sign(extended)
    elif ball.norm == "1":
        largest = np.abs(extended).argmax()
        move = np.where(np.arange(len(extended)) == largest, np.sign(extended), 0.0)
    else:
        move = extended / np.sqrt((extended**2).sum())
    return np.asarray(np.append(ball.coefficients, ball.intercept) - ball.radius * move)


@pytest.mark.parametrize("seed", range(6))
def test_costs_and_certificates_in_exact_fractions(seed: int) -> None:
    """At the optimum all columns but one are at what people have, at zero, or at an end."""
    given = problem(seed, "inf", columns=3)
    rows = given.find(0.0)
    weights = [Fraction(each) for each in given.ball.coefficients.tolist()]
    intercept, radius = Fraction(given.ball.intercept), Fraction(given.ball.radius)
    costs = [Fraction(each) for each in given.weights.tolist()]

    def worst(row: list[Fraction]) -> Fraction:
        gained = sum((w * x for w, x in zip(weights, row, strict=True)), intercept)
        return gained - radius * (1 + sum(abs(x) for x in row))

    for person, found in enumerate(rows):
        own = [Fraction(each) for each in given.factuals[person].tolist()]
        low = [Fraction(each) for each in given.low[person].tolist()]
        high = [Fraction(each) for each in given.high[person].tolist()]
        inside = [max(lo, min(hi, Fraction(0))) for lo, hi in zip(low, high, strict=True)]
        best: Fraction | None = None
        for free in range(3):
            others = [c for c in range(3) if c != free]
            for values in product(*([own[c], low[c], high[c], inside[c]] for c in others)):
                row = [Fraction(0)] * 3
                for column, value in zip(others, values, strict=True):
                    row[column] = value
                tried = [own[free], low[free], high[free], inside[free]]
                for sign in (1, -1):
                    # The free column makes the worst logit zero, on one side of zero.
                    row[free] = Fraction(0)
                    slope = weights[free] - sign * radius
                    root = -worst(row) / slope
                    if root * sign >= 0 and low[free] <= root <= high[free]:
                        tried.append(root)
                for value in tried:
                    row[free] = value
                    if worst(row) >= 0:
                        pairs = zip(costs, row, own, strict=True)
                        cost = sum((c * abs(x - o) for c, x, o in pairs), Fraction(0))
                        best = cost if best is None else min(best, cost)
        if best is None:
            assert np.isnan(found).all()
            continue
        exact = [Fraction(each) for each in found.tolist()]
        assert worst(exact) >= 0
        cost = sum((c * abs(x - o) for c, x, o in zip(costs, exact, own, strict=True)), Fraction(0))
        assert 0 <= cost - best <= Fraction(1, 10**11)


@pytest.mark.parametrize("norm", NORMS)
def test_proven_logits_hold_in_exact_fractions(norm: Norm) -> None:
    """What is proven lies below the exact least logit, and next to it."""
    generator = np.random.default_rng(5)
    rows = generator.normal(size=(50, 6)) * 10.0 ** generator.integers(-6, 7, (50, 6))
    ball = ParameterBall(generator.normal(size=6), 0.3, 0.2, norm)
    for row, proven, worst in zip(
        rows, ball.proven_logits(rows), ball.worst_logits(rows), strict=True
    ):
        exact = [Fraction(each) for each in row.tolist()]
        pairs = zip(ball.coefficients.tolist(), exact, strict=True)
        logit = sum((Fraction(w) * x for w, x in pairs), Fraction(ball.intercept))
        if norm == "2":
            # Below the logit by at least what the radius takes: compared by their squares.
            square = Fraction(ball.radius) ** 2 * (1 + sum(x * x for x in exact))
            assert logit - Fraction(float(proven)) >= 0
            assert (logit - Fraction(float(proven))) ** 2 >= square
        else:
            sizes = [abs(x) for x in exact]
            reach = 1 + sum(sizes) if norm == "inf" else max(Fraction(1), *sizes)
            assert Fraction(float(proven)) <= logit - Fraction(ball.radius) * reach
        assert worst - proven <= 1e-13 * (1.0 + np.abs(row).sum())


@given(st.sampled_from(NORMS), st.integers(0, 10_000), st.floats(0.0, 1.0))
def test_what_all_models_accept_is_convex(norm: Norm, seed: int, share: float) -> None:
    """On any segment the worst logit is no less than between its ends."""
    generator = np.random.default_rng(seed)
    d = int(generator.integers(1, 8))
    ball = ParameterBall(generator.normal(size=d), float(generator.normal()), 0.7, norm)
    ends = 10.0 * generator.normal(size=(2, d))
    first, last = ball.worst_logits(ends)
    between = ball.worst_logits((ends[0] + share * (ends[1] - ends[0]))[None])[0]
    assert between >= first + share * (last - first) - 1e-9


@pytest.mark.parametrize("norm", NORMS)
def test_no_model_of_the_ball_rejects(norm: Norm) -> None:
    """Attacked by random models of the ball, by its corners, and by the least favourable one."""
    generator = np.random.default_rng(1)
    for seed in range(10):
        given = problem(seed, norm, columns=5)
        rows = given.find(0.0)
        rows = rows[np.isfinite(rows).all(axis=1)]
        moves = generator.normal(size=(2_000, 6))
        moves[:500] = np.sign(moves[:500])
        moves[500:506] = np.eye(6)
        moves[506:512] = -np.eye(6)
        longest = np.array([length(move, norm) for move in moves])[:, None]
        inside = given.ball.radius * moves / longest
        middle = np.append(given.ball.coefficients, given.ball.intercept)
        models = middle + inside * (1.0 - 1e-12)
        worst = [least_favourable(given.ball, row) for row in rows]
        models = np.concatenate([models, np.reshape(worst, (-1, 6))])
        logits = (rows[:, None] * models[:, :-1]).sum(axis=2) + models[:, -1]
        assert (logits >= -1e-14).all()


@pytest.mark.parametrize("norm", NORMS)
def test_a_margin_is_reached_and_not_exceeded(norm: Norm) -> None:
    given = problem(3, norm, columns=4)
    for margin in (0.0, 0.1, 0.3):
        rows = given.find(margin)
        there = np.isfinite(rows).all(axis=1)
        proven = given.ball.proven_logits(rows[there])
        assert (proven >= margin).all()
        assert (proven <= margin + 1e-9).all()


def test_a_knapsack_takes_the_best_rate_first() -> None:
    lengths, gains = np.array([[1.0, 2.0, 1.0, 5.0]]), np.array([[1.0, 3.0, 2.0, -1.0]])
    costs = np.array([[1.0, 1.0, 4.0, 1.0]])
    taken = cheapest(lengths, gains, costs, np.array([6.5]))
    np.testing.assert_allclose(taken.amounts, [[0.5, 2.0, 0.0, 0.0]])
    assert taken.enough.all()
    assert not cheapest(lengths, gains, costs, np.array([9.5])).enough.any()


def context_of(task: Task) -> Context:
    learner = EstimatorLearner(LogisticRegression())
    model = learner.train([TrainingRecipe(initialisation_seed=2026)], task)[0]
    return Context(task, model, 2026, PrivateLearner(learner))


def test_never_farther_than_another_certified_method() -> None:
    """RNCE on the same logistic regression: training rows that the same box accepts."""
    task = load_task("diabetes")
    learner = LinearNetworkLearner()
    model = learner.train([TrainingRecipe(initialisation_seed=2026)], task)[0]
    assert isinstance(model, LinearNetwork)
    context = Context(task, model, 2026, PrivateLearner(learner))
    people = evaluation_factuals(task, model, 2026, 60)
    for radius in (0.005, 0.02, 0.05):
        ours, theirs = (
            make_method(f"{name}(radius={radius})").fit(context).generate(people)
            for name in ("linear-robust", "rnce")
        )
        both = ours.found & theirs.found
        assert both.sum() > 30
        assert ours.found[theirs.found].all()
        far, other = (task.distances(each.factuals, each.rows)[both] for each in (ours, theirs))
        assert (far <= other).all()
        assert ours.diagnostics["certified"][ours.found].all()


def test_the_radius_is_the_longest_move_of_its_refits() -> None:
    task = load_task("diabetes")
    context = context_of(task)
    model = cast("Any", context.model)
    radii = {}
    for norm in NORMS:
        fitted: Any = make_method(f'linear-robust(norm="{norm}", replicas=3)').fit(context)
        radii[norm] = fitted.calibrated_radius
    moves = []
    labels, train = task.labels_of("train"), task.rows("train")
    for seed in range(202_026, 202_029):
        drawn = np.sort(np.random.default_rng(seed).integers(0, len(train), len(train)))
        refit = LogisticRegression().fit(train[drawn], labels[drawn])
        difference = refit.coef_[0] - model.coefficients
        moves.append(np.append(difference, refit.intercept_[0] - model.intercept))
    orders = {"inf": np.inf, "1": 1, "2": 2}
    for norm, order in orders.items():
        expected = max(np.linalg.norm(move, order) for move in moves)
        assert radii[norm] == pytest.approx(expected, rel=1e-6)  # type: ignore[index]


def test_refits_that_are_not_linear_are_refused_in_one_line() -> None:
    task = load_task("diabetes")
    context = context_of(task)
    trees = Context(
        task, context.model, 2026, PrivateLearner(EstimatorLearner(DecisionTreeClassifier()))
    )
    with pytest.raises(InputError, match=r"those of DecisionTreeClassifier offer .*radius$"):
        make_method("linear-robust(replicas=1)").fit(trees)
    make_method("linear-robust(radius=0.1)").fit(trees)
    with pytest.raises(InputError, match="radius"):
        make_method("linear-robust(radius=-1)")
