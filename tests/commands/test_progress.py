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
def test_what_runs_is_named_where_nothing_else_is_heard() -> None:
    lines = StringIO()
    tuning, answers = (
        Piece(kind, "loans", 1, kind, "wachter", cost=1.0)
        for kind in (Kind.TUNING, Kind.COUNTERFACTUALS)
    )
    with ConsoleObserver(Console(file=lines, width=200)) as observer:
        observer.planned(Inventory([], {}, [tuning, answers]))
        observer.started([tuning, answers])
        observer.job_started([tuning])
        waited_for(lines, "0% done (now tuning of wachter)\n")
        observer.finished(Outcome(tuning, b"", Effort(1.0, 1.0, 1.0)))
        waited_for(lines, "50% done\n")
        observer.finished(Outcome(answers, b"", Effort(1.0, 1.0, 1.0)))
        waited_for(lines, "tables and report …\n")
    assert lines.getvalue().count("tables and report …\n") == 1


@pytest.mark.usefixtures("impatient")
def test_the_time_left_is_what_the_rest_costs_at_the_pace_so_far() -> None:
    lines, now = StringIO(), [0.0]
    answers = [
        Piece(Kind.COUNTERFACTUALS, "loans", seed, f"a{seed}", "rbr", cost=cost)
        for seed, cost in enumerate((1.0, 1.0, 2.0))
    ]
    with ConsoleObserver(Console(file=lines, width=200)) as observer:
        observer._bar.tasks[0]._get_time = observer._bar.get_time = lambda: now[0]
        observer.planned(Inventory([], {}, answers))
        observer.started(answers)
        for each in answers[:2]:
            now[0] += 40.0
            observer.finished(Outcome(each, b"", Effort(40.0, 40.0, 1.0)))
        waited_for(lines, "50% done, about 80 s left\n")
        observer._last_finished -= 81.0
        waited_for(lines, "50% done\n")
