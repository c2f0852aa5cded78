"""AP-Delta-S (Marzari et al.): the closest counterfactual that holds under sampled parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from changeproof.certificates.box import ParameterBox, check_radius
from changeproof.certificates.sampled import ParameterSample, favourable_under_draws, samples_needed
from changeproof.datasets.task import Task
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
from changeproof.methods.shared.calibrated_radius import (
    BATCH,
    LEARNING_RATE,
    REPLICAS,
    calibrated_radius,
)
from changeproof.methods.shared.minimal import MinimalSearch
from changeproof.model import Access, Booleans, Floats
from changeproof.networks.network import Network
from changeproof.plugins import PAPER
from changeproof.randomness import stream

CERTIFICATE_OFFSET = 1_000_003
MARGIN_SLACK = 1e-4


@dataclass(kw_only=True, eq=False, repr=False)
class APDS(Method):
    """Raise the logit margin until the closest counterfactual survives all sampled networks.

    A row is good enough if it survives them. An answer is certified by a sample of its own.

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
    replicas, update_learning_rate, update_batch
        The updates: one pass of mini-batch Adam each, over a bootstrap of the update pool.
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
    replicas: int = REPLICAS
    update_learning_rate: float = LEARNING_RATE
    update_batch: int = BATCH

    def __post_init__(self) -> None:
        check_radius(self.radius or 0.0)
        self._samples = samples_needed(self.confidence, self.robustness)

    def _prepare(self) -> None:
        task, network = self.context.task, self.context.model
        assert isinstance(network, Network)
        radius = self.radius
        self.calibrated_radius = self._calibrate(task, network) if radius is None else radius
        self._box = ParameterBox(network, self.calibrated_radius)
        # One sample for the search, shared by all factuals and margins.
        self._sample = ParameterSample.draw(self._box, self._samples, self.context.base_seed)
        low, high = task.training_range
        self._minimal = MinimalSearch(network, low, high, task.rows("train"))

    def _calibrate(self, task: Task, network: Network) -> float:
        return calibrated_radius(
            task,
            network,
            self.context.base_seed,
            replicas=self.replicas,
            learning_rate=self.update_learning_rate,
            batch=self.update_batch,
        )

    def _search(self, factuals: Factuals) -> Candidates:
        n = len(factuals)
        rows = np.full_like(factuals.rows, np.nan)
        margins, tried = np.full(n, np.nan), np.zeros(n, dtype=np.int64)
        waiting = np.arange(n)
        previous = rows.copy()
        last = int(np.floor((self.last_margin - self.first_margin) / self.margin_step + 1e-9))
        for number in range(last + 1):
            margin = self.first_margin + number * self.margin_step
            found = self._minimal.search(
                factuals.rows[waiting], margin + MARGIN_SLACK, previous[waiting]
            )
            tried[waiting] += 1
            there = np.asarray(np.isfinite(found).all(axis=1))
            previous[waiting[there]] = found[there]
            survives = there.copy()
            survives[there] = self._sample.all_favourable(found[there])
            rows[waiting[survives]] = found[survives]
            margins[waiting[survives]] = margin
            waiting = waiting[~survives]
            if not len(waiting):
                break
        answered = np.isfinite(margins)
        return Candidates(
            rows,
            np.where(answered, "", BUDGET).tolist(),
            {
                "certified": self._certified(factuals, rows, answered),
                "margin": margins,
                "margins_tried": tried,
                "radius": np.full(n, self.calibrated_radius),
            },
        )

    def _accepts(self, rows: Floats, people: People) -> Booleans:
        return self._sample.all_favourable(rows)

    def _measure(self, rows: Floats, people: People) -> Columns:
        network = self.context.model
        assert isinstance(network, Network)
        factuals = people.proposals.factuals[people.places]
        survives = self._sample.all_favourable(rows)
        return {
            "certified": self._certified(factuals, rows, survives),
            "margin": network.logits(rows),
        }

    def _certified(self, factuals: Factuals, rows: Floats, answered: Booleans) -> Booleans:
        """Test every answer once more, on a sample of its own."""
        certified = np.zeros(len(rows), dtype=np.bool_)
        for i in np.flatnonzero(answered).tolist():
            seed = self._certificate_seed(factuals, i)
            certified[i] = favourable_under_draws(self._box, rows[i], self._samples, seed)
        return certified

    def _certificate_seed(self, factuals: Factuals, i: int) -> int:
        """Return a seed that does not depend on the batch.

        It is the protocol's for people who are drawn for a base model, by their place among them.
        For all others it depends on their row id.
        """
        if factuals.places is not None:
            return self.context.base_seed + CERTIFICATE_OFFSET + int(factuals.places[i])
        address = self.context.task.name, self.context.base_seed, "apds certificate"
        return int(stream(*address, int(factuals.row_ids[i])).integers(2**32))
