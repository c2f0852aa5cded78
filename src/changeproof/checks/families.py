"""The contract of a family of change as checks on a small real task."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from changeproof.changes.bank import checked_variants
from changeproof.changes.family import BaseModel, Family, Variant
from changeproof.changes.magnitude import change_magnitudes
from changeproof.checks.findings import Check, demand, state_of
from changeproof.datasets.task import Task
from changeproof.fingerprints.things import thing_fingerprint
from changeproof.models.learner import Learner, stacked
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingRecipe, recipe_identity
from changeproof.references import parsed
from changeproof.registry import NAME
from changeproof.workers.execution import execute
from changeproof.workers.parcels import Parcel, packed

MOST_TRAINED = 5


@dataclass(frozen=True, eq=False)
class FamilyBench:
    """A family and what it is tried on; every check begins with a new one like it."""

    family: Family
    task: Task
    base: BaseModel
    learner: Learner

    @cached_property
    def described(self) -> Sequence[Variant]:
        """The variants against which others are held."""
        return self._variants()

    def _variants(self, base: BaseModel | None = None) -> list[Variant]:
        again = type(self.family).named(self.family.name, self.family.given_settings())
        return checked_variants(again, self.task, base or self.base, self.learner)

    @property
    def network(self) -> Network:
        """The base network."""
        assert isinstance(self.base.model, Network)
        return self.base.model

    def checks(self) -> list[Check]:
        """Return all checks; each says how to mend what it finds."""
        return [
            Check("variants", self.variants, _VARIANTS),
            Check("name", self.name, _NAME),
            Check("repetition", self.repetition, _RANDOMNESS),
            Check("another process", self.process, _RANDOMNESS),
            Check("left alone", self.left_alone, _LEFT_ALONE),
            Check("a change at all", self.a_change, _CHANGE),
            Check("training", self.training, _VARIANTS),
            Check("other base networks", self.other_seeds, "", judged=False),
            Check("speed", self.speed, "", judged=False),
        ]

    def variants(self) -> str:
        """All of them fit to be trained, with a level and a replicate."""
        for position, variant in enumerate(self.described):
            fine = isinstance(variant.level, str) and isinstance(variant.replicate, int)
            demand(fine, f"variant {position}: level {variant.level!r}, {variant.replicate!r}")
        levels = {variant.level for variant in self.described}
        return f"{len(self.described)} variants at {len(levels)} levels"

    def name(self) -> str:
        """A name that plans can use."""
        name = parsed(self.family.name)[0]
        demand(NAME.fullmatch(name) or ":" in name, name)
        demand(self.family.summary, "no summary")
        return f"{name}: {self.family.summary}"

    def repetition(self) -> str:
        """The second time as the first."""
        again = self._variants()
        return self._same(identities(again), "asked again")

    def process(self) -> str:
        """In another process as in this one."""
        job = (packed(self.family.name, self.family), self.task, self.base, self.learner)
        (marks,) = execute(_identities_elsewhere, [job], workers=2)
        return self._same(marks, "in another process")

    def left_alone(self) -> str:
        """Nothing that it was given is changed, no global generator used."""
        before = state_of(self.task, self.network)
        self._variants()
        after = state_of(self.task, self.network)
        changed = [name for name, state in before.items() if after[name] != state]
        demand(not changed, f"changed: {', '.join(changed)}")
        return "inputs and global random generators are as they were"

    def a_change(self) -> str:
        """No variant is the base network, and no two are the same."""
        recipe = TrainingRecipe(initialisation_seed=self.base.seed)
        unchanged = {identity(recipe), identity(self.base.model)}
        marks = identities(self.described)
        same = [position for position, mark in enumerate(marks) if mark in unchanged]
        demand(not same, f"variants {same} are the base network itself")
        twice = len(marks) - len(set(marks))
        demand(not twice, f"{twice} of {len(marks)} variants are the same as another one")
        return f"{len(marks)} different changes"

    def training(self) -> str:
        """The first variants can be trained, and predict something else."""
        few = self.described[:MOST_TRAINED]
        recipes = [v.change for v in few if isinstance(v.change, TrainingRecipe)]
        finished = [v.change for v in few if not isinstance(v.change, TrainingRecipe)]
        trained = self.learner.train(recipes, self.task)
        stack = stacked([*finished, *(trained[place] for place in range(len(recipes)))])
        measured = change_magnitudes(self.task, self.network, stack)
        share = 100.0 * measured["hard_disagreement"]
        return (
            f"{len(few)} trained; they disagree with the base network on "
            f"{share.min():.1f} to {share.max():.1f} % of the test rows"
        )

    def other_seeds(self) -> str:
        """Whether the changes of another base seed are others."""
        other = BaseModel(self.base.seed + 1, self.base.model)
        theirs = set(identities(self._variants(other)))
        common = len(theirs.intersection(identities(self.described)))
        return f"{common} of {len(self.described)} variants are the same for another base seed"

    def speed(self) -> str:
        """How long the description takes; training is not part of it."""
        started = time.perf_counter()
        self._variants()
        return f"{1e3 * (time.perf_counter() - started):.3g} ms to describe all variants"

    def _same(self, marks: Sequence[str], how: str) -> str:
        mine = identities(self.described)
        demand(len(marks) == len(mine), f"{len(mine)} variants, but {len(marks)} {how}")
        unlike = [i for i, (one, other) in enumerate(zip(mine, marks, strict=True)) if one != other]
        demand(not unlike, f"{len(unlike)} of {len(mine)} variants differ {how}: {unlike[:5]}")
        return f"the same variants {how}"


def identities(variants: Sequence[Variant]) -> list[str]:
    """Return all that makes each variant what it is, hashed."""
    return [identity(variant.change) for variant in variants]


def identity(change: object) -> str:
    """Hash a recipe or a finished model."""
    if isinstance(change, TrainingRecipe):
        return recipe_identity(change)
    return thing_fingerprint(change)


def _identities_elsewhere(job: tuple[Parcel, Task, BaseModel, Learner]) -> list[str]:
    parcel, task, base, learner = job
    return identities(checked_variants(parcel.unpacked(), task, base, learner))


_VARIANTS = (
    "return TrainingRecipes, or Variants with a level (text), a replicate (a number) and a recipe; "
    "row_weights and labels cover the training rows, then the update pool"
)
_NAME = "name: lower-case letters, digits and hyphens; summary: one line for lists"
_RANDOMNESS = (
    "derive every seed from base.seed (np.random.default_rng(base.seed + 50_000 + replicate)), "
    "never from a global generator, and keep the order of the variants"
)
_LEFT_ALONE = "copy arrays before changing them; a family describes and trains nothing"
_CHANGE = "give every variant something of its own: a seed, weights, labels or settings"
