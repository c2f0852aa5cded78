"""The nearest rows, tile by tile, are those of all distances at once."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from changeproof.methods.shared import nearest_rows as search
from changeproof.methods.shared.nearest_rows import nearest_rows


@pytest.mark.parametrize("wanted", [1, 7, 60, 500])
@pytest.mark.parametrize("kinds", [3, 10**6])
def test_tiles_give_what_all_at_once_gives(
    wanted: int, kinds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(2026)
    # With three kinds of values, many rows are equally far: the first ones count.
    points, rows = (
        generator.integers(0, kinds, (n, 4)) / 7.0 + (0.1 if kinds == 3 else 0.0) for n in (25, 300)
    )
    far = cdist(points, rows, "cityblock")
    order = np.argsort(far, axis=1, kind="stable")[:, :wanted]
    monkeypatch.setattr(search, "POINTS_AT_ONCE", 10)
    monkeypatch.setattr(search, "ROWS_AT_ONCE", 32)
    found = nearest_rows(points, rows, wanted)
    assert (found.places == order).all()
    assert found.distances.tobytes() == np.take_along_axis(far, order, axis=1).tobytes()


def test_without_rows_there_is_nothing() -> None:
    found = nearest_rows(np.ones((2, 3)), np.ones((0, 3)), 5)
    assert found.places.shape == found.distances.shape == (2, 0)
