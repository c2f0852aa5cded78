"""Models for the contract tests that offer what a method needs.

A network offers most. Where a method needs more, a kind of model that offers it stands in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from changeproof import Context, Network
from changeproof.checks.methods import LinearNetwork, NoVotes
from changeproof.model import Access
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.private import PrivateLearner
from changeproof.networks.training import TrainingRecipe


class Offered(NamedTuple):
    """A context whose model is trained, and a model of the kind that never says yes."""

    context: Context
    never: Any


def network(context: Context) -> Offered:
    """Offer the network that there is."""
    some = Network.initialised(context.task.n_features, (4,), 0)
    return Offered(context, _never(some))


def linear(context: Context) -> Offered:
    """Offer a logistic regression."""
    task, learner = context.task, EstimatorLearner(LogisticRegression())
    model = learner.train([TrainingRecipe(initialisation_seed=context.base_seed)], task)[0]
    found = replace(context, model=model, learner=PrivateLearner(learner))
    return Offered(found, _never(LinearNetwork.of(Network.initialised(task.n_features, (), 0))))


def votes(context: Context) -> Offered:
    """Offer a random forest."""
    task, learner = context.task, EstimatorLearner(RandomForestClassifier(25, max_depth=6))
    recipe = TrainingRecipe(initialisation_seed=context.base_seed)
    found = replace(context, model=learner.train([recipe], task)[0])
    return Offered(replace(found, learner=PrivateLearner(learner)), NoVotes())


# What a model may have to offer that networks do not, and who offers it.
KINDS: dict[Access, Callable[[Context], Offered]] = {Access.LINEAR: linear, Access.VOTES: votes}


def offering(needs: Access, context: Context) -> Offered:
    """Return a context like the given one whose model offers what is needed."""
    for access, kind in KINDS.items():
        if access in needs:
            return kind(context)
    return network(context)


def _never(some: Network) -> Network:
    weights = [np.zeros_like(each) for each in some.weights]
    *biases, last = (np.zeros_like(each) for each in some.biases)
    return replace(some, weights=tuple(weights), biases=(*biases, last - 100))
