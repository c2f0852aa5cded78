"""Contesting an entry: changed models that break what it claims.

Only models that somebody would deploy count: those whose balanced accuracy on the test rows is at
most five points below the base model's. Of the attacks on the answers to the people of one base
model, the record keeps the one under which the fewest hold.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from changeproof.board.answers import Cell, read_answers
from changeproof.board.entry import ANSWERS, Handed, read_entry
from changeproof.board.records import (
    Contest,
    Record,
    Score,
    read_people,
    records_beside,
    write_record,
)
from changeproof.board.running import PartRun, Setting, check_basis, frozen_cells
from changeproof.board.tracks import find_track
from changeproof.board.verify import judging, record_about, state_of
from changeproof.datasets.task import Task
from changeproof.errors import InputError, one_line
from changeproof.evaluation.factuals import survival
from changeproof.evaluation.life import deployed
from changeproof.methods.answers import Counterfactuals
from changeproof.model import Model, Singles, Stack
from changeproof.models.learner import stacked
from changeproof.networks.stack import NetworkStack
from changeproof.runs.content import models_from_bytes
from changeproof.runs.pieces import Kind

ENDINGS = (".safetensors", ".onnx")
# Below its worst family, in percent: what an entry without claims is held to.
LEEWAY = 5.0
LARGEST = 200_000_000
MOST_FILES = 10_000


class Named(NamedTuple):
    """A model that somebody handed in, and which one it is."""

    name: str
    model: Model


@dataclass(frozen=True)
class Outcome:
    """What came of a contest; `kept` is whether it is the best attack known so far."""

    contest: Contest
    record: Record
    kept: bool
    folder: Path


def contest(
    entry: str | Path,
    models: str | Path,
    *,
    track: str,
    dataset: str,
    base_seed: int,
    model: str | None = None,
    by: str = "",
    records: str | Path | None = None,
    setting: Setting | None = None,
) -> Outcome:
    """Put changed models that somebody hands in to the answers of a verified entry.

    Parameters
    ----------
    entry
        The folder of the entry.
    models
        A folder with networks (.safetensors, as a run keeps them) or ONNX models (.onnx).
    track, dataset, base_seed, model
        Which base model they are changes of; `model` where the track has several kinds.
    by
        Who hands them in; by default the name of the folder.
    """
    setting = setting if setting is not None else Setting()
    handed, source = read_entry(Path(entry)), Path(models)
    folder = Path(records) if records is not None else records_beside(handed.folder)
    record = record_about(handed, folder)
    if record is None:
        raise InputError(
            f"{handed.entry.name} is not verified as it is: {folder} has no record about it; run "
            f"changeproof verify {handed.folder} first"
        )
    cell, number = _cell(handed, track, dataset, base_seed, model)
    told = read_answers(handed.folder / ANSWERS)
    part = find_track(track).parts[number]
    run = judging(part, number, {handed.entry.name: told}, setting)
    run.compute((Kind.BASE, Kind.COUNTERFACTUALS))
    check_basis(run, frozen_cells(find_track(track)))
    task, answers = run.run.tasks[dataset], _answers(run, cell, handed)
    read, digest = read_models(source, task)
    counted, left_out = admissible(task, run.base(cell), read)
    if not counted:
        raise InputError(f"{source}: none of {len(read)} models is admissible: {left_out[0]}")
    if not answers.base_valid.any():
        raise InputError(f"{cell}: the entry has no valid answer that a model could break")
    held = survival(answers, counted)[answers.base_valid].mean()
    found = Contest(
        by=by or source.absolute().name,
        models=digest,
        track=cell.track,
        dataset=cell.dataset,
        model=cell.model,
        base_seed=cell.base_seed,
        held=float(held),
        claimed=claimed(handed, record.scores, cell),
        admissible=len(counted),
        left_out=tuple(left_out[:20]),
    )
    known = [each for each in record.contests if _where(each) == _where(found)]
    kept = all(found.held < each.held for each in known)
    if kept:
        others = [each for each in record.contests if _where(each) != _where(found)]
        contests = tuple(sorted([*others, found], key=_where))
        state = state_of(record.rerun, contests)
        record = record.model_copy(update={"contests": contests, "state": state})
        place = folder / record.name
        write_record(place, record, read_people(place))
    return Outcome(found, record, kept, folder / record.name)


def claimed(handed: Handed, scores: Sequence[Score], cell: Cell) -> float:
    """Return the share that an entry is held to: its claim, or its worst family less five points.

    The worst family is that of the same base model.
    """
    claim = handed.entry.claims.get(cell.track)
    if claim is not None and claim.robustness is not None:
        return claim.robustness / 100.0
    under = [
        each.value
        for each in scores
        if (each.track, each.model, each.dataset, each.base_seed) == cell
        and each.metric == "robustness"
        and each.value is not None
    ]
    return max(0.0, min(under, default=0.0) - LEEWAY) / 100.0


def _where(found: Contest) -> Cell:
    return Cell(found.track, found.model, found.dataset, found.base_seed)


def _cell(
    handed: Handed, track: str, dataset: str, base_seed: int, model: str | None
) -> tuple[Cell, int]:
    """Return which people are meant, and the number of the part of the track."""
    if track not in handed.entry.tracks:
        raise InputError(
            f"the entry is not in the track {track!r}; expected one of: "
            f"{', '.join(handed.entry.tracks)}"
        )
    models = [part.model for part in find_track(track).parts]
    if model is None and len(models) > 1:
        raise InputError(f"the track {track} has several models; expected one of: {models}")
    chosen = models[0] if model is None else model
    if chosen not in models or (dataset, chosen, base_seed) not in frozen_cells(find_track(track)):
        raise InputError(f"{track} has no {dataset}, {chosen}, seed {base_seed}")
    return Cell(track, chosen, dataset, base_seed), models.index(chosen)


def _answers(run: PartRun, cell: Cell, handed: Handed) -> Counterfactuals:
    return run.results.counterfactuals(cell.dataset, cell.base_seed, handed.entry.name)


def read_models(folder: Path, task: Task) -> tuple[list[Named], str]:
    """Return the models of a folder, and the hash of its files; nothing is unpickled."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; expected one with {' or '.join(ENDINGS)} files")
    paths = sorted(path for path in folder.iterdir() if path.suffix in ENDINGS)
    if not paths:
        raise InputError(f"{folder} holds no model; expected {' or '.join(ENDINGS)} files")
    if len(paths) > MOST_FILES:
        raise InputError(f"{folder} holds {len(paths)} files; expected at most {MOST_FILES}")
    found, digest = [], hashlib.sha256()
    for path in paths:
        content = _content(path)
        digest.update(f"{path.name} {hashlib.sha256(content).hexdigest()}\n".encode())
        if path.suffix == ".onnx":
            found.append(Named(path.name, _onnx(content, path, task)))
        else:
            found += [
                Named(f"{path.name} [{place}]", network)
                for place, network in enumerate(_networks(content, path, task))
            ]
    return found, digest.hexdigest()


def _content(path: Path) -> bytes:
    if path.is_symlink():
        raise InputError(f"{path} is a symbolic link; expected a file")
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} holds more than {LARGEST:,} bytes")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None


def _networks(content: bytes, path: Path, task: Task) -> NetworkStack:
    """Return the networks of a file: as a run keeps them, or a stack's tensors alone."""
    import safetensors.numpy

    try:
        tensors = safetensors.numpy.load(content)
        kept = (
            models_from_bytes(content).stack
            if "record" in tensors
            else NetworkStack.from_tensors(tensors)
        )
        if kept is None or not len(kept):
            raise InputError("no network is in it")
        for network in kept:
            _check_network(network.weights, network.biases, task.n_features)
    except Exception as error:  # whatever a library says of bytes that are something else
        raise InputError(f"{path} does not hold networks: {one_line(error)}") from None
    return kept


def _check_network(weights: Sequence[Singles], biases: Sequence[Singles], features: int) -> None:
    """Refuse parameters that are no network over these features."""
    taken = features
    for weight, bias in zip(weights, biases, strict=True):
        if weight.ndim != 2 or weight.shape[1] != taken or bias.shape != (len(weight),):
            raise InputError(
                f"a layer of shape {weight.shape} with {bias.shape} biases follows {taken} values"
            )
        if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
            raise InputError("a parameter is not finite")
        taken = len(weight)


def _onnx(content: bytes, path: Path, task: Task) -> Model:
    """Return an ONNX model as it judges rows, as it is shipped."""
    from changeproof.models.onnx import OnnxModel

    fitted: Model = OnnxModel(content, path.name, f"onnx:{path}").fitted(task)
    return fitted


def admissible(task: Task, base: Model, models: Sequence[Named]) -> tuple[Stack, list[str]]:
    """Return the models that somebody would deploy, and why the others are left out."""
    from sklearn.metrics import balanced_accuracy_score  # 0.4 s that reading does without

    rows, labels = task.rows("test"), task.labels_of("test")
    usual = float(balanced_accuracy_score(labels, base.favourable(rows)))
    found = [float(balanced_accuracy_score(labels, each.model.favourable(rows))) for each in models]
    counts = deployed(np.asarray(found), usual)
    left_out = [
        f"{each.name}: balanced accuracy {accuracy:.3f}, more than 5 points below {usual:.3f}"
        for each, accuracy, good in zip(models, found, counts, strict=True)
        if not good
    ]
    return stacked(
        [each.model for each, good in zip(models, counts, strict=True) if good]
    ), left_out
