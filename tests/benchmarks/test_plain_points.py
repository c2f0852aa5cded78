"""Quorum's search asks few networks; the plain one asks all. They find the same points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.plain.points import plain_stepped
from changeproof import Network
from changeproof.methods.quorum.points import Jury, Nearest, Room, nearest_accepted_points
from changeproof.methods.shared.ensembles import Groups

SHAPES = ((8, 8), (16,), (4, 12), (8, 8))
COLUMNS, PEOPLE = 5, 30


def mild(seed: int) -> Network:
    """Return a network that accepts some more rows than it refuses."""
    network = Network.initialised(COLUMNS, SHAPES[seed % len(SHAPES)], seed)
    return replace(network, biases=(*network.biases[:-1], network.biases[-1] + np.float32(0.4)))


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("failures", [0, 2])
@pytest.mark.parametrize("margin", [0.1, 0.4])
def test_both_find_the_same_points(
    margin: float, failures: int, grouped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(11)
    networks = tuple(mild(seed) for seed in range(13))
    units = generator.uniform(0.05, 0.3, len(networks))
    jury = Jury(networks, units, Groups([0, 1, 2, 3] * 3) if grouped else None)
    people = generator.normal(size=(PEOPLE, COLUMNS))
    room = Room(generator.uniform(0.1, 1.0, COLUMNS), people - 4.0, people + 4.0)
    start = people + 2.0 * generator.normal(size=people.shape)

    def search() -> Nearest:
        return nearest_accepted_points(jury, people, start, room, margin=margin, failures=failures)

    found = search()
    monkeypatch.setattr("changeproof.methods.quorum.points._stepped", plain_stepped)
    plain = search()
    assert np.isfinite(plain.lengths).sum() > 5
    np.testing.assert_array_equal(found.rows, plain.rows)
    np.testing.assert_array_equal(found.lengths, plain.lengths)
