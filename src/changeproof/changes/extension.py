"""People's own families: from a class, or from a function with the decorator `family`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from changeproof.changes import REGISTRY
from changeproof.changes.family import BaseModel, Family, checked_needs
from changeproof.datasets.task import Task
from changeproof.models.learner import Learner
from changeproof.plugins import PluginKind


class FunctionFamily(Family):
    """A family that is a function of the task, the base model and, optionally, the learner."""

    function: ClassVar[Callable[..., Any]]
    taken: ClassVar[int]

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> Any:
        return type(self).function(*(task, base, learner)[: self.taken])


def family(
    name: str,
    *,
    summary: str | None = None,
    needs: str | Sequence[str] = (),
    trains: bool = True,
) -> Callable[[Callable[..., Any]], type[Family]]:
    """Turn a function into a family of that name, and register it.

    The function is given the `Task`, the `BaseModel` (its seed and the model) and, if it takes a
    third argument, the `Learner`. It returns `TrainingRecipe`s, or `Variant`s where there are
    levels to tell apart. It trains nothing.

    Parameters
    ----------
    name
        Lower-case letters, digits and hyphens.
    summary
        One line for lists; the first line of the function's docstring by default.
    needs
        What the function uses of the learner, by name: "parameters", "weights", "seeds",
        "soft-labels", "row-weights", or fields of a recipe that it sets, such as "hidden". The
        family is left out where a model does not offer it.
    trains
        Whether changed models are trained. If the function returns finished models, say no: it
        then fits models that cannot be trained again.

    Examples
    --------
    >>> @cp.family("wider", needs="hidden")
    ... def wider(task, base):
    ...     widths = (64, 128)
    ...     return [cp.TrainingRecipe(initialisation_seed=base.seed, hidden=(w,)) for w in widths]
    """
    contents = {"summary": summary, "needs": needs, "trains": trains}
    return lambda function: REGISTRY.register(KIND.from_function(function, name, **contents), name)


register_family = REGISTRY.register
KIND = PluginKind(
    Family, FunctionFamily, "task, base, learner", lambda family: checked_needs(family.needs)
)
