"""The nearest point that every small parameter change accepts (MCE-R, Jiang and others)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field

from changeproof.certificates.box import ParameterBox, check_radius
from changeproof.certificates.exact import MAX_NODES, certify, proven_rows
from changeproof.methods.answers import BUDGET
from changeproof.methods.method import (
    PARAMETERS,
    Candidates,
    Columns,
    Cost,
    Factuals,
    Method,
    People,
    Promise,
    WarmUp,
)
from changeproof.methods.shared.calibrated_radius import calibrated_radius
from changeproof.methods.shared.minimal import TARGET_SLACK, MinimalSearch, l1_distances
from changeproof.methods.shared.proven import PROVEN
from changeproof.model import Access, Booleans, Floats, Integers
from changeproof.networks.network import Network

CALIBRATED = Promise(
    "holds for every network whose weights and biases differ from today's by at most what "
    "incremental updates move them. This is proven exactly",
    PARAMETERS,
)
# A guess between two margins leaves at least this share of them on either side.
LEAST_SHARE = 0.1


@dataclass(eq=False)
class _Found:
    """What was found for a batch: the nearest certified point, or else the last one."""

    factuals: Floats
    rows: Floats
    margins: Floats
    certified: Booleans
    # How many margins were tried, and the last refused point, from which a search may start.
    tried: Integers
    starts: Floats

    @classmethod
    def nothing(cls, factuals: Floats) -> Self:
        n, none = len(factuals), np.full_like(factuals, np.nan)
        tried = np.zeros(n, dtype=np.int64)
        return cls(factuals, none, np.full(n, np.nan), np.zeros(n, np.bool_), tried, none.copy())

    def keep(self, who: Integers, rows: Floats, margins: Floats, certified: Booleans) -> None:
        own = self.factuals[who]
        nearer = l1_distances(rows, own) < l1_distances(self.rows[who], own)
        better = certified & (~self.certified[who] | nearer)
        last = ~certified & ~self.certified[who] & ~(margins < self.margins[who])
        kept = better | last
        self.rows[who[kept]], self.margins[who[kept]] = rows[kept], margins[kept]
        self.certified[who[better]] = True
        self.starts[who[~certified]] = rows[~certified]


@dataclass(kw_only=True, eq=False, repr=False)
class MCER(Method):
    """Raise the margin of the nearest point until no network of a box of parameters refuses it.

    The paper takes the nearest point with a margin (see `nearest-point`), asks for a certificate,
    and raises the margin where there is none. It leaves open by how much: published code goes up by
    0.03, at most 50 times (RobustX), or by 0.2 (the repository of PROPLACE). Here the least margin
    whose nearest point is certified is bracketed and bisected. Whether points are certified need
    not grow with the margin, so margins below it are tried at last. `margin_step` brings the
    published loop back. The certificate is exact (as that of `rnce`); that a point is the nearest
    with its margin is not proven (see `nearest-point`), nor is there a proof that no certified
    point is nearer: that is not what the paper looks for.

    Whoever has no certified point within the rounds is told the last point that was found. It is
    not certified, and its diagnostic says so. A row is good enough if it is certified.

    Parameters
    ----------
    radius
        How far every weight and bias may move; "calibrated" is as far as `apds` found that
        incremental updates move them.
    first_margin, last_margin
        The least and the largest logit that is asked for.
    tolerance
        How close to the least certified margin the bisection goes.
    scan
        So many margins below it are tried at last.
    margin_step
        With a number, the published loop: up from the first margin by so much.
    rounds
        The most margins that are tried for a person, before the last ones.
    max_nodes
        Nodes that the solver may explore for a point that cheaper arguments leave open; a point
        that needs more is not certified.
    """

    name = "mce-r"
    label = "MCE-R"
    cost = Cost(per_person=0.03, feasible=0.2)
    warm_up = WarmUp(seconds=15)
    promise = PROVEN
    summary = "the nearest point with a margin that is certified for every small parameter change"
    source = (
        "Jiang, Leofante, Rago and Toni, Formalising the Robustness of Counterfactual Explanations "
        "for Neural Networks, AAAI 2023 (https://arxiv.org/abs/2208.14878)"
    )
    needs = Access.RELU_PARAMETERS

    radius: float | Literal["calibrated"] = 0.005
    first_margin: Annotated[float, Field(ge=0.0)] = 1e-4
    last_margin: Annotated[float, Field(gt=0.0)] = 20.0
    tolerance: Annotated[float, Field(gt=0.0)] = 0.01
    scan: Annotated[int, Field(ge=0)] = 3
    margin_step: Annotated[float, Field(gt=0.0)] | None = None
    rounds: Annotated[int, Field(ge=1)] = 50
    max_nodes: int = MAX_NODES

    def __post_init__(self) -> None:
        if self.radius != "calibrated":
            check_radius(self.radius)

    @property
    def promised(self) -> Promise | None:
        return CALIBRATED if self.radius == "calibrated" else self.promise

    def _prepare(self) -> None:
        task, network = self.context.task, self._network
        radius = self.radius
        if radius == "calibrated":
            radius = calibrated_radius(task, network, self.context.base_seed)
        self._box = ParameterBox(network, radius)
        self._minimal = MinimalSearch(
            network, *task.training_range, task.rows("train"), widened=True
        )

    @property
    def _network(self) -> Network:
        assert isinstance(self.context.model, Network)
        return self.context.model

    def _search(self, factuals: Factuals) -> Candidates:
        found = _Found.nothing(factuals.rows)
        everybody = np.arange(len(factuals))
        if self.margin_step is None:
            self._bisect(found, everybody)
            self._scan(found)
        else:
            self._climb(found, everybody, self.margin_step)
        answered = np.isfinite(found.margins)
        lengths = np.where(answered, l1_distances(found.rows, factuals.rows), np.nan)
        diagnostics = {
            "certified": found.certified,
            "margin": found.margins,
            "margins_tried": found.tried,
            "radius": np.full(len(factuals), self._box.radius),
            "l1_distance": lengths,
        }
        return Candidates(found.rows, [BUDGET] * len(factuals), diagnostics)

    def _climb(self, found: _Found, waiting: Integers, step: float) -> None:
        for number in range(self.rounds):
            margin = self.first_margin + number * step
            if margin > self.last_margin or not len(waiting):
                break
            there, certified, _ = self._try(found, waiting, np.full(len(waiting), margin))
            waiting = waiting[there & ~certified]

    def _bisect(self, found: _Found, waiting: Integers) -> None:
        """Enclose everybody's least margin with a certified point.

        What is between `low`, whose point is refused, and `high`, which is certified or has no
        point, is guessed from the worst logits of the two.
        """
        n = len(found.rows)
        low, high = np.full(n, np.nan), np.full(n, np.inf)
        worst_low, worst_high = np.full((2, n), np.nan)
        margins = np.full(n, self.first_margin)
        for _ in range(self.rounds):
            there, certified, worst = self._try(found, waiting, margins[waiting])
            refused = waiting[there & ~certified]
            low[refused], worst_low[refused] = margins[refused], worst[there & ~certified]
            ended = ~there | certified
            high[waiting[ended]] = margins[waiting[ended]]
            worst_high[waiting[ended]] = np.where(certified, worst, np.nan)[ended]
            # Nobody goes below the first margin, or above the last one.
            going = np.isfinite(low[waiting]) & (low[waiting] < self.last_margin)
            going &= ~(high[waiting] - low[waiting] <= self.tolerance)
            waiting = waiting[going]
            if not len(waiting):
                break
            ends = low[waiting], high[waiting], worst_low[waiting], worst_high[waiting]
            margins[waiting] = self._next_margins(*ends)

    def _next_margins(
        self, low: Floats, high: Floats, worst_low: Floats, worst_high: Floats
    ) -> Floats:
        """Return margins between what is refused and what is certified, or above the former."""
        lacking, wide = np.maximum(-worst_low, 0.0), high - low
        up = low + np.maximum(lacking, np.maximum(low, self.tolerance))
        with np.errstate(invalid="ignore"):
            share = lacking / (lacking + worst_high) + 0.5 * self.tolerance / wide
            share = np.where(np.isfinite(share), share, 0.5)
            between = low + np.clip(share, LEAST_SHARE, 1.0 - LEAST_SHARE) * wide
        return np.where(np.isfinite(high), between, np.minimum(up, self.last_margin))

    def _scan(self, found: _Found) -> None:
        """Try margins below the least that was found: whether points are certified may vary."""
        for number in range(1, self.scan + 1):
            share = number / (self.scan + 1)
            who = np.flatnonzero(found.certified & (found.margins > self.first_margin))
            margins = self.first_margin + share * (found.margins[who] - self.first_margin)
            self._try(found, who, margins)

    def _try(
        self, found: _Found, who: Integers, margins: Floats
    ) -> tuple[Booleans, Booleans, Floats]:
        """Find and judge the nearest points with margins; keep them where they are better.

        Returns whose were found, which are certified, and the least logits that were seen.
        """
        rows = self._minimal.search(found.factuals[who], margins + TARGET_SLACK, found.starts[who])
        found.tried[who] += 1
        there = np.asarray(np.isfinite(rows).all(axis=1))
        certified, worst = np.zeros(len(who), np.bool_), np.full(len(who), np.nan)
        judged = certify(self._box, rows[there], max_nodes=self.max_nodes)
        certified[there], worst[there] = judged.certified, judged.upper
        found.keep(who[there], rows[there], margins[there], certified[there])
        return there, certified, worst

    def _accepts(self, rows: Floats, people: People) -> Booleans:
        return proven_rows(self._box, rows, max_nodes=self.max_nodes)

    def _measure(self, rows: Floats, people: People) -> Columns:
        return {
            "certified": proven_rows(self._box, rows, max_nodes=self.max_nodes),
            "margin": self._network.logits(rows),
            "l1_distance": l1_distances(rows, people.factuals),
        }
