"""Advice that is followed imprecisely: does the model still accept what came of it?

People who are told to save 1,200 save 1,080, or 1,250. So every change of a number is missed: all
of them end short of what was told by the same share, or each lands somewhere around it. What is a
whole number stays one, and categories change as told. That is a question of its own, which
Pawelczyk et al. ask (PROBE, 2023), and no change of the model: it is never averaged with the
families.
"""

from __future__ import annotations

import numpy as np

from changeproof.datasets.task import Task
from changeproof.methods.answers import Counterfactuals
from changeproof.model import Floats, Model
from changeproof.randomness import stream

# By how many percent changes are missed: short of what was told, or as the deviation of where
# they land, of which so many are drawn.
SHORT, NOISE, DRAWS = (5, 10, 20), 10, 50
WAYS = (*(f"{percent} % short" for percent in SHORT), f"{NOISE} % noise")


def held_imprecisely(task: Task, model: Model, answers: Counterfactuals, base_seed: int) -> Floats:
    """Return the share of each person's tries [people, ways] that a model accepts.

    NaN where there is no counterfactual that the model accepts when it is followed to the letter.
    """
    held = np.full((len(answers), len(WAYS)), np.nan)
    valid = np.flatnonzero(answers.base_valid)
    own, told = answers.factuals[valid], answers.rows[valid]
    for way, percent in enumerate(SHORT):
        rows = missed(task, own, told, np.full(own.shape, 1.0 - percent / 100.0))
        held[valid, way] = model.favourable(rows)
    draws = [
        stream("imprecise", task.name, base_seed, row_id).standard_normal((DRAWS, own.shape[1]))
        for row_id in answers.row_ids[valid].tolist()
    ]
    if draws:
        shares = 1.0 + NOISE / 100.0 * np.concatenate(draws)
        rows = missed(task, np.repeat(own, DRAWS, axis=0), np.repeat(told, DRAWS, axis=0), shares)
        held[valid, -1] = model.favourable(rows).reshape(-1, DRAWS).mean(axis=1)
    return held


def missed(task: Task, own: Floats, told: Floats, shares: Floats) -> Floats:
    """Return rows in which every number has changed by a share of the change that was told.

    What follows from other changes follows from what was really done.
    """
    told = task.actions.doing(own, told)
    rules, rows = task.actions.rules, told.copy()
    for place, feature in enumerate(task.features):
        if feature.categories:
            continue
        (column,) = feature.columns
        mean, scale = rules.mean[column], rules.scale[column]
        before, after = (each[:, column] * scale + mean for each in (own, told))
        value = before + shares[:, column] * (after - before)
        if rules.whole_steps[place]:
            base, step = rules.base[place], rules.step[place]
            value = base + np.rint((value - base) / step) * step
        changed = own[:, column] != told[:, column]
        rows[:, column] = np.where(changed, (value - mean) / scale, told[:, column])
    return task.actions.follow(own, rows)
