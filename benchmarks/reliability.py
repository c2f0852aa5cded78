"""What a run survives, and what a certificate does: a campaign of trials that go wrong on purpose.

Every trial of a run works on a small run of its own, in processes of its own. After a kill, a death
at a file operation or a fault, the same command is given again, and the pieces have to be the bytes
of a run that nothing happened to. After tampering, `status`, `show`, `report` and `run` have to end
without a traceback, and `run` has to compute again what is damaged. On a disk that is full or
read-only, commands end with one line and nothing half-written. (The files of figures are written,
but nothing is drawn in them: that would take most of the time.) Certificates of real base networks
and of planted ones are attacked, and the draws of the sampled test are looked at.

    python -m benchmarks.reliability [TRIAL ...] [--share 0.1]

The counts go to results/reliability.csv, trial by trial, and the page of all results is written
again. What has been tried is kept in runs/reliability.jsonl: a campaign that was cut short goes on
where it was. To begin anew, remove that file; `--again` repeats what ended badly.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import report
from benchmarks.machine import RESULTS, one_thread, save
from benchmarks.odd_calls import odd_call
from benchmarks.trials import BAD, PLAN, death, disk, fault, kill, prepared, tamper

JOURNAL = Path("runs") / "reliability.jsonl"
SEED = 2026
FALSE, BROKEN = "false certificate", "certificate broken"
ALL_BAD = (*BAD, FALSE, BROKEN, "draw outside", "told differently")


class Trial(NamedTuple):
    """What is tried, how often in a whole campaign, and whether it needs a run to be tried on."""

    of: Callable[..., Any]
    times: int
    on_a_run: bool = True


def attack(number: int) -> Counter[str]:
    """Attack the certificates of a dataset ten thousand times."""
    from benchmarks.certificates import attack_dataset
    from changeproof import paper_datasets

    datasets = paper_datasets()
    turn, place = divmod(number, len(datasets))
    # The first turn is that of `make bench`.
    said: Any = attack_dataset(datasets[place], turn + 1)
    return Counter({"attack that broke no certificate": said["attacks"], BROKEN: said["broken"]})


def plant(number: int) -> Counter[str]:
    """Attack the certificates at the edge of a hundred planted networks that no table has yet."""
    from benchmarks.planted_certificates import CASES, try_case

    edges = [try_case(CASES + 100 * number + each) for each in range(100)]
    false = sum(edge.false for edge in edges)
    held = sum(edge.certificates for edge in edges) - false
    return Counter({"certificate that no attack broke": held, FALSE: false})


def draw(number: int) -> Counter[str]:
    """Look at the draws of a sampled test."""
    from benchmarks.sampled_draws import try_draws

    return try_draws(number)


TRIALS = {
    "disk": Trial(disk, 36),
    "fault": Trial(fault, 56),
    "kill": Trial(kill, 54),
    "death": Trial(death, 110),
    "attack": Trial(attack, 100, on_a_run=False),
    "planted": Trial(plant, 50, on_a_run=False),
    "draws": Trial(draw, 200, on_a_run=False),
    "tampering": Trial(tamper, 220),
    "call": Trial(odd_call, 1550),
}


class Journal:
    """What has been tried: a line for every trial, kept as soon as it is over."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[tuple[str, int], Counter[str]] = {}
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        for line in lines:
            said = json.loads(line)
            self.found[said["trial"], said["number"]] = Counter(said["outcomes"])

    def keep(self, trial: str, number: int, outcomes: Mapping[str, int]) -> None:
        """Keep what became of a trial; the last line counts."""
        self.found[trial, number] = Counter(outcomes)
        said = {"trial": trial, "number": number, "outcomes": dict(outcomes)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(said) + "\n")

    def counts(self, trial: str) -> Counter[str]:
        """Return how often a trial had which outcome."""
        return sum((c for (name, _), c in self.found.items() if name == trial), Counter[str]())


def is_bad(outcomes: Mapping[str, int]) -> bool:
    """Say whether something happened that must not."""
    return any(times and any(bad in what for bad in ALL_BAD) for what, times in outcomes.items())


def left_of(journal: Journal, trial: str, times: int, *, again: bool) -> Iterator[int]:
    """Yield the numbers of the trials that are still to be done."""
    for number in range(times):
        done = journal.found.get((trial, number))
        if done is None or (again and is_bad(done)):
            yield number


def tried(name: str, number: int, home: Path) -> Mapping[str, int]:
    """Try something once; on a run, in a folder of its own."""
    trial = TRIALS[name]
    if not trial.on_a_run:
        with one_thread():
            return trial.of(number)
    cwd = home / f"{name}-{number}"
    cwd.mkdir()
    (cwd / "plan.toml").write_text(PLAN)
    outcome = trial.of(cwd, number, random.Random(f"{SEED} {name} {number}"))
    if is_bad({outcome: 1}):
        log = (cwd / ".log").read_text(encoding="utf-8", errors="replace")
        print(f"{name} {number}: {outcome}\n{log[-3000:]}", file=sys.stderr, flush=True)
    shutil.rmtree(cwd, ignore_errors=True)
    return {outcome: 1}


def saved(journal: Journal, name: str) -> bool:
    """Keep the counts of a trial in the table; return whether all of them are good."""
    counts = journal.counts(name)
    rows = [{"trial": name, "outcome": what, "times": n} for what, n in sorted(counts.items()) if n]
    if rows:
        save("reliability", rows, ["trial"])
        report.main()
    return not is_bad(counts)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trials", nargs="*", help=f"of {', '.join(TRIALS)}; all by default")
    parser.add_argument("--share", type=float, default=1.0, help="of the times of each trial")
    parser.add_argument("--again", action="store_true", help="repeat what ended badly")
    parser.add_argument("--journal", type=Path, default=JOURNAL)
    asked = parser.parse_args()
    names = asked.trials or list(TRIALS)
    if unknown := [name for name in names if name not in TRIALS]:
        parser.error(f"unknown trial {unknown[0]!r}; expected one of: {', '.join(TRIALS)}")
    RESULTS.mkdir(exist_ok=True)
    journal, good = Journal(asked.journal), True
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        if any(TRIALS[name].on_a_run for name in names):
            prepared(home)
        for name in names:
            began, times = time.perf_counter(), max(1, round(asked.share * TRIALS[name].times))
            for number in left_of(journal, name, times, again=asked.again):
                journal.keep(name, number, tried(name, number, home))
            took = time.perf_counter() - began
            print(f"{name}: {dict(journal.counts(name))} in {took:.0f} s", flush=True)
            good &= saved(journal, name)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
