"""Rules between features: does anybody get advice that breaks one, and what do they cost?

    python -m benchmarks.relations answers [--answers N] [--first SEED]
    python -m benchmarks.relations dice
    python -m benchmarks.relations embedded [--people N]

`answers` makes random tables with rules of all kinds, has methods answer on random networks,
and puts every answer to a judge that knows nothing of our parser and search. `dice` counts how many
answers of DiCE contradict themselves on a telephone table whose charges are computed from minutes,
beside ours. `embedded` compares distance, robustness and time with and without rules on the three
embedded tables that say what may change.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

import changeproof as cp
from benchmarks.related_tables import contradictions, random_table
from changeproof.datasets.find import load_task
from changeproof.datasets.task import Task
from changeproof.methods.method import Context, Factuals, Method
from changeproof.model import Model
from changeproof.models.find import find_learner
from changeproof.models.recipes import bootstrap_recipe
from changeproof.networks.training import TrainingRecipe

# Larger tables than in tests: people are searched side by side.
ROWS = 500
METHODS: Sequence[type[Method]] = (cp.KDTree, cp.Wachter, cp.RNCE, cp.RobXBalanced)
PRICES = {"day": 0.17, "evening": 0.085, "night": 0.045, "abroad": 0.27}
EMBEDDED = {
    "german-credit": [
        "present_residence_since <= age_in_years - 15",
        "credit_amount <= 900 * duration_in_month",
        "present_employment_since up => age_in_years at least + 1",
        "job up => present_employment_since up",
        "telephone, number_of_existing_credits_at_this_bank change together",
    ],
    "car-loans": [
        "driver_tenure <= 7",
        "salary_range up => driver_tenure at least + 0.5",
        "car_value <= 6000 * loan_length",
        "size_of_downpayment up => debt_to_income_ratio down or salary_range up",
    ],
    "employment": [
        "education up => age at least + 1",
        'education >= "bachelor\'s degree" => age >= 20',
    ],
}
CHANGED = 40


def answers(wanted: int, first: int) -> None:
    started, seed = time.process_time(), first
    asked = found = 0
    broken: list[str] = []
    while asked < wanted:
        table = random_table(seed, ROWS)
        method = METHODS[seed % len(METHODS)]
        people, answered, wrong = contradictions(table, method, seed)
        asked, found = asked + people, found + answered
        broken += wrong
        seed += 1
        if seed % 10 == 0 or asked >= wanted:
            seconds = time.process_time() - started
            print(
                f"{seed - first} tables, {asked} asked, {found} found, {len(broken)} broken, "
                f"{seconds:.0f} s",
                flush=True,
            )
    for words in broken[:20]:
        print(words)


def telephone(rows: int = 800) -> pd.DataFrame:
    draw = np.random.default_rng(2026)
    table = pd.DataFrame({f"{when}_minutes": draw.integers(0, 350, rows) for when in PRICES})
    for when, price in PRICES.items():
        table[f"{when}_charge"] = (price * table[f"{when}_minutes"]).round(2)
    table["calls"] = draw.integers(0, 9, rows)
    score = table.filter(like="_charge").sum(axis=1) + 9 * table["calls"]
    score += draw.normal(0, 12, rows)
    return table.assign(stays=np.where(score < score.median(), "yes", "no"))


def wrong_charges(told: pd.DataFrame) -> int:
    wrong = np.zeros(len(told), dtype=bool)
    for when, price in PRICES.items():
        charge, minutes = (told[f"{when}_{what}"].astype(float) for what in ("charge", "minutes"))
        wrong |= (charge - price * minutes).abs().to_numpy() > 0.0051
    return int(wrong.sum())


def dice(people: int = 40) -> None:
    import dice_ml

    table = telephone()
    rules = [f"{when}_charge = {price} * {when}_minutes" for when, price in PRICES.items()]
    for given in ([], rules):
        task = cp.own_task(table, target="stays", favourable="yes", rules=given)
        model = _trained(task)
        for method in (cp.KDTree, cp.Wachter):
            asked = _asking(task, model, people)
            found = method().fit(Context(task, model, 2026, actions=task.actions)).generate(asked)
            told = task.readable(found.rows[found.found])
            print(
                f"{method.name}, {'with' if given else 'without'} rules: {wrong_charges(told)} of "
                f"{len(told)} answers contradict themselves"
            )
    frame = task.frame.iloc[task.split.train].astype(float)
    frame["stays"] = task.labels_of("train")
    names = list(task.frame.columns)
    data = dice_ml.Data(dataframe=frame, continuous_features=names, outcome_name="stays")

    class Asked:
        def predict_proba(self, rows: pd.DataFrame) -> Any:
            one = model.probabilities(task.standardise(rows[names].astype(float)))
            return np.column_stack([1.0 - one, one])

        def predict(self, rows: pd.DataFrame) -> Any:
            return (self.predict_proba(rows)[:, 1] >= 0.5).astype(int)

    for way in ("random", "genetic"):
        explainer = dice_ml.Dice(data, dice_ml.Model(model=Asked(), backend="sklearn"), method=way)
        query = task.original(_asking(task, model, people).rows)[names]
        options = {"random_seed": 7} if way == "random" else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = explainer.generate_counterfactuals(
                query, total_CFs=1, desired_class=1, verbose=False, **options
            )
        rows = [each.final_cfs_df for each in found.cf_examples_list]
        told = pd.concat([each for each in rows if each is not None])
        print(f"DiCE ({way}): {wrong_charges(told)} of {len(told)} answers contradict themselves")


def embedded(people: int) -> None:
    for name, rules in EMBEDDED.items():
        plain = load_task(name)
        related = plain.replaced(rules=rules)
        base = _trained(plain)
        recipes = [bootstrap_recipe(plain, 100 + k, 200 + k) for k in range(CHANGED)]
        changed = find_learner("mlp").train(recipes, plain)
        for method in (cp.KDTree, cp.Wachter, cp.RobXBalanced):
            for task in (plain, related):
                asked = _asking(task, base, people)
                ready = method().fit(Context(task, base, 2026, actions=task.actions))
                ready.generate(asked[:2])
                started = time.process_time()
                found = ready.generate(asked)
                seconds = time.process_time() - started
                there = found.base_valid
                held = changed.favourable(found.rows[there]).mean()
                far = task.distances(found.factuals[there], found.rows[there]).mean()
                broken = related.actions.breaches(found.factuals[there], found.rows[there])
                print(
                    f"{name}, {method.name}, {len(task.rules)} rules: {there.sum()} of "
                    f"{len(asked)} answered, distance {far:.3f}, holds in {100 * held:.1f} %, "
                    f"{1000 * seconds / len(asked):.1f} ms per person, "
                    f"{int(broken.any.sum())} break a rule"
                )


def _trained(task: Task) -> Model:
    return find_learner("mlp").train([TrainingRecipe(initialisation_seed=2026)], task)[0]


def _asking(task: Task, model: Model, people: int) -> Factuals:
    rows, ids = task.rows("test"), task.row_ids("test")
    some = np.flatnonzero(~model.favourable(rows))[:people]
    return Factuals(ids[some], rows[some])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["answers", "dice", "embedded"])
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--people", type=int, default=60)
    given = parser.parse_args()
    if given.what == "answers":
        answers(given.answers, given.first)
    elif given.what == "dice":
        dice()
    else:
        embedded(given.people)


if __name__ == "__main__":
    main()
