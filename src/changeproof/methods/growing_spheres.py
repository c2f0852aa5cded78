"""Growing Spheres (Laugel et al.): the closest accepted point drawn around a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from changeproof.arithmetic.functions import exponentials, log, logarithms
from changeproof.feasible.wide_tables import affordable
from changeproof.methods.answers import BUDGET
from changeproof.methods.method import Candidates, Columns, Cost, Factuals, Method, People, WarmUp
from changeproof.methods.shared import growing_spheres as shared
from changeproof.model import Booleans, Floats, Model
from changeproof.randomness import stream

# After so many a ball is too small to matter.
MOST_SHRINKS = 20


@dataclass(frozen=True)
class Rings(shared.GrowingSpheres):
    """Shells whose points are uniform by volume, as published."""

    def _moves(self, shell: int, n_features: int, *address: str | int) -> Floats:
        generator = stream(*address, "ring", shell)
        samples = affordable(self.samples, n_features)
        directions = generator.standard_normal((samples, n_features))
        # The share of the ball around the centre that is not drawn from.
        hole = exponentials(np.array([n_features * log(shell / (shell + 1.0))]))[0]
        shares = 1.0 - (1.0 - hole) * generator.random(samples)
        radii = self.step * (shell + 1) * exponentials(logarithms(shares) / n_features)
        return np.asarray(directions * (radii / self.lengths(directions))[:, None])


@dataclass(kw_only=True, eq=False, repr=False)
class GrowingSpheres(Method):
    """Draw points in a ball and then in rings around a person until the model accepts one.

    First the ball shrinks until the model accepts none of its points. Then rings grow from it, each
    as wide as the ball. Of the first ring with accepted points, the closest (Euclidean) is taken,
    and features are put back one after the other, the smallest change first, wherever the model
    still accepts. A row is good enough if the base model accepts it.

    The paper leaves the number of draws open and the first radius, for which its authors' code
    takes 2,000 and 0.1. It halves the ball; the code divides its radius by ten (`shrink` 10) and
    then takes rings of 0.18 of it (`ring` 0.18). It ends its last step at the first feature that
    has to stay; the code, as here, goes on with the others. Where it draws for every person anew,
    draws here serve all people, so that no answer depends on who else asks.

    Parameters
    ----------
    samples
        Points that are drawn in a ball or ring.
    first_radius
        Radius of the first ball.
    shrink
        By how much a ball's radius is divided while the model accepts some of its points.
    ring
        How wide rings are, in radii of the last ball.
    max_rings
        Rings that are looked at.
    sparse
        Whether features are put back.
    """

    name = "growing-spheres"
    label = "Growing spheres"
    cost = Cost(per_person=0.02, feasible=0.03, own_model=0.4)
    warm_up = WarmUp(seconds=3)
    summary = "the closest accepted point drawn around the person, with few changes"
    source = (
        "Laugel, Lesot, Marsala, Renard, Detyniecki: Inverse Classification for Comparison-based "
        "Interpretability in Machine Learning, 2017 (https://arxiv.org/abs/1712.08443)"
    )

    samples: Annotated[int, Field(ge=1)] = 2_000
    first_radius: Annotated[float, Field(gt=0)] = 0.1
    shrink: Annotated[float, Field(gt=1)] = 2.0
    ring: Annotated[float, Field(gt=0, le=1)] = 1.0
    max_rings: Annotated[int, Field(ge=1)] = 1_000
    sparse: bool = True

    def _prepare(self) -> None:
        radii = [self.first_radius / self.shrink**times for times in range(MOST_SHRINKS)]
        self._balls = [Rings(self.samples, radius, 1, norm=2) for radius in radii]
        self._rings = [
            Rings(self.samples, self.ring * radius, self.max_rings, norm=2) for radius in radii
        ]

    def _search(self, factuals: Factuals) -> Candidates:
        n, model = len(factuals), self.context.model
        rows, rings = np.full_like(factuals.rows, np.nan), np.zeros(n, dtype=np.int64)
        balls = np.zeros(n, dtype=np.int64)
        waiting = np.arange(n)
        for number, (ball, growing) in enumerate(zip(self._balls, self._rings, strict=True)):
            address = self.context.task.name, self.context.base_seed, "growing spheres", number
            people, given = factuals.rows[waiting], (model.favourable, *address)
            inside = ball.search(people, *given, model=model).points
            # The last of them stays if there is no empty ball.
            rows[waiting], balls[waiting] = inside, number + 1
            empty = np.isnan(inside).any(axis=1)
            found = growing.search(people[empty], *given, model=model)
            rows[waiting[empty]], rings[waiting[empty]] = found
            waiting = waiting[~empty]
            if not len(waiting):
                break
        there = np.flatnonzero(np.isfinite(rows).all(axis=1))
        if self.sparse:
            rows[there] = self._without_small_changes(factuals.rows[there], rows[there])
        reasons = np.where(np.isfinite(rows).all(axis=1), "", BUDGET)
        return Candidates(rows, reasons.tolist(), {"balls": balls, "rings": rings})

    def _without_small_changes(self, factuals: Floats, rows: Floats) -> Floats:
        """Put features back, the smallest change first, where the model still accepts."""
        result = rows.copy()
        order = np.argsort(np.abs(rows - factuals), axis=1, kind="stable")
        for features in order.T:
            each = np.arange(len(rows))
            tried = result.copy()
            tried[each, features] = factuals[each, features]
            # Nobody is put back as a whole: the base model rejects the person's own row.
            accepted = self.context.model.favourable(tried)
            result[accepted] = tried[accepted]
        return result

    def _accepts(self, rows: Floats, people: People) -> Booleans:
        return np.ones(len(rows), dtype=np.bool_)

    def _deciding_models(self) -> Sequence[Model]:
        return (self.context.model,)

    def _measure(self, rows: Floats, people: People) -> Columns:
        return {"l2_distance": np.sqrt(((rows - people.factuals) ** 2).sum(axis=1))}
