"""The worst-case odds as an objective over the rows that people may be told."""

from __future__ import annotations

import numpy as np

from changeproof.methods.search.alternatives import lengths
from changeproof.methods.search.few_features import FewFeatures
from changeproof.methods.search.repair import Score
from changeproof.methods.search.worst_case_odds import Mixtures, by_class, log_odds_beyond
from changeproof.model import Booleans, Floats, Integers


def odds_within(
    few: FewFeatures,
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
    few
        The search whose rows are scored, and who judges them.
    factuals, reach
        People [people, columns], and how far each may go.
    samples, labels
        What is known around every person's boundary point [people, samples, columns].
    mixtures
        How the samples are smoothed.
    """
    classes = []
    for own, *both in zip(factuals, samples, labels, strict=True):
        _, features, n_adverse = by_class(*both)
        part, others = few.split(features), few.split(own[:, None])
        beyond = np.square(others.rest - part.rest).sum(axis=0)
        classes.append((np.ascontiguousarray(part.seen), n_adverse, beyond))
    weights, n_features = np.ones(few.people.shape[1]), factuals.shape[1]

    def odds(rows: Floats, people: Integers) -> Floats:
        result = np.full(len(rows), np.inf)
        far = lengths(few.people[people], rows[:, None], weights)[:, 0]
        inside = np.flatnonzero(far <= reach[people])
        for i in inside[few.model.favourable(rows[inside])]:
            features, n_adverse, beyond = classes[people[i]]
            result[i] = log_odds_beyond(rows[i], features, n_adverse, mixtures, n_features, beyond)
        return result

    return odds
