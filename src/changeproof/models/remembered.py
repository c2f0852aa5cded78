"""Trained models that this machine remembers, so that a second question need not train them again.

Models of other libraries cannot be kept in run directories: those are passed on, and to read such
a model is to run code. They are kept in a folder of one's own instead, which nobody else may write
to, and only for as long as there is room. Whatever is not there, damaged or foreign is trained
again; results never depend on it.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import platform
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import fields
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np

from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.files import TEMPORARY, write_whole
from changeproof.fingerprints.things import fingerprint, thing_fingerprint
from changeproof.model import Model
from changeproof.networks.training import TrainingRecipe

VARIABLE, OFF = "CHANGEPROOF_MODELS", "off"
SUFFIX = ".model"
# What is trained as quickly as it is read is not worth a file.
WORTH_SECONDS = 0.02
# Of one model, and of all; if there are more, those go that were not used for longest.
LARGEST, MOST = 64 * 2**20, 2 * 2**30
DIGEST = hashlib.sha256().digest_size

_scope: ContextVar[str] = ContextVar("scope", default="")


@contextmanager
def remembering(scope: bytes) -> Iterator[None]:
    """Remember what is trained meanwhile, and use what is remembered.

    Parameters
    ----------
    scope
        What must be the same for that: the base model as it is kept. If training depends on
        something that nobody told us of, the base model shows it.
    """
    token = _scope.set(hashlib.sha256(scope).hexdigest())
    try:
        yield
    finally:
        _scope.reset(token)


def folder() -> Path | None:
    """Return where models are remembered; None if nowhere.

    It is never below the working directory: an unpacked archive must not be believed.
    """
    named = os.environ.get(VARIABLE, "")
    if named == OFF:
        return None
    if not named:
        caches = _caches()
        return None if caches is None else caches / "changeproof" / "models"
    if not Path(named).is_absolute():
        raise InputError(f"{VARIABLE} is {named!r}; expected an absolute path, or {OFF}")
    return Path(named)


def _caches() -> Path | None:
    """Return where programs keep what can be made again; None if there is nowhere.

    As the XDG rules say, a variable that is empty or relative is ignored.
    """
    variable, usual = {
        "darwin": ("", ("Library", "Caches")),
        "win32": ("LOCALAPPDATA", ("AppData", "Local")),
    }.get(sys.platform, ("XDG_CACHE_HOME", (".cache",)))
    said = Path(os.environ.get(variable, ""))
    if said.is_absolute():
        return said
    with suppress(RuntimeError):  # nobody's home
        home = Path.home().joinpath(*usual)
        return home if home.is_absolute() else None
    return None


def trained_once(
    learner: Any,
    recipes: Sequence[TrainingRecipe],
    task: Task,
    train: Callable[[TrainingRecipe, Task], Model],
) -> Iterator[Model]:
    """Yield one model per recipe, remembered or trained."""
    scope, place = _scope.get(), folder()
    place = _own(place) if scope and place is not None else None
    if place is None:
        yield from (train(recipe, task) for recipe in recipes)
        return
    with suppress(OSError):
        _make_room(place)
    about = [scope, learner.fingerprint, task.fingerprint, platform.python_version()]
    for recipe in recipes:
        if recipe.start is not None:
            yield train(recipe, task)
            continue
        path = place / f"{fingerprint(about=about, recipe=_recipe_mark(recipe))}{SUFFIX}"
        model = _read(path, learner, task)
        if model is None:
            began = time.perf_counter()
            model = train(recipe, task)
            if time.perf_counter() - began > WORTH_SECONDS:
                _write(path, model, learner, task)
        yield model


def _recipe_mark(recipe: TrainingRecipe) -> str:
    """Hash a recipe, to the last bit."""
    digest = hashlib.sha256()
    for field in fields(recipe):
        value = getattr(recipe, field.name)
        digest.update(field.name.encode())
        if isinstance(value, np.ndarray | list):
            array = np.asarray(value)
            digest.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
        else:
            digest.update(thing_fingerprint(value).encode())
    return digest.hexdigest()


def _own(place: Path) -> Path | None:
    """Return a folder if nobody but its owner, who is us, may write to it; make it if need be."""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = place.stat()
    except OSError:
        return None
    if not hasattr(os, "getuid"):  # on Windows, what is in a profile is its owner's
        return place
    foreign = about.st_uid != os.getuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return None if foreign else place


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Leaves out the task and the learner, which are at hand whenever a model is read."""

    def __init__(self, file: io.BytesIO, learner: Any, task: Task) -> None:
        super().__init__(file)
        self.learner, self.task = learner, task

    def persistent_id(self, thing: Any) -> str | None:
        return _name(thing, self.learner, self.task)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, learner: Any, task: Task) -> None:
        super().__init__(file)
        self.at_hand = {"learner": learner, "task": task}

    def persistent_load(self, name: str) -> Any:
        return self.at_hand[name]


def _name(thing: Any, learner: Any, task: Task) -> str | None:
    if thing is learner:
        return "learner"
    return "task" if thing is task else None


def _read(path: Path, learner: Any, task: Task) -> Model | None:
    """Return a remembered model; None if there is none, or not a whole one."""
    try:
        content = path.read_bytes()
        os.utime(path)
    except OSError:
        return None
    if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
        return None
    try:
        model: Model = _Unpickler(io.BytesIO(content[DIGEST:]), learner, task).load()
    except Exception:  # whatever a stranger's class may raise; it is trained again
        return None
    return model


def _write(path: Path, model: Model, learner: Any, task: Task) -> None:
    """Remember a model, if it can be and is not too large."""
    file = io.BytesIO()
    try:
        _Pickler(file, learner, task).dump(model)
    except Exception:  # whatever a stranger's object may raise; it is trained again
        return
    content = file.getvalue()
    if len(content) <= LARGEST:
        with suppress(InputError):  # no room; it is trained again
            write_whole(path, hashlib.sha256(content).digest() + content)


def _make_room(place: Path) -> None:
    """Forget what was not used for longest, and what was left half-written."""
    found = []
    for entry in os.scandir(place):
        with suppress(FileNotFoundError):  # another process forgets at the same time
            if entry.name.endswith(SUFFIX) or entry.name.startswith(TEMPORARY):
                about = entry.stat()
                found.append((about.st_mtime, about.st_size, entry.path))
    room = sum(size for _, size, _ in found) - MOST
    for _, size, path in sorted(found):
        if room <= 0:
            return
        Path(path).unlink(missing_ok=True)
        room -= size
