"""Some of the planted networks of `benchmarks/planted_certificates.py`."""

from __future__ import annotations

import numpy as np

from benchmarks.planted_attack import smallest_logit, true_logit
from benchmarks.planted_certificates import ordinary, planted, try_case
from changeproof import Network
from changeproof.certificates.box import ParameterBox
from changeproof.certificates.exact import certify


def test_no_certificate_at_the_edge_of_a_planted_network_is_false() -> None:
    edges = [try_case(seed) for seed in range(300)]
    assert sum(edge.false for edge in edges) == 0
    assert sum(edge.by_solver for edge in edges) > 30
    sizes = [edge.largest_weight for edge in edges]
    assert min(sizes) < 1e-2
    assert max(sizes) > 1e5
    # The rows are at the edge: rounding is all that is left between most of them and zero.
    left = [edge.smallest_logit / edge.largest_weight for edge in edges]
    assert np.quantile(left, 0.25) < 1e-12


def test_the_attack_finds_what_is_false() -> None:
    # A certificate for a smaller radius, taken for one of a radius that is a little larger.
    broken = certified = 0
    for seed in range(60):
        case = planted(seed)
        answer = certify(ParameterBox(case.network, 1.5 * case.radius), case.bad[None])
        if answer.refuted[0]:
            certified += 1
            broken += smallest_logit(case.network, 1.5 * case.radius, case.bad, seed) < 0.0
    assert certified > 30
    assert broken >= 0.9 * certified


def test_the_true_logit_is_without_rounding() -> None:
    # 2^60 + 1 - 2^60: in double precision, nothing is left of the one.
    network = Network(
        (np.array([[2.0**60, 1.0, -(2.0**60)]], np.float32),), (np.zeros(1, np.float32),)
    )
    assert true_logit(network, np.ones(3)) == 1
    assert network.logits(np.ones((1, 3)))[0] == 0.0


def test_ordinary_networks_are_decided() -> None:
    for seed in range(20):
        verdicts = ordinary(seed)
        assert verdicts["unknown"] == 0
        assert verdicts["certified"] + verdicts["refuted"] == 40
