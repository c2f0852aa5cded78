"""The model cache: trained models of other libraries, so that they are not trained twice.

They cannot be stored in run directories: those are passed on, and reading such a model runs code.
They are cached in a folder of the user's own instead, which nobody else may write to, as long as
there is room. What is missing, damaged or foreign is trained again; results never depend on it.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import platform
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import cloudpickle
import platformdirs

from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.files import TEMPORARY, write_whole
from changeproof.fingerprints.things import fingerprint
from changeproof.model import Model
from changeproof.models.recipes import recipe_identity
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
def model_cache(scope: bytes) -> Iterator[None]:
    """Use the cache for models that are trained inside this context.

    The scope has to be the same for a model to be used again: it is the base model as it is
    stored, which also shows what training depends on without our knowing.
    """
    token = _scope.set(hashlib.sha256(scope).hexdigest())
    try:
        yield
    finally:
        _scope.reset(token)


def cache_folder() -> Path | None:
    """Return where models are cached; None if nowhere.

    It is never below the working directory: an unpacked archive must not be believed.
    """
    named = os.environ.get(VARIABLE, "")
    if named == OFF:
        return None
    if not named:
        folder = platformdirs.user_cache_path("changeproof", appauthor=False, opinion=False)
        return folder / "models" if folder.is_absolute() else None
    if not Path(named).is_absolute():
        raise InputError(f"{VARIABLE} is {named!r}; expected an absolute path, or {OFF}")
    return Path(named)


def train_cached(
    learner: Any,
    recipes: Sequence[TrainingRecipe],
    task: Task,
    train: Callable[[TrainingRecipe, Task], Model],
) -> Iterator[Model]:
    scope, place = _scope.get(), cache_folder()
    place = _own(place) if scope and place is not None else None
    if place is None:
        yield from (train(recipe, task) for recipe in recipes)
        return
    with suppress(OSError):
        _make_room(place)
    at_hand = {"learner": learner, "task": task}
    about = [scope, learner.fingerprint, task.fingerprint, platform.python_version()]
    for recipe in recipes:
        if recipe.start is not None:
            yield train(recipe, task)
            continue
        key = fingerprint(about=about, recipe=recipe_identity(recipe, exact=True))
        path = place / f"{key}{SUFFIX}"
        model = _read(path, at_hand)
        if model is None:
            began = time.perf_counter()
            model = train(recipe, task)
            if time.perf_counter() - began > WORTH_SECONDS:
                _write(path, model, at_hand)
        yield model


def _own(place: Path) -> Path | None:
    """Return a folder if it is ours and nobody else may write to it; make it if it is missing."""
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
    """Leaves out the task and the learner, which are there whenever a model is read."""

    def __init__(self, file: io.BytesIO, at_hand: dict[str, Any]) -> None:
        super().__init__(file)
        self.names = {id(each): name for name, each in at_hand.items()}

    def persistent_id(self, thing: Any) -> str | None:
        return self.names.get(id(thing))


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, at_hand: dict[str, Any]) -> None:
        super().__init__(file)
        self.at_hand = at_hand

    def persistent_load(self, name: str) -> Any:
        return self.at_hand[name]


def _read(path: Path, at_hand: dict[str, Any]) -> Model | None:
    """Return a cached model; None if there is none, or not a whole one."""
    try:
        content = path.read_bytes()
        os.utime(path)
    except OSError:
        return None
    if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
        return None
    try:
        model: Model = _Unpickler(io.BytesIO(content[DIGEST:]), at_hand).load()
    except Exception:  # whatever a stranger's class may raise; it is trained again
        return None
    return model


def _write(path: Path, model: Model, at_hand: dict[str, Any]) -> None:
    """Cache a model, if it can be pickled and is not too large."""
    file = io.BytesIO()
    try:
        _Pickler(file, at_hand).dump(model)
    except Exception:  # whatever a stranger's object may raise; it is trained again
        return
    content = file.getvalue()
    if len(content) <= LARGEST:
        with suppress(InputError):  # no room; it is trained again
            write_whole(path, hashlib.sha256(content).digest() + content)


def _make_room(place: Path) -> None:
    """Delete what was not used for longest, and what was left half-written."""
    found = []
    for entry in os.scandir(place):
        with suppress(FileNotFoundError):  # another process deletes at the same time
            if entry.name.endswith(SUFFIX) or entry.name.startswith(TEMPORARY):
                about = entry.stat()
                found.append((about.st_mtime, about.st_size, entry.path))
    room = sum(size for _, size, _ in found) - MOST
    for _, size, path in sorted(found):
        if room <= 0:
            return
        Path(path).unlink(missing_ok=True)
        room -= size
