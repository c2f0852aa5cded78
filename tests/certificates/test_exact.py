from __future__ import annotations

import itertools

import highspy
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from changeproof import Network, Task
from changeproof.certificates import exact, programme
from changeproof.certificates.bounds import LOW_MIN, neuron_bounds
from changeproof.certificates.box import ParameterBox
from changeproof.certificates.exact import (
    Certificates,
    certify,
    proven_rows,
)
from changeproof.certificates.worst_case import attack
from worst_cases import interval_bounds, refuting_network, verdicts, worst_logits

RADII = (0.0, 0.005, 0.05, 0.3)


def random_case(seed: int, *, widest: int = 5, deepest: int = 3) -> tuple[Network, np.ndarray]:
    """A random network whose logits are small, and rows of both signs."""
    generator = np.random.default_rng(seed)
    n_features = int(generator.integers(1, 5))
    hidden = generator.integers(1, widest + 1, size=generator.integers(0, deepest + 1))
    network = Network.initialised(n_features, tuple(hidden.tolist()), seed)
    rows = generator.normal(size=(6, n_features)) * 2
    rows[0, 0] = 0.0
    weights = tuple(w * np.float32(2.0) for w in network.weights)
    level = Network(weights, network.biases).logits(rows).min() - 0.5 * generator.random()
    bias = (network.biases[-1] - np.float32(level)).astype(np.float32)
    return Network(weights, (*network.biases[:-1], bias)), rows


def independent_attack(
    network: Network, rows: np.ndarray, radius: float, seed: int, tries: int = 48
) -> np.ndarray:
    """The smallest logit of each row by random points, random corners and gradients (float64)."""
    generator = torch.Generator().manual_seed(seed)
    centre = [
        torch.from_numpy(array.astype(np.float64))
        for pair in zip(network.weights, network.biases, strict=True)
        for array in pair
    ]

    def logits(moves: list[torch.Tensor]) -> torch.Tensor:
        values = torch.from_numpy(np.repeat(rows, tries, axis=0))
        for layer in range(0, len(centre), 2):
            weight, bias = centre[layer] + moves[layer], centre[layer + 1] + moves[layer + 1]
            values = torch.einsum("noi,ni->no", weight, values) + bias
            if layer < len(centre) - 2:
                # The slope leaks through silent neurons, so that the attack can wake them.
                values = torch.relu(values) + 0.1 * (values - values.detach())
        return values[:, 0]

    n_moves = len(rows) * tries
    points = [
        radius * (torch.rand((n_moves, *c.shape), generator=generator, dtype=torch.float64) * 2 - 1)
        for c in centre
    ]
    corners = [radius * torch.sign(point) for point in points]
    least = torch.minimum(logits(points), logits(corners))
    here = corners
    for step in range(30):
        here = [part.detach().requires_grad_(True) for part in here]
        value = logits(here)
        least = torch.minimum(least, value.detach())
        gradients = torch.autograd.grad(value.sum(), here)
        size = 2 * radius * 0.85**step
        here = [
            (part - size * torch.sign(slope)).clamp(-radius, radius)
            for part, slope in zip(here, gradients, strict=True)
        ]
    return least.reshape(len(rows), tries).min(dim=1).values.numpy()


@given(seed=st.integers(0, 100_000), radius=st.sampled_from(RADII))
@settings(max_examples=40, deadline=None)
def test_no_attack_breaks_a_certificate_and_bounds_keep_their_order(
    seed: int, radius: float
) -> None:
    network, rows = random_case(seed)
    box = ParameterBox(network, radius)
    interval = interval_bounds(box, rows)[:, LOW_MIN, -1]
    backward = neuron_bounds(box, rows)[:, LOW_MIN, -1]
    exact = worst_logits(box, rows)
    best = attack(box, rows)[0]
    answers = certify(box, rows)
    hits = independent_attack(network, rows, radius, seed)
    assert (exact.lower <= hits).all()
    assert (answers.lower <= hits).all()
    assert (exact.lower <= answers.upper).all()
    assert (exact.upper <= best).all()
    assert (hits[answers.certified] > 0).all()
    assert answers.refuted[hits < -1e-4].all()
    tolerance = 1e-5 * np.maximum(1.0, np.abs(interval))
    assert (interval <= backward + 1e-12).all()
    assert (backward <= exact.lower + tolerance).all()
    assert (exact.lower <= exact.upper).all()
    # A bound that is proven and a network that reaches it: the minimum is exact.
    assert (exact.upper - exact.lower <= 5 * tolerance).all()


def grid_minimum(
    network: Network, x: np.ndarray, radius: float, points: int
) -> tuple[float, float]:
    """The smallest logit of a network with hidden layers (2, 2), and how far off it can be.

    First-layer activations on a grid of what parameters reach, all other parameters at every
    corner of their box: given the activations, the logit is monotone in each of them.
    """
    first, second, last = (w.astype(np.float64) for w in network.weights)
    first_bias, second_bias, last_bias = (b.astype(np.float64) for b in network.biases)
    signs = np.array(list(itertools.product((-radius, radius), repeat=3)))
    axes = []
    for weight, bias in zip(first, first_bias, strict=True):
        all_corners = itertools.product((-radius, radius), repeat=len(x) + 1)
        ends = [(weight + s[:-1]) @ x + bias + s[-1] for s in map(np.array, all_corners)]
        axes.append(np.linspace(max(min(ends), 0.0), max(max(ends), 0.0), points))
    activations = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    choices = []
    for weight, bias in zip(second, second_bias, strict=True):
        values = activations @ (weight + signs[:, :2]).T + bias + signs[:, 2]
        choices.append(np.maximum(values, 0.0))
    least = np.inf
    for s in signs:
        contributions = [
            ((last[0, i] + s[i]) * choice).min(axis=1) for i, choice in enumerate(choices)
        ]
        least = min(least, float(sum(contributions).min()) + last_bias[0] + s[2])
    steps = [axis[1] - axis[0] for axis in axes]
    steepness = (np.abs(last[0]) + radius) @ (np.abs(second) + radius)
    return least, float(steepness @ steps)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("radius", [0.05, 0.4])
def test_exact_minimum_is_that_of_brute_force(seed: int, radius: float) -> None:
    generator = np.random.default_rng(seed)
    initial = Network.initialised(2, (2, 2), seed)
    network = Network(tuple(w * np.float32(2.0) for w in initial.weights), initial.biases)
    rows = generator.normal(size=(3, 2)) * 2
    exact = worst_logits(ParameterBox(network, radius), rows)
    for row, x in enumerate(rows):
        least, error = grid_minimum(network, x, radius, points=101)
        assert exact.lower[row] <= least + 1e-9
        assert exact.upper[row] >= least - error - 1e-9
        assert exact.upper[row] - exact.lower[row] < 1e-4


def test_a_minimum_inside_the_box_is_found() -> None:
    # |h - 2| + 0.5 as two neurons, with h free between 1 and 3: no corner is the worst.
    valley = Network(
        tuple(np.array(w, np.float32) for w in ([[1.0]], [[1.0], [-1.0]], [[1.0, 1.0]])),
        tuple(np.array(b, np.float32) for b in ([0.0], [-2.0, 2.0], [0.5])),
    )
    radius = 0.25
    # relu(0.75 h - 2.25) + relu(1.75 - 1.25 h), weighed 0.75 each: both are zero in between.
    exact = worst_logits(ParameterBox(valley, radius), np.array([[2.0]]))
    assert exact.upper[0] == pytest.approx(0.25, abs=1e-6)
    assert exact.lower[0] == pytest.approx(0.25, abs=1e-5)


def test_one_neuron_chain_in_closed_form() -> None:
    # x = -2: z1 = 2 +- 0.3, then 1.1 h + 0.1 at most, and the output pulls down: -1.1.
    chain = Network(
        tuple(np.array(w, np.float32) for w in ([[-1.0]], [[1.0]], [[-1.0]])),
        tuple(np.array(b, np.float32) for b in ([0.0], [0.0], [4.0])),
    )
    worst = 4.0 - 0.1 - 1.1 * (1.1 * 2.3 + 0.1)
    answers = worst_logits(ParameterBox(chain, 0.1), np.array([[-2.0]]))
    assert answers.upper[0] == pytest.approx(worst, abs=1e-6)
    assert answers.lower[0] == pytest.approx(worst, abs=1e-5)
    assert verdicts(answers) == ["certified"]
    assert verdicts(certify(ParameterBox(chain, 0.25), np.array([[-2.0]]))) == ["refuted"]


@given(seed=st.integers(0, 100_000))
@settings(max_examples=15, deadline=None)
def test_a_larger_box_is_never_better(seed: int) -> None:
    network, rows = random_case(seed)
    answers = [worst_logits(ParameterBox(network, radius), rows) for radius in RADII]
    for smaller, larger in itertools.pairwise(answers):
        assert (larger.lower <= smaller.upper + 1e-6).all()
        assert not (larger.certified & smaller.refuted).any()


def assert_refutations_refute(answers: Certificates) -> int:
    refuted = np.flatnonzero(answers.refuted)
    box = answers.box
    for row in refuted:
        other = refuting_network(answers, row)
        assert not other.favourable(answers.rows[row][None])[0]
        assert other.logits(answers.rows[row][None])[0] == pytest.approx(answers.upper[row])
        for ours, theirs in zip(
            (*other.weights, *other.biases),
            (*box.network.weights, *box.network.biases),
            strict=True,
        ):
            assert ours.dtype == np.float32
            difference = ours.astype(np.float64) - theirs.astype(np.float64)
            assert np.abs(difference).max() <= box.radius
    return len(refuted)


def test_refutations_come_with_a_network_of_the_box(cancer: Task, cancer_network: Network) -> None:
    rows = cancer.rows("train")
    rows = rows[cancer_network.favourable(rows)]
    assert assert_refutations_refute(certify(ParameterBox(cancer_network, 0.01), rows)) > 3
    found = 0
    for seed in range(30):
        network, rows = random_case(seed)
        found += assert_refutations_refute(certify(ParameterBox(network, 0.05), rows))
    assert found > 20


def test_without_a_budget_open_rows_are_unknown_and_not_certified() -> None:
    decided = 0
    for seed in range(40):
        network, rows = random_case(seed, widest=12, deepest=3)
        box = ParameterBox(network, 0.05)
        without, tiny, enough = (certify(box, rows, max_nodes=n) for n in (0, 1, 10_000))
        few, some, all_of_them = (np.array(verdicts(each)) for each in (without, tiny, enough))
        unknown = few == "unknown"
        assert not without.certified[unknown].any()
        np.testing.assert_array_equal(few[~unknown], all_of_them[~unknown])
        np.testing.assert_array_equal(some[some != "unknown"], all_of_them[some != "unknown"])
        decided += (all_of_them[unknown] != "unknown").sum()
    assert decided > 0


def test_verdicts_do_not_depend_on_the_batch(small_task: Task, small_network: Network) -> None:
    box = ParameterBox(small_network, 0.02)
    rows = small_task.rows("train")
    together = certify(box, rows)
    assert set(verdicts(together)) >= {"certified", "refuted"}
    backwards = certify(box, rows[::-1])
    np.testing.assert_array_equal(backwards.lower[::-1], together.lower)
    np.testing.assert_array_equal(backwards.directions[::-1], together.directions)
    for row in range(0, len(rows), 20):
        alone = certify(box, rows[row : row + 1])
        assert verdicts(alone)[0] == verdicts(together)[row]
        assert alone.lower[0] == together.lower[row]
        assert alone.upper[0] == together.upper[row]


def test_a_box_of_radius_zero_is_the_network_itself() -> None:
    network, rows = random_case(4)
    answers = worst_logits(ParameterBox(network, 0.0), rows)
    np.testing.assert_allclose(answers.upper, network.logits(rows), atol=1e-12)
    np.testing.assert_allclose(answers.lower, network.logits(rows), atol=1e-5)


def test_no_rows_no_verdicts() -> None:
    network, rows = random_case(4)
    assert verdicts(certify(ParameterBox(network, 0.1), rows[:0])) == []


def test_many_rows_are_proven_part_by_part(
    small_task: Task, small_network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    box, rows = ParameterBox(small_network, 0.01), small_task.rows("train")[:100]
    whole = certify(box, rows).certified
    assert 0 < whole.sum() < len(whole)
    sizes = []
    at_once = exact.certify

    def counted(box: ParameterBox, rows: np.ndarray, *, max_nodes: int) -> Certificates:
        sizes.append(len(rows))
        return at_once(box, rows, max_nodes=max_nodes)

    monkeypatch.setattr(exact, "certify", counted)
    monkeypatch.setattr(exact, "ROWS_AT_ONCE", 30)
    np.testing.assert_array_equal(proven_rows(box, rows), whole)
    assert sizes == [30, 30, 30, 10]
    assert proven_rows(box, rows[:0]).shape == (0,)


def network_of(weights: list[list[list[float]]], biases: list[list[float]]) -> Network:
    return Network(
        tuple(np.array(weight, np.float32) for weight in weights),
        tuple(np.array(bias, np.float32) for bias in biases),
    )


def test_sums_that_are_huge_are_not_certified_where_rounding_decides() -> None:
    # Sums of about 10^9 that cancel: double precision has 10^-7 of them left.
    network = network_of(
        [[[37040.75, 35098.75]] * 2, [[-12639.5, 12639.5]] * 2, [[-43847.625, 43847.625]]],
        [[-21541.5] * 2, [-21655.5] * 2, [10235.875]],
    )
    row = np.array([[-0.09738321250693144, 2.0507812051743026]])
    box = ParameterBox(network, 0.125)
    for answers in (certify(box, row), worst_logits(box, row)):
        assert verdicts(answers) == ["unknown"]
        # A network of the box gives -0.00179.
        assert answers.lower[0] < -0.00179
    far = certify(box, np.array([[0.0, 0.0]]))
    assert verdicts(far) == ["certified"]


@pytest.mark.parametrize("size", [1e60, 1e100, 1e300])
def test_what_is_too_large_to_be_bounded_is_unknown(size: float) -> None:
    network = network_of([[[1e38]], [[1e38]], [[1e38]], [[1.0]]], [[0.0], [0.0], [0.0], [1.0]])
    answers = certify(ParameterBox(network, 0.1), np.array([[1.0], [size]]))
    assert verdicts(answers) == ["certified", "unknown"]
    assert np.isneginf(answers.lower[1])


def test_where_the_solver_fails_nothing_is_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [random_case(seed, widest=12, deepest=3) for seed in range(40)]
    unsolved = [certify(ParameterBox(net, 0.05), rows, max_nodes=0) for net, rows in cases]
    open_cases = [without for without in unsolved if "unknown" in verdicts(without)]
    assert len(open_cases) > 0
    failure = highspy.HighsModelStatus.kSolveError
    monkeypatch.setattr(programme, "run", lambda solver: failure)
    for without in open_cases:
        answers = certify(without.box, without.rows)
        assert verdicts(answers) == verdicts(without)
        np.testing.assert_array_equal(answers.lower, without.lower)
