"""A plain method timed on a few people, and its answers held against the package's."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from benchmarks.plain import PLAIN, PlainMethod
from benchmarks.plain.apds import PlainAPDS
from benchmarks.plain.rnce import PlainRNCE
from benchmarks.plain.roar_lime import PlainRoarLime
from changeproof import Context, Counterfactuals, Method, Network
from changeproof.certificates.box import ParameterBox
from changeproof.certificates.exact import certify

PEOPLE = 8
SECONDS = 12.0  # no further person is begun after that
APDS_SECONDS = 10.0  # a third of the published limit
CONVERGED = 1e-9  # of a logistic regression
RNCE_ROWS = 24
RNCE_SECONDS = 10.0
SAME = 1e-6  # of a standardised feature
DISTANCE_TOLERANCE = 0.1


@dataclass(frozen=True)
class PlainRun:
    """How long a plain method took, and whether it did the same job.

    Attributes
    ----------
    fit_seconds
        Preparation; extrapolated from a sample of the training rows for rnce.
    request_seconds
        Mean time per person; a lower bound where a search ran out of time.
    people, timeouts
        How many were answered, and how many of these searches ran out of time.
    same, compared
        Of the answers that both gave, how many are the same to 1e-6 in every feature.
    base_valid
        In how many cases both or neither are base-valid (of those compared).
    distance_ratio
        Mean distance of the plain answers over that of the package's.
    rows_checked, rows_same
        For rnce: training rows certified one by one, and how many got the package's verdict.
    """

    fit_seconds: float
    request_seconds: float
    people: int
    timeouts: int
    same: int
    compared: int
    base_valid: int
    distance_ratio: float
    rows_checked: int = 0
    rows_same: int = 0

    @property
    def agrees(self) -> bool:
        """The same validity, the same verdicts, and distances alike on average."""
        near = not self.compared or abs(self.distance_ratio - 1.0) <= DISTANCE_TOLERANCE
        return near and self.base_valid == self.compared and self.rows_same == self.rows_checked


def run_plain(method: Method, context: Context, answers: Counterfactuals) -> PlainRun:
    """Answer the first few people of a batch plainly, and compare with the package's answers."""
    plain = PLAIN[method.name](method)
    rows_checked = rows_same = 0
    if isinstance(plain, PlainRNCE):
        fit_seconds, rows_checked, rows_same = _certify_some(plain, context)
    else:
        fit_seconds = _timed_fit(plain, context)
    if isinstance(plain, PlainAPDS):
        plain.seconds = APDS_SECONDS
    seconds, timeouts, rows = [], 0, []
    for row_id, row in zip(answers.row_ids[:PEOPLE].tolist(), answers.factuals, strict=False):
        started = time.process_time()
        try:
            rows.append(plain.answer(row_id, row))
        except TimeoutError:
            timeouts += 1
            rows.append(np.full_like(row, np.nan))
        seconds.append(time.process_time() - started)
        if sum(seconds) > SECONDS:
            break
    if isinstance(plain, PlainRoarLime):
        # Timed as the protocol has it; compared with the regression solved to the end, as the
        # package does: where ROAR's walk stops hangs on the last digits of the surrogate.
        plain.regression_tolerance = CONVERGED
        ids = answers.row_ids[: len(rows)].tolist()
        rows = [plain.answer(i, row) for i, row in zip(ids, answers.factuals, strict=False)]
    return PlainRun(
        fit_seconds,
        float(np.mean(seconds)),
        len(rows),
        timeouts,
        *_compare(plain, np.array(rows), answers),
        rows_checked,
        rows_same,
    )


def _timed_fit(plain: PlainMethod, context: Context) -> float:
    started = time.process_time()
    plain.fit(context)
    return time.process_time() - started


def _compare(
    plain: PlainMethod, rows: np.ndarray, answers: Counterfactuals
) -> tuple[int, int, int, float]:
    task = plain.context.task
    both = np.isfinite(rows).all(axis=1) & answers.found[: len(rows)]
    if not both.any():
        return 0, 0, 0, math.nan
    slow, fast = rows[both], answers.rows[: len(rows)][both]
    factuals = answers.factuals[: len(rows)][both]
    same = np.abs(slow - fast).max(axis=1) <= SAME
    valid = plain.favourable(slow) == answers.base_valid[: len(rows)][both]
    ratio = task.distances(factuals, slow).mean() / task.distances(factuals, fast).mean()
    return int(same.sum()), int(both.sum()), int(valid.sum()), float(ratio)


def _certify_some(plain: PlainRNCE, context: Context) -> tuple[float, int, int]:
    """Certify a sample of the training rows, and give the rest the package's verdicts."""
    assert isinstance(context.model, Network)
    rows = context.task.rows("train")
    box = ParameterBox(context.model, plain.settings.radius)
    certified = certify(box, rows, max_nodes=plain.settings.max_nodes).certified
    plain.known_candidates = rows[certified]
    plain.fit(context)
    drawn = np.random.default_rng(0).permutation(len(rows))[:RNCE_ROWS]
    started, checked, same = time.process_time(), 0, 0
    for i in drawn:
        same += (plain.worst_logit(rows[i]) > 0.0) == certified[i]
        checked += 1
        if time.process_time() - started > RNCE_SECONDS:
            break
    seconds = time.process_time() - started
    return seconds / checked * len(rows), checked, int(same)
