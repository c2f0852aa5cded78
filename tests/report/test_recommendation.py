from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from changeproof.report.recommendation import Option, choose, different


def advice(method: str, distance: float, held: int, usable: bool = True) -> Option:
    return Option(method, usable, distance, held, 200)


def test_the_shortest_that_holds_often_enough() -> None:
    options = [
        advice("kdtree", 0.12, 143),
        advice("rnce", 0.5, 200),
        advice("robx", 0.31, 190),
        advice("apds", 0.4, 199),
    ]
    chosen = choose(options)
    assert (chosen.method, chosen.shorter, chosen.most_often) == ("robx", "kdtree", "rnce")
    assert chosen.reason == (
        "robx, the shortest of 3 pieces of advice that hold in at least 95 % of the 200 changed "
        "models. kdtree is shorter (0.12 against 0.31) but holds in 71 %."
    )


def test_the_only_one_and_nothing_shorter() -> None:
    chosen = choose([advice("a", 0.2, 200), advice("b", 0.3, 10)])
    assert chosen.method == "a"
    assert chosen.shorter is None
    assert chosen.reason == (
        "a, the only advice that holds in at least 95 % of the 200 changed models."
    )


def test_none_holds_often_enough() -> None:
    # 94.5 % is not 95 %, and is not shown as that; of equals, the shorter one is named.
    chosen = choose([advice("a", 0.9, 189), advice("b", 0.3, 189), advice("c", 0.1, 20)])
    assert (chosen.method, chosen.most_often) == (None, "b")
    assert chosen.reason == (
        "No advice holds in at least 95 % of the 200 changed models. b holds most often, in 94 %."
    )


def test_what_cannot_be_followed_is_not_recommended() -> None:
    assert choose([advice("a", 0.1, 200, usable=False), advice("b", 0.3, 195)]).method == "b"
    nothing = choose([advice("a", 0.1, 200, usable=False)])
    assert (nothing.method, nothing.most_often) == (None, None)
    assert nothing.reason.startswith("There is no advice that today's model accepts")
    assert "already" in choose([advice("a", 0.1, 0, usable=False)], favourable=True).reason


def test_ties() -> None:
    same = [advice("a", 0.3, 195), advice("b", 0.3, 196), advice("c", 0.3, 196)]
    assert choose(same).method == "b"
    weak = choose([advice("a", 0.3, 20), advice("b", 0.3, 196)])
    assert (weak.method, weak.shorter) == ("b", None)


def test_distances_that_differ_are_shown_to_differ() -> None:
    assert different(0.1, 0.2) == ("0.10", "0.20")
    assert different(0.1234, 0.1241) == ("0.123", "0.124")


OPTIONS = st.lists(
    st.builds(
        Option,
        st.uuids().map(str),
        st.booleans(),
        st.sampled_from([0.1, 0.2, 0.3]),
        st.integers(180, 200),
        st.just(200),
    ),
    min_size=1,
    max_size=6,
)


@given(OPTIONS)
def test_nothing_better_is_left(options: list[Option]) -> None:
    chosen = choose(options)
    firm = [o for o in options if o.usable and o.held >= 190]
    assert (chosen.method is None) == (not firm)
    assert chosen.holding == len(firm)
    if firm:
        best = next(o for o in options if o.method == chosen.method)
        assert best in firm
        assert all((best.distance, -best.held) <= (o.distance, -o.held) for o in firm)
        assert best.method in chosen.reason


@pytest.mark.parametrize(("held", "holds"), [(94, False), (95, True), (100, True)])
def test_the_threshold_is_met_exactly(held: int, holds: bool) -> None:
    assert Option("a", True, 0.1, held, 100).holds == holds
