"""What pieces hold, as bytes: models and arrays as safetensors, tables as Parquet.

Nothing is ever unpickled.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow.parquet as pq
import safetensors.numpy

from changeproof.datasets.table_file import check_size
from changeproof.errors import InputError
from changeproof.model import Booleans, Integers, Stack
from changeproof.models.learner import ModelStack
from changeproof.networks.stack import NetworkStack
from changeproof.runs.pieces import EXTRA, RECORD

Arrays = dict[str, npt.NDArray[Any]]


class Models(NamedTuple):
    """Models as they are kept: the networks, or None; a record for JSON; arrays by name."""

    stack: NetworkStack | None
    record: dict[str, Any]
    arrays: Arrays


def models_to_bytes(stack: Stack, record: Mapping[str, Any], arrays: Arrays | None = None) -> bytes:
    """Keep models with a record and arrays; of models that cannot be kept only these."""
    # Of an array that is not contiguous safetensors would keep other numbers.
    tensors: Arrays = {
        EXTRA + name: np.ascontiguousarray(array) for name, array in (arrays or {}).items()
    }
    tensors[RECORD] = np.frombuffer(json.dumps(record).encode(), np.uint8)
    if isinstance(stack, NetworkStack):
        tensors |= stack.to_tensors()
    return safetensors.numpy.save(tensors)


def models_from_bytes(content: bytes) -> Models:
    tensors = safetensors.numpy.load(content)
    record = json.loads(tensors.pop(RECORD).tobytes())
    names = [name for name in tensors if name.startswith(EXTRA)]
    arrays = {name.removeprefix(EXTRA): tensors.pop(name) for name in names}
    return Models(NetworkStack.from_tensors(tensors) if tensors else None, record, arrays)


def table_to_bytes(table: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.to_parquet(buffer, index=False)
    return buffer.getvalue()


def table_from_bytes(content: bytes) -> pd.DataFrame:
    check_size(io.BytesIO(content), "this kept table")
    # A third of the time that pandas' own function takes, which looks for folders of files.
    table = pq.ParquetFile(io.BytesIO(content)).read(use_threads=False)
    frame: pd.DataFrame = table.to_pandas(use_threads=False)
    return frame


def arrays_to_bytes(arrays: Arrays) -> bytes:
    return safetensors.numpy.save({k: np.ascontiguousarray(v) for k, v in arrays.items()})


def arrays_from_bytes(content: bytes) -> Arrays:
    return safetensors.numpy.load(content)


class Refit(NamedTuple):
    """Whom, or whose letters, a model as shipped accepts, and its refit.

    `reason` says why there is no refit, and is "" where there is one.
    """

    row_ids: Integers
    judged: Booleans
    refit: Booleans
    reason: str = ""

    def to_bytes(self) -> bytes:
        arrays = {"row_id": self.row_ids, "judged": self.judged, "refit": self.refit}
        return models_to_bytes(ModelStack(), {"reason": self.reason}, arrays)

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        _, record, arrays = models_from_bytes(content)
        found = cls(arrays["row_id"], arrays["judged"], arrays["refit"], str(record["reason"]))
        for each in (found.judged, found.refit):
            if each.shape != (len(found.row_ids),) or each.dtype != np.bool_:
                raise InputError(
                    f"{each.dtype} of shape {each.shape} for {len(found.row_ids)} rows"
                )
        return found


def survived_from_bytes(people: int, content: bytes) -> Booleans:
    """Return which answers to so many people hold under which changed models of a family."""
    found: Booleans = arrays_from_bytes(content)["survived"]
    if found.ndim != 2 or len(found) != people or found.dtype != np.bool_:
        raise InputError(f"{found.dtype} of shape {found.shape} for {people} people")
    return found
