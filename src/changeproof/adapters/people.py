"""One row per person: what every adapter returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from changeproof.errors import InputError
from changeproof.methods.given import ID_COLUMNS


def one_row_each(
    tool: str, ids: Sequence[Any], features: Sequence[str], rows: Sequence[Sequence[Any] | None]
) -> pd.DataFrame:
    """Return a table of ids and features; None becomes a row without features.

    The ids are in the first column of id, factual_id and row_id that is no feature.
    """
    if len(ids) != len(rows):
        raise InputError(
            f"{tool} explained {len(rows)} people but {len(ids)} ids were given; "
            f"expected one id per person, in the same order"
        )
    free = [name for name in ID_COLUMNS if name not in features]
    if not free:
        raise InputError(
            f"{tool}: {', '.join(ID_COLUMNS)} are all features, so none can hold the ids"
        )
    nothing = [float("nan")] * len(features)
    values = [list(nothing if row is None else row) for row in rows]
    frame = pd.DataFrame(values, columns=list(features))
    frame.insert(0, free[0], list(ids))
    return frame
