from __future__ import annotations

import numpy as np
import pytest

from changeproof import (
    Access,
    Context,
    Factuals,
    InputError,
    Network,
    Task,
    TrainingData,
    TrainingRecipe,
    evaluation_factuals,
    load_task,
    train,
)
from changeproof.certificates.box import ParameterBox
from changeproof.methods.rnce import RNCE
from worst_cases import worst_logits


@pytest.mark.parametrize(("name", "candidates"), [("breast-cancer", 176), ("diabetes", 244)])
def test_candidate_sets_have_the_protocols_size(name: str, candidates: int) -> None:
    task = load_task(name)
    network = train([TrainingRecipe(initialisation_seed=2026)], TrainingData.of(task)).stack[0]
    method = RNCE().fit(Context(task, network, 2026))
    factuals = evaluation_factuals(task, network, 2026, 10)
    answers = method.generate(factuals)
    assert answers.diagnostics["candidates"].tolist() == [candidates] * 10
    assert answers.diagnostics["certified"].all()


def test_answer_is_the_nearest_training_row_whose_worst_logit_is_positive(
    small_context: Context, small_factuals: Factuals
) -> None:
    network = small_context.model
    assert isinstance(network, Network)
    rows = small_context.task.rows("train")
    rows = rows[network.favourable(rows)]
    worst = worst_logits(ParameterBox(network, 0.02), rows)
    assert (worst.upper - worst.lower).max() < 1e-4
    certified = rows[worst.lower > 0]
    assert 0 < len(certified) < len(rows)
    answers = RNCE(radius=0.02).fit(small_context).generate(small_factuals)
    for factual, answer in zip(small_factuals.rows, answers.rows, strict=True):
        nearest = min(certified, key=lambda row: float(((row - factual) ** 2).sum()))
        np.testing.assert_array_equal(answer, nearest)
    distances = np.sqrt(((answers.rows - small_factuals.rows) ** 2).sum(axis=1))
    np.testing.assert_allclose(answers.diagnostics["l2_distance"], distances)
    assert answers.base_valid.all()


def test_rows_count_whatever_their_label(small_context: Context, small_factuals: Factuals) -> None:
    task = small_context.task
    flipped = Task(task.name, task.frame, 1 - task.labels, task.split)
    expected = RNCE().fit(small_context).generate(small_factuals)
    answers = RNCE().fit(Context(flipped, small_context.model, 2026)).generate(small_factuals)
    np.testing.assert_array_equal(answers.rows, expected.rows)


def test_a_larger_radius_leaves_fewer_candidates_and_then_none(
    small_context: Context, small_factuals: Factuals
) -> None:
    counts = [
        RNCE(radius=radius).fit(small_context).generate(small_factuals).diagnostics["candidates"][0]
        for radius in (0.0, 0.01, 0.03, 1.0)
    ]
    rows = small_context.task.rows("train")
    assert counts[0] == small_context.model.favourable(rows).sum()
    assert counts == sorted(counts, reverse=True)
    assert len(set(counts)) == 4
    assert counts[-1] == 0
    answers = RNCE(radius=1.0).fit(small_context).generate(small_factuals)
    reason = "no training row is certified favourable at radius 1"
    assert set(answers.outcomes) == {reason}
    assert not answers.diagnostics["certified"].any()


def test_a_row_the_budget_leaves_open_is_no_candidate(
    small_context: Context, small_factuals: Factuals
) -> None:
    def candidates(max_nodes: int) -> int:
        method = RNCE(radius=0.03, max_nodes=max_nodes).fit(small_context)
        return int(method.generate(small_factuals).diagnostics["candidates"][0])

    assert candidates(0) < candidates(10_000)


def test_a_model_without_parameters_is_refused(small_task: Task) -> None:
    class Oracle:
        offers = Access.PREDICTIONS

        def probabilities(self, rows: np.ndarray) -> np.ndarray:
            return np.ones(len(rows))

        def favourable(self, rows: np.ndarray) -> np.ndarray:
            return np.ones(len(rows), dtype=bool)

    with pytest.raises(InputError, match="needs relu parameters of a model"):
        RNCE().fit(Context(small_task, Oracle(), 2026))
