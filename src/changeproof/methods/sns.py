"""SNS (Black et al.): stable neighbours of a counterfactual."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from pydantic import PositiveFloat, PositiveInt

from changeproof.arithmetic.functions import sigmoids
from changeproof.feasible.wide_tables import affordable
from changeproof.methods.method import (
    Candidates,
    Columns,
    Cost,
    Factuals,
    Method,
    People,
    logits_of,
)
from changeproof.methods.shared.first_counterfactuals import (
    NONE_ACCEPTED,
    SEARCH_WARM_UP,
    Base,
    first_counterfactuals,
)
from changeproof.model import Access, DifferentiableModel, Floats, Integers
from changeproof.randomness import stream

# Radii that are tried where none is given, from small to large, and on how many people.
RADII = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
PEOPLE = 25
# How far from the counterfactual the search starts, per feature.
JITTER = 1e-3
NUMBERS_AT_ONCE = 2**19


@dataclass(kw_only=True, eq=False, repr=False)
class SNS(Method):
    """Near a counterfactual, climb to where the model is sure all the way from the mean person.

    The score of a point is the mean probability at `points` points on the line from the row of
    zeros to it, itself included. Gradient steps of one length raise it inside a ball around the
    counterfactual and inside the training range. The last point that the model accepts is the
    answer. A row is good enough if its score is no lower than that of the method's own proposal.

    The score depends on where zero is. The paper's features are scaled otherwise; here zero is the
    mean of the training rows. With the paper's step of 0.001 and its 100 steps the search would
    never come near the edge of its ball, and costs in its tables are larger than both. So a step is
    2 / `steps` of the radius, and the radius is chosen without any changed model: it is the
    smallest of 0.1 to 3 with which half of the answers to validation people score as high as half
    of the training rows that the model calls favourable, or the largest if none does.

    Parameters
    ----------
    radius
        How far from the counterfactual the answer may be (the paper's epsilon: 0.1 to 0.3), in
        standardised units; chosen by the rule above if none is given.
    steps
        How many gradient steps there are.
    points
        Points on the line from zero, fewer on wide tables.
    base
        What to start from: the nearest point that the model accepts ("nearest"), or "wachter".
    """

    name = "sns"
    label = "SNS"
    cost = Cost(per_person=0.001, feasible=0.01, own_model=0.02)
    warm_up = SEARCH_WARM_UP
    summary = "near a counterfactual, to where the model is sure all the way from the mean person"
    source = (
        "Black, Wang, Fredrikson and Datta, Consistent Counterfactuals for Deep Models, ICLR 2022 "
        "(https://arxiv.org/abs/2110.03109)"
    )
    needs = Access.GRADIENTS

    radius: PositiveFloat | None = None
    steps: PositiveInt = 100
    points: PositiveInt = 20
    base: Base = "nearest"

    def _prepare(self) -> None:
        points = affordable(self.points, self.context.task.n_features)
        self._shares = np.arange(1, points + 1) / points
        self.chosen_radius = self._choose() if self.radius is None else self.radius

    def _choose(self) -> float:
        """Return the smallest radius with which answers are as good as favourable people are."""
        task, model = self.context.task, self.context.model
        rows, row_ids = task.rows("validation"), task.row_ids("validation")
        adverse = np.flatnonzero(~model.favourable(rows))
        draw = stream(task.name, self.context.base_seed, "sns people")
        adverse = adverse[draw.permutation(len(adverse))[:PEOPLE]]
        people = Factuals(row_ids[adverse], rows[adverse])
        starts = first_counterfactuals(self.base, self.context, people)
        there = np.isfinite(starts).all(axis=1)
        train = task.rows("train")
        usual = self.scores(train[model.favourable(train)])
        if not there.any() or not len(usual):
            return RADII[-1]
        for radius in RADII:
            found = self._climb(starts[there], people.row_ids[there], radius)
            if np.median(self.scores(found)) >= np.median(usual):
                return radius
        return RADII[-1]

    def scores(self, rows: Floats) -> Floats:
        """Return the mean probability along the line from zero to each row."""
        logits, total = logits_of(self.context.model), np.zeros(len(rows))
        for some, line in self._lines(rows):
            for likely in sigmoids(logits(line)).reshape(len(self._shares), -1):
                total[some] += likely
        return total / len(self._shares)

    def _slopes(self, rows: Floats) -> Floats:
        """Return the derivatives of the scores by the features, times the number of points."""
        model, total = self.context.model, np.zeros_like(rows)
        assert isinstance(model, DifferentiableModel)
        for some, line in self._lines(rows):
            logits, gradients = model.logits_and_gradients(line)
            likely = sigmoids(logits).reshape(len(self._shares), -1)
            steep = self._shares[:, None] * likely * (1.0 - likely)
            by_point = gradients.reshape(len(self._shares), -1, rows.shape[1])
            # One after the other, so that the order of the sum does not depend on shapes.
            for each, gradient in zip(steep, by_point, strict=True):
                total[some] += each[:, None] * gradient
        return total

    def _lines(self, rows: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield some rows at a time, and the points on their lines, point after point."""
        at_once = max(1, NUMBERS_AT_ONCE // (len(self._shares) * rows.shape[1]))
        for first in range(0, len(rows), at_once):
            some = slice(first, first + at_once)
            yield some, (self._shares[:, None, None] * rows[some]).reshape(-1, rows.shape[1])

    def _search(self, factuals: Factuals) -> Candidates:
        rows = first_counterfactuals(self.base, self.context, factuals)
        there = np.flatnonzero(np.isfinite(rows).all(axis=1))
        before, after = np.full((2, len(rows)), np.nan)
        before[there] = self.scores(rows[there])
        rows[there] = self._climb(rows[there], factuals.row_ids[there], self.chosen_radius)
        after[there] = self.scores(rows[there])
        diagnostics = {
            "radius": np.full(len(rows), self.chosen_radius),
            "score": after,
            "score_before": before,
        }
        return Candidates(rows, [NONE_ACCEPTED] * len(rows), diagnostics)

    def _climb(self, starts: Floats, row_ids: Integers, radius: float) -> Floats:
        """Return the last accepted points on the ways up from counterfactuals."""
        model, task = self.context.model, self.context.task
        low, high = task.training_range
        streams = [
            stream(task.name, self.context.base_seed, "sns start", row_id)
            for row_id in row_ids.tolist()
        ]
        jitter = [each.standard_normal(starts.shape[1]) for each in streams]
        here, kept = starts + JITTER * np.reshape(jitter, starts.shape), starts.copy()
        for _ in range(self.steps):
            slopes = self._slopes(here)
            here = here + 2.0 * radius / self.steps * slopes / _lengths(slopes)
            away = here - starts
            here = np.clip(starts + away * np.minimum(radius / _lengths(away), 1.0), low, high)
            accepted = model.favourable(here)
            kept[accepted] = here[accepted]
        return kept

    def _score(self, rows: Floats, people: People) -> Floats:
        return self.scores(rows)

    def _measure(self, rows: Floats, people: People) -> Columns:
        return {"score": self.scores(rows)}


def _lengths(vectors: Floats) -> Floats:
    """Return Euclidean lengths [rows, 1]; 1 of vectors of zeros, which can be divided by it."""
    lengths = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    return np.where(lengths > 0.0, lengths, 1.0)
