"""What a method says of itself beside its search: what it costs, compiles and promises."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

# What a promise can be about, other than one family by name.
PARAMETERS, EVERY_FAMILY = "parameter-perturbation", "all"


class Cost(NamedTuple):
    """Rough seconds, for progress bars and for starting long work first.

    Parameters
    ----------
    per_person
        What an answer takes as published, on a network of ours.
    feasible
        The same where people are told only what they can do.
    own_model
        The same on a model that is not ours.
    tuning
        What tuning takes where people are told only what they can do.
    models
        How many models the method trains for itself.
    """

    per_person: float = 0.01
    feasible: float = 0.01
    own_model: float = 0.01
    tuning: float = 1.0
    models: int = 0


class WarmUp(NamedTuple):
    """That a method has kernels of its own, which are compiled before the work starts.

    Parameters
    ----------
    seconds
        How long that takes, roughly: what takes longest is begun first.
    settings
        With which the method does not do more than it has to for it.
    """

    seconds: float = 1.0
    settings: Mapping[str, Any] = MappingProxyType({})


class Promise(NamedTuple):
    """What a method promises of a certified counterfactual.

    Parameters
    ----------
    words
        What it promises, after "A certified counterfactual"; filled with the method's settings and
        with level, sure and unsure in percent.
    ground
        The family of change that the promise is about, or all of them. Of moved parameters only
        those count that are within the method's radius: its setting, or else its diagnostic.
    always
        Whether the method answers with nothing else.
    """

    words: str
    ground: str | None = None
    always: bool = False
