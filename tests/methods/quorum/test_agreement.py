"""How far a pool agrees: the mean of soft votes, for networks and for other models."""

from __future__ import annotations

import numpy as np
import pytest

from changeproof.methods.quorum.agreement import Agreement
from changeproof.methods.quorum.ballot import SeenRows
from changeproof.model import Floats
from changeproof.models.learner import ModelStack
from plain_searches import Judge, alike, plain_agreement

COLUMNS = 4


def drawn(n: int) -> Floats:
    return np.random.default_rng(n).normal(size=(n, COLUMNS))


@pytest.mark.parametrize("ours", [True, False])
def test_it_is_the_log_odds_of_the_mean_vote_where_the_base_model_accepts(ours: bool) -> None:
    base, *pool = alike(COLUMNS, 6)
    rows = drawn(200)
    agreement = Agreement.of(base, pool, rows)
    if not ours:
        agreement = Agreement(ModelStack((base, *pool)), agreement.slopes)
    found, accepted = agreement.log_odds(rows), base.favourable(rows)
    assert 0 < accepted.sum() < len(rows)
    expected = plain_agreement(pool, rows, rows)
    np.testing.assert_allclose(found[accepted], expected[accepted], rtol=1e-9)
    assert (found[~accepted] < 0.0).all()
    # A row has the same digits, whatever is asked with it.
    alone = np.array([agreement.log_odds(row[None])[0] for row in rows])
    np.testing.assert_array_equal(found, alone)


def test_the_slopes_are_those_of_small_steps() -> None:
    base, *pool = alike(COLUMNS, 6)
    rows = drawn(50)
    agreement = Agreement.of(base, pool, rows)
    values, slopes = agreement.linear(rows, agreement.scores(rows), 1.5, 0)
    np.testing.assert_allclose(values[:, 1], plain_agreement(pool, rows, rows), rtol=1e-9)
    np.testing.assert_allclose(values[:, 0], base.logits(rows) + 1.5)
    # Networks compute in single precision.
    step = 1e-2
    for column in range(COLUMNS):
        moved = np.eye(COLUMNS)[column] * step
        up, down = (plain_agreement(pool, rows, rows + sign * moved) for sign in (1, -1))
        close = np.abs((up - down) / (2 * step) - slopes[:, 1, column]) < 0.05
        # Some cross a kink on the way.
        assert close.mean() > 0.8


def test_a_model_that_is_never_sure_votes_without_dividing_by_nought() -> None:
    even = Judge(lambda rows: np.full(len(rows), 0.5))
    rows = drawn(5)
    assert np.isfinite(Agreement.of(even, [even], rows).log_odds(rows)).all()


def test_asking_in_stages_and_all_at_once_say_the_same() -> None:
    base, *pool = alike(COLUMNS, 15)
    rows = drawn(300)
    rows = rows[base.favourable(rows)]
    agreement = Agreement(ModelStack((base, *pool)), Agreement.of(base, pool, rows).slopes)
    agreed = agreement.log_odds(rows)
    for threshold in (0.0, 1.0, float(np.median(agreed)), float(agreed.max())):
        found = agreement.reaches(rows, threshold)
        np.testing.assert_array_equal(found, agreed >= threshold)
    assert not agreement.reaches(rows, float(agreed.max()) + 1e-12).any()
    # A few members guide the search.
    few = plain_agreement(pool[:8], rows, rows)
    np.testing.assert_allclose(agreement.guide(rows), few, rtol=1e-9)


class Counting(Judge):
    """A model that counts the rows that it gives probabilities of."""

    count = 0

    def probabilities(self, rows: Floats) -> Floats:
        self.count += len(rows)
        return super().probabilities(rows)


def test_nobody_is_asked_twice_about_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    networks = alike(COLUMNS, 20)
    rows = drawn(200)
    rows = rows[networks[0].favourable(rows)]
    slopes = Agreement.of(networks[0], networks[1:], rows).slopes
    base, *pool = (Counting(network.probabilities) for network in networks)
    agreement = Agreement(ModelStack((base, *pool)), slopes)
    agreed = Agreement(ModelStack(networks), slopes).log_odds(rows)
    order = np.random.default_rng(0)
    for threshold in np.linspace(agreed.max(), agreed.min(), 7):
        some = order.permutation(len(rows))[:60]
        np.testing.assert_array_equal(
            agreement.reaches(rows[some], threshold), agreed[some] >= threshold
        )
    assert all(each.count <= len(rows) for each in pool)
    assert pool[0].count > pool[-1].count > 0
    # What has become too much is forgotten, and asked again.
    monkeypatch.setattr("changeproof.methods.quorum.ballot.REMEMBERED", 0)
    before = pool[0].count
    guided = agreement.guide(rows[:20])
    np.testing.assert_array_equal(agreement.guide(rows[:20]), guided)
    np.testing.assert_array_equal(agreement.reaches(rows[:20], 0.5), agreed[:20] >= 0.5)
    assert pool[0].count == before + 60


def test_rows_have_the_same_place_if_they_have_the_same_bits() -> None:
    draw, seen, places = np.random.default_rng(0), SeenRows(3), dict[bytes, int]()
    odd = np.array([[0.0, np.nan, np.inf], [-0.0, np.nan, np.inf], [1.0, np.nan, -np.inf]])
    for count in (1, 5, 0, 1000, 30, 4000):
        some = draw.integers(0, 12, (count, 3)).astype(float)
        rows = np.concatenate([some, odd])[draw.permutation(count + 3)]
        expected = [places.setdefault(row.tobytes(), len(places)) for row in rows]
        before = len(seen)
        np.testing.assert_array_equal(seen.places(rows), expected)
        assert len(seen) == len(places) and seen.size == 24 * len(places)
        assert [row.tobytes() for row in seen.rows(before)] == list(places)[before:]
    assert 1000 < len(places) < 4000
