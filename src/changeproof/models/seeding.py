"""Whether a seed can change what a scikit-learn estimator learns.

Many estimators have a `random_state` that they use with some settings only. What is not known here
may use it. So do trees, of which it breaks ties between features, and all that is made of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Up to here no row is set aside or left out at random by an estimator that does so with many.
FEW_ROWS = 10_000


def random_states(estimator: Any) -> list[str]:
    """Return the names of all random states of an estimator, nested ones too."""
    return [key for key in estimator.get_params(deep=True) if key.endswith("random_state")]


def seed_matters(estimator: Any, *, few_rows: bool) -> bool:
    """Return whether another seed may give another model.

    Parameters
    ----------
    few_rows
        Whether it is trained on `FEW_ROWS` rows at most.
    """
    parts = estimator.get_params(deep=True)
    for key in random_states(estimator):
        owner, _, name = key.rpartition("__")
        part = parts.get(owner) if owner else estimator
        if name != "random_state" or _uses_seed(part, few_rows):
            return True
    return False


def _uses_seed(part: Any, few_rows: bool) -> bool:
    known = type(part).__module__.partition(".")[0] == "sklearn"
    rule = _RULES.get(type(part).__name__) if known else None
    return rule is None or rule(part, few_rows)


def _shuffles(part: Any, few_rows: bool) -> bool:
    return part.solver not in ("lbfgs", "newton-cg", "newton-cholesky")


def _boosts_at_random(part: Any, few_rows: bool) -> bool:
    stops_early = not few_rows if part.early_stopping == "auto" else bool(part.early_stopping)
    sets_aside = stops_early and part.validation_fraction is not None
    return sets_aside or part.max_features != 1.0 or not few_rows


def _fits_probabilities(part: Any, few_rows: bool) -> bool:
    return part.probability is not False


def _restarts(part: Any, few_rows: bool) -> bool:
    return bool(part.n_restarts_optimizer)


def _leaves_rows_out(part: Any, few_rows: bool) -> bool:
    return part.subsample is not None and not (few_rows and part.subsample >= FEW_ROWS)


_RULES: dict[str, Callable[[Any, bool], bool]] = {
    "LogisticRegression": _shuffles,
    "LogisticRegressionCV": _shuffles,
    "HistGradientBoostingClassifier": _boosts_at_random,
    "SVC": _fits_probabilities,
    "NuSVC": _fits_probabilities,
    "GaussianProcessClassifier": _restarts,
    "QuantileTransformer": _leaves_rows_out,
    "KBinsDiscretizer": _leaves_rows_out,
}
