"""Running: take the pieces of a run, subtract what is in the store, and compute the rest.

Pieces become jobs, which an engine of `workers/` runs somewhere. Only this process uses the store.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from changeproof.datasets import dataset_names
from changeproof.datasets.kept import kept_words, task_to_bytes
from changeproof.errors import InputError, one_line
from changeproof.files import clear_unfinished, write_whole
from changeproof.methods.given import GivenCounterfactuals
from changeproof.runs.content import table_to_bytes
from changeproof.runs.directory import FOLDERS, claimed
from changeproof.runs.manifest import (
    PLAN,
    Description,
    Manifest,
    read_record,
    table_file,
    task_file,
    write_manifest,
)
from changeproof.runs.pieces import FORMS, Kind, Piece, first_choice, in_order
from changeproof.runs.plan import Plan
from changeproof.runs.resolve import ResolvedRun, resolve
from changeproof.runs.store import Inventory, Store, checksum
from changeproof.runs.timings import Effort, Session, log_piece, log_session, peak_memory
from changeproof.runs.work import Ingredients, compute, pieces_of
from changeproof.workers.interpreter import one_thread, processor_name
from changeproof.workers.jobs import Engine, InProcess, Job, Needs, Result
from changeproof.workers.payloads import Payload, packed
from changeproof.workers.warm_up import kernels_for

# Starting worker processes and ending them takes as long as two of them save on so many seconds.
WORTH_WORKERS = 6.0


class Outcome(NamedTuple):
    """What became of a piece: its content and what it took or, where it failed, why.

    `failure` is the traceback, `error` its last words in one line. They are None and "" where
    something that the piece needs had failed.
    """

    piece: Piece
    content: bytes | None
    effort: Effort
    failure: str | None = None
    error: str = ""
    refused: bool = False  # by an `InputError`: something that was given does not fit
    retry: bool = False  # whether it failed for lack of memory, disk or the like
    checksum: str = ""  # of the bytes when they left the worker


class Observer:
    """Follows a run; override what is of interest."""

    def planned(self, inventory: Inventory) -> None:
        """Say what is there and what is to be done."""

    def note(self, text: str) -> None:
        """Pass on what people should know."""

    def damaged(self, path: Path) -> None:
        """Name a damaged file, which is going to be computed again."""

    def compiling(self) -> None:
        """Say that kernels are being compiled (seconds, the first time only)."""

    def workers(self, count: int) -> None:
        """Say how many workers there are, at first and when that changes."""

    def started(self, pieces: list[Piece]) -> None:
        """Say that work on pieces begins."""

    def job_started(self, pieces: list[Piece]) -> None:
        """Say that a worker starts on pieces, one after the other, where that is known."""

    def finished(self, item: Outcome) -> None:
        """Say that a piece was computed or failed."""


class PieceFailedError(RuntimeError):
    """Some pieces could not be computed; everything else was done and kept."""

    def __init__(self, failures: list[Outcome], skipped: int) -> None:
        reasons = [f"{item.piece.label}\n{item.failure}" for item in failures]
        also = f" ({skipped} pieces that need them were not tried)" if skipped else ""
        super().__init__(f"{len(failures)} pieces failed{also}:\n\n" + "\n".join(reasons))
        self.failures = failures

    @property
    def refused(self) -> bool:
        """Whether all that failed is something that was given and does not fit."""
        return all(item.refused for item in self.failures)

    @property
    def summary(self) -> list[str]:
        """One line per method, family or kind: what failed how often, and its first error."""
        alike: dict[str, list[Outcome]] = {}
        for item in self.failures:
            kind, subject = item.piece.kind, item.piece.subject
            what = f"{kind} of {subject}" if subject else FORMS[kind].singular
            alike.setdefault(what, []).append(item)
        times = {what: f" ({len(n)} times)" if len(n) > 1 else "" for what, n in alike.items()}
        return [f"{what} failed{times[what]}: {items[0].error}" for what, items in alike.items()]


def run_pieces(
    run: ResolvedRun,
    folder: Path,
    *,
    engine: Engine,
    observer: Observer | None = None,
    same_plan: bool = False,
    kinds: Collection[Kind] = tuple(Kind),
    before_work: Callable[[], None] = lambda: None,
    after_work: Callable[[Manifest | None], None] = lambda part: None,
) -> None:
    """Do what is left of a run in a run directory, or of some kinds of its pieces.

    `before_work` is called when there is something to do, `after_work` with the finished part
    when all is done that can be; both while the directory is held. When pieces have failed,
    `PieceFailedError` says so after that.
    """
    observer = observer if observer is not None else Observer()
    for task in run.tasks.values():
        for note in task.notes:
            observer.note(note)
    manifest = manifest_of(run)
    with claimed(folder):
        store = Store(folder)
        _record(folder, run, manifest, same_plan=same_plan)
        clear_unfinished(folder, *FOLDERS)
        inventory = store.take_inventory(each for each in manifest.pieces if each.kind in kinds)
        observer.planned(inventory)
        left = [*inventory.damaged, *inventory.missing]
        if left:
            store.check_writable(left)
            for path in inventory.damaged.values():
                store.remove_damaged(path)
                observer.damaged(path)
            before_work()
            session, failures, skipped = _compute_all(left, run, folder, engine, observer)
        began = time.perf_counter()
        undone = (piece for piece in manifest.pieces if store.path(piece) is None)
        after_work(manifest.without(undone, "failed in this run"))
        if left:
            log_session(folder, session._replace(report_seconds=time.perf_counter() - began))
            if failures:
                raise PieceFailedError(failures, skipped)


def take_inventory(plan: Plan, folder: str | Path) -> Inventory:
    """Compare a plan with the store of a run directory, reading every file to see it is whole."""
    return Store(Path(folder)).take_inventory(pieces_of(resolve(plan, Path(folder))))


def manifest_of(run: ResolvedRun) -> Manifest:
    """Return what readers of a run need to know; files are those that its directory keeps."""
    names = dataset_names()
    files = {
        "datasets": tuple(name if name in names else task_file(name) for name in run.tasks),
        "counterfactuals": {name: table_file(name) for name in run.plan.counterfactuals},
    }
    return Manifest(
        run.plan.model_copy(update=files),
        run.learner.name,
        run.learner.stores_models,
        tuple(run.tasks),
        {name: Description(str(m.summary), str(m.source)) for name, m in run.methods.items()},
        {
            name: Description(str(f.summary), str(f.source), f.sequence, f.real, f.months)
            for name, f in run.families.items()
        },
        pieces_of(run),
        run.judged,
    )


def _record(folder: Path, run: ResolvedRun, manifest: Manifest, *, same_plan: bool) -> None:
    """Record what is asked, and keep a copy of data that are not embedded.

    Other data than those of the directory are refused and, if the plan has to be the same,
    another plan. Nothing is written then.
    """
    plan, there = manifest.plan, (folder / PLAN).exists()
    if there:
        _refuse_others(folder, run, plan if same_plan else None)
    for name, task in run.tasks.items():
        path = folder / task_file(name)
        if name in dataset_names():
            continue
        # Without a plan nothing says of which data those are that are there. Words may change.
        same = there and path.exists() and kept_words(path.read_bytes()) == task.words.as_dict()
        if not same:
            write_whole(path, task_to_bytes(task), folder)
    for name, method in run.methods.items():
        if name in plan.counterfactuals and isinstance(method, GivenCounterfactuals):
            path = folder / plan.counterfactuals[name]
            write_whole(path, table_to_bytes(method.table), folder)
    write_manifest(folder, manifest, {name: task.fingerprint for name, task in run.tasks.items()})


def _refuse_others(folder: Path, run: ResolvedRun, plan: Plan | None) -> None:
    known = read_record(folder)
    for name, fingerprint in known.tasks.items():
        if name in run.tasks and run.tasks[name].fingerprint != fingerprint:
            raise InputError(
                f"{folder} holds a run on other data: {name!r}, or what may change about it, has "
                "changed since that run began; name another directory"
            )
    for key in Plan.model_fields if plan is not None else ():
        here, there = getattr(plan, key), getattr(known.plan, key)
        if here != there:
            raise InputError(
                f"{folder} holds another audit: {key} is {there!r} there and {here!r} here; "
                "name another directory"
            )


def _compute_all(
    pieces: list[Piece], run: ResolvedRun, folder: Path, engine: Engine, observer: Observer
) -> tuple[Session, list[Outcome], int]:
    """Compute pieces and keep them; return what failed, and how many were skipped for that."""
    began, started = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    store, workers, starting = Store(folder), 1, 0.0
    computed, failures = 0, []
    here: Engine = InProcess()
    if engine.running or (engine.workers > 1 and worth_workers(pieces)):
        observer.compiling()
        engine.start(_needs(run, pieces), observer)
        here, workers = engine, engine.workers
        starting = time.perf_counter() - began
    with closing(here):
        observer.started(pieces)
        for item in _compute(pieces, run, store, here, observer):
            if item.content is not None:
                store.save(item.piece, item.content)
                log_piece(folder, item.piece, item.effort)
                computed += 1
            elif item.failure is not None:
                failures.append(item)
            observer.finished(item)
    session = Session(
        started=started,
        jobs=workers,
        pieces=computed,
        compile_seconds=starting,
        work_seconds=time.perf_counter() - began - starting,
    )
    return session, failures, len(pieces) - computed - len(failures)


def worth_workers(pieces: Iterable[Piece]) -> bool:
    """Say whether pieces take longer than worker processes take to start."""
    return sum(piece.cost for piece in pieces) > WORTH_WORKERS


def _needs(run: ResolvedRun, pieces: list[Piece]) -> Needs:
    kernels = kernels_for(
        {piece.method for piece in pieces},
        feasible=any(piece.feasible for piece in pieces),
        limit=any(piece.kind is Kind.LIMIT for piece in pieces),
        forests=run.learner.traits.forests,
    )
    objects = [run.learner, run.renewer, *run.methods.values(), *run.families.values()]
    return Needs(kernels, tuple(each for each in objects if each is not None))


def _compute(
    pieces: Sequence[Piece], run: ResolvedRun, store: Store, engine: Engine, observer: Observer
) -> Iterator[Outcome]:
    """Compute pieces; yield each as it is done.

    What is yielded has to be in the store before the next one is asked for.
    """
    engine.on_start = lambda job: observer.job_started([piece for piece, _ in job.order])
    jobs = Jobs(run, pickled=engine.pickles, remote=engine.remote)
    by_key = {part.fingerprint: part for piece in pieces for part in (piece, *piece.needed)}

    def supply(key: str) -> bytes | None:
        if (content := jobs.payloads.get(key)) is not None:
            return content
        return store.load(by_key[key]) if store.path(by_key[key]) is not None else None

    for job, result in engine.run(jobs.of(pieces), supply):
        if result.report is None:
            for place, (piece, _) in enumerate(job.order):
                # The others need the first one, or were not reached.
                error = "" if place else result.error
                yield Outcome(piece, None, Effort(0.0, 0.0, 0.0), error or None, error)
        for outcome in result.report or ():
            content = result.outputs.get(outcome.piece.fingerprint)
            if content is not None and checksum(content) != outcome.checksum:
                why = "its bytes were damaged on the way from the worker"
                yield Outcome(outcome.piece, None, outcome.effort, why, why)
            else:
                yield outcome._replace(content=content)


# Pieces that share work, each with what it is made with: objects, or payloads without content.
Order = tuple[tuple[Piece, Ingredients], ...]


class Jobs:
    """Makes jobs of pieces, and the payloads that they need, by key.

    If jobs go to other processes, objects have to be `pickled`, each once; if those may be on other
    machines, they are `remote`.
    """

    def __init__(self, run: ResolvedRun, *, pickled: bool = False, remote: bool = False) -> None:
        self.run, self.pickled, self.remote = run, pickled, remote
        self.payloads: dict[str, bytes] = {}
        self._references: dict[int, Payload] = {}

    def of(self, pieces: Iterable[Piece]) -> list[Job]:
        """Return one job for all pieces that share work."""
        shared: dict[str, list[Piece]] = {}
        for piece in pieces:
            shared.setdefault(piece.job, []).append(piece)
        return [self._job(name, in_order(group)) for name, group in shared.items()]

    def _job(self, name: str, pieces: Sequence[Piece]) -> Job:
        order: Order = tuple((piece, self._ingredients(piece)) for piece in pieces)
        outputs = tuple(piece.fingerprint for piece in pieces)
        inputs = [part.fingerprint for piece in pieces for part in piece.needed]
        for _, (*single, families) in order:
            payloads = [each for each in (*single, *families) if isinstance(each, Payload)]
            inputs += [payload.key for payload in payloads if payload.key]
        return Job(
            name,
            compute_job,
            order,
            tuple(key for key in dict.fromkeys(inputs) if key not in outputs),
            outputs,
            sum(piece.cost for piece in pieces),
            f"{pieces[0].kind}-{pieces[0].dataset}-{pieces[0].subject}",
        )

    def _ingredients(self, piece: Piece) -> Ingredients:
        run, given = self.run, self._given
        # Methods are told what the families reserve; the limit may have to make their models.
        alone = piece.family or piece.kind in (Kind.BASE, Kind.REFIT, Kind.IMPRECISE, Kind.REASONS)
        families = () if alone else run.families.values()
        renewing = piece.kind is Kind.RENEWALS
        return Ingredients(
            given(run.tasks[piece.dataset]),
            given(run.learner),
            given(run.renewer if renewing else run.methods.get(first_choice(piece.method))),
            given(run.families.get(piece.family)),
            tuple(map(given, families)),
        )

    def _given(self, thing: Any) -> Any:
        """Return an object or, where objects are pickled, a reference to its payload."""
        if not self.pickled or thing is None:
            return thing
        if id(thing) not in self._references:
            payload = packed(thing.name, thing, remote=self.remote)
            self._references[id(thing)] = payload.reference
            self.payloads[payload.key] = payload.content
        return self._references[id(thing)]


def _loaded(using: Ingredients, contents: Mapping[str, bytes]) -> Ingredients | InputError:
    """Return ingredients as objects, or why they cannot be had here."""

    def load(thing: Any) -> Any:
        return thing.load(contents) if isinstance(thing, Payload) else thing

    *single, families = using
    try:
        # Of several families those that could be sent.
        sent = [each for each in families if not (isinstance(each, Payload) and each.reason)]
        return Ingredients._make([*map(load, single), tuple(map(load, sent))])
    except InputError as error:
        return error


def compute_job(order: Order, contents: Mapping[str, bytes]) -> Result:
    outputs: dict[str, bytes] = {}
    report = []
    # Loaded first: only libraries that are imported by then are kept to one thread.
    loaded = [(piece, _loaded(using, contents)) for piece, using in order]
    with one_thread():
        for piece, using in loaded:
            keys = [part.fingerprint for part in piece.needed]
            inputs = {key: contents[key] for key in keys if key in contents}
            inputs |= {key: outputs[key] for key in keys if key in outputs}
            outcome = _outcome(piece, using, inputs)
            if outcome.content is not None:
                outputs[piece.fingerprint] = outcome.content
            report.append(outcome._replace(content=None))
    return Result(outputs, tuple(report), any(outcome.retry for outcome in report))


def _outcome(piece: Piece, using: Ingredients | InputError, inputs: Mapping[str, bytes]) -> Outcome:
    wall, processor = time.perf_counter(), time.process_time()

    def effort(search_seconds: float | None = None) -> Effort:
        return Effort(
            time.perf_counter() - wall,
            time.process_time() - processor,
            round(peak_memory(), 1),
            search_seconds,
            processor_name(),
        )

    if any(part.fingerprint not in inputs for part in piece.inputs):
        return Outcome(piece, None, effort())
    try:
        if isinstance(using, InputError):
            raise using
        content, search_seconds = compute(piece, using, inputs)
    except Exception as error:
        # Not hidden: the run goes on with what it can and then fails with all of these.
        why = (traceback.format_exc(), one_line(error), isinstance(error, InputError))
        return Outcome(piece, None, effort(), *why, isinstance(error, OSError | MemoryError))
    return Outcome(piece, content, effort(search_seconds), checksum=checksum(content))
