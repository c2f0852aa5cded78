"""An audit of 10,000, 100,000 and 1,000,000 rows: time, memory and where the time goes.

The command that people type, in a process of its own, on tables of `large_table.py`: our network,
100 people, two families of five changed models, two worker processes. The three methods differ in
what they do with the rows: kdtree looks for the nearest accepted one, wachter follows gradients
and never looks at them, robx-balanced scores all of them and walks towards the stable ones.

Memory is the resident memory of all processes of the command together, sampled ten times a
second; pages that they share count in each. Processor time is that of all of them: where others
work on the machine, growth is told by it. Silence is the longest time without a new line, as a user
without a terminal sees it.

    python -m benchmarks.large [ROWS ...] [--keep FOLDER]

writes benchmarks/results/large.csv and large_stages.csv, and prints them. The exit code is 1 if
processor time grows faster than the rows, or memory is above the limit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from benchmarks.large_table import SCHOOLING, write
from benchmarks.machine import save
from changeproof.runs.timings import sessions

ROWS = (10_000, 100_000, 1_000_000)
METHODS = "kdtree,wachter,robx-balanced"
FAMILIES = "bootstrap(replicates=5),new-initialization(replicates=5)"
PEOPLE, JOBS = 100, 2
MOST_GIB = 6.0
BETWEEN_SAMPLES = 0.1
PAGE, TICKS = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")

DESCRIPTION = f"""\
data = "TABLE"
target = "granted"
favourable = "yes"
[features.age]
change = "none"
[features.region]
change = "none"
[features.schooling]
change = "increase"
order = {SCHOOLING}
"""


class Process(NamedTuple):
    """What the system says of a process: resident bytes, and processor seconds so far."""

    resident: int
    seconds: float


def processes_of(session: int) -> dict[int, Process]:
    """Return the processes of a session by their ids."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended since
        if int(fields[3]) == session:
            ticks = int(fields[11]) + int(fields[12])
            found[int(entry.name)] = Process(int(fields[21]) * PAGE, ticks / TICKS)
    return found


class Watched:
    """A command that is running: its peak memory, its lines and the silences between them."""

    def __init__(self, command: list[str]) -> None:
        self.began = self.spoke = time.perf_counter()
        self.peak, self.silence, self.spent = 0, 0.0, dict[int, float]()
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            now = time.perf_counter()
            self.silence, self.spoke = max(self.silence, now - self.spoke), now
            self.lines.append(f"{now - self.began:8.1f} s  {line.rstrip()}")
            print(self.lines[-1], flush=True)

    def finished(self) -> float:
        """Wait for the end; return the seconds it took."""
        while self.process.poll() is None:
            there = processes_of(self.process.pid)
            self.peak = max(self.peak, sum(each.resident for each in there.values()))
            self.spent |= {number: each.seconds for number, each in there.items()}
            time.sleep(BETWEEN_SAMPLES)
        seconds = time.perf_counter() - self.began
        self.reader.join()
        if self.process.returncode:
            raise RuntimeError(f"the audit failed: {self.lines[-1:]}")
        return seconds


def measure(rows: int, folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Audit a table of so many rows; return its row of results, and those of its stages."""
    table, described = folder / f"large-{rows}.csv", folder / f"large-{rows}.toml"
    write(table, rows)
    described.write_text(DESCRIPTION.replace("TABLE", table.name), encoding="utf-8")
    out = folder / f"audit-{rows}"
    command = [sys.executable, "-m", "changeproof", "audit", "--data", str(described)]
    command += ["--methods", METHODS, "--families", FAMILIES, "--factuals", str(PEOPLE)]
    command += ["--jobs", str(JOBS), "--out", str(out)]
    watched = Watched(command)
    seconds = watched.finished()
    session = sessions(out)[-1]
    stages = pd.read_csv(out / "tables" / "timings.csv")
    inside = {
        "compiling": session.compile_seconds,
        "tables and report": session.report_seconds,
        "reading and recording": seconds - session.seconds,
    }
    row = {
        "rows": rows,
        "seconds": seconds,
        "processor_seconds": sum(watched.spent.values()),
        "peak_gib": watched.peak / 2**30,
        "silence_seconds": watched.silence,
        "table_mib": table.stat().st_size / 2**20,
        "kept_mib": sum(p.stat().st_size for p in out.rglob("*") if p.is_file()) / 2**20,
        "page_mib": (out / "report" / "index.html").stat().st_size / 2**20,
    }
    parts = [
        {"rows": rows, "stage": stage, "subject": "", "seconds": spent, "processor_seconds": None}
        for stage, spent in inside.items()
    ]
    columns = ["stage", "subject", "seconds", "processor_seconds"]
    parts += [{"rows": rows, **part} for part in stages[columns].to_dict(orient="records")]
    return row, parts


def misses(table: pd.DataFrame) -> list[str]:
    """Say where time grew faster than rows, or memory was above the limit."""
    lines = [
        f"{row.rows:,} rows took {row.peak_gib:.1f} GiB; expected less than {MOST_GIB:g}"
        for row in table.itertuples()
        if row.peak_gib >= MOST_GIB
    ]
    ordered = table.sort_values("rows")
    pairs = zip(ordered.itertuples(), ordered.iloc[1:].itertuples(), strict=False)
    for small, large in pairs:
        grown = large.processor_seconds / small.processor_seconds
        if grown > large.rows / small.rows:
            lines.append(
                f"{small.rows:,} to {large.rows:,} rows: processor time grew {grown:.1f} times, "
                "more than the rows"
            )
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=int, nargs="*", default=ROWS)
    parser.add_argument("--keep", type=Path, help="a new folder to leave tables and audits in")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if asked.keep is None else asked.keep
        folder.mkdir(exist_ok=asked.keep is None)
        for rows in asked.rows:
            print(f"== {rows:,} rows", flush=True)
            row, stages = measure(rows, folder)
            table = save("large", [row], ["rows"])
            parts = save("large_stages", stages, ["rows", "stage", "subject"])
    with pd.option_context("display.width", 200, "display.max_rows", None):
        print(parts.to_string(index=False))
        print(table.to_string(index=False))
    print(*misses(table), sep="\n")
    return int(bool(misses(table)))


if __name__ == "__main__":
    sys.exit(main())
