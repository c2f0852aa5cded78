"""DiCE, told what may change: every answer is found, or the rule that it breaks is counted."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from changeproof import NetworkLearner, TrainingRecipe, load_task
from changeproof.feasible.rules import DIRECTION, RANGE, WAYS
from changeproof.methods.answers import FOUND
from changeproof.methods.method import Factuals

pytest.importorskip("dice_ml", reason="dice-ml is not installed (extra: dice)")


@pytest.mark.filterwarnings("ignore")
def test_what_dice_lets_through_is_counted() -> None:
    from benchmarks.dice_constraints import Explainer, counted, judged, limits_of

    warnings.simplefilter("ignore")
    task = load_task("german-credit")
    network = NetworkLearner().train([TrainingRecipe(initialisation_seed=2026)], task)[0]
    rows, ids = task.rows("test"), task.row_ids("test")
    adverse = np.flatnonzero(~network.favourable(rows))[:15]
    people = Factuals(ids[adverse], rows[adverse])
    explainer = Explainer(task, network, "random")
    answers = judged(task, network, people, explainer.answers(people, "for all"))
    counts = counted(answers)
    assert counts["answers"] == len(people)
    assert counts["broken"] == sum(counts[way] for way in WAYS)
    # Which way, and by how much, cannot be said for all people at once.
    assert counts["broken"] == counts[DIRECTION] + counts[RANGE]
    assert counts[DIRECTION] > 0
    broken = answers.outcomes != FOUND
    assert broken.sum() == counts["broken"]
    assert all(" may " in outcome for outcome in answers.outcomes[broken])
    one = people[:1]
    limits = limits_of(task, one.rows[0])
    age = task.readable(one.rows)["age_in_years"][0]
    assert limits["age_in_years"] == pytest.approx([age, age + 2])
    assert "purpose" not in limits
    assert counted(judged(task, network, one, explainer.answers(one, "per person")))["broken"] == 0
