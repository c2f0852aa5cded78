"""What a campaign does to runs: each trial in a folder of its own, drawn by its number."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.commands import (
    COUNTED,
    ERRORS,
    Ended,
    at_time,
    call,
    counting,
    end_group,
    ended,
    failing,
    half_written,
    nothing,
    onto,
    started,
    with_workers,
    without_locks,
)

PLAN = """
datasets = ["diabetes"]
methods = ["kdtree", "robx-robust"]
families = ["bootstrap(replicates=5)", "label-update(replicates=5)"]
base_seeds = [2026]
factuals = 5
"""
SAME, REFUSED = "same bytes", "refused in one line"
WRONG, TRACEBACK, LONG = "other bytes", "traceback", "took too long"
HALF, UNTOLD = "half-written", "failed without a line that says why"
BAD = (WRONG, TRACEBACK, LONG, HALF, UNTOLD)


def prepared(home: Path) -> None:
    """Make the run that trials are held against, count its file operations, and time it."""
    folder = home / "reference"
    folder.mkdir()
    (folder / "plan.toml").write_text(PLAN)
    first = call(run_words("--jobs", "1"), folder, counting, "run")
    if first.code != 0:
        raise SystemExit(first.told)
    shutil.copytree(folder / "run", home / "whole")
    shutil.rmtree(folder / "run")
    began = time.perf_counter()
    call(run_words("--jobs", "2"), folder, with_workers)
    (folder / "seconds").write_text(str(time.perf_counter() - began))
    assert pieces(folder / "run") == pieces(home / "whole")


def pieces(folder: Path) -> dict[str, bytes]:
    """Return the store of a run."""
    found = (folder / "pieces").rglob("*.*.*.*")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found if path.is_file()}


def run_words(*more: str) -> list[str]:
    """Return the command that most trials are about."""
    return ["run", "--plan", "plan.toml", "--out", "run", *more]


def verdict(told: Ended) -> str:
    """Return what of an end would be held against us, if anything."""
    if told.code is None:
        return LONG
    return TRACEBACK if told.traceback else ""


def gone_on(cwd: Path) -> str:
    """Give the command again, and compare."""
    again = call(run_words("--jobs", "1"), cwd)
    if bad := verdict(again):
        return bad
    if again.code == 2:
        return REFUSED if again.refusals else UNTOLD
    return SAME if pieces(cwd / "run") == pieces(cwd.parent / "reference" / "run") else WRONG


def kill(cwd: Path, number: int, chance: random.Random) -> str:
    """Kill the run, one of its workers or all of them, at some time."""
    seconds = float((cwd.parent / "reference" / "seconds").read_text())
    log, whom = cwd / ".log", ("main", "worker", "group")[number % 3]
    process = started(run_words("--jobs", "2"), cwd, log, with_workers)
    time.sleep(chance.uniform(0.05, 0.9 * seconds))
    if process.exitcode is not None:
        return "over before it was killed"
    if whom == "main":
        process.kill()
    elif whom == "group":
        end_group(process.pid)
    else:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        pids = children.read_text().split() if children.exists() else []
        if not pids:
            end_group(process.pid)
            return "no worker was there yet"
        os.kill(int(chance.choice(pids)), signal.SIGKILL)
    # What a killed worker makes of the run is told, but the run has to go on. Workers that have
    # lost the process that started them are left alone meanwhile.
    first = ended(process, log, whole=whom != "main")
    try:
        return f"{whom}: {LONG if first.code is None else gone_on(cwd)}"
    finally:
        end_group(process.pid)


def death(cwd: Path, number: int, chance: random.Random) -> str:
    """Let the process end at a file operation, any of those that it does."""
    operations = (cwd.parent / "reference" / COUNTED).stat().st_size
    place = chance.randint(1, operations)
    first = call(run_words("--jobs", "1"), cwd, failing, "run", place, 0)
    return verdict(first) or gone_on(cwd)


def fault(cwd: Path, number: int, chance: random.Random) -> str:
    """Let one thing fail that a run relies on; it ends in one line, and goes on afterwards."""
    kinds = list(FAULTS)
    kind = kinds[number % len(kinds)]
    first = FAULTS[kind](cwd, chance)
    bad = verdict(first) or (UNTOLD if first.code and not first.refusals else "")
    return f"{kind}: {bad or gone_on(cwd)}"


def _operation(number: int) -> Callable[[Path, random.Random], Ended]:
    def trial(cwd: Path, chance: random.Random) -> Ended:
        operations = (cwd.parent / "reference" / COUNTED).stat().st_size
        place = chance.randint(1, operations)
        return call(run_words("--jobs", "1"), cwd, failing, "run", place, number)

    return trial


def _half(number: int) -> Callable[[Path, random.Random], Ended]:
    def trial(cwd: Path, chance: random.Random) -> Ended:
        place = chance.randint(1, 30)
        return call(run_words("--jobs", "1"), cwd, half_written, place, number)

    return trial


def _held_lock(cwd: Path, chance: random.Random) -> Ended:
    (cwd / "run").mkdir()
    with (cwd / "run" / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return call(run_words("--jobs", "1"), cwd)


def _lock_is_a_folder(cwd: Path, chance: random.Random) -> Ended:
    (cwd / "run" / ".lock").mkdir(parents=True)
    first = call(run_words("--jobs", "1"), cwd)
    (cwd / "run" / ".lock").rmdir()
    return first


def _no_locks(cwd: Path, chance: random.Random) -> Ended:
    number = chance.choice([errno.ENOLCK, errno.EIO, errno.ENOSYS])
    return call(run_words("--jobs", "1"), cwd, without_locks, number)


def _clock(seconds: float, step: float) -> Callable[[Path, random.Random], Ended]:
    def trial(cwd: Path, chance: random.Random) -> Ended:
        return call(run_words("--jobs", "1"), cwd, at_time, seconds, step)

    return trial


FAULTS: dict[str, Callable[[Path, random.Random], Ended]] = {
    **{f"operation, {errno.errorcode[number]}": _operation(number) for number in ERRORS},
    "half a file, ENOSPC": _half(errno.ENOSPC),
    "half a file, EIO": _half(errno.EIO),
    "lock held": _held_lock,
    "lock is a folder": _lock_is_a_folder,
    "no locks": _no_locks,
    "clock at 1970": _clock(0.0, 0.01),
    "clock at 2200": _clock(7.26e9, 0.01),
    "clock backwards": _clock(1.8e9, -3600.0),
}


def tamper(cwd: Path, number: int, chance: random.Random) -> str:
    """Change, cut, lengthen or remove some files of a finished run."""
    shutil.copytree(cwd.parent / "whole", cwd / "run")
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
        if bad := verdict(call([command, "run"], cwd)):
            return bad
    return gone_on(cwd)


@contextmanager
def mounted(where: Path, size: str) -> Iterator[None]:
    """Put a small disk of its own at a place; needs the rights to."""
    where.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(where)]
    subprocess.run(["mount", *options], check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(where)], check=True)


AUDIT = (
    "--data", "loans.csv", "--target", "approved", "--favourable", "yes",
    "--model", "sklearn:LogisticRegression", "--families", "bootstrap(replicates=3)", "--jobs", "1",
)  # fmt: skip
ON_DISK: dict[str, tuple[str, ...]] = {
    "audit": ("audit", *AUDIT, "--methods", "kdtree", "--factuals", "3", "--out", "disk/audit"),
    "explain": ("explain", *AUDIT, "--method", "kdtree", "--row", "7", "--out", "disk/audit"),
    "report": ("report", "disk/run"),
    "compare": ("compare", "disk/run"),
    "compare-runs": ("compare-runs", "../whole", "disk/run", "--csv", "disk/run.csv"),
    "run": ("run", "--plan", "plan.toml", "--jobs", "1", "--out", "disk/run"),
}
STATES = ("full", "read-only", "full standard output")


def disk(cwd: Path, number: int, chance: random.Random) -> str:
    """Let a command write to a disk that is full or read-only, or say what nobody has room for."""
    command = list(ON_DISK)[number % len(ON_DISK)]
    state = STATES[number // len(ON_DISK) % len(STATES)]
    lines = [f"{i},{i * 7 % 10},{'yes' if i > 60 else 'no'}" for i in range(120)]
    (cwd / "loans.csv").write_text("\n".join(["income,debts,approved", *lines]) + "\n")
    try:
        with mounted(cwd / "disk", "32m"):
            told = f"{command}, {state}"
            return f"{told}: {_on_disk(cwd, ON_DISK[command], state, chance)}"
    except subprocess.CalledProcessError:
        return "no disk could be mounted"


def _on_disk(cwd: Path, words: tuple[str, ...], state: str, chance: random.Random) -> str:
    if words[0] not in ("audit", "explain"):
        shutil.copytree(cwd.parent / "whole", cwd / "disk" / "run")
    if words[0] == "explain" and state == "full standard output":
        words = (*words, "--json")
    before = contents(cwd / "disk")
    if state == "full":
        # Room for nothing, or for the beginning of what a new run writes.
        room = chance.choice([1, 2, 4, 7]) if words[0] in ("audit", "explain") else 0
        size = _used(cwd / "disk") + 4096 * room
        subprocess.run(["mount", "-o", f"remount,size={size}", str(cwd / "disk")], check=True)
    elif state == "read-only":
        subprocess.run(["mount", "-o", "remount,ro", str(cwd / "disk")], check=True)
    prepare = (onto, "/dev/full") if state == "full standard output" else (nothing,)
    told = call(words, cwd, *prepare)
    if bad := verdict(told):
        return bad
    if told.code != 2 or len(told.refusals) != 1:
        return f"{UNTOLD}: exit code {told.code}, {told.refusals}"
    left = contents(cwd / "disk")
    if any(".unfinished-" in name for name in left) or (state != "full standard output" and any(
        left.get(name) != content for name, content in before.items()
    )):  # fmt: skip
        return HALF
    if state != "full standard output":
        options = "remount,rw,size=32m"
        subprocess.run(["mount", "-o", options, str(cwd / "disk")], check=True)
    again = call(words, cwd)
    differs = words[0] == "compare" and again.code == 1
    return verdict(again) or (REFUSED if again.code == 0 or differs else UNTOLD)


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def _used(folder: Path) -> int:
    state = os.statvfs(folder)
    return (state.f_blocks - state.f_bfree) * state.f_frsize
