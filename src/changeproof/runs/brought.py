"""Code that people brought to a run: what the run records of it, and reading the run without it.

A run directory may be a stranger's, so reading it imports nothing that its plan names. Methods,
families and models from elsewhere are read as what was recorded of them when they were at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from changeproof import changes, methods
from changeproof.changes.family import BaseModel as JudgedBy
from changeproof.changes.family import Family, Variant
from changeproof.changes.successors import MARK, SUCCESSOR, Successors
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.methods.method import Candidates, Factuals, Method
from changeproof.methods.tuning import candidates
from changeproof.models.find import OBJECT, AbsentLearner, object_reference
from changeproof.models.learner import Learner
from changeproof.plugins import Registry, parsed

if TYPE_CHECKING:
    from changeproof.runs.plan import Plan
    from changeproof.runs.resolved import ResolvedRun

FLAG = "--import-its-code"
# How references to models begin that bring code or are files.
ELSEWHERE = ("python:", "pickle:", "onnx:", "scores:")


class Recorded(BaseModel):
    """What tables, pages and the names of pieces need of a method or family."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    fingerprint: str
    summary: str = ""
    tuned: bool = False
    sequence: bool = False
    real: bool = False


class Brought(BaseModel):
    """What a run records of methods, families and a model that do not come with changeproof."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    model: str | None = None
    methods: dict[str, Recorded] = {}
    families: dict[str, Recorded] = {}


class AbsentMethod(Method):
    """A method of another session: its answers can be read, but nobody can be answered."""

    name = "absent"
    summary = "a method that is not at hand"
    mark = ""

    @property
    def fingerprint(self) -> str:
        """That of the method, as it was recorded."""
        return self.mark

    def _search(self, factuals: Factuals) -> Candidates:
        raise InputError(f"method {self.name!r} was not imported; pass {FLAG}")


class AbsentTunedMethod(AbsentMethod):
    """One that was tuned."""

    @classmethod
    def tuning_candidates(cls) -> Sequence[Method]:
        """Return more than one, so that there is a piece with the choice among them."""
        return cls(), cls()


class AbsentFamily(Family):
    """A family of another session: what became of advice can be read, but nothing be changed."""

    name = "absent"
    summary = "a family that is not at hand"
    trains = False
    mark = ""

    @property
    def fingerprint(self) -> str:
        """That of the family, as it was recorded."""
        return self.mark

    def variants(self, task: Task, base: JudgedBy, learner: Learner) -> list[Variant]:
        """Say that the family is not at hand."""
        raise InputError(f"family {self.name!r} was not imported; pass {FLAG}")


def brought_to(run: ResolvedRun) -> Brought:
    """Return what is to be recorded of a run's own methods, families and model."""
    plan = run.plan
    asked = {name: run.methods[name] for name in plan.methods}
    if run.renewer is not None and plan.renew is not None:
        asked[plan.renew] = run.renewer
    return Brought(
        model=object_reference(run.learner) if _models_elsewhere(plan) else None,
        methods={
            name: Recorded(
                fingerprint=method.fingerprint,
                summary=str(method.summary),
                tuned=len(candidates(method)) > 1,
            )
            for name, method in asked.items()
            if not _comes_with(methods.REGISTRY, name)
        },
        families={
            name: Recorded(
                fingerprint=family.fingerprint,
                summary=str(family.summary),
                sequence=family.sequence,
                real=family.real,
            )
            for name, family in run.families.items()
            if name != SUCCESSOR and not _comes_with(changes.REGISTRY, name)
        },
    )


def absent_things(
    plan: Plan, brought: Brought
) -> tuple[Learner | None, dict[str, Method], dict[str, Family]]:
    """Return stand-ins for what of a plan is not at hand, and is not to be imported."""
    asked = [*plan.methods, *([] if plan.renew is None else [plan.renew])]
    found = {
        name: _method(name, brought.methods[name])
        for name in asked
        if name in brought.methods and not _at_hand(methods.REGISTRY, name)
    }
    families: dict[str, Family] = {
        name: _family(name, brought.families[name])
        for name in plan.families
        if name in brought.families and not _at_hand(changes.REGISTRY, name)
    }
    families[SUCCESSOR] = Successors(records=plan.successors)
    described = brought.model is not None and brought.model.startswith(f"{OBJECT}:")
    learner = AbsentLearner(str(brought.model)) if described and _models_elsewhere(plan) else None
    return learner, found, families


def _nothing(value: Any) -> list[str]:
    """Return nothing: the field names no code, and no file but those of the run directory."""
    return []


def _imported(registry: Registry[Any]) -> Callable[[Iterable[str]], list[str]]:
    def found(names: Iterable[str]) -> list[str]:
        return [name for name in names if ":" in parsed(name)[0] and not _at_hand(registry, name)]

    return found


def _models(references: Iterable[str]) -> list[str]:
    return [text for text in references if text.startswith(ELSEWHERE)]


def _successors(records: Mapping[str, str]) -> list[str]:
    """Return the successors that would be looked for: none, where they were recorded."""
    return [] if any(MARK in text for text in records.values()) else _models(records.values())


_methods, _families = _imported(methods.REGISTRY), _imported(changes.REGISTRY)
# For every field of a plan, which of its references would be imported or opened.
FROM_ELSEWHERE: dict[str, Callable[[Any], list[str]]] = {
    "datasets": _nothing,
    "methods": _methods,
    "families": _families,
    "base_seeds": _nothing,
    "factuals": _nothing,
    "rows": _nothing,
    "model": lambda reference: _models([reference]),
    "grid": _nothing,
    "replacements": lambda references: _models(references or ()),
    "realisable": _nothing,
    "limit": _nothing,
    "over_time": _nothing,
    "by": _nothing,
    "smallest_group": _nothing,
    "counterfactuals": _nothing,
    "threshold": _nothing,
    "successors": _successors,
    "renew": lambda reference: _methods([] if reference is None else [reference]),
    "left_out": _nothing,
}


def from_elsewhere(plan: Plan) -> dict[str, list[str]]:
    """Return what running a plan would import or open from elsewhere, by the field that names it.

    The datasets and counterfactuals of a record are files of its directory: see `read_record`.
    """
    return {field: FROM_ELSEWHERE[field](getattr(plan, field)) for field in type(plan).model_fields}


def _models_elsewhere(plan: Plan) -> list[str]:
    named = from_elsewhere(plan)
    return named["model"] + named["replacements"]


def _comes_with(registry: Registry[Any], reference: str) -> bool:
    return parsed(reference)[0] in registry.builtin_names


def _at_hand(registry: Registry[Any], reference: str) -> bool:
    """Say whether a name is built in, registered in code, or that of an installed package."""
    return parsed(reference)[0] in registry.names


def _method(name: str, recorded: Recorded) -> Method:
    base = AbsentTunedMethod if recorded.tuned else AbsentMethod
    # What is said of it is said by its class.
    cls: type[AbsentMethod] = type(base.__name__, (base,), {"summary": recorded.summary})
    made = cls.named(name, {})
    made.mark = recorded.fingerprint
    return made


def _family(name: str, recorded: Recorded) -> Family:
    said = {"sequence": recorded.sequence, "real": recorded.real, "summary": recorded.summary}
    cls: type[AbsentFamily] = type("AbsentFamily", (AbsentFamily,), said)
    made = cls.named(name, {})
    made.mark = recorded.fingerprint
    return made
