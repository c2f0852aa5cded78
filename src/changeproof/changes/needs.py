"""What families may need of a kind of model, by the names that authors use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from changeproof.errors import described, unknown
from changeproof.models.learner import EVERY_FIELD, Learner
from changeproof.models.traits import Traits

# What is needed, whether a kind of model has it, and the words for it.
_OFFERED: dict[str, tuple[Callable[[Learner], bool], str]] = {
    "parameters": (
        lambda learner: learner.traits.has_parameters,
        "a network's parameters, ours or a PyTorch module's, for which its radii are made",
    ),
    "weights": (
        lambda learner: learner.traits.has_weights,
        "weights, as networks and linear models have",
    ),
    "seeds": (lambda learner: learner.traits.has_seeds, "a seed"),
    "soft-labels": (lambda learner: learner.traits.soft_labels, "labels between 0 and 1"),
    "row-weights": (lambda learner: learner.traits.weighs_rows, "row weights of any size"),
    "start": (
        lambda learner: "start" in learner.traits.follows,
        "training that goes on from a model, as networks and PyTorch modules have",
    ),
}
# Fields of a recipe may be needed that not every learner follows.
NEEDS = (*_OFFERED, *sorted(EVERY_FIELD - set(_OFFERED) - Traits().follows))


def checked_needs(needs: Any) -> tuple[str, ...]:
    """Return needs, one name or several, or say what can be needed."""
    given = (needs,) if isinstance(needs, str) else needs
    names = given if isinstance(given, Sequence) else (described(given),)
    for name in names:
        if name not in NEEDS:
            raise unknown("need of a family", str(name), NEEDS)
    return tuple(names)


def unmet(needs: Sequence[str], learner: Learner) -> str:
    """Return which need a kind of model does not meet, in words; "" if it meets all."""
    for name in needs:
        if name not in _OFFERED:
            if name not in learner.traits.follows:
                return f"needs training that follows {name!r} of a recipe; this is {learner.name}"
            continue
        offered, words = _OFFERED[name]
        if not offered(learner):
            if name == "seeds":
                return f"needs {words}: {learner.name} is the same whatever its seed"
            return f"needs {words}; this is {learner.name}"
    return ""
