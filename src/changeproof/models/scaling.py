"""Transformers of scikit-learn that treat every column by itself: what becomes of the columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

# (number - shift) / divisor * factor + offset.
Scale = tuple[float, float, float, float]
PLAIN_SCALE: Scale = (0.0, 1.0, 1.0, 0.0)
# The column that an output is made of, and the scale of its numbers. Without a scale, only what
# is made of categories and of missing values can be told, by asking.
Source = tuple[int, Scale | None]


def sources_of(steps: Sequence[Any], n_columns: int) -> list[Source] | None:
    """Return what steps make of columns, output by output; None where that is not known."""
    sources: list[Source] | None = [(place, PLAIN_SCALE) for place in range(n_columns)]
    for step in steps:
        sources = None if sources is None else _of_step(step, sources)
    return sources


def _of_step(step: Any, sources: list[Source]) -> list[Source] | None:
    if step is None or step == "passthrough":
        return sources
    known = _STEPS.get(type(step))
    fits = known is not None and getattr(step, "n_features_in_", len(sources)) == len(sources)
    return known(step, sources) if known is not None and fits else None


def _pipeline(step: Pipeline, sources: list[Source]) -> list[Source] | None:
    found: list[Source] | None = sources
    for _, each in step.steps:
        found = None if found is None else _of_step(each, found)
    return found


def _by_column(step: ColumnTransformer, sources: list[Source]) -> list[Source] | None:
    found: dict[int, Source] = {}
    for name, part, _ in step.transformers_:
        places = step.output_indices_[name]
        if places.start == places.stop:
            continue
        own = [sources[place] for place in step._transformer_to_input_indices[name]]
        outputs = _of_step(part, own)
        if outputs is None or len(outputs) != places.stop - places.start:
            return None
        found |= dict(zip(range(places.start, places.stop), outputs, strict=True))
    return [found[place] for place in range(len(found))]


def _imputed(step: SimpleImputer, sources: list[Source]) -> list[Source] | None:
    numbers = step.statistics_.dtype.kind == "f"
    left_out = numbers and np.isnan(step.statistics_).any()
    usual = step.missing_values is np.nan or step.missing_values != step.missing_values
    return sources if usual and not step.add_indicator and not left_out else None


def _scaled(
    sources: list[Source],
    shift: Any = None,
    divisor: Any = None,
    factor: Any = None,
    offset: Any = None,
) -> list[Source]:
    """Only one scaler may come after another transformer: sums are not put together."""
    columns = [
        np.broadcast_to(neutral if each is None else each, len(sources)).tolist()
        for each, neutral in zip((shift, divisor, factor, offset), PLAIN_SCALE, strict=True)
    ]
    scales: list[Scale] = list(zip(*columns, strict=True))
    return [
        (place, own if before == PLAIN_SCALE else None)
        for (place, before), own in zip(sources, scales, strict=True)
    ]


def _range_scaled(step: MinMaxScaler, sources: list[Source]) -> list[Source] | None:
    if step.clip:
        return None
    return _scaled(sources, factor=step.scale_, offset=step.min_)


def _encoded(counts: Sequence[int], sources: list[Source]) -> list[Source]:
    return [
        (place, None)
        for (place, _), count in zip(sources, counts, strict=True)
        for _ in range(count)
    ]


_STEPS: dict[type, Callable[[Any, list[Source]], list[Source] | None]] = {
    Pipeline: _pipeline,
    ColumnTransformer: _by_column,
    # What ColumnTransformer passes through.
    FunctionTransformer: lambda step, some: some if step.func is None else None,
    SimpleImputer: _imputed,
    StandardScaler: lambda step, some: (
        _scaled(some, step.mean_, step.scale_)
        if step.with_mean
        else _scaled(some, None, step.scale_)
    ),
    RobustScaler: lambda step, some: _scaled(some, step.center_, step.scale_),
    MaxAbsScaler: lambda step, some: _scaled(some, None, step.scale_),
    MinMaxScaler: _range_scaled,
    OneHotEncoder: lambda step, some: _encoded(step._n_features_outs, some),
    OrdinalEncoder: lambda step, some: _encoded([1] * len(some), some),
}
