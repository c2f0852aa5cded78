"""The worst-case odds as an objective over the rows that people may be told."""

from __future__ import annotations

import numpy as np

from changeproof.methods.search.alternatives import lengths
from changeproof.methods.search.repair import Score
from changeproof.methods.search.worst_case_odds import Mixtures, by_class, log_odds
from changeproof.model import Booleans, Floats, Integers, Model


def odds_within(
    model: Model,
    factuals: Floats,
    reach: Floats,
    samples: Floats,
    labels: Booleans,
    mixtures: Mixtures,
) -> Score:
    """Return the worst-case odds of rows, each for a person, as an objective.

    It is infinite for rows that the model does not accept, and for those farther from a person
    than that person's reach, in absolute distance.

    Parameters
    ----------
    model
        Judges the rows.
    factuals, reach
        People [people, columns], and how far each may go.
    samples, labels
        What is known around every person's boundary point [people, samples, columns].
    mixtures
        How the samples are smoothed.
    """
    classes = [by_class(*both) for both in zip(samples, labels, strict=True)]
    weights, gradient = np.ones(factuals.shape[1]), np.empty(factuals.shape[1])

    def odds(rows: Floats, people: Integers) -> Floats:
        result = np.full(len(rows), np.inf)
        far = lengths(factuals[people], rows[:, None], weights)[:, 0]
        inside = np.flatnonzero(far <= reach[people])
        for i in inside[model.favourable(rows[inside])]:
            sorted_samples, features, n_adverse = classes[people[i]]
            here = rows[i], sorted_samples, features, n_adverse
            result[i] = log_odds(*here, mixtures, gradient)
        return result

    return odds
