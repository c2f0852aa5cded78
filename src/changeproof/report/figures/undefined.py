"""What cannot be drawn is said."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from changeproof.report.figures.lettering import literal
from changeproof.report.print_names import DATASETS, METHODS


def undefined_notes(table: pd.DataFrame, datasets: Sequence[str], column: str) -> list[str]:
    """Return a note that names the methods without a value, dataset by dataset."""
    parts = []
    for dataset in datasets:
        mine = table[(table["dataset"] == dataset) & table[column].isna()]
        names = [literal(METHODS.get(method, method)) for method in mine["method"]]
        if names:
            parts.append(f"{', '.join(names)} on {literal(DATASETS.get(dataset, dataset))}")
    if not parts:
        return []
    return [f"Undefined, as no counterfactual is valid on the base model: {'; '.join(parts)}."]
