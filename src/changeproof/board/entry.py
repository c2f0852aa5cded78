"""An entry: what somebody hands in, a method's answers and who stands behind them.

A folder with two files. `entry.toml` says what the method is, and names the answers by their hash.
`answers.parquet` has the answers, never scores. An entry may be a stranger's: it is read as data,
nothing in it is imported or unpickled, and what does not fit is refused in one line.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import tomli_w
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from changeproof.errors import HIDDEN, InputError
from changeproof.files import read_toml, safe_name, validated

ENTRY, ANSWERS = "entry.toml", "answers.parquet"
# A larger file is no description of a method.
MOST_BYTES = 1_000_000


def _named(what: str) -> Any:
    return AfterValidator(lambda name: safe_name(name, what))


def _visible(text: str) -> str:
    if hidden := HIDDEN.search(text):
        raise InputError(f"expected visible text; got the character {hidden[0]!r}")
    return text


def _one_line(text: str) -> str:
    if "\n" in text or "\t" in text:
        raise InputError("expected text in one line")
    return _visible(text)


LONGEST_LINE = 1_000
Line = Annotated[str, StringConstraints(max_length=LONGEST_LINE), AfterValidator(_one_line)]
Text = Annotated[str, StringConstraints(max_length=20_000), AfterValidator(_visible)]
Hash = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
TrackName = Annotated[str, _named("a track")]
Percent = Annotated[float, Field(ge=0, le=100)]


class Strict(BaseModel):
    """Values of exactly these keys and types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Claim(Strict):
    """What an author says of a track; rates in percent, means over its datasets.

    Each is the mean over datasets of the mean over base models, as the tables have it.
    """

    coverage: Percent | None = None
    validity: Percent | None = None
    robustness: Percent | None = None
    end_to_end: Percent | None = None
    distance: Annotated[float, Field(ge=0)] | None = None


class Entry(Strict):
    """What `entry.toml` says.

    Parameters
    ----------
    name
        What the entry is called: the name of its folder.
    label
        What tables call it.
    paper, bibtex
        The reference, in words and for BibTeX.
    code, commit
        Where the code of the method is, and which version of it gave the answers.
    licence
        The licence of that code.
    access
        What the method needs of a model: predictions, gradients, linear coefficients, relu
        parameters or votes of trees.
    trains
        Whether it trains models of its own.
    method, settings
        The reference that makes the method, and all of its settings as Python writes them.
    promise
        What the method promises of a certified answer; "" where it promises nothing.
    benchmark, changeproof
        The version of the benchmark, and that of changeproof which gave the answers.
    seconds
        Processor seconds per person by track, as measured by who handed it in: tuning and fitting
        are counted.
    tolerance
        How far apart answers of another run may be, in deviations of a feature; 0 where they are
        equal to the byte.
    answers_sha256
        The hash of the file of answers.
    claims
        What the author says of the tracks, by track. It is compared, and never shown as a result.
    """

    format: Literal[1] = 1
    name: Annotated[str, _named("an entry")]
    label: Annotated[str, StringConstraints(min_length=1, max_length=80), AfterValidator(_one_line)]
    authors: Annotated[tuple[Line, ...], Field(max_length=100)] = ()
    paper: Line = ""
    bibtex: Text = ""
    code: Line = ""
    commit: Line = ""
    licence: Line = ""
    access: Literal[
        "predictions", "gradients", "linear coefficients", "relu parameters", "votes of trees"
    ]
    trains: bool
    method: Line
    settings: dict[Line, Line] = Field(default_factory=dict)
    promise: Line = ""
    benchmark: Annotated[str, _named("a version of the benchmark")]
    changeproof: Line
    tracks: Annotated[tuple[TrackName, ...], Field(min_length=1, max_length=100)]
    seconds: dict[TrackName, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    tolerance: Annotated[float, Field(ge=0, le=1)] = 0.0
    answers_sha256: Hash
    claims: dict[TrackName, Claim] = Field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Return what `entry.toml` holds."""
        values = self.model_dump(mode="json", exclude_none=True)
        return tomli_w.dumps(values, multiline_strings=True).encode()


class Handed(NamedTuple):
    """An entry with where it is, and the hashes of its two files as they are."""

    folder: Path
    entry: Entry
    entry_sha256: str
    answers_sha256: str


def read_entry(folder: Path) -> Handed:
    """Return what an entry says; whether its answers fit it is not looked at."""
    safe_name(folder.absolute().name, "an entry")
    for name in (ENTRY, ANSWERS):
        path = folder / name
        if path.is_symlink():
            raise InputError(f"{path} is a symbolic link; expected a file of the entry's own")
        if not path.is_file():
            raise InputError(f"{folder} is not an entry: it has no {name}")
    path = folder / ENTRY
    if path.stat().st_size > MOST_BYTES:
        raise InputError(f"{path} holds more than {MOST_BYTES:,} bytes; expected a description")
    values = read_toml(path, "entry")
    check_claims(values.get("claims"), f"{path}: claims")
    plain = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
    entry = validated(Entry, plain, str(path))
    if entry.name != folder.absolute().name:
        raise InputError(
            f"{path}: name: {entry.name!r} is in the folder {folder.absolute().name!r}; expected "
            "the same name"
        )
    for key in ("tracks", "authors"):
        given = getattr(entry, key)
        if len(set(given)) < len(given):
            raise InputError(f"{path}: {key}: expected each once")
    for key in ("claims", "seconds"):
        if others := sorted(set(getattr(entry, key)) - set(entry.tracks)):
            raise InputError(f"{path}: {key}: the entry is not in the track {others[0]!r}")
    return Handed(folder, entry, _hash_of(path), _hash_of(folder / ANSWERS))


def check_claims(claims: Any, where: str) -> None:
    """Refuse claims about anything but the metrics that are claimed."""
    for claim in claims.values() if isinstance(claims, dict) else ():
        for metric in claim if isinstance(claim, dict) else ():
            if metric not in Claim.model_fields:
                known = ", ".join(Claim.model_fields)
                raise InputError(f"{where}: unknown metric {metric!r}; expected one of: {known}")


def _hash_of(path: Path) -> str:
    try:
        return digest(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
