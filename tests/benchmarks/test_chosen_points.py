from __future__ import annotations

from benchmarks.chosen_points import simulated


def test_votes_that_chose_a_point_say_too_much_of_it() -> None:
    """A bound of 95 % from votes that did not choose the point is kept; that of others is not."""
    found = simulated(people=80)
    assert found.points == 80
    assert found.fresh_votes <= 6.0
    assert found.own_votes > 10.0
