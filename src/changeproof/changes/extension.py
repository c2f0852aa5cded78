"""People's own families of change: from a class, or from a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeVar, overload

import numpy as np
import numpy.typing as npt

from changeproof.changes import REGISTRY
from changeproof.changes.family import BaseModel, Family, Variant
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingRecipe
from changeproof.registry import class_from, described

Function = Callable[[Task, BaseModel], Iterable[TrainingRecipe | Variant]]
Class = TypeVar("Class", bound=type[Family])
LEVEL = "all"


class FunctionFamily(Family):
    """A family that is a function of the task and the base model."""

    function: ClassVar[Function]

    def variants(self, task: Task, base: BaseModel) -> Sequence[Variant]:
        """Return the function's variants; recipes become replicates of a single level."""
        given = listed(type(self).function(task, base), self.name)
        return [
            Variant(LEVEL, number, item) if isinstance(item, TrainingRecipe) else item
            for number, item in enumerate(given)
        ]


class CheckedFamily(Family):
    """People's family under the name by which it was asked for; checks what it describes."""

    author: ClassVar[type[Family]]

    def variants(self, task: Task, base: BaseModel) -> Sequence[Variant]:
        """Return the family's variants, all of them fit to be trained."""
        variants = listed(self.author().variants(task, base), self.name)
        for position, variant in enumerate(variants):
            if reason := reason_against(variant, task):
                raise InputError(f"family {self.name!r}: variant {position} {reason}")
        return variants


def family(name: str, *, summary: str | None = None) -> Callable[[Function], type[Family]]:
    """Turn a function into a family of that name, and register it.

    The function is given the `Task` and the `BaseModel` (its seed and network), and returns
    `TrainingRecipe`s, or `Variant`s where there are levels to tell apart. It trains nothing.

    Parameters
    ----------
    name
        Lower-case letters, digits and hyphens.
    summary
        One line for lists; the first line of the function's docstring by default.

    Examples
    --------
    >>> @changeproof.family("wider")
    ... def wider(task, base):
    ...     return [TrainingRecipe(initialisation_seed=base.seed, hidden=(w,)) for w in (64, 128)]
    """

    def decorate(function: Function) -> type[Family]:
        made = function_family(function, name, summary=summary)
        REGISTRY.register(made, name)
        return made

    return decorate


@overload
def register_family(thing: Class, *, name: str | None = None) -> Class: ...
@overload
def register_family(thing: Function, *, name: str | None = None) -> type[Family]: ...
@overload
def register_family(thing: None = None, *, name: str | None = None) -> Callable[[Class], Class]: ...
def register_family(thing: Any = None, *, name: str | None = None) -> Any:
    """Give a family a name that plans can use; also as a decorator of a class.

    Parameters
    ----------
    thing
        A subclass of `Family`, or a function of (task, base).
    name
        Lower-case letters, digits and hyphens; the class's own `name` by default, or that of
        the function with hyphens for underscores.

    Returns
    -------
    The class.
    """
    if thing is None:
        return lambda decorated: register_family(decorated, name=name)
    return REGISTRY.enter(thing, name, function_family)


def function_family(function: Function, name: str, *, summary: str | None = None) -> type[Family]:
    """Return the family class of a function."""
    label, contents = f"family {name!r}", {"name": name, "summary": summary}
    return class_from(function, FunctionFamily, label, "task, base", **contents)


def as_family(found: Any, reference: str) -> type[Family]:
    """Return what a reference leads to as a family class, or say why it cannot be one."""
    if inspect.isfunction(found):
        found = function_family(found, reference)
    if not (isinstance(found, type) and issubclass(found, Family)):
        raise InputError(
            f"family {reference!r} is {described(found)}; expected a subclass of "
            "changeproof.Family or a function of (task, base)"
        )
    if missing := sorted(found.__abstractmethods__):
        raise InputError(f"family {reference!r} does not define {', '.join(missing)}")
    if not isinstance(getattr(found, "summary", None), str):
        raise InputError(f"family {reference!r}: {found.__name__} sets no 'summary'")
    try:
        found()
    except Exception as error:
        raise InputError(
            f"family {reference!r}: {found.__name__}() failed with {type(error).__name__}: "
            f"{error}; every setting needs a default"
        ) from error
    contents = {
        "__doc__": found.__doc__,
        "__module__": found.__module__,
        "name": reference,
        "summary": found.summary,
        "author": found,
    }
    return type(found.__name__, (CheckedFamily,), contents)


def listed(given: Any, name: str) -> list[Any]:
    """Return what a family described as a list that is not empty."""
    if not isinstance(given, Iterable):
        raise InputError(
            f"family {name!r} returned {described(given)}; expected a list of variants"
        )
    variants = list(given)
    if not variants:
        raise InputError(f"family {name!r} describes no changed model for this task")
    return variants


def reason_against(variant: Any, task: Task) -> str | None:
    """Return why a variant cannot be made, or None if it can."""
    if not isinstance(variant, Variant):
        return f"is {described(variant)}; expected a Variant"
    change = variant.change
    if isinstance(change, Network):
        expected, given = task.n_features, change.n_features
        return None if given == expected else f"takes {given} features; expected {expected}"
    if not isinstance(change, TrainingRecipe):
        return f"changes to {described(change)}; expected a TrainingRecipe or a Network"
    rows = len(task.split.train) + len(task.split.update)
    for name, values in (("row_weights", change.row_weights), ("labels", change.labels)):
        if values is not None and (reason := _bad_values(name, values, rows)):
            return reason
    return None


def _bad_values(name: str, values: npt.ArrayLike, rows: int) -> str | None:
    array = np.asarray(values)
    if array.shape != (rows,):
        return (
            f"has {name} of shape {array.shape}; expected ({rows},): the training rows, then the "
            "update pool"
        )
    if name == "labels":
        return None if np.isin(array, (0, 1)).all() else "has labels other than 0 and 1"
    fine = np.isfinite(array).all() and (array >= 0).all() and (array > 0).any()
    return None if fine else f"has {name} that are not finite, negative or all zero"
