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

    DiCE gives several counterfactuals per person, and all of them are tested: first those that have
    the desired class according to DiCE, in its order, then the others. The sparse version is taken
    if DiCE made one. DiCE's searches "genetic" and "kdtree" order by closeness; "random" does not.

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
        Ids and features, a row for every counterfactual, and an empty one for whom DiCE found
        nothing.
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
    if len(ids) != len(examples):
        one_row_each("DiCE", ids, names, [None] * len(examples))
    people: list[Any] = []
    rows: list[Sequence[Any] | None] = []
    for person, example in zip(ids, examples, strict=True):
        sparse = example.final_cfs_df_sparse
        found = sparse if sparse is not None else example.final_cfs_df
        several = [None] if found is None or found.empty else _ordered(found, outcome, example)
        mine = [None if each is None else found[names].iloc[each].tolist() for each in several]
        people, rows = [*people, *[person] * len(mine)], [*rows, *mine]
    return one_row_each("DiCE", people, names, rows)


def _ordered(found: pd.DataFrame, outcome: str, example: Any) -> list[int]:
    """Return the positions of rows: first those with the class that was asked for."""
    if outcome not in found.columns:
        return list(range(len(found)))
    # Some of DiCE's backends write the probability where others write the class.
    classes = pd.to_numeric(found[outcome]).round()
    desired = (classes == float(example.new_outcome)).to_numpy()
    return [int(each) for each in np.argsort(~desired, kind="stable")]
