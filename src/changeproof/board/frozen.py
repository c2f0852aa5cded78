"""What a benchmark version is: the hashes of all that an entry is judged by.

For every track a file of `versions/VERSION/` says, for every dataset, kind of model and base seed,
which data, split, people, base model and changed models are meant. Networks count by their
parameters. Models that are not kept count by what they decide about every row of the table.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from pydantic import Field

from changeproof.board.entry import Hash, Line, Strict, TrackName
from changeproof.board.tracks import VERSION, Track
from changeproof.datasets.split import PARTS
from changeproof.datasets.task import Task
from changeproof.errors import InputError, one_line
from changeproof.files import validated
from changeproof.methods.method import Factuals
from changeproof.model import Model, Stack
from changeproof.networks.network import Network
from changeproof.networks.stack import NetworkStack

FOLDER = Path(__file__).parent / "versions"
ABOUT = "version.json"
Kind = TypeVar("Kind", bound=Strict)


class FrozenCell(Strict):
    """The hashes of what one base model's people are judged by."""

    dataset: Line
    model: Line
    base_seed: int
    data: Hash
    split: Hash
    people: Hash
    base: Hash
    families: dict[Line, Hash] = Field(default_factory=dict)

    @property
    def where(self) -> tuple[str, str, int]:
        return (self.dataset, self.model, self.base_seed)


class FrozenTrack(Strict):
    """A file of a version: the plans of a track as they were, and its cells."""

    format: Literal[1] = 1
    benchmark: Line
    track: TrackName
    plans: tuple[dict[str, Any], ...]
    cells: tuple[FrozenCell, ...]

    def to_bytes(self) -> bytes:
        return (self.model_dump_json(indent=1) + "\n").encode()


class Version(Strict):
    """What is said of a version: who froze it, and the hash of the key of its secret bank."""

    format: Literal[1] = 1
    benchmark: Line
    changeproof: Line
    secret_bank_sha256: Hash | None = None

    def to_bytes(self) -> bytes:
        return (self.model_dump_json(indent=1) + "\n").encode()


def read_version() -> Version:
    return _read(Version, FOLDER / VERSION / ABOUT)


def read_frozen(track: str) -> FrozenTrack:
    """Return the hashes of a track of this version."""
    path = FOLDER / VERSION / f"{track}.json"
    if not path.exists():
        raise InputError(f"track {track!r} is not frozen in the benchmark version {VERSION} yet")
    return _read(FrozenTrack, path)


def _read(kind: type[Kind], path: Path) -> Kind:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {one_line(error)}") from None
    for key in ("cells", "plans"):
        if key in content:
            content[key] = tuple(content[key])
    return validated(kind, content, str(path))


def plain_plans(track: Track) -> tuple[dict[str, Any], ...]:
    """Return the plans of a track as JSON has them."""
    return tuple(json.loads(json.dumps(dict(values))) for values in track.plans)


def data_hash(task: Task) -> str:
    return task.fingerprint


def split_hash(task: Task) -> str:
    return _hash((task.row_ids(part).astype(np.int64) for part in PARTS), "split")


def people_hash(people: Factuals) -> str:
    return _hash((people.row_ids.astype(np.int64), people.rows), "people")


def model_hash(model: Model, task: Task) -> str:
    """Return the hash of a base model."""
    if isinstance(model, Network):
        return stack_hash(NetworkStack.of([model]), task)
    return _hash((np.packbits(model.favourable(task.rows(part))) for part in PARTS), "decisions")


def stack_hash(stack: Stack, task: Task) -> str:
    """Return the hash of changed models, in their order."""
    if isinstance(stack, NetworkStack):
        return _hash((_of_network(network) for network in stack), "networks")
    return _hash((np.packbits(stack.favourable(task.rows(part))) for part in PARTS), "decisions")


def _of_network(network: Network) -> bytes:
    shapes = [array.shape for array in (*network.weights, *network.biases)]
    about = repr((shapes, network.n_adverse)).encode()
    return about + b"".join(
        np.ascontiguousarray(each, np.float32).tobytes()
        for each in (*network.weights, *network.biases)
    )


def _hash(parts: Iterable[Any], what: str) -> str:
    digest = hashlib.sha256(what.encode())
    for part in parts:
        content = part if isinstance(part, bytes) else np.ascontiguousarray(part).tobytes()
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()


def check_same(track: str, frozen: FrozenCell, here: Mapping[str, str]) -> None:
    """Refuse what is not that of the version; the first difference is named."""
    words = {
        "data": "the data",
        "split": "the split of the data",
        "people": "the people who ask",
        "base": "the base model",
    }
    where = f"{track}, {frozen.dataset}, {frozen.model}, seed {frozen.base_seed}"
    for key, digest in here.items():
        expected = getattr(frozen, key) if key in words else frozen.families.get(key)
        if digest != expected:
            what = words.get(key, f"the changed models of {key}")
            raise InputError(
                f"{where}: {what} of this machine are not those of the benchmark version "
                f"{VERSION} ({digest[:12]} here, {(expected or 'none')[:12]} there)"
            )
