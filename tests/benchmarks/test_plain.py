"""The plain versions in benchmarks/ are slow references: they must give the package's answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from benchmarks.machine import one_thread
from benchmarks.plain import PLAIN
from benchmarks.plain.apds import PlainAPDS
from benchmarks.plain.rnce import PlainRNCE
from benchmarks.plain.roar_lime import PlainRoarLime
from changeproof import (
    Context,
    Factuals,
    Task,
    TrainingData,
    TrainingRecipe,
    get_method,
    published_method_names,
    train,
)
from changeproof.certificates.box import ParameterBox
from changeproof.certificates.exact import certify

# Settings that keep the slow versions short; what is not given is as published.
SETTINGS: dict[str, dict[str, Any]] = {
    "betarce": {"ensemble_size": 5, "robustness": 0.6},
    "kdtree": {},
    "robx-balanced": {"samples": 300, "shell_samples": 300},
    "robx-robust": {"samples": 300, "shell_samples": 300},
    "wachter": {"max_steps": 400},
}


@pytest.fixture(autouse=True)
def single_thread() -> Iterator[None]:
    """Threads that wait for each other cost more than these small networks do."""
    with one_thread():
        yield


def plain_answers(name: str, settings: dict[str, Any], context: Context, people: Factuals) -> Any:
    plain = PLAIN[name](get_method(name)(**settings)).fit(context)
    pairs = zip(people.row_ids.tolist(), people.rows, strict=True)
    return np.array([plain.answer(row_id, row) for row_id, row in pairs])


def test_every_published_method_has_a_plain_version() -> None:
    assert sorted(PLAIN) == sorted(published_method_names())


@pytest.mark.parametrize("name", SETTINGS)
def test_plain_and_fast_answers_are_the_same(
    name: str, small_context: Context, small_factuals: Factuals
) -> None:
    asked = small_factuals[:3]
    fast = get_method(name)(**SETTINGS[name]).fit(small_context).generate(asked)
    assert fast.found.any()
    slow = plain_answers(name, SETTINGS[name], small_context, asked)
    np.testing.assert_allclose(slow, fast.rows, atol=1e-9)


def test_roar_lime_is_the_same_when_both_regressions_run_to_the_end(
    small_context: Context, small_factuals: Factuals, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = small_factuals[:2]
    settings = {"penalty": 0.16, "n_samples": 4_000}
    fast = get_method("roar-lime")(**settings).fit(small_context).generate(asked)
    early = plain_answers("roar-lime", settings, small_context, asked)
    monkeypatch.setattr(PlainRoarLime, "regression_tolerance", 1e-10)
    late = plain_answers("roar-lime", settings, small_context, asked)
    np.testing.assert_allclose(late, fast.rows, atol=1e-6)
    np.testing.assert_allclose(early, fast.rows, atol=0.1)


def test_rbr_gives_the_same_rows(small_context: Context, small_factuals: Factuals) -> None:
    asked = small_factuals[:4]
    settings = {"n_samples": 60}
    fast = get_method("rbr")(**settings).fit(small_context).generate(asked)
    assert (fast.diagnostics["iterations"] > 1).any()
    slow = plain_answers("rbr", settings, small_context, asked)
    np.testing.assert_array_equal(slow, fast.rows)


def test_rnce_certifies_the_same_rows(small_context: Context, small_factuals: Factuals) -> None:
    method = get_method("rnce")().fit(small_context)
    rows = small_context.task.rows("train")
    box = ParameterBox(small_context.model, 0.005)  # type: ignore[arg-type]
    certificates = certify(box, rows)
    plain = PlainRNCE(method)
    plain.known_candidates = rows[certificates.certified]
    plain.fit(small_context)
    nearest_to_nought = np.argsort(np.abs(certificates.lower))[:8]
    verdicts = [plain.worst_logit(rows[i]) > 0 for i in nearest_to_nought]
    assert len(set(verdicts)) == 2
    np.testing.assert_array_equal(verdicts, certificates.certified[nearest_to_nought])
    answers = method.generate(small_factuals[:3]).rows
    for row, answer in zip(small_factuals.rows[:3], answers, strict=True):
        np.testing.assert_array_equal(plain.answer(0, row), answer)


def test_apds_finds_changes_as_short_as_the_shortest(small_task: Task) -> None:
    """On a network small enough for the plain programme to be solved to the end."""
    recipe = TrainingRecipe(initialisation_seed=2026, hidden=(6, 6))
    network = train([recipe], TrainingData.of(small_task)).stack[0]
    context = Context(small_task, network, 2026)
    rows = small_task.rows("test")
    asked = Factuals(small_task.row_ids("test"), rows)[~network.favourable(rows)][:3]
    method = get_method("apds")(confidence=0.9, robustness=0.9)
    fast = method.fit(context).generate(asked)
    plain = PlainAPDS(method).fit(context)
    assert plain.radius == pytest.approx(method.calibrated_radius, rel=1e-5)
    assert plain.samples == 22
    for i, row in enumerate(asked.rows):
        slow = plain.answer(int(asked.row_ids[i]), row)
        length, shortest = (np.abs(answer - row).sum() for answer in (fast.rows[i], slow))
        assert length == pytest.approx(shortest, rel=1e-3)
        assert fast.base_valid[i] and plain.favourable(slow[None])[0]
        assert fast.diagnostics["certified"][i] == plain.certified
