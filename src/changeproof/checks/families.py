"""The contract of a family of change as checks on a small real task."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from sklearn.neighbors import KNeighborsClassifier

from changeproof.changes.bank import change_magnitudes, checked_variants, models_of
from changeproof.changes.family import NEEDS, BaseModel, Variant
from changeproof.checks.bench import Bench, Check, demand
from changeproof.errors import InputError
from changeproof.fingerprints.things import thing_fingerprint
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.learner import Learner, stacked
from changeproof.models.network import NetworkLearner
from changeproof.models.recipes import recipe_identity
from changeproof.networks.training import TrainingRecipe

MOST_TRAINED = 5


@dataclass(frozen=True, eq=False)
class FamilyBench(Bench):
    """A family and what it is tried on; every check begins with a new one like it."""

    learner: ClassVar[Learner] = NetworkLearner()

    @cached_property
    def described(self) -> Sequence[Variant]:
        """The variants against which others are held."""
        return self._variants()

    def _variants(self, seeds_on: int = 0) -> list[Variant]:
        base = BaseModel(self.base_seed + seeds_on, self.network)
        return checked_variants(self._fresh(), self.task, base, self.learner)

    def _asked(self) -> list[str]:
        return self._identities(self._variants())

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
            Check("needs", self.needs, "", judged=False),
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

    def repetition(self) -> str:
        """The second time as the first."""
        return self._same(self._asked(), "asked again")

    def a_change(self) -> str:
        """No variant is the base network, and no two are the same."""
        recipe = TrainingRecipe(initialisation_seed=self.base_seed)
        unchanged = {*self._identities([Variant("", 0, recipe)]), thing_fingerprint(self.network)}
        marks = self._identities(self.described)
        same = [position for position, mark in enumerate(marks) if mark in unchanged]
        demand(not same, f"variants {same} are the base network itself")
        twice = len(marks) - len(set(marks))
        demand(not twice, f"{twice} of {len(marks)} variants are the same as another one")
        return f"{len(marks)} different changes"

    def training(self) -> str:
        """The first variants can be trained, and predict something else."""
        few = self.described[:MOST_TRAINED]
        stack = stacked(models_of(few, self.task, self.learner))
        share = 100.0 * change_magnitudes(self.task, self.network, stack)["hard_disagreement"]
        return (
            f"{len(few)} made; they disagree with the base network on "
            f"{share.min():.1f} to {share.max():.1f} % of the test rows"
        )

    def needs(self) -> str:
        """What it uses of a model it says it needs: tried on one that offers little."""
        bare = EstimatorLearner(KNeighborsClassifier())
        family = self._fresh()
        if reason := family.left_out(bare, [self.task]):
            return f"left out where a model does not offer it: {reason}"
        (model,) = bare.train([TrainingRecipe(initialisation_seed=self.base_seed)], self.task)
        try:
            found = checked_variants(family, self.task, BaseModel(self.base_seed, model), bare)
        except InputError as error:
            return f"not said; on a model without parameters, weights or seeds: {error}. {_NEEDS}"
        return f"{len(found)} variants of a model without parameters, weights or seeds, too"

    def other_seeds(self) -> str:
        """Whether the changes of another base seed are others."""
        theirs = set(self._identities(self._variants(seeds_on=1)))
        common = len(theirs.intersection(self._identities(self.described)))
        return f"{common} of {len(self.described)} variants are the same for another base seed"

    def speed(self) -> str:
        """How long the description takes; training is not part of it."""
        started = time.perf_counter()
        self._variants()
        return f"{1e3 * (time.perf_counter() - started):.3g} ms to describe all variants"

    def _identities(self, variants: Sequence[Variant]) -> list[str]:
        """Return all that makes each variant what it is, hashed: a recipe or a finished model."""
        return [
            recipe_identity(
                (variant.learner or self.learner).normalised(
                    variant.change, variant.task or self.task
                ),
                task=variant.task,
            )
            if isinstance(variant.change, TrainingRecipe)
            else thing_fingerprint(variant.change)
            for variant in variants
        ]

    def _same(self, answers: Sequence[str], how: str) -> str:
        mine = self._identities(self.described)
        demand(len(answers) == len(mine), f"{len(mine)} variants, but {len(answers)} {how}")
        pairs = zip(mine, answers, strict=True)
        unlike = [i for i, (one, other) in enumerate(pairs) if one != other]
        demand(not unlike, f"{len(unlike)} of {len(mine)} variants differ {how}: {unlike[:5]}")
        return f"the same variants {how}"


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
_NEEDS = (
    "With needs it would be left out there, with the reason: an attribute, or "
    f"@family(..., needs=...), one or several of {', '.join(NEEDS)}"
)
