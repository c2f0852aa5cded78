"""The pieces of a plan: what is computed and kept as one file, and what each is made from.

Networks of ours are kept: a bank per family, and one piece of survival per method over all of
them. Models of any other kind cannot be kept (that would take unpickling), so they are trained
when they are needed: a family's changed models are made once per worker for the table of their
magnitudes and for the survival of every method's counterfactuals under that family.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from pathlib import Path

from changeproof import changes, methods
from changeproof.changes import get_family
from changeproof.datasets.find import find_task
from changeproof.datasets.task import Task
from changeproof.methods import get_method
from changeproof.models.find import find_learner
from changeproof.models.learner import Learner
from changeproof.models.network import NetworkLearner
from changeproof.protocol.fingerprint import code_digest, fingerprint
from changeproof.protocol.own_code import own_code
from changeproof.protocol.plan import DEFAULT_MODEL, TUNING_SEED, Plan
from changeproof.registry import file_name


class Kind(StrEnum):
    """The kinds of pieces, in the order in which they can be made."""

    BASE = "base"
    BANK = "bank"
    TUNING = "tuning"
    COUNTERFACTUALS = "counterfactuals"
    CHANGES = "changes"
    SURVIVAL = "survival"


@dataclass(frozen=True)
class Subject:
    """Whom pieces are about: a task and the kind of model, as workers find them again.

    `alternatives` is JSON of the parameter grid and the replacements.
    """

    dataset: str
    source: str = field(compare=False)
    model: str = DEFAULT_MODEL
    alternatives: str = "{}"

    @property
    def task(self) -> Task:
        """The task."""
        return find_task(self.source)

    @property
    def learner(self) -> Learner:
        """The kind of model."""
        return _learner(self.model, self.alternatives)

    @property
    def keeps_networks(self) -> bool:
        """Whether the models are networks of ours and nothing else."""
        return _keeps_networks(self.model, self.alternatives)


@cache
def _learner(model: str, alternatives: str) -> Learner:
    return find_learner(model, **json.loads(alternatives))


@cache
def _keeps_networks(model: str, alternatives: str) -> bool:
    if model.startswith("object:"):
        return False
    learner = _learner(model, alternatives)
    return isinstance(learner, NetworkLearner) and not learner.replacements()


@dataclass(frozen=True)
class Piece:
    """One finished or unfinished bit of a run, named by everything that goes into it.

    `subject` is the family of a bank or the method of anything later; `family` is set where a
    method's survival is kept family by family. `factuals` limits the requests, `rows` names
    them; `table` is the file of counterfactuals that come from elsewhere. `cost` is a rough
    guess of the seconds that it takes, for progress bars and for starting long pieces first.
    """

    kind: Kind
    about: Subject
    base_seed: int
    subject: str
    fingerprint: str
    inputs: tuple[Piece, ...] = field(default=(), repr=False)
    family: str = ""
    factuals: int = 0
    rows: tuple[int, ...] | None = field(default=None, repr=False)
    table: str = field(default="", compare=False)
    cost: float = field(default=0.01, compare=False)

    @property
    def dataset(self) -> str:
        """The name of the task."""
        return self.about.dataset

    @property
    def suffix(self) -> str:
        """The ending of its file: networks are safetensors, tables Parquet."""
        networks = self.kind in (Kind.BASE, Kind.BANK) and self.about.keeps_networks
        return "safetensors" if networks else "parquet"

    @property
    def together(self) -> str:
        """Pieces that share this share work, and are computed by the same worker."""
        if self.family:
            return f"{self.dataset}/{self.base_seed}/{self.family}"
        return self.file_stem

    @property
    def label(self) -> str:
        """What people call it."""
        names = [self.dataset, str(self.base_seed), self.kind.value, self.subject]
        under = [f"under {self.family}"] if self.family and self.family != self.subject else []
        return " ".join(word for word in [*names, *under] if word)

    @property
    def file_stem(self) -> str:
        """Its file, relative to the store, up to the checksum."""
        family = "" if self.family == self.subject else self.family
        words = (self.kind.value, file_name(self.subject), file_name(family))
        name = "-".join(word for word in words if word)
        return f"{self.dataset}/{self.base_seed}/{name}.{self.fingerprint}"


def plan_pieces(plan: Plan, folder: Path | None = None) -> list[Piece]:
    """Return every piece of a plan, each after its inputs.

    Files that the plan names are looked for in the run directory first.
    """
    pieces = [
        piece for about in plan_subjects(plan, folder) for piece in _pieces(plan, about, folder)
    ]
    order = list(Kind)
    return sorted(dict.fromkeys(pieces), key=lambda piece: order.index(piece.kind))


def plan_subjects(plan: Plan, folder: Path | None = None) -> list[Subject]:
    """Return the task and kind of model of every dataset of a plan."""
    alternatives = {"grid": plan.grid, "replacements": plan.replacements}
    text = json.dumps({k: v for k, v in alternatives.items() if v is not None}, sort_keys=True)
    subjects = []
    for reference in plan.datasets:
        source = located(reference, folder) if reference.endswith(".toml") else reference
        subjects.append(Subject(find_task(source).name, source, plan.model, text))
    return subjects


def located(reference: str, folder: Path | None) -> str:
    """Return where a file of a plan is: in the run directory, or else as named."""
    inside = folder / reference if folder is not None else None
    return str(inside) if inside is not None and inside.exists() else reference


def _pieces(plan: Plan, about: Subject, folder: Path | None) -> Iterator[Piece]:
    tables = {name: located(path, folder) for name, path in plan.counterfactuals.items()}
    tuned = [name for name in plan.methods if get_method(name).tuning_candidates()]
    tuning_base = base_piece(about, TUNING_SEED)
    if tuned:
        yield tuning_base
    tunings = {name: tuning_piece(tuning_base, name) for name in tuned}
    yield from tunings.values()
    for seed in plan.base_seeds:
        base = base_piece(about, seed)
        yield base
        answers = [
            counterfactuals_piece(base, method, tunings.get(method), plan.factuals, plan.rows)
            for method in plan.methods
        ]
        answers += [given_piece(base, *table, plan) for table in tables.items()]
        yield from answers
        if about.keeps_networks:
            banks = tuple(bank_piece(base, family) for family in plan.families)
            yield from banks
            yield from (survival_piece(answer, banks) for answer in answers)
        else:
            for family in plan.families:
                yield changes_piece(base, family)
                yield from (own_survival_piece(base, answer, family) for answer in answers)


def base_piece(about: Subject, seed: int) -> Piece:
    """Return the piece of a base model."""
    mark = fingerprint(
        kind=Kind.BASE,
        task=about.task.fingerprint,
        seed=seed,
        code=_code("networks.training"),
        **_model_mark(about),
    )
    return Piece(Kind.BASE, about, seed, "", mark, cost=_training_cost(about.task, 1))


def bank_piece(base: Piece, family: str) -> Piece:
    """Return the piece of one family's changed networks, and their magnitudes."""
    code = _code("changes.bank", "changes.magnitude", family=family)
    mark = fingerprint(kind=Kind.BANK, base=base.fingerprint, family=family, code=code)
    cost = _training_cost(base.about.task, _NETWORKS_WORTH.get(family, 25.0))
    return Piece(Kind.BANK, base.about, base.base_seed, family, mark, (base,), cost=cost)


def changes_piece(base: Piece, family: str) -> Piece:
    """Return the piece of the magnitudes of one family's changed models of any kind."""
    mark = fingerprint(
        kind=Kind.CHANGES,
        base=base.fingerprint,
        family=family,
        code=_code("changes.own", "changes.magnitude", family=family),
    )
    kind, cost = Kind.CHANGES, 25 * _OWN_FIT
    return Piece(kind, base.about, base.base_seed, family, mark, (base,), family=family, cost=cost)


def tuning_piece(base: Piece, method: str) -> Piece:
    """Return the piece of a method's tuning table."""
    code = _code("methods.tuning", "protocol.factuals", method=method)
    mark = fingerprint(kind=Kind.TUNING, base=base.fingerprint, method=method, code=code)
    return Piece(Kind.TUNING, base.about, base.base_seed, method, mark, (base,), cost=1.0)


def counterfactuals_piece(
    base: Piece,
    method: str,
    tuning: Piece | None,
    factuals: int,
    rows: tuple[int, ...] | None = None,
) -> Piece:
    """Return the piece of a method's counterfactuals."""
    inputs = (base,) if tuning is None else (base, tuning)
    mark = fingerprint(
        kind=Kind.COUNTERFACTUALS,
        inputs=[piece.fingerprint for piece in inputs],
        method=method,
        factuals=factuals,
        code=_code("protocol.factuals", method=method),
        **({} if rows is None else {"rows": rows}),
    )
    kind = Kind.COUNTERFACTUALS
    kept = base.about.keeps_networks
    seconds = _SECONDS_PER_REQUEST if kept else _OWN_SECONDS_PER_REQUEST
    asked = factuals if rows is None else len(rows)
    cost = 0.05 + asked * seconds.get(method, 0.01)
    if method == "betarce":
        cost += _training_cost(base.about.task, 32 * 0.7) if kept else 32 * _OWN_FIT
    return Piece(
        kind, base.about, base.base_seed, method, mark, inputs, "", factuals, rows, cost=cost
    )


def given_piece(base: Piece, name: str, path: str, plan: Plan) -> Piece:
    """Return the piece of counterfactuals that come from a table."""
    mark = fingerprint(
        kind=Kind.COUNTERFACTUALS,
        inputs=[base.fingerprint],
        table=hashlib.sha256(Path(path).read_bytes()).hexdigest(),
        factuals=plan.factuals,
        rows=plan.rows,
        code=_code("protocol.factuals", "methods.given"),
    )
    answers = Piece(Kind.COUNTERFACTUALS, base.about, base.base_seed, name, mark, (base,))
    return replace(answers, factuals=plan.factuals, rows=plan.rows, table=path)


def survival_piece(answers: Piece, banks: tuple[Piece, ...]) -> Piece:
    """Return the piece that says which counterfactuals survive which changed networks."""
    inputs = (answers, *banks)
    mark = fingerprint(
        kind=Kind.SURVIVAL,
        inputs=[piece.fingerprint for piece in inputs],
        code=_code("evaluation.survival"),
    )
    kind = Kind.SURVIVAL
    return Piece(kind, answers.about, answers.base_seed, answers.subject, mark, inputs, cost=0.1)


def own_survival_piece(base: Piece, answers: Piece, family: str) -> Piece:
    """Return the piece that says which counterfactuals survive one family's changed models."""
    inputs = (answers, base)
    mark = fingerprint(
        kind=Kind.SURVIVAL,
        inputs=[piece.fingerprint for piece in inputs],
        family=family,
        code=_code("evaluation.survival", "changes.own", family=family),
    )
    return Piece(
        Kind.SURVIVAL, base.about, base.base_seed, answers.subject, mark, inputs, family, cost=0.2
    )


def _model_mark(about: Subject) -> dict[str, str]:
    """Say what kind of model it is; nothing for the protocol's own networks."""
    if about.model == DEFAULT_MODEL and about.keeps_networks:
        return {}
    if about.model.startswith("object:"):
        return {"model": about.model, "alternatives": about.alternatives}
    learner = about.learner
    others = [
        (level, other.fingerprint)
        for level, other in (*learner.configurations(), *learner.replacements())
    ]
    code = _code("models.learner", "models.function", "models.estimator", "models.module")
    return {"model": learner.fingerprint, "alternatives": repr(others), "model_code": code}


def _code(*rooms: str, family: str | None = None, method: str | None = None) -> str:
    """Hash the code that a piece is computed with, be it ours or people's own."""
    modules, own = [f"changeproof.{room}" for room in rooms], ""
    if family is not None:
        cls = type(get_family(family))
        if changes.REGISTRY.is_builtin(family):
            modules.append(cls.__module__)
        else:
            own = own_code(getattr(cls, "author", cls))
    if method is not None:
        if methods.REGISTRY.is_builtin(method):
            modules.append(get_method(method).__module__)
        else:
            own = own_code(get_method(method))
    return code_digest(*modules) + own


# Seconds that a request takes, roughly; 0.01 where nothing is said.
_SECONDS_PER_REQUEST = {
    "apds": 0.02,
    "kdtree": 0.0001,
    "rbr": 0.005,
    "rnce": 0.001,
    "roar-lime": 0.016,
    "robx-balanced": 0.012,
    "robx-robust": 0.016,
    "wachter": 0.001,
}
# The same with a model that is not ours, and what training one takes.
_OWN_SECONDS_PER_REQUEST = {
    "betarce": 0.15,
    "rbr": 0.02,
    "roar-lime": 0.1,
    "robx-balanced": 0.4,
    "robx-robust": 0.5,
}
_OWN_FIT = 0.2
# How many networks' worth of training a family is; 25 where nothing is said.
_NETWORKS_WORTH = {"architecture": 38.0, "bootstrap": 17.0, "parameter-perturbation": 0.2}


def _training_cost(task: Task, networks: float) -> float:
    products = len(task.split.train) * (task.n_features * 32 + 32 * 32)
    return 0.002 + networks * products * 3.5e-8
