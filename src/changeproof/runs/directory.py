"""The run directory: whose it is, who works in it, what was asked, and of which data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from changeproof.datasets.builtin import dataset_names
from changeproof.datasets.kept import SUFFIX, task_to_bytes
from changeproof.errors import BusyError, InputError, one_line
from changeproof.files import TEMPORARY, not_through_links, safe_name, validated, write_whole
from changeproof.methods.given import GivenCounterfactuals
from changeproof.plugins import importing_only, parsed
from changeproof.runs.brought import FLAG, Brought, absent_things, brought_to, from_elsewhere
from changeproof.runs.content import table_to_bytes
from changeproof.runs.plan import Plan, check_names_something
from changeproof.runs.resolved import KEPT_TABLE, Known, ResolvedRun, resolve
from changeproof.runs.store import PIECES
from changeproof.runs.timings import LOG

PLAN, DATA, LOCK = "plan.json", "data", ".lock"
TABLES, REPORT = "tables", "report"
# Where a run writes files, in its directory.
FOLDERS = (PIECES, DATA, TABLES, REPORT)
FORMAT = 2


class Record(NamedTuple):
    """What a run directory says of itself: plan, fingerprints of tasks, and own code."""

    plan: Plan
    tasks: dict[str, str]
    brought: Brought


def check_free(folder: Path) -> None:
    """Refuse a path that is not a run directory and not free to become one."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"output directory {folder} is a file; expected a directory")
    if (folder / PLAN).exists():
        read_record(folder)
    elif folder.is_dir() and not _only_ours(folder):
        raise InputError(
            f"output directory {folder} is not empty and holds no changeproof run ({PLAN}); "
            "expected a new, an empty or a run directory"
        )


def _only_ours(folder: Path) -> bool:
    """Say whether all in a directory without a plan is what a run leaves that was cut short.

    Its plan may be lost, or it was killed before it was written.
    """
    there = {entry.name for entry in folder.iterdir() if not entry.name.startswith(TEMPORARY)}
    kept = [entry for entry in (folder / DATA).glob("**/*") if entry.is_file()]
    endings = (SUFFIX, KEPT_TABLE)
    return (
        there <= {LOCK, LOG, *FOLDERS}
        and all(e.name.startswith(TEMPORARY) or e.name.endswith(endings) for e in kept)
        # Others have folders of these names, too.
        and (PIECES in there or there <= {LOCK, DATA})
    )


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Hold a run directory, so that no other run works in it at the same time.

    The system lets go of the lock when the process ends, however it ends.
    """
    check_free(folder)
    for name in (PLAN, LOCK, LOG, *FOLDERS):
        not_through_links(folder / name, folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK, timeout=0)
        lock.acquire()
    except Timeout:
        raise BusyError(
            f"another run is at work in {folder}; wait for it or name another"
        ) from None
    except OSError as error:
        raise InputError(f"cannot write to output directory {folder}: {error.strerror}") from None
    try:
        yield
    finally:
        lock.release()


def write_record(folder: Path, run: ResolvedRun, *, same_plan: bool) -> None:
    """Record what is asked, and keep a copy of data that are not embedded.

    Other data than those of the directory are refused and, if the plan has to be the same,
    another plan. Nothing is written then.
    """
    plan = _recorded(run)
    if (folder / PLAN).exists():
        _refuse_others(folder, run, plan if same_plan else None)
    for name, task in run.tasks.items():
        path = folder / task_file(name)
        # Without a plan nothing says of which data those are that are there.
        if name not in dataset_names() and not (path.exists() and (folder / PLAN).exists()):
            write_whole(path, task_to_bytes(task), folder)
    for name, method in run.methods.items():
        if name in plan.counterfactuals and isinstance(method, GivenCounterfactuals):
            path = folder / plan.counterfactuals[name]
            write_whole(path, table_to_bytes(method.table), folder)
    marks = {name: task.fingerprint for name, task in run.tasks.items()}
    write_plan(folder, plan, marks, brought_to(run))


def write_plan(
    folder: Path,
    plan: Plan,
    tasks: Mapping[str, str] | None = None,
    brought: Brought | None = None,
) -> None:
    """Record a plan, the fingerprints of its tasks, and what is not changeproof's own."""
    content = {"format": FORMAT, "plan": plan.model_dump(mode="json"), "tasks": dict(tasks or {})}
    if brought is not None and brought != Brought():
        content["brought"] = brought.model_dump(mode="json", exclude_defaults=True)
    write_whole(folder / PLAN, (json.dumps(content, indent=2) + "\n").encode(), folder)


def read_record(folder: Path) -> Record:
    """Return what a run directory says of itself."""
    path = folder / PLAN
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{folder} is not a run directory: it has no {PLAN}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {one_line(error)}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"cannot read {path}: {one_line(error)}; if it is damaged, remove it and give the full "
            "command again, which goes on with what is finished"
        ) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path} is not a plan of this version of changeproof")
    for key in ("plan", "tasks"):
        if not isinstance(content.get(key), dict):
            raise InputError(f"{path}: {key} is missing, or not an object")
    check_names_something(str(path), content["plan"])
    plan = Plan.checked(content["plan"], where=str(path), record=True)
    _refuse_files_elsewhere(path, plan)
    tasks = {name: str(mark) for name, mark in content["tasks"].items()}
    return Record(plan, tasks, validated(Brought, content.get("brought", {}), str(path)))


def _refuse_files_elsewhere(path: Path, plan: Plan) -> None:
    """Refuse a record that names other files than the copies in its own directory."""
    tasks = [name for name in plan.datasets if name not in dataset_names()]
    named = [(name, task_file(Path(name).name.removesuffix(SUFFIX))) for name in tasks]
    named += [(file, table_file(name)) for name, file in plan.counterfactuals.items()]
    for file, own in named:
        if file != own:
            raise InputError(
                f"{path} names the file {file!r}, which is not one of its directory; expected "
                f"{own!r}"
            )


def read_plan(folder: Path) -> Plan:
    """Return what was asked of a run directory."""
    return read_record(folder).plan


def read_run(folder: Path, *, import_its_code: bool = False) -> ResolvedRun:
    """Return the run of a directory, to be read.

    Parameters
    ----------
    folder
        The run directory.
    import_its_code
        Whether to import what its plan names. If not, methods, families and models from elsewhere
        are what was recorded of them.
    """
    plan, _, brought = read_record(folder)
    if import_its_code:
        return resolve(plan, folder)
    learner, found, families = absent_things(plan, brought)
    named = from_elsewhere(plan)
    if learner is not None:
        del named["model"], named["replacements"]
    every = [name for names in named.values() for name in names]
    lacking = [name for name in dict.fromkeys(every) if name not in {**found, **families}]
    if lacking:
        raise InputError(
            f"{folder} is a run of code that is not installed, and does not say enough of it; to "
            f"read it would import {', '.join(lacking)}. If you trust it, pass {FLAG}"
        )
    with _importing_only((), folder):
        return resolve(plan, folder, Known(learner=learner, methods=found, families=families))


@contextmanager
def without_its_code(folder: Path, given: Mapping[str, Any]) -> Iterator[None]:
    """Import nothing for a while that only the plan of a directory names.

    Parameters
    ----------
    given
        The fields of the plan that somebody has given anew. What they name may be imported.
    """
    named = from_elsewhere(read_plan(folder))
    every = [name for field, names in named.items() if field not in given for name in names]
    if every:
        raise InputError(
            f"to go on with {folder} would import {', '.join(dict.fromkeys(every))}, which its "
            f"{PLAN} names. If you trust it, pass {FLAG}, or name it again"
        )
    paths = [parsed(name)[0] for key in ("methods", "families") for name in given.get(key, ())]
    with _importing_only(paths, folder):
        yield


def _importing_only(paths: Sequence[str], folder: Path) -> AbstractContextManager[None]:
    return importing_only(paths, f"only {folder / PLAN} names it. If you trust it, pass {FLAG}")


def _recorded(run: ResolvedRun) -> Plan:
    """Return the plan with the files of the directory instead of those that were named."""
    names = dataset_names()
    datasets = tuple(name if name in names else task_file(name) for name in run.tasks)
    tables = {name: table_file(name) for name in run.plan.counterfactuals}
    return run.plan.model_copy(update={"datasets": datasets, "counterfactuals": tables})


def task_file(name: str) -> str:
    """Return where a run directory keeps a task that is not embedded."""
    return f"{DATA}/{safe_name(name, 'a dataset')}{SUFFIX}"


def table_file(name: str) -> str:
    """Return where a run directory keeps counterfactuals from elsewhere."""
    return f"{DATA}/{safe_name(name, 'counterfactuals')}{KEPT_TABLE}"


def _refuse_others(folder: Path, run: ResolvedRun, plan: Plan | None) -> None:
    known = read_record(folder)
    for name, mark in known.tasks.items():
        if name in run.tasks and run.tasks[name].fingerprint != mark:
            raise InputError(
                f"{folder} holds a run on other data: {name!r}, or what may change about it, is "
                "not what it was when that run began; name another directory"
            )
    if plan is None:
        return
    for key in Plan.model_fields:
        here, there = getattr(plan, key), getattr(known.plan, key)
        if here != there:
            raise InputError(
                f"{folder} holds another audit: {key} is {there!r} there and {here!r} here; "
                "name another directory"
            )
