"""The contract of a family of change as checks on a small real task."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

from sklearn.neighbors import KNeighborsClassifier

from changeproof import changes
from changeproof.changes.bank import change_magnitudes, checked_variants, models_of
from changeproof.changes.family import NEEDS, BaseModel, Family, Variant
from changeproof.checks.bench import BASE_SEED, Bench, Check, Finding, require, task_and_network
from changeproof.errors import InputError
from changeproof.fingerprints.things import thing_fingerprint
from changeproof.models.estimator import EstimatorLearner
from changeproof.models.learner import Learner, stacked
from changeproof.models.network import NetworkLearner
from changeproof.models.recipes import recipe_identity
from changeproof.networks.training import TrainingRecipe

MOST_TRAINED = 5


def check_family(family: type[Family] | str | Any) -> list[Finding]:
    """Try a family of change on a small real task and say where it keeps to the contract.

    Parameters
    ----------
    family
        A subclass of `Family`, an object of one, a function of (task, base), a name or an import
        path, with settings or without.

    Returns
    -------
    list of Finding
        As for `check_method`.
    """
    return FamilyBench(changes.REGISTRY.of(family), *task_and_network()).findings()


class FamilyBench(Bench):
    learner: ClassVar[Learner] = NetworkLearner()

    @cached_property
    def described(self) -> Sequence[Variant]:
        """The variants that others are compared with."""
        return self._variants()

    def _variants(self, base_seed: int = BASE_SEED) -> list[Variant]:
        base = BaseModel(base_seed, self.network)
        return checked_variants(self._fresh(), self.task, base, self.learner)

    def _result(self) -> list[str]:
        return self._identities(self._variants())

    def checks(self) -> list[Check]:
        return [
            Check("variants", self.variants, _VARIANTS),
            Check("name", self.name, _NAME),
            Check("repetition", self.repetition, _RANDOMNESS),
            Check("another process", self.another_process, _RANDOMNESS),
            Check("no side effects", self.side_effects, _SIDE_EFFECTS),
            Check("different changes", self.different_changes, _CHANGE),
            Check("training", self.training, _VARIANTS),
            Check("needs", self.needs),
            Check("other base networks", self.other_seeds),
            Check("speed", self.speed),
        ]

    def variants(self) -> str:
        """All of them can be trained, with a level and a replicate."""
        for position, variant in enumerate(self.described):
            fine = isinstance(variant.level, str) and isinstance(variant.replicate, int)
            require(fine, f"variant {position}: level {variant.level!r}, {variant.replicate!r}")
        levels = {variant.level for variant in self.described}
        return f"{len(self.described)} variants at {len(levels)} levels"

    def repetition(self) -> str:
        return self._same(self._result(), "when asked again")

    def different_changes(self) -> str:
        """No variant is the base network, and no two are the same."""
        recipe = TrainingRecipe(initialisation_seed=BASE_SEED)
        unchanged = {*self._identities([Variant("", 0, recipe)]), thing_fingerprint(self.network)}
        identities = self._identities(self.described)
        same = [position for position, each in enumerate(identities) if each in unchanged]
        require(not same, f"variants {same} are the base network itself")
        twice = len(identities) - len(set(identities))
        require(not twice, f"{twice} of {len(identities)} variants are the same as another one")
        return f"{len(identities)} different changes"

    def training(self) -> str:
        """The first variants can be trained; how much they change is shown."""
        few = self.described[:MOST_TRAINED]
        stack = stacked(models_of(few, self.task, self.learner))
        share = 100.0 * change_magnitudes(self.task, self.network, stack)["hard_disagreement"]
        return (
            f"{len(few)} trained; they disagree with the base network on "
            f"{share.min():.1f} to {share.max():.1f} % of the test rows"
        )

    def needs(self) -> str:
        """Whether it says what it needs of a model, tried on one that offers little."""
        bare = EstimatorLearner(KNeighborsClassifier())
        family = self._fresh()
        if reason := family.left_out(bare, [self.task]):
            return f"left out where a model does not offer it: {reason}"
        (model,) = bare.train([TrainingRecipe(initialisation_seed=BASE_SEED)], self.task)
        try:
            found = checked_variants(family, self.task, BaseModel(BASE_SEED, model), bare)
        except InputError as error:
            return f"not said; on a model without parameters, weights or seeds: {error}. {_NEEDS}"
        return f"none; {len(found)} variants of a model without parameters, weights or seeds, too"

    def other_seeds(self) -> str:
        theirs = set(self._identities(self._variants(BASE_SEED + 1)))
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

    def _same(self, result: Sequence[str], how: str) -> str:
        mine = self._identities(self.described)
        require(len(result) == len(mine), f"{len(mine)} variants, but {len(result)} {how}")
        pairs = zip(mine, result, strict=True)
        unlike = [i for i, (one, other) in enumerate(pairs) if one != other]
        require(not unlike, f"{len(unlike)} of {len(mine)} variants differ {how}: {unlike[:5]}")
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
_SIDE_EFFECTS = "copy arrays before changing them; a family describes and trains nothing"
_CHANGE = "give every variant something of its own: a seed, weights, labels or settings"
_NEEDS = (
    "With needs it would be left out there, with the reason: an attribute, or "
    f"@family(..., needs=...), one or several of {', '.join(NEEDS)}"
)
