"""The bank: the changed models of one base model, made from their descriptions."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from changeproof.changes.family import BaseModel, Family, Variant
from changeproof.datasets.task import Task
from changeproof.errors import InputError, described, one_line
from changeproof.model import Model, Stack
from changeproof.models.learner import Learner, TrainingRequest, stacked, train_all
from changeproof.models.network import NetworkLearner
from changeproof.models.recipes import model_identity, reserved_identity
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingRecipe, row_problem

ONLY_LEVEL = "all"
# Of models times rows: how many predictions are held at once.
PREDICTIONS_AT_ONCE = 4_000_000


@dataclass(frozen=True, eq=False)
class Bank:
    """Changed models, and a table of what was changed.

    `table` has the columns family, level and replicate, in the order of the stack.
    """

    stack: Stack
    table: pd.DataFrame

    def __len__(self) -> int:
        return len(self.stack)


def build_bank(
    task: Task, base: BaseModel, families: Sequence[Family], learner: Learner | None = None
) -> Bank:
    """Make the changed models of one base model, family after family.

    Parameters
    ----------
    learner
        The kind of model that the base model is; our network by default.
    """
    learner = learner if learner is not None else NetworkLearner()
    described_by: list[tuple[str, str, int]] = []
    models: list[Model] = []
    for family in families:
        for variants, found in _rounds(family, task, base, learner):
            described_by += [(family.name, each.level, each.replicate) for each in variants]
            models += found
    table = pd.DataFrame(described_by, columns=["family", "level", "replicate"])
    return Bank(stacked(models), table)


def _rounds(
    family: Family, task: Task, base: BaseModel, learner: Learner
) -> Iterator[tuple[list[Variant], list[Model]]]:
    with _describing(family):
        rounds = family.rounds(task, base, learner)
        given = next(rounds, None)
    while given is not None:
        variants = _checked(family, given, task, learner)
        models = models_of(variants, task, learner)
        yield variants, models
        with _describing(family):
            try:
                given = rounds.send(models)
            except StopIteration:
                given = None


@contextmanager
def _describing(family: Family) -> Iterator[None]:
    """Say in one line which family failed to describe its changed models, where and why."""
    try:
        yield
    except MemoryError:  # is tried again where there is more
        raise
    except InputError as error:
        raise InputError(f"family {family.name!r}: {one_line(error)}") from error
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}, line {last.lineno}"
        raise InputError(
            f"family {family.name!r} could not describe its changed models: {one_line(error)} "
            f"({where})"
        ) from error


def models_of(variants: Sequence[Variant], task: Task, learner: Learner) -> list[Model]:
    """Return the models that variants describe, over the columns of the task."""
    models = train_all(
        [TrainingRequest(v.change, v.learner or learner, v.task or task) for v in variants]
    )
    return [
        model if variant.finish is None else variant.finish(model)
        for variant, model in zip(variants, models, strict=True)
    ]


def checked_variants(
    family: Family, task: Task, base: BaseModel, learner: Learner
) -> list[Variant]:
    """Return the variants of a family's first round, checked."""
    with _describing(family):
        given = family.variants(task, base, learner)
    return _checked(family, given, task, learner)


def _checked(family: Family, given: Any, task: Task, learner: Learner) -> list[Variant]:
    """Return variants that are checked; recipes without a level are replicates of a single one."""
    if not isinstance(given, Iterable):
        raise InputError(
            f"family {family.name!r} returned {described(given)}; expected a list of variants"
        )
    with _describing(family):
        items = list(given)
    variants = [
        Variant(ONLY_LEVEL, number, item) if isinstance(item, TrainingRecipe) else item
        for number, item in enumerate(items)
    ]
    if not variants:
        raise InputError(f"family {family.name!r} describes no changed model for this task")
    for place, variant in enumerate(variants):
        if reason := reason_against(variant, task, learner):
            raise InputError(f"family {family.name!r}: variant {place} {reason}")
    return variants


def reserved_recipes(
    task: Task, base: BaseModel, learner: Learner, families: Sequence[Family]
) -> Iterator[str]:
    """Yield the identities of what no method may train: recipes, and perturbed models."""
    for family in families:
        try:
            variants = checked_variants(family, task, base, learner)
        except Exception:  # such a family has no changed models; its bank fails and says why
            continue
        for variant in variants:
            if isinstance(variant.change, TrainingRecipe):
                level, rows = "" if variant.learner is None else variant.level, variant.task or task
                plain = (variant.learner or learner).normalised(variant.change, rows)
                yield reserved_identity(plain, level, rows)
            elif learner.traits.has_parameters:
                yield model_identity(variant.change)


def reason_against(variant: Any, task: Task, learner: Learner) -> str | None:
    """Return why a variant cannot be trained; None if it can."""
    if not isinstance(variant, Variant):
        return f"is {described(variant)}; expected a Variant"
    change = variant.change
    if isinstance(change, Network):
        expected, given = task.n_features, change.n_features
        return None if given == expected else f"takes {given} features; expected {expected}"
    if not isinstance(change, TrainingRecipe):
        if all(hasattr(change, need) for need in ("probabilities", "favourable")):
            return None
        return f"changes to {described(change)}; expected a TrainingRecipe or a model"
    kind = variant.learner or learner
    for field in fields(change):
        if field.name not in kind.traits.follows and getattr(change, field.name) != field.default:
            return f"sets {field.name!r} of the recipe, which {kind.name} does not follow"
    rows = variant.task or task
    n_rows = len(rows.split.train) + len(rows.split.update)
    if problem := row_problem(change, n_rows, 0 if rows.classes is None else len(rows.classes)):
        return problem
    weights, labels = change.row_weights, change.labels
    if not kind.traits.weighs_rows and weights is not None and (weights != np.rint(weights)).any():
        return f"has row_weights that are not whole numbers, which {kind.name} does not take"
    if not kind.traits.soft_labels and labels is not None and not np.isin(labels, (0, 1)).all():
        return f"has labels between 0 and 1, which {kind.name} cannot use"
    return None


def change_magnitudes(task: Task, base: Model, stack: Stack) -> pd.DataFrame:
    """Measure every model of a stack against its base model on the whole test set.

    Returns
    -------
    One row per model: `hard_disagreement` (share of test rows whose class changes),
    `probability_mae` (mean absolute difference of the probabilities), `balanced_accuracy`. All are
    NaN for a model that does not know the test rows, as a table of scores.
    """
    from sklearn.metrics import balanced_accuracy_score  # 0.4 s that reading a run does without

    rows, labels = task.rows("test"), task.labels_of("test")
    judged, likely = base.favourable(rows), base.probabilities(rows)
    at_once = max(1, PREDICTIONS_AT_ONCE // max(1, len(rows)))
    parts = []
    for first in range(0, max(1, len(stack)), at_once):
        some = stack.part(first, min(first + at_once, len(stack)))
        predictions = some.favourable(rows)
        difference = np.abs(some.probabilities(rows) - likely).mean(axis=1)
        known = ~np.isnan(difference)
        accuracy = [balanced_accuracy_score(labels, predicted) for predicted in predictions]
        part = {
            "hard_disagreement": np.where(known, (predictions != judged).mean(axis=1), np.nan),
            "probability_mae": difference,
            "balanced_accuracy": np.where(known, accuracy, np.nan),
        }
        parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True)
