"""Which model is judged: one as it was fitted elsewhere, or one that is trained here."""

from __future__ import annotations

from collections.abc import Sequence

from changeproof.datasets.task import Task
from changeproof.datasets.threshold import HALF
from changeproof.models.learner import FunctionLearner, Learner
from changeproof.models.libraries import library_of
from changeproof.models.network import NetworkLearner
from changeproof.models.shipped import ShippedLearner, ShippedModel
from changeproof.models.thresholds import ThresholdLearner
from changeproof.runs.manifest import Judged

# So much of a digest is shown.
SHORT = 12
NAMED, ALL_FEATURES = "named by the model", "all features of the data"
OWN_DECISION = "its own decision"


def judged_by(
    learner: Learner, reference: str, refit_by: str = "", tasks: Sequence[Task] = ()
) -> Judged:
    """Return what is said of the base model of a learner, and who refits it in its place."""
    threshold = str(learner.threshold) if isinstance(learner, ThresholdLearner) else ""
    inner = _inner(learner)
    if not isinstance(inner, ShippedLearner):
        at_half = all(learner.decides_at_half_on(task) for task in tasks)
        return Judged(
            learner.name,
            reference,
            _kind(inner),
            learner.fingerprint[:SHORT],
            ALL_FEATURES,
            threshold or (str(HALF) if at_half else OWN_DECISION),
        )
    source = inner.source
    if inner.threshold is not None:
        threshold, refit_by = str(inner.threshold), f"{refit_by} (at {HALF})"
    return Judged(
        source.name,
        source.reference,
        _kind(source),
        source.digest[:SHORT],
        ALL_FEATURES if source.columns is None else NAMED,
        threshold or OWN_DECISION,
        shipped=True,
        refit_by=refit_by,
        no_refit=learner.traits.no_training,
    )


def refits_of(learner: Learner) -> Learner:
    """Return the learner that fits a model as shipped again, with the same threshold."""
    inner = _inner(learner)
    assert isinstance(inner, ShippedLearner)
    if isinstance(learner, ThresholdLearner):
        return ThresholdLearner(inner.refits, learner.threshold)
    return inner.refits


def _inner(learner: Learner) -> Learner:
    return learner.learner if isinstance(learner, ThresholdLearner) else learner


def _kind(thing: Learner | ShippedModel) -> str:
    """Return a model's class and library, such as "LogisticRegression (sklearn)"."""
    if isinstance(thing, ShippedModel) and thing.kind:
        return thing.kind
    if isinstance(thing, NetworkLearner):
        return "neural network"
    if isinstance(thing, FunctionLearner):
        return "training function"
    parts = [getattr(thing, "estimator", thing)]
    if steps := getattr(parts[0], "steps", None):
        parts.append(steps[-1][1])
    words = " ending in ".join(type(part).__name__ for part in parts)
    return f"{words} ({library_of(parts[-1])})"
