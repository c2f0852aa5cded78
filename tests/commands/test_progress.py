"""What people see while they wait."""

from __future__ import annotations

import time
from io import StringIO

import pytest
from rich.console import Console

from changeproof.commands import progress
from changeproof.commands.progress import ConsoleObserver
from changeproof.runs.execute import Outcome
from changeproof.runs.pieces import Kind, Piece
from changeproof.runs.store import Inventory
from changeproof.runs.timings import Effort


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SILENCE", 0.05)
    monkeypatch.setattr(progress, "STILL", 0.2)


def waited_for(lines: StringIO, text: str, times: int = 1) -> None:
    end = time.monotonic() + 20.0
    while lines.getvalue().count(text) < times:
        assert time.monotonic() < end, lines.getvalue()
        time.sleep(0.01)


@pytest.mark.usefixtures("impatient")
def test_nothing_takes_long_without_a_word() -> None:
    lines = StringIO()
    with ConsoleObserver(Console(file=lines), beginning="reading loans.csv") as observer:
        waited_for(lines, "reading loans.csv …\n")
        waited_for(lines, "reading loans.csv … (0 s)\n", times=2)
        observer.planned(Inventory([], {}, []))
        waited_for(lines, "tables and report …\n")
    said = lines.getvalue()
    time.sleep(0.3)
    assert lines.getvalue() == said
    assert said.count("reading loans.csv …\n") == 1


def test_what_is_quick_is_not_talked_about() -> None:
    lines = StringIO()
    with ConsoleObserver(Console(file=lines)) as observer:
        observer.planned(Inventory([], {}, []))
    assert lines.getvalue() == ""


def test_a_terminal_shows_a_bar_from_the_beginning() -> None:
    lines = StringIO()
    console = Console(file=lines, force_terminal=True, width=100)
    with ConsoleObserver(console, beginning="reading loans.csv"):
        waited_for(lines, "reading loans.csv")


@pytest.mark.usefixtures("impatient")
def test_what_outlives_its_guess_is_named_and_raises_the_time_left() -> None:
    lines, now = StringIO(), [0.0]
    tuning = Piece(Kind.TUNING, "loans", 1, "t", "wachter", cost=1.0)
    with ConsoleObserver(Console(file=lines, width=200)) as observer:
        observer._pace.clock = lambda: now[0]
        observer.planned(Inventory([], {}, [tuning]))
        observer.started([tuning])
        observer.job_started([tuning])
        now[0] = 601.0
        late = "0% done, about 600 s left (longer than expected: tuning of wachter)\n"
        waited_for(lines, late)
        observer.finished(Outcome(tuning, b"", Effort(601.0, 601.0, 1.0)))
        waited_for(lines, "tables and report …\n")
    assert lines.getvalue().count("tables and report …\n") == 1


def test_a_terminal_shows_the_time_left_that_was_learned() -> None:
    lines = StringIO()
    answers = [
        Piece(Kind.COUNTERFACTUALS, "loans", seed, f"a{seed}", "rbr", cost=1.0) for seed in (1, 2)
    ]
    with ConsoleObserver(Console(file=lines, force_terminal=True, width=120)) as observer:
        observer.planned(Inventory([], {}, answers))
        observer.started(answers)
        observer.finished(Outcome(answers[0], b"", Effort(3600.0, 3600.0, 1.0)))
        waited_for(lines, "1:00:00")
