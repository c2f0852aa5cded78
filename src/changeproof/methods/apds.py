"""AP-Delta-S (Marzari et al.): the closest counterfactual that holds under sampled parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from changeproof.certificates.box import ParameterBox, check_radius
from changeproof.certificates.sampled import ParameterSample, favourable_under_draws, samples_needed
from changeproof.datasets.actions import Actions
from changeproof.datasets.few_columns import fewer
from changeproof.datasets.task import Task
from changeproof.methods.method import BUDGET, Candidates, Factuals, Method
from changeproof.methods.profile import PARAMETERS, Cost, Promise, WarmUp
from changeproof.methods.search.as_near import as_near
from changeproof.methods.search.minimal import Engine, MinimalSearch
from changeproof.methods.search.realisable_minimal import RealisableSearch
from changeproof.model import Access, Booleans, Floats, Integers
from changeproof.networks.network import Network
from changeproof.networks.training import update
from changeproof.plugins import PAPER
from changeproof.randomness import stream

CALIBRATION_OFFSET = 200_000
CERTIFICATE_OFFSET = 1_000_003
MARGIN_SLACK = 1e-4
NOTHING_REALISABLE = "no realisable row that the model accepts was found"


class Raised(NamedTuple):
    """Rows with the margins that they have, whether they survive, and how many margins it took."""

    rows: Floats
    margins: Floats
    survives: Booleans
    tried: Integers


@dataclass(kw_only=True, eq=False, repr=False)
class APDS(Method):
    """Raise the logit margin until the closest counterfactual survives all sampled networks.

    Where it is said what people may be told, only such rows are searched, tested and certified.
    If none of them survives, the one of the largest margin (perhaps 0) is the answer, and not
    certified. Nobody is sent farther than by the published answer, put on what may change, where
    the network accepts that one; see `farther`.

    Parameters
    ----------
    radius
        How far every parameter may move. By default it is calibrated: the largest parameter
        change among `replicas` incremental updates of the base network.
    confidence, robustness
        The sampled test shows with this confidence that a share of at least `robustness` of the
        box accepts a counterfactual; the number of samples follows from the two.
    first_margin, margin_step, last_margin
        The margins that are tried, one after the other.
    engine
        How the closest counterfactual with a margin is found; see `MinimalSearch` and
        `RealisableSearch`.
    replicas, update_learning_rate, update_batch
        The updates: one pass of mini-batch Adam each, over a bootstrap of the update pool.
    farther
        Whether people may be sent farther than that, where surviving needs it.
    """

    name = "apds"
    label = "APΔS"
    cost = Cost(per_person=0.02, feasible=0.03)
    warm_up = WarmUp(seconds=12)
    promise = Promise(
        "holds for at least {level:g} % of the networks in a box around today's parameters, with "
        "{sure:g} % confidence (by sampling). The box is as wide as an incremental update moves "
        "the parameters",
        PARAMETERS,
    )
    summary = "the closest counterfactual that holds under sampled parameter changes"
    source = f"Marzari et al. 2024 (https://arxiv.org/abs/2407.07482), as in {PAPER}"
    needs = Access.RELU_PARAMETERS

    radius: float | None = None
    confidence: float = 0.999
    robustness: float = 0.995
    first_margin: float = 0.01
    margin_step: float = 0.2
    last_margin: float = 20.0
    engine: Engine = "fast"
    replicas: int = 10
    update_learning_rate: float = 1e-3
    update_batch: int = 8
    farther: bool = False

    def __post_init__(self) -> None:
        if self.radius is not None:
            check_radius(self.radius)
        self._samples = samples_needed(self.confidence, self.robustness)

    def _prepare(self) -> None:
        task, network = self.context.task, self.context.model
        assert isinstance(network, Network)
        given = self.radius
        self.calibrated_radius = self._calibrate(task, network) if given is None else given
        self._box = ParameterBox(network, self.calibrated_radius)
        # One sample for the search, shared by all factuals and margins.
        self._sample = ParameterSample.draw(self._box, self._samples, self.context.base_seed)
        low, high = task.training_range
        rows, actions = task.rows("train"), self.context.actions
        self._published = MinimalSearch(network, low, high, rows, engine=self.engine)
        regions = fewer(self._published.max_regions, task.n_features)
        self._published = replace(self._published, max_regions=regions)
        self._minimal: MinimalSearch | RealisableSearch = self._published
        if actions is not None:
            self._minimal = RealisableSearch(network, actions, rows, engine=self.engine)

    def _follow(self, actions: Actions) -> None:
        if isinstance(self._minimal, RealisableSearch):
            self._minimal = replace(self._minimal, actions=actions)

    def _calibrate(self, task: Task, network: Network) -> float:
        rows, labels = task.rows("update"), task.labels_of("update")
        before, largest = network.parameters, 0.0
        for replica in range(self.replicas):
            seed = self.context.base_seed + CALIBRATION_OFFSET + replica
            drawn = np.random.default_rng(seed).integers(0, len(rows), len(rows))
            updated = update(
                network,
                rows[drawn],
                labels[drawn],
                learning_rate=self.update_learning_rate,
                batch=self.update_batch,
            )
            largest = max(largest, float(np.abs(updated.parameters - before).max()))
        return largest

    def _search(self, factuals: Factuals) -> Candidates:
        actions, network, own = self.context.actions, self.context.model, factuals.rows
        assert isinstance(network, Network)
        rows, margins, survives, tried = self._raised(own, self._minimal)
        if actions is not None and not self.farther:
            task, published = self.context.task, self._raised(own, self._published).rows
            near = as_near(actions, task, network, own, rows, published)
            other = np.isfinite(near[:, 0]) & (near != rows).any(axis=1)
            rows, margins[other] = near, network.logits(near[other])
            survives[other] = self._sample.all_favourable(near[other])
        return Candidates(
            rows,
            reasons=["" if there else self._reason() for there in np.isfinite(margins)],
            diagnostics={
                "certified": self._certified(factuals, rows, survives),
                "margin": margins,
                "margins_tried": tried,
                "radius": np.full(len(rows), self.calibrated_radius),
            },
        )

    def _raised(self, factuals: Floats, minimal: MinimalSearch | RealisableSearch) -> Raised:
        """Raise the margin until rows survive; among realisable rows, as far as it goes."""
        n, realisable = len(factuals), isinstance(minimal, RealisableSearch)
        rows = np.full_like(factuals, np.nan)
        margins, tried = np.full(n, np.nan), np.zeros(n, dtype=np.int64)
        waiting = np.arange(n)
        previous, reached = rows.copy(), margins.copy()
        for number in range(self._margins()):
            margin = self.first_margin + number * self.margin_step
            found = minimal.search(factuals[waiting], margin + MARGIN_SLACK, previous[waiting])
            tried[waiting] += 1
            there = np.asarray(np.isfinite(found).all(axis=1))
            previous[waiting[there]] = found[there]
            accepted = there.copy()
            accepted[there] = self._sample.all_favourable(found[there])
            rows[waiting[accepted]] = found[accepted]
            margins[waiting[accepted]] = margin
            if realisable:
                reached[waiting[there]] = margin
                # What cannot reach this margin cannot reach a larger one.
                accepted |= ~there
            waiting = waiting[~accepted]
            if not len(waiting):
                break
        survives = np.isfinite(margins)
        if realisable:
            lost = np.flatnonzero(np.isnan(previous[:, 0]))
            previous[lost] = minimal.search(factuals[lost], 0.0)
            reached[lost] = np.where(np.isnan(previous[lost, 0]), np.nan, 0.0)
            rows[~survives], margins[~survives] = previous[~survives], reached[~survives]
        return Raised(rows, margins, survives, tried)

    def _reason(self) -> str:
        return BUDGET if self.context.actions is None else NOTHING_REALISABLE

    def _margins(self) -> int:
        return int(np.floor((self.last_margin - self.first_margin) / self.margin_step + 1e-9)) + 1

    def _certified(self, factuals: Factuals, rows: Floats, answered: Booleans) -> Booleans:
        """Test every answer once more, on a sample of its own."""
        certified = np.zeros(len(rows), dtype=np.bool_)
        for i in np.flatnonzero(answered).tolist():
            seed = self._certificate_seed(factuals, i)
            certified[i] = favourable_under_draws(self._box, rows[i], self._samples, seed)
        return certified

    def _certificate_seed(self, factuals: Factuals, i: int) -> int:
        """Return the seed of the sample that certifies a person's answer, in any batch.

        It is the protocol's for the people that are drawn for a base model, by their place among
        them. For all others it depends on their row id.
        """
        if factuals.places is not None:
            return self.context.base_seed + CERTIFICATE_OFFSET + int(factuals.places[i])
        address = self.context.task.name, self.context.base_seed, "apds certificate"
        return int(stream(*address, int(factuals.row_ids[i])).integers(2**32))
