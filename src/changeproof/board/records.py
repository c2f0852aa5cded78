"""Records: what the keeper of a board found when an entry was verified.

A record is the keeper's and never in the entry's folder. It is about the two files that it names by
their hashes: of an entry that has changed since, it says nothing. Scores are in the units of the
tables of a run (rates in percent), what is said of single people are shares from 0 to 1.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ConfigDict, Field

from changeproof.board.entry import Hash, Line, Strict, Text, TrackName
from changeproof.datasets.table_file import check_size
from changeproof.errors import InputError, one_line
from changeproof.files import safe_name, validated, write_together

RECORD, PEOPLE, RECORDS = "record.json", "people.parquet", "records"
ALL = "all"
# The state of an entry without a record that is about it.
CLAIMED, RECOMPUTED, REPRODUCED, CONTESTED = "claimed", "recomputed", "reproduced", "contested"
# In the order in which tables show them. Rates are in percent; `limit` and `price` are undefined
# where the track has no limit.
METRICS = ("coverage", "validity", "robustness", "end_to_end", "distance", "limit", "price")
# Who a row of the people is about; columns that every row has; shares by family follow.
WHO = ("track", "dataset", "model", "base_seed", "row_id")
OF_PEOPLE = (*WHO, "found", "base_valid", "distance", "limit", "held")
HELD = "held:"
MetricName = Literal[
    "coverage", "validity", "robustness", "end_to_end", "distance", "limit", "price"
]
Share = Annotated[float, Field(ge=0, le=1)]


class Score(Strict):
    """One number: a metric of the entry for the people of one base model.

    `family` is "all" for the families that count together; of a single family there are the
    robustness and the end-to-end robustness. None is undefined, as the distance
    where nothing is valid.
    """

    track: TrackName
    dataset: Line
    model: Line
    base_seed: int
    family: Line
    metric: MetricName
    value: float | None


class Contest(Strict):
    """The best attack that is known on the answers for the people of one base model.

    Attributes
    ----------
    by
        Who handed the models in.
    models
        The hash of the folder of models.
    held
        The share of valid answers and admissible models where the answer holds.
    claimed
        The share that the entry is held to.
    admissible, left_out
        How many models counted, and why others did not.
    """

    by: Line
    models: Hash
    track: TrackName
    dataset: Line
    model: Line
    base_seed: int
    held: Share
    claimed: Share
    admissible: int
    left_out: tuple[Line, ...] = ()


class Rerun(Strict):
    """What came of running the method again.

    `difference` is the largest between two answers to the same person, in deviations of a feature;
    None where one of the two has no answer.
    """

    equal: bool
    difference: float | None
    people: int
    changeproof: Line
    processor: Line
    seconds_per_person: dict[TrackName, float] = Field(default_factory=dict)


class Secret(Strict):
    """Robustness on the bank whose seeds only the keeper knows; `bank` is the hash of its key."""

    bank: Hash
    scores: tuple[Score, ...]


class Record(Strict):
    """What `record.json` says.

    Attributes
    ----------
    entry_sha256, answers_sha256
        The two files of the entry that it is about.
    state
        "recomputed", "reproduced" by running the method again, or "contested" by models that
        break what it claims.
    tolerance
        How far apart answers of another run may be.
    verified_on
        A date, YYYY-MM-DD.
    changeproof
        The version that verified it.
    findings
        What was noticed and is no reason to refuse the entry, in sentences.
    promise
        What the method promises of certified answers; "" if nothing.
    contests
        The best known attack by track, dataset, model and base seed.
    seconds_per_person
        Processor seconds by track, as measured by who handed it in.
    scores
        See `Score`.
    secret
        The same under the secret bank, where it was asked for.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, populate_by_name=True
    )

    format: Literal[1] = Field(default=1, alias="schema")
    benchmark: Line
    name: Line
    label: Line
    entry_sha256: Hash
    answers_sha256: Hash
    state: Literal["recomputed", "reproduced", "contested"]
    tolerance: float
    verified_on: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    changeproof: Line
    rerun: Rerun | None = None
    findings: tuple[Text, ...] = ()
    tracks: tuple[TrackName, ...]
    promise: Line = ""
    contests: tuple[Contest, ...] = ()
    seconds_per_person: dict[TrackName, float] = Field(default_factory=dict)
    scores: tuple[Score, ...]
    secret: Secret | None = None

    def is_about(self, entry_sha256: str, answers_sha256: str) -> bool:
        """Say whether the record is about these two files."""
        return (self.entry_sha256, self.answers_sha256) == (entry_sha256, answers_sha256)

    def table(self) -> pd.DataFrame:
        """Return the scores as a table; what is undefined is NaN."""
        columns = list(Score.model_fields)
        frame = pd.DataFrame([each.model_dump() for each in self.scores], columns=columns)
        return frame.astype({"value": np.float64})

    def to_bytes(self) -> bytes:
        """Return what `record.json` holds."""
        content = self.model_dump(mode="json", by_alias=True)
        lines = content.pop("scores")
        head = json.dumps(content, indent=2, allow_nan=False).removesuffix("\n}")
        # A line for every score.
        body = ",\n".join(json.dumps(line, allow_nan=False) for line in lines)
        return f'{head},\n  "scores": [\n{body}\n  ]\n}}\n'.encode()

    @classmethod
    def from_bytes(cls, content: bytes, where: str) -> Self:
        """Read what `record.json` holds, or say in one line what does not fit."""
        try:
            values = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where} is not JSON: {one_line(error)}") from None
        if not isinstance(values, dict):
            raise InputError(f"{where}: expected an object")
        return validated(cls, _tuples(values), where)


def records_beside(entry: Path) -> Path:
    """Return the usual folder of records: beside the folder that holds the entry."""
    return entry.absolute().parent.parent / RECORDS


def write_record(folder: Path, record: Record, people: pd.DataFrame) -> None:
    """Write the record of an entry, and what became of the people, both or none of them."""
    safe_name(folder.name, "an entry")
    lacking = [name for name in OF_PEOPLE if name not in people.columns]
    if lacking:
        raise InputError(f"people: the column {lacking[0]!r} is missing")
    buffer = io.BytesIO()
    people.to_parquet(buffer, index=False)
    write_together({folder / PEOPLE: buffer.getvalue(), folder / RECORD: record.to_bytes()})


def read_record(folder: Path) -> Record:
    """Return the record in a folder of records; `folder` is that of the entry's name."""
    path = folder / RECORD
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    record = Record.from_bytes(content, str(path))
    if record.name != folder.name:
        raise InputError(f"{path} is about {record.name!r}; expected {folder.name!r}")
    return record


def read_people(folder: Path) -> pd.DataFrame:
    """Return what became of the people: `OF_PEOPLE`, and a share of every family ("held:NAME").

    A share is that of the changed models under which the answer holds, 0 without a valid answer;
    NaN where the family is not in the person's track. `limit` is the shortest change that all
    changed models accept, NaN where none is known.
    """
    path = folder / PEOPLE
    try:
        content = path.read_bytes()
        check_size(io.BytesIO(content), str(path))
        table: pd.DataFrame = pq.ParquetFile(io.BytesIO(content)).read().to_pandas()
    except OSError as error:
        raise InputError(f"cannot read {path}: {one_line(error)}") from None
    except pa.ArrowException as error:
        raise InputError(f"cannot read {path}: {one_line(error)}") from None
    lacking = [name for name in OF_PEOPLE if name not in table.columns]
    if lacking:
        raise InputError(f"{path}: the column {lacking[0]!r} is missing")
    return table


def _tuples(value: Any) -> Any:
    """Return lists of JSON as the tuples that they were."""
    if isinstance(value, dict):
        return {key: _tuples(each) for key, each in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
