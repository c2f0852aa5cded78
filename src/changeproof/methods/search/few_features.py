"""Searches one feature at a time, on tables with very many of them.

Such a search asks about every value of every feature in every round, of rows that have all columns:
what it takes grows with the cube of the number of features. On a wide table it looks at a few
features only, those that move the model most, and the others stay as people have them. Rows then
have the columns of these features, followed by what the others come to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from changeproof.arithmetic.compiling import compiled
from changeproof.datasets.actions import Actions
from changeproof.datasets.few_columns import LOOKED_AT, LOOKED_AT_COLUMNS, WIDE, part_of
from changeproof.datasets.task import Task
from changeproof.model import Access, Booleans, DifferentiableModel, Floats, Integers, Model
from changeproof.networks.flat import layer_sums
from changeproof.networks.network import Network

Judge = Callable[[Floats], Floats]

# How often such a search gives up all changes in turn, at most.
EXCHANGES = 2
# Rows in which every feature is changed in turn, to see which move the model most.
PROBED, PROBED_AT_ONCE = 16, 4_096


def focused(actions: Actions, model: Model, task: Task) -> Actions:
    """Return actions that look at few features, on a wide table; else as they are.

    Parameters
    ----------
    actions
        What may change.
    model
        Whom features move.
    task
        Whose training rows are looked at. In some that are adverse, every feature is given the
        value of a favourable one; those count that move the model most on average.
    """
    rows = task.rows("train")
    if rows.shape[1] <= WIDE or actions.looked_at is not None:
        return actions
    favourable = model.favourable(rows)
    some, others = rows[~favourable][:PROBED], rows[favourable][:PROBED]
    if not len(some) or not len(others):
        some, others = rows[:PROBED], rows[::-1][:PROBED]
    others = others[np.arange(len(some)) % len(others)]
    likes = logits_or_probabilities(model)
    before, moved = likes(some), np.zeros(len(actions.features))
    at_once = max(1, PROBED_AT_ONCE // len(some))
    for first in range(0, len(moved), at_once):
        features = actions.features[first : first + at_once]
        tried = np.repeat(some[None], len(features), axis=0)
        for place, feature in enumerate(features):
            columns = list(feature.columns)
            tried[place][:, columns] = others[:, columns]
        after = likes(tried.reshape(-1, rows.shape[1])).reshape(len(features), -1)
        moved[first : first + at_once] = np.abs(after - before).mean(axis=1)
    moved[~np.array(actions.changeable)] = -1.0
    most = np.argsort(-moved, kind="stable")
    most = most[moved[most] >= 0.0][:LOOKED_AT]
    widths = np.cumsum([len(actions.features[place].columns) for place in most])
    fitting = max(1, int((widths <= LOOKED_AT_COLUMNS).sum()))
    return actions.looking_at(np.sort(most[:fitting]))


def logits_or_probabilities(model: Model) -> Judge:
    """Return what says of rows how sure a model is, in the finest way that it has."""
    if isinstance(model, Network):
        return model.logits
    if isinstance(model, DifferentiableModel):
        return lambda rows: model.logits_and_gradients(rows)[0]
    return model.probabilities


class Split(NamedTuple):
    """What belongs to the columns that a search looks at, and to the others."""

    seen: Floats
    rest: Floats


class FewFeatures:
    """People, what may change about them and who judges, as a search of few features sees them.

    Where `actions` look at all features, everything is as it was given. Else a row has the columns
    of the features that are looked at. Behind them is, of a network, what the others add to every
    neuron of the first layer, and, last, whose row it is. These stay as they are.

    Parameters
    ----------
    actions, model, factuals
        What may change (see `focused`), who judges, and people [people, columns].

    Attributes
    ----------
    actions, model, people
        The same, for the search.
    sure
        Says of rows how sure the model is: a logit, or else a probability.
    """

    def __init__(self, actions: Actions, model: Model, factuals: Floats) -> None:
        self.actions, self.model, self.people = actions, model, factuals
        self.sure: Judge = logits_or_probabilities(model)
        self._factuals = factuals
        self._columns: Integers | None = None
        if actions.looked_at is None:
            return
        features = [actions.features[place] for place in actions.looked_at.tolist()]
        self._columns = np.array([column for f in features for column in f.columns])
        self._network = model if isinstance(model, Network) else None
        constants = 1
        if self._network is not None:
            narrow = _narrow(self._network, self._columns)
            constants = narrow.n_features - len(self._columns)
            self.model, self.sure = narrow, narrow.logits
        else:
            whole = self.sure
            self.model, self.sure = _Widened(model, self), lambda rows: whole(self.back(rows))
        self.actions = part_of(actions, actions.looked_at, constants)
        self.people = self.rows(factuals)

    @property
    def few(self) -> bool:
        """Whether not all features are looked at."""
        return self._columns is not None

    def exchanges(self, most: int) -> int:
        """Return how often a search gives up all changes in turn: most often, or less."""
        return min(most, EXCHANGES) if self.few else most

    def rows(self, rows: Floats, owners: Integers | None = None) -> Floats:
        """Return rows of people, as the search sees them; what is not looked at is put back.

        `owners` says by place whose rows they are; by default everybody has one.
        """
        if self._columns is None:
            return rows
        owners = np.arange(len(rows)) if owners is None else owners
        return self.seen(rows, owners, self._factuals[owners])

    def seen(self, rows: Floats, owners: Integers, others: Floats) -> Floats:
        """Return rows as the search sees them, with what is not looked at from other rows."""
        if self._columns is None:
            return rows
        parts = [rows[:, self._columns]]
        if self._network is not None:
            parts.append(_sums(self._network, others, self._columns))
        return np.concatenate([*parts, owners[:, None].astype(np.float64)], axis=1)

    def only(self, values: Floats) -> Floats:
        """Return values of every column [people, columns] as those of the search's columns.

        Of what is not looked at, 0.
        """
        if self._columns is None:
            return values
        chosen = np.zeros((len(values), self.people.shape[1]))
        chosen[:, : len(self._columns)] = values[:, self._columns]
        return chosen

    def split(self, values: Floats) -> Split:
        """Return values by column [columns, any] of what is looked at, and of the rest."""
        if self._columns is None:
            return Split(values, values[:0])
        return Split(values[self._columns], np.delete(values, self._columns, axis=0))

    def back(self, rows: Floats) -> Floats:
        """Return rows of the search as they are; NaN rows stay NaN."""
        if self._columns is None:
            return rows
        whole = np.full((len(rows), self._factuals.shape[1]), np.nan)
        there = np.isfinite(rows).all(axis=1)
        whole[there] = self._factuals[rows[there, -1].astype(np.int64)]
        whole[np.ix_(there, self._columns)] = rows[there, : len(self._columns)]
        return whole


class _Widened:
    """A model that is asked about rows of a search."""

    offers = Access.PREDICTIONS

    def __init__(self, model: Model, few: FewFeatures) -> None:
        self._whole, self._few = model, few

    def probabilities(self, rows: Floats) -> Floats:
        return self._whole.probabilities(self._few.back(rows))

    def favourable(self, rows: Floats) -> Booleans:
        return self._whole.favourable(self._few.back(rows))


def _narrow(network: Network, columns: Integers) -> Network:
    """Return the network of few columns, of what the others add, and of one that adds nothing."""
    first = network.weights[0]
    added = np.eye(len(first), dtype=np.float32)
    nothing = np.zeros((len(first), 1), dtype=np.float32)
    weights = np.concatenate([first[:, columns], added, nothing], axis=1)
    return Network((weights, *network.weights[1:]), (nothing[:, 0], *network.biases[1:]))


def _sums(network: Network, rows: Floats, columns: Integers) -> Floats:
    """Return what bias and all other columns come to in every neuron of the first layer."""
    others = np.array(rows, dtype=np.float64)
    others[:, columns] = 0.0
    return first_sums(network, others)


def first_sums(network: Network, rows: Floats) -> Floats:
    """Return the pre-activations of the first layer [rows, neurons]."""
    sums = np.empty((len(rows), len(network.biases[0])))
    _fill_sums(network.flat, np.ascontiguousarray(rows), sums)
    return sums


@compiled
def _fill_sums(network: Any, rows: Any, sums: Any) -> None:
    values = np.empty(network.layers[-1, 3] + 1)
    for i in range(len(rows)):
        layer_sums(network.turned, network.layers, 0, rows[i], values)
        sums[i] = values[: sums.shape[1]]
