"""What a run survives: kills, failing file operations, tampering, and odd command lines.

Every trial works on a small run of its own, in processes of its own. After a kill or a fault the
same command is given again, and the pieces have to be the bytes of a run that nothing happened to.
After tampering, `status`, `show`, `report` and `run` have to end without a traceback, and `run` has
to compute again what is damaged. The counts go to results/reliability.csv.

    python -m benchmarks.reliability --kills 50 --faults 100 --tamperings 200 --calls 1500
"""

from __future__ import annotations

import argparse
import errno
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

RESULTS = Path(__file__).resolve().parent / "results" / "reliability.csv"
SERVER = multiprocessing.get_context("forkserver")
PLAN = """
datasets = ["diabetes"]
methods = ["kdtree", "robx-robust"]
families = ["bootstrap(replicates=5)", "label-update(replicates=5)"]
base_seeds = [2026]
factuals = 5
"""
PATIENCE = 180.0
FAULTS = ("open", "os.rename", "os.mkdir", "os.remove")
SAME, REFUSED, WRONG, TRACEBACK, LONG = (
    "same bytes", "refused in one line", "other bytes", "traceback", "took too long",
)  # fmt: skip
BAD = (WRONG, TRACEBACK, LONG)


class Ended:
    """How a command ended, and what it told."""

    def __init__(self, code: int | None, told: str) -> None:
        self.code, self.told = code, told

    @property
    def verdict(self) -> str:
        """What of it would be held against us, if anything."""
        if self.code is None:
            return LONG
        return TRACEBACK if "Traceback (most recent call last)" in self.told else ""


def become(
    words: list[str], cwd: Path, log: Path, prepare: Callable[..., None], *more: Any
) -> None:
    """Be the command line, in a process and a group of its own."""
    os.setsid()
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.chdir(cwd)
    sys.argv = ["changeproof", *words]
    from changeproof.cli import main

    prepare(*more)
    main()


def nothing() -> None:
    """Prepare nothing."""


def with_workers() -> None:
    """Use worker processes, however small the run is."""
    from changeproof.runs import stages

    stages.WORTH_WORKERS = -1.0


def failing(folder: str, place: int, deadly: bool) -> None:
    """Let the file operation at a place fail, or be the last thing that the process does."""
    seen = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        if event not in FAULTS or not str(arguments[0]).startswith(folder):
            return
        seen += 1
        if seen == place:
            if deadly:
                os._exit(9)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(arguments[0]))

    sys.addaudithook(watch)


def started(words: Iterable[Any], cwd: Path, log: Path, prepare: Any = nothing, *more: Any) -> Any:
    """Start the command line."""
    process = SERVER.Process(target=become, args=([*map(str, words)], cwd, log, prepare, *more))
    process.start()
    return process


def ended(process: Any, log: Path, patience: float = PATIENCE) -> Ended:
    """Wait for a command; its group ends with it."""
    process.join(timeout=patience)
    code = process.exitcode
    end_group(process.pid)
    process.join()
    return Ended(code, log.read_text(encoding="utf-8", errors="replace") if log.exists() else "")


def end_group(pid: int) -> None:
    """End what is left of a process group that a trial started."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def call(words: Iterable[Any], cwd: Path, prepare: Any = nothing, *more: Any) -> Ended:
    """Do what a command line does, from beginning to end."""
    log = cwd / ".log"
    return ended(started(words, cwd, log, prepare, *more), log)


def pieces(folder: Path) -> dict[str, bytes]:
    """Return the store of a run."""
    found = (folder / "pieces").rglob("*.*.*.*")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found if path.is_file()}


def run_words(*more: str) -> list[str]:
    """Return the command that every trial is about."""
    return ["run", "--plan", "plan.toml", "--out", "run", *more]


def gone_on(cwd: Path, reference: dict[str, bytes]) -> str:
    """Give the command again, and compare."""
    again = call(run_words("--jobs", "1"), cwd)
    if again.verdict:
        return again.verdict
    if again.code == 2:
        return REFUSED
    return SAME if pieces(cwd / "run") == reference else WRONG


def kill(cwd: Path, reference: dict[str, bytes], chance: random.Random) -> str:
    """Kill the run, one of its workers or all of them, at some time."""
    process = started(run_words("--jobs", "2"), cwd, cwd / ".log", with_workers)
    time.sleep(chance.uniform(0.2, 12.0))
    whom = chance.choice(["main", "worker", "group"])
    if whom == "main":
        process.kill()
    elif whom == "group":
        end_group(process.pid)
    else:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        if pids := children.read_text().split() if children.exists() else []:
            os.kill(int(chance.choice(pids)), signal.SIGKILL)
    first = ended(process, cwd / ".log")
    # What a killed worker makes of the run is told, but the run has to go on.
    return LONG if first.code is None else gone_on(cwd, reference)


def fault(cwd: Path, reference: dict[str, bytes], chance: random.Random) -> str:
    """Let one file operation fail, or the process end at it."""
    place, deadly = chance.randint(1, 160), chance.random() < 0.5
    first = call(run_words("--jobs", "1"), cwd, failing, "run", place, deadly)
    return first.verdict or gone_on(cwd, reference)


def tamper(cwd: Path, reference: dict[str, bytes], chance: random.Random) -> str:
    """Change, cut, lengthen or remove some files of a finished run."""
    shutil.copytree(cwd.parent / "reference" / "run", cwd / "run")
    files = sorted(path for path in (cwd / "run").rglob("*") if path.is_file())
    for path in chance.sample(files, k=chance.randint(1, 3)):
        content = bytearray(path.read_bytes())
        how = chance.choice(["flip", "cut", "more", "gone", "empty"])
        if how == "gone":
            path.unlink()
            continue
        if how == "flip" and content:
            for _ in range(chance.randint(1, 8)):
                content[chance.randrange(len(content))] = chance.randrange(256)
        elif how == "cut":
            del content[chance.randrange(len(content) + 1) :]
        elif how == "more":
            content += chance.randbytes(chance.randint(1, 100))
        path.write_bytes(b"" if how == "empty" else content)
    for command in ("status", "show", "report"):
        if verdict := call([command, "run"], cwd).verdict:
            return verdict
    return gone_on(cwd, reference)


COMMANDS = (
    "run",
    "audit",
    "explain",
    "status",
    "report",
    "show",
    "compare",
    "compare-runs",
    "gate",
)
OPTIONS = (
    "--out", "--data", "--target", "--favourable", "--name", "--methods", "--families",
    "--datasets", "--counterfactuals", "--model", "--base-seeds", "--factuals", "--jobs",
    "--plan", "--preset", "--table", "--grid", "--range", "--by", "--threshold", "--successor",
    "--id-column",
)  # fmt: skip
VALUES = (
    "", ".", "..", "/", "-", "../../x", "/dev/null", "x" * 300, "kdtree", "kdtree(", "a:b", ":::",
    "mlp:0", "mlp:-1", "python:::", "pickle:x", "onnx:x", "object:x@y", "sklearn:", "loans.csv",
    "loans.toml", "plan.toml", "0", "-1", "1e400", "999999999999999999999", "nan", "x=y", "=",
    "../e=loans.csv", "income", "approved", "yes", "no", "🙂", "a\tb", "a\nb", "\x1b[31m", "é",
    "quick", "bootstrap(replicates=0)", "bootstrap(replicates='x')", "[[[[", "income=9:1", "run",
)  # fmt: skip


def fuzz(cwd: Path, reference: dict[str, bytes], chance: random.Random) -> str:
    """Give a command line that nobody means."""
    (cwd / "loans.csv").write_text("income,debts,approved\n1,2,yes\n3,x,no\n")
    (cwd / "loans.toml").write_text('data = "loans.csv"\ntarget = "approved"\nfavourable = "yes"')
    words = [chance.choice(COMMANDS)]
    for _ in range(chance.randint(0, 5)):
        words += [chance.choice(OPTIONS)] if chance.random() < 0.7 else []
        words.append(chance.choice(VALUES))
    log = cwd / ".log"
    told = ended(started(words, cwd, log), log, patience=60.0)
    if told.verdict == LONG:
        return "at work for a minute"
    return told.verdict or (f"exit code {told.code}" if told.code else "done")


def campaign(
    name: str, trial: Callable[..., str], times: int, home: Path, seed: int
) -> Counter[str]:
    """Try something many times, each with an address of its own."""
    reference = pieces(home / "reference" / "run")
    counts: Counter[str] = Counter()
    for number in range(times):
        cwd = home / f"{name}-{number}"
        cwd.mkdir()
        (cwd / "plan.toml").write_text(PLAN)
        outcome = trial(cwd, reference, random.Random(f"{seed} {name} {number}"))
        counts[outcome] += 1
        if outcome in BAD:
            log = (cwd / ".log").read_text(encoding="utf-8", errors="replace")
            print(f"{name} {number}: {outcome}\n{log[-2000:]}", file=sys.stderr, flush=True)
        shutil.rmtree(cwd, ignore_errors=True)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--tamperings", type=int, default=60)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    SERVER.set_forkserver_preload(["changeproof.cli", "changeproof.workflow"])
    trials: dict[str, tuple[Callable[..., str], int]] = {
        "kill": (kill, asked.kills),
        "fault": (fault, asked.faults),
        "tampering": (tamper, asked.tamperings),
        "call": (fuzz, asked.calls),
    }
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "reference").mkdir()
        (home / "reference" / "plan.toml").write_text(PLAN)
        first = call(run_words("--jobs", "1"), home / "reference")
        if first.code != 0:
            print(first.told, file=sys.stderr)
            return 1
        for name, (trial, times) in trials.items():
            began = time.perf_counter()
            counts = campaign(name, trial, times, home, asked.seed)
            took = time.perf_counter() - began
            print(f"{name}: {dict(counts)} in {took:.0f} s", flush=True)
            rows += [(name, outcome, count) for outcome, count in sorted(counts.items())]
    table = pd.DataFrame(rows, columns=["trial", "outcome", "times"])
    table.to_csv(asked.out, index=False, lineterminator="\n")
    return int(table["outcome"].isin(BAD).any())


if __name__ == "__main__":
    sys.exit(main())
