"""The pieces of a plan: what is computed and kept as one file, and what each is made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from changeproof import changes, methods
from changeproof.changes import get_family
from changeproof.datasets.builtin import load_task
from changeproof.datasets.task import Task
from changeproof.methods import get_method
from changeproof.protocol.fingerprint import code_digest, fingerprint
from changeproof.protocol.own_code import own_code
from changeproof.protocol.plan import TUNING_SEED, Plan
from changeproof.registry import file_name


class Kind(StrEnum):
    """The kinds of pieces, in the order in which they can be made."""

    BASE = "base"
    BANK = "bank"
    TUNING = "tuning"
    COUNTERFACTUALS = "counterfactuals"
    SURVIVAL = "survival"

    @property
    def suffix(self) -> str:
        """The ending of the kind's files: networks are safetensors, tables Parquet."""
        return "safetensors" if self in (Kind.BASE, Kind.BANK) else "parquet"


@dataclass(frozen=True)
class Piece:
    """One finished or unfinished bit of a run, named by everything that goes into it.

    `subject` is the family of a bank or the method of anything later; `factuals` limits the
    requests of counterfactuals; `cost` is a rough guess of the seconds that it takes, for
    progress bars and for starting long pieces first.
    """

    kind: Kind
    dataset: str
    base_seed: int
    subject: str
    fingerprint: str
    inputs: tuple[Piece, ...] = field(default=(), repr=False)
    factuals: int = 0
    cost: float = field(default=0.01, compare=False)

    @property
    def label(self) -> str:
        """What people call it."""
        words = [self.dataset, str(self.base_seed), self.kind.value, self.subject]
        return " ".join(word for word in words if word)

    @property
    def file_stem(self) -> str:
        """Its file, relative to the store, up to the checksum."""
        name = "-".join(word for word in (self.kind.value, file_name(self.subject)) if word)
        return f"{self.dataset}/{self.base_seed}/{name}.{self.fingerprint}"


def plan_pieces(plan: Plan) -> list[Piece]:
    """Return every piece of a plan, each after its inputs."""
    pieces = [piece for dataset in plan.datasets for piece in _dataset_pieces(plan, dataset)]
    order = list(Kind)
    return sorted(dict.fromkeys(pieces), key=lambda piece: order.index(piece.kind))


def _dataset_pieces(plan: Plan, dataset: str) -> Iterator[Piece]:
    task = load_task(dataset)
    tuned = [name for name in plan.methods if get_method(name).tuning_candidates()]
    tuning_base = base_piece(task, TUNING_SEED)
    if tuned:
        yield tuning_base
    tunings = {name: tuning_piece(tuning_base, name) for name in tuned}
    yield from tunings.values()
    for seed in plan.base_seeds:
        base = base_piece(task, seed)
        yield base
        banks = tuple(bank_piece(task, base, family) for family in plan.families)
        yield from banks
        for method in plan.methods:
            answers = counterfactuals_piece(task, base, method, tunings.get(method), plan.factuals)
            yield answers
            yield survival_piece(answers, banks)


def base_piece(task: Task, seed: int) -> Piece:
    """Return the piece of a base network."""
    mark = fingerprint(
        kind=Kind.BASE, task=task.fingerprint, seed=seed, code=_code("networks.training")
    )
    return Piece(Kind.BASE, task.name, seed, "", mark, cost=_training_cost(task, 1))


def bank_piece(task: Task, base: Piece, family: str) -> Piece:
    """Return the piece of one family's changed networks, and their magnitudes."""
    code = _code("changes.bank", "changes.magnitude", family=family)
    mark = fingerprint(kind=Kind.BANK, base=base.fingerprint, family=family, code=code)
    cost = _training_cost(task, _NETWORKS_WORTH.get(family, 25.0))
    return Piece(Kind.BANK, base.dataset, base.base_seed, family, mark, (base,), cost=cost)


def tuning_piece(base: Piece, method: str) -> Piece:
    """Return the piece of a method's tuning table."""
    code = _code("methods.tuning", "protocol.factuals", method=method)
    mark = fingerprint(kind=Kind.TUNING, base=base.fingerprint, method=method, code=code)
    return Piece(Kind.TUNING, base.dataset, base.base_seed, method, mark, (base,), cost=1.0)


def counterfactuals_piece(
    task: Task, base: Piece, method: str, tuning: Piece | None, factuals: int
) -> Piece:
    """Return the piece of a method's counterfactuals."""
    inputs = (base,) if tuning is None else (base, tuning)
    mark = fingerprint(
        kind=Kind.COUNTERFACTUALS,
        inputs=[piece.fingerprint for piece in inputs],
        method=method,
        factuals=factuals,
        code=_code("protocol.factuals", method=method),
    )
    kind = Kind.COUNTERFACTUALS
    cost = 0.05 + factuals * _SECONDS_PER_REQUEST.get(method, 0.01)
    if method == "betarce":
        cost += _training_cost(task, 32 * 0.7)
    return Piece(kind, task.name, base.base_seed, method, mark, inputs, factuals, cost=cost)


def survival_piece(answers: Piece, banks: tuple[Piece, ...]) -> Piece:
    """Return the piece that says which counterfactuals survive which changed networks."""
    inputs = (answers, *banks)
    mark = fingerprint(
        kind=Kind.SURVIVAL,
        inputs=[piece.fingerprint for piece in inputs],
        code=_code("evaluation.survival"),
    )
    kind = Kind.SURVIVAL
    return Piece(kind, answers.dataset, answers.base_seed, answers.subject, mark, inputs, cost=0.1)


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
    "robx-balanced": 0.035,
    "robx-robust": 0.05,
    "wachter": 0.001,
}
# How many networks' worth of training a family is; 25 where nothing is said.
_NETWORKS_WORTH = {"architecture": 38.0, "bootstrap": 17.0, "parameter-perturbation": 0.2}


def _training_cost(task: Task, networks: float) -> float:
    products = len(task.split.train) * (task.n_features * 32 + 32 * 32)
    return 0.002 + networks * products * 3.5e-8
