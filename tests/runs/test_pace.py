"""What is said of the time left learns from what has been seen."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from changeproof.runs.pieces import Kind, Piece
from changeproof.runs.timings import Pace


class Clock:
    """A clock that people wind."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def piece(kind: Kind, method: str, cost: float, seed: int = 1) -> Piece:
    return Piece(kind, "loans", seed, f"{kind}{method}{seed}", method, cost=cost)


TUNING = [piece(Kind.TUNING, method, 1.0) for method in ("apds", "rbr", "wachter")]
ANSWERS = [piece(Kind.COUNTERFACTUALS, "rbr", 2.0, seed) for seed in (1, 2)]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> Pace:
    pace = Pace(clock)
    pace.planned([*TUNING, *ANSWERS])
    return pace


def test_guesses_are_what_there_is_at_first(pace: Pace) -> None:
    assert pace.forecast() == (7.0, 0.0, [], False)
    pace.workers = 2
    assert pace.forecast().left == 3.5


def test_guesses_are_scaled_by_what_the_likes_took(pace: Pace) -> None:
    pace.finished(TUNING[0], 10.0)
    # Ten times its guess, with less doubt of its own kind than of others.
    alike, others = (11.0 / 2.0) ** 0.5, (20.0 / 11.0) ** 0.5
    assert pace.forecast().left == pytest.approx(2 * alike + 2 * 2.0 * others)
    pace.finished(ANSWERS[0], 1.0)
    # Of answers of the same method there is no doubt.
    assert pace.forecast().left == pytest.approx(2 * alike + 1.0)
    assert pace.forecast().share == pytest.approx(11.0 / (12.0 + 2 * alike))


def test_what_compiles_first_does_not_teach_all_others(pace: Pace) -> None:
    pace.finished(Piece(Kind.BASE, "loans", 1, "base", cost=0.01), 20.0)
    assert pace.forecast().left == pytest.approx(7.0 * (30.0 / 10.01) ** 0.5)


def test_one_that_is_much_quicker_than_its_guess_does_not_teach_all_others(pace: Pace) -> None:
    methods = ("apds", "betarce", "rbr", "rnce")
    answers = [piece(Kind.COUNTERFACTUALS, method, 50.0) for method in methods]
    pace.planned(answers)
    pace.finished(answers[3], 0.02)
    assert pace.forecast().left > 3 * 5.0
    pace.finished(answers[0], 50.0)
    assert pace.forecast().left == pytest.approx(2 * 50.0)


def test_a_method_is_known_by_its_own_pieces(pace: Pace) -> None:
    others = [piece(Kind.COUNTERFACTUALS, "wachter", 2.0, seed) for seed in (1, 2)]
    pace.planned([*ANSWERS, *others])
    pace.finished(ANSWERS[0], 2.0)
    pace.finished(others[0], 200.0)
    assert pace.forecast().left == pytest.approx(2.0 + 200.0)


def test_what_runs_is_counted_down_and_then_up(pace: Pace, clock: Clock) -> None:
    pace.planned(TUNING[:1])
    pace.job_started(TUNING[:1])
    clock.now += 0.75
    assert (pace.forecast().left, pace.forecast().is_late) == (0.25, False)
    clock.now += 600.0
    # Never a small remainder: as long again as it is late.
    assert pace.forecast().left == pytest.approx(599.75)
    assert pace.forecast().late == [TUNING[0]]
    assert pace.forecast().share == 0.0


def test_the_longest_that_runs_is_waited_for_however_many_workers(pace: Pace, clock: Clock) -> None:
    pace.workers = 8
    pace.job_started(TUNING[:1])
    clock.now += 81.0
    assert pace.forecast().left == 80.0
    pace.finished(TUNING[0], 81.0)
    assert pace.forecast().late == []
    assert pace.forecast().left == pytest.approx((2 * 41.0**0.5 + 4.0 * (91.0 / 11.0) ** 0.5) / 8)


def test_silence_is_noticed_where_nobody_tells_what_runs(pace: Pace, clock: Clock) -> None:
    clock.now += 5.0
    assert (pace.forecast().left, pace.forecast().is_late) == (7.0, False)
    clock.now += 95.0
    assert pace.forecast() == (93.0 + 7.0, 0.0, [], True)
    pace.resumed()
    assert (pace.forecast().left, pace.forecast().is_late) == (7.0, False)


def test_what_failed_is_not_waited_for_and_teaches_nothing(pace: Pace) -> None:
    pace.finished(TUNING[0], 0.0)
    assert pace.forecast().left == 6.0


def test_nothing_left_takes_no_time(clock: Clock) -> None:
    pace = Pace(clock)
    pace.planned([])
    assert pace.forecast() == (0.0, 0.0, [], False)


def test_pieces_made_together_are_one_wait(clock: Clock) -> None:
    bank = Piece(Kind.BANK, "loans", 1, "b", family="bootstrap", cost=3.0)
    judged = Piece(Kind.SURVIVAL, "loans", 1, "s", "rbr", "bootstrap", cost=1.0)
    pace = Pace(clock)
    pace.planned([bank, judged])
    pace.job_started([bank, judged])
    clock.now += 1.0
    assert pace.forecast().left == 3.0


times = st.lists(
    st.tuples(
        st.sampled_from([Kind.BASE, Kind.BANK, Kind.TUNING, Kind.COUNTERFACTUALS]),
        st.sampled_from(["", "rbr", "apds"]),
        st.floats(0.05, 5.0),
        st.floats(0.1, 40.0),
    ),
    min_size=2,
    max_size=8,
)


@given(times)
@example([(Kind.BASE, "", 0.5, 20.0), (Kind.TUNING, "rbr", 5.0, 40.0)] * 2)
def test_progress_never_runs_backwards_nor_does_the_time_left_jump(
    simulated: list[tuple[Kind, str, float, float]],
) -> None:
    clock = Clock()
    pieces = [
        Piece(kind, "loans", n, f"{n}", method, cost=guess)
        for n, (kind, method, guess, _) in enumerate(simulated)
    ]
    pace = Pace(clock)
    pace.planned(pieces)
    share, left = pace.forecast().share, pace.forecast().left
    for each, (_, _, guess, factor) in zip(pieces, simulated, strict=True):
        pace.job_started([each])
        steps = max(int(10 * factor), 1)
        for step in range(steps + 1):
            if step == steps:
                pace.finished(each, guess * factor)
            elif step:
                clock.now += guess * factor / steps
            before, (share, left) = (share, left), (pace.forecast().share, pace.forecast().left)
            assert share >= before[0]
            # Little by little: what takes longer than guessed shows while it runs.
            assert left <= 2.0 * before[1] + 1.0
    assert (share, left) == (1.0, 0.0)
