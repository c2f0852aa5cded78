"""The secret bank: the same families with seeds that only the keeper of the key can know.

An entry that was fitted to the public bank holds in it and not in this one. Seeds come from the key
and the base seed. Where a recipe keeps the base model's initialisation, so does the secret one,
unless that would be a model of the public bank: then it is initialised anew as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from changeproof.board.entry import digest
from changeproof.changes.family import BaseModel, Family, Variant
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.models.learner import Learner
from changeproof.models.recipes import reserved_identity
from changeproof.networks.training import TrainingRecipe

SECRET = "secret:"
FEWEST_BYTES = 32
# Seeds of the secret bank: above those of all base models and methods, below those far away.
FIRST, RANGE = 2**29, 2**28


def read_key(given: str) -> bytes:
    """Return the key that `secret:FILE` names."""
    if not given.startswith(SECRET) or given == SECRET:
        raise InputError(
            f"bank {given!r} is not known; expected {SECRET}FILE with the keeper's key"
        )
    path = Path(given.removeprefix(SECRET))
    try:
        key = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the key {path}: {error.strerror}") from None
    if len(key) < FEWEST_BYTES:
        raise InputError(f"the key {path} has {len(key)} bytes; expected at least {FEWEST_BYTES}")
    return key


def key_hash(key: bytes) -> str:
    """Return the hash that a version publishes: who has it knows nothing of the seeds."""
    return digest(b"secret bank " + key)


class SecretFamily(Family):
    """A family whose seeds come from a key."""

    def __init__(self, *, family: Family, key: bytes) -> None:
        if type(family).rounds is not Family.rounds:
            raise InputError(f"family {family.name!r} works in rounds, which no secret bank does")
        self.family, self.key = family, key
        for name in ("name", "summary", "source", "label", "cost", "trains", "needs", "sequence"):
            setattr(self, name, getattr(family, name))
        self.months = family.months

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.family!r})"  # the key stands nowhere

    @property
    def fingerprint(self) -> str:
        """Hash of the family and of the key, which does not give it away."""
        return f"secret {key_hash(self.key)} {self.family.fingerprint}"

    @property
    def expected_models(self) -> int:
        return self.family.expected_models

    def reason_against(self, learner: Learner) -> str | None:
        return self.family.reason_against(learner)

    def reason_against_task(self, task: Task) -> str | None:
        return self.family.reason_against_task(task)

    def variants(self, task: Task, base: BaseModel, learner: Learner) -> Sequence[Variant]:
        seed = secret_seed(self.key, task.name, base.seed)
        public = set()
        for variant in self.family.variants(task, base, learner):
            if isinstance(variant.change, TrainingRecipe):
                public.add(_identity(variant, variant.change, task, learner))
        found = []
        for variant in self.family.variants(task, BaseModel(seed, base.model), learner):
            change = variant.change
            if isinstance(change, TrainingRecipe) and change.initialisation_seed == seed:
                kept = replace(change, initialisation_seed=base.seed)
                if _identity(variant, kept, task, learner) not in public:
                    change = kept
            found.append(replace(variant, change=change))
        return found


def secret_seed(key: bytes, dataset: str, base_seed: int) -> int:
    content = hashlib.sha256(key + f" {dataset} {base_seed}".encode()).digest()
    return FIRST + int.from_bytes(content[:8], "little") % RANGE


def _identity(variant: Variant, recipe: TrainingRecipe, task: Task, learner: Learner) -> str:
    level, rows = "" if variant.learner is None else variant.level, variant.task or task
    return reserved_identity((variant.learner or learner).normalised(recipe, rows), level, rows)
