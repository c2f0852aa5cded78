from __future__ import annotations

import numpy as np

from answered import Answered
from changeproof.datasets.threshold import Threshold
from changeproof.evaluation.letters import LetterScores, letter_scores
from changeproof.models.learner import FittedModel, ModelStack
from changeproof.models.thresholds import ThresholdModel


def first(factor: float) -> FittedModel:
    return FittedModel(lambda rows: factor * rows[:, 0], "first")


def test_every_model_is_asked_on_its_own_scale_and_kept() -> None:
    rows = np.array([[0.2, 0.0, 0.0], [0.9, 0.0, 0.0], [0.5, 0.0, 0.0]])
    found = np.array([True, True, False])
    asked = Answered(np.zeros((3, 3)), rows, found, found, np.zeros((3, 0), bool)).answers
    points = ThresholdModel(first(1000.0), Threshold(620.0), 1.0)
    risk = ThresholdModel(first(1.0), Threshold(0.3, lower=True), None)
    scores = letter_scores(asked, first(1.0), None, ModelStack([points, risk]))
    np.testing.assert_array_equal(
        scores.scores, [[0.2, 200.0, 0.2], [0.9, 900.0, 0.9], [np.nan] * 3]
    )
    margins = [[-0.3, -420.0, 0.1], [0.4, 280.0, -0.6], [np.nan] * 3]
    np.testing.assert_allclose(scores.margins, margins)
    again = LetterScores.from_arrays(scores.to_arrays())
    assert again.thresholds == (Threshold(0.5), Threshold(620.0), Threshold(0.3, lower=True))
    np.testing.assert_array_equal(again.scores, scores.scores)


def test_a_network_is_shown_with_the_probability_that_it_had() -> None:
    rows = np.array([[0.5, 0.0, 0.0]])
    there = np.ones(1, bool)
    asked = Answered(np.zeros((1, 3)), rows, there, there, np.zeros((1, 0), bool)).answers
    scores = letter_scores(asked, first(1.0), Threshold(0.8), ModelStack([]))
    np.testing.assert_allclose(scores.scores, [[0.8]])
    assert scores.thresholds == (Threshold(0.8),)
