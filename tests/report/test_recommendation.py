from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from changeproof.evaluation.bar import reaches
from changeproof.evaluation.uncertainty import share_interval
from changeproof.report.recommendation import Option, choose, different


def advice(method: str, distance: float, held: int, usable: bool = True) -> Option:
    return Option(method, usable, distance, held, 200)


def test_the_shortest_that_holds_often_enough() -> None:
    options = [
        advice("kdtree", 0.12, 143),
        advice("rnce", 0.5, 200),
        advice("robx", 0.31, 197),
        advice("apds", 0.4, 199),
    ]
    chosen = choose(options)
    assert (chosen.method, chosen.shorter, chosen.most_often) == ("robx", "kdtree", "rnce")
    assert chosen.reason == (
        "robx, the shortest of 3 pieces of advice that hold in at least 95 % of the 200 changed "
        "models (95 % interval: 95.6 to 99.5 %). kdtree is shorter (0.12 against 0.31) but holds "
        "in 71 %."
    )


def test_the_only_one_and_nothing_shorter() -> None:
    chosen = choose([advice("a", 0.2, 200), advice("b", 0.3, 10)])
    assert chosen.method == "a"
    assert chosen.shorter is None
    assert chosen.reason == (
        "a, the only advice that surely holds in at least 95 % of the 200 changed models (95 % "
        "interval: 98.1 to 100.0 %)."
    )


def test_none_holds_often_enough() -> None:
    # Of equals, the shorter one is named.
    chosen = choose([advice("a", 0.9, 179), advice("b", 0.3, 179), advice("c", 0.1, 20)])
    assert (chosen.method, chosen.most_often, chosen.kind) == (None, "b", "none holds")
    assert chosen.reason == (
        "No advice holds in at least 95 % of the 200 changed models. b holds most often, in 89 % "
        "(95 % interval: 84.4 to 93.1 %)."
    )


def test_what_the_interval_does_not_tell_is_undecided() -> None:
    # 96 % of 200 is above the bar, and may be luck; so may 94.5 % be bad luck.
    for held in (192, 189):
        chosen = choose([advice("a", 0.2, held), advice("b", 0.1, 20)])
        assert (chosen.method, chosen.most_often, chosen.kind) == (None, "a", "undecided")
        assert chosen.reason.startswith(f"Undecided: a holds most often, in {held} of 200 changed")
        assert "It takes" not in chosen.reason
    # 16 models cannot tell, whatever they say.
    few = choose([Option("a", True, 0.2, 16, 16)])
    assert few.method is None
    assert few.reason == (
        "Undecided: a holds most often, in 16 of 16 changed models, and the 95 % interval, 80.6 to "
        "100.0 %, does not tell whether that is 95 % or more of such models. It takes at least 73 "
        "changed models to tell: ask for more, for example with bootstrap(replicates=100)."
    )
    assert choose([Option("a", True, 0.2, 72, 72)]).method is None
    assert choose([Option("a", True, 0.2, 73, 73)]).method == "a"
    # Models of one future follow from each other: 25 futures of 12 updates are 25 trials.
    assert choose([Option("a", True, 0.2, 300, 300, 25)]).method is None


def test_what_cannot_be_followed_is_not_recommended() -> None:
    assert choose([advice("a", 0.1, 200, usable=False), advice("b", 0.3, 198)]).method == "b"
    nothing = choose([advice("a", 0.1, 200, usable=False)])
    assert (nothing.method, nothing.most_often) == (None, None)
    assert nothing.reason.startswith("There is no advice that today's model accepts")
    assert "already" in choose([advice("a", 0.1, 0, usable=False)], favourable=True).reason


def test_ties() -> None:
    same = [advice("a", 0.3, 198), advice("b", 0.3, 199), advice("c", 0.3, 199)]
    assert choose(same).method == "b"
    weak = choose([advice("a", 0.3, 20), advice("b", 0.3, 199)])
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
        st.none(),
    ),
    min_size=1,
    max_size=6,
)


@given(OPTIONS)
def test_nothing_better_is_left(options: list[Option]) -> None:
    chosen = choose(options)
    firm = [o for o in options if o.usable and share_interval(o.held, 200)[0] >= 0.95]
    assert (chosen.method is None) == (not firm)
    assert chosen.holding == len(firm)
    if firm:
        assert min(o.held for o in firm) > 190
        best = next(o for o in options if o.method == chosen.method)
        assert best in firm
        assert all((best.distance, -best.held) <= (o.distance, -o.held) for o in firm)
        assert best.method in chosen.reason


@pytest.mark.parametrize(("held", "enough"), [(94, False), (95, True), (100, True)])
def test_the_bar_is_met_exactly(held: int, enough: bool) -> None:
    assert reaches(held, 100) == enough
    assert not reaches(0, 0)
