"""Growing spheres among the rows that people may be told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from changeproof.certificates.reach import adverse_radii
from changeproof.datasets.actions import Actions
from changeproof.methods.search.few_features import FewFeatures
from changeproof.methods.search.growing_spheres import Accept, GrowingSpheres, Spheres
from changeproof.methods.search.undoing import shortest
from changeproof.model import Booleans, Floats, Integers, Model
from changeproof.networks.network import Network
from changeproof.randomness import stream

ROWS_AT_ONCE = 16_384
# So many of the first shell with accepted rows are shortened, to see which ends nearest.
CLOSEST = 8


def search_spheres(
    spheres: GrowingSpheres,
    actions: Actions | None,
    factuals: Floats,
    centres: Floats,
    accept: Accept,
    *address: str | int,
    model: Model,
) -> Spheres:
    """Search for what people may be told, or for any point at all where there are no actions.

    What `model` calls adverse must not be accepted.
    """
    if actions is None:
        return spheres.search(centres, accept, *address, model=model)
    few = FewFeatures(actions, model, factuals)
    realisable = RealisableSpheres(like=spheres, actions=few.actions)
    if not few.few:
        return realisable.search(factuals, centres, accept, *address, model=model)

    def accepted(rows: Floats) -> Booleans:
        found = few.model.favourable(rows)
        found[found] = accept(few.back(rows[found]))
        return found

    found = realisable.search(few.people, few.rows(centres), accepted, *address, model=few.model)
    return found._replace(points=few.back(found.points))


@dataclass(frozen=True, kw_only=True)
class RealisableSpheres:
    """Growing spheres whose points are realisable rows; what need not change that much does not.

    Shell k holds rows that differ from the centre by about k to k + 1 steps, in a few features
    each. The draws of a shell have one address and serve everybody in the batch.

    Parameters
    ----------
    like
        How many points, which norm, how wide a shell and how many shells. Its range is not
        needed: realisable rows have their own.
    actions
        What people may be told.
    """

    like: GrowingSpheres
    actions: Actions

    def search(
        self,
        factuals: Floats,
        centres: Floats,
        accept: Accept,
        *address: str | int,
        model: Model | None = None,
    ) -> Spheres:
        """Return for everybody an accepted row from the first shell that has one.

        The closest of that shell are shortened towards what the person has, as long as they stay
        accepted; the one that ends nearest, in the distance of the task, is returned.
        Rows that are adverse under `model`, if one is given, must not be accepted: where it is a
        network, shells in which it is proven to be adverse are left out.
        """
        several = np.full((len(centres), CLOSEST, centres.shape[1]), np.nan)
        shells = np.zeros(len(centres), dtype=np.int64)
        if isinstance(model, Network):
            radii = adverse_radii(
                model, centres, self.like.norm, self.like.step * self.like.max_shells
            )
            shells = np.floor(radii / self.like.step).astype(np.int64)
        last = np.minimum(self.like.max_shells, self._last_shells(factuals, centres))
        searching = np.flatnonzero(shells < last)
        at_once = max(1, ROWS_AT_ONCE // self.like.samples)
        while len(searching):
            shell = int(shells[searching].min())
            here = searching[shells[searching] == shell]
            for first in range(0, len(here), at_once):
                who = here[first : first + at_once]
                found = self._closest(shell, factuals[who], centres[who], accept, *address)
                several[who, : found.shape[1]] = found
            shells[here] += 1
            left = np.isnan(several[searching, 0, 0]) & (shells[searching] < last[searching])
            searching = searching[left]
        points = shortest(self.actions, factuals, several, lambda rows, _: accept(rows))
        return Spheres(points, np.minimum(shells, self.like.max_shells))

    def _last_shells(self, factuals: Floats, centres: Floats) -> Integers:
        """Return the first shell of everybody that is wholly beyond what they may be told."""
        low, high = self.actions.bounds(factuals)
        farthest = np.maximum(high - centres, centres - low)
        for feature in self.actions.features:
            if feature.kind == "categorical":
                # One category goes and another comes: two columns change.
                columns = list(feature.columns)
                others = np.argsort(farthest[:, columns], axis=1, kind="stable")[:, :-2]
                np.put_along_axis(farthest, np.asarray(columns)[others], 0.0, axis=1)
        return np.asarray(np.ceil(self.like.lengths(farthest) / self.like.step).astype(np.int64))

    def _closest(
        self, shell: int, factuals: Floats, centres: Floats, accept: Accept, *address: str | int
    ) -> Floats:
        """Return each person's closest accepted rows of a shell; NaN where there are fewer."""
        generator = stream(*address, "shell", shell)
        radii = self.like.step * (shell + generator.random(self.like.samples))
        rows = self.actions.sample(factuals, centres, radii, generator, self.like.norm)
        changed = (rows != centres[:, None]).any(axis=2)
        accepted = np.zeros(changed.shape, dtype=np.bool_)
        if changed.any():
            accepted[changed] = accept(rows[changed])
        lengths = np.full(changed.shape, np.inf)
        lengths[accepted] = self.like.lengths((rows - centres[:, None])[accepted])
        # Ties go to the first that was drawn.
        order = np.argsort(lengths, axis=1, kind="stable")[:, :CLOSEST, None]
        closest = np.take_along_axis(rows, order, axis=1)
        hit = np.take_along_axis(accepted[:, :, None], order, axis=1)
        return np.where(hit, closest, np.nan)
