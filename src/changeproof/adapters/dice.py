"""Counterfactuals of DiCE (the dice-ml package)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from changeproof.adapters.tables import one_row_each
from changeproof.errors import InputError


def from_dice(
    explanation: Any, ids: Sequence[Any], features: Sequence[str] | None = None
) -> pd.DataFrame:
    """Turn what DiCE explained into a table for `read_counterfactuals`.

    DiCE gives several counterfactuals per person, and the protocol tests one of them: the first
    in DiCE's order that has the desired class according to DiCE, or the first if none has it. The
    sparse version is taken if DiCE made one. DiCE's searches "genetic" and "kdtree" order by
    closeness; "random" does not.

    Parameters
    ----------
    explanation
        The result of `generate_counterfactuals` of any DiCE explainer.
    ids
        The row id of every query instance, in the order they were given to DiCE.
    features
        The columns to keep; by default all but the outcome.

    Returns
    -------
    pandas.DataFrame
        Ids and features, one row per person, empty if DiCE found nothing. `attrs["notes"]` says
        how many counterfactuals were left out.
    """
    examples = getattr(explanation, "cf_examples_list", None)
    if not examples:
        raise InputError(
            f"expected the CounterfactualExplanations that DiCE returns, with at least one person; "
            f"got {type(explanation).__name__}"
        )
    outcome = str(examples[0].data_interface.outcome_name)
    asked = [str(name) for name in examples[0].test_instance_df.columns if name != outcome]
    names = asked if features is None else list(features)
    unknown = [name for name in names if name not in asked]
    if unknown:
        raise InputError(f"DiCE was asked about the features {asked}, not about {unknown}")
    chosen: list[Sequence[Any] | None] = []
    left_out = 0
    for example in examples:
        sparse = example.final_cfs_df_sparse
        found = sparse if sparse is not None else example.final_cfs_df
        if found is None or found.empty:
            chosen.append(None)
            continue
        left_out += len(found) - 1
        chosen.append(found[names].iloc[_first_desired(found, outcome, example)].tolist())
    frame = one_row_each("DiCE", ids, names, chosen)
    if left_out:
        frame.attrs["notes"] = [
            f"DiCE gave {left_out} more counterfactuals: one per person was kept, "
            "the first of the desired class"
        ]
    return frame


def _first_desired(found: pd.DataFrame, outcome: str, example: Any) -> int:
    """Return the position of the first row with the class that was asked for, else 0."""
    if outcome not in found.columns:
        return 0
    # Some of DiCE's backends write the probability where others write the class.
    classes = pd.to_numeric(found[outcome]).round()
    return int(np.argmax((classes == float(example.new_outcome)).to_numpy()))
