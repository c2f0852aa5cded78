"""DiCE, told what may change as far as it can be told: which rules do its answers break?

    python -m benchmarks.dice_constraints RUN [--dataset NAME] [--people N]

RUN is a finished run with networks, such as that of the preset `recourse`. DiCE explains its
first base network to the people of the run. It is told which features may vary
(`features_to_vary`) and in which range or among which categories (`permitted_range`): once for
all people, as its documentation does, and once for each person anew, so that "only upwards" is
said as well. Its answers are then put to our contract, and RUN/dice.csv says how many of them
break which rule.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import dice_ml
import numpy as np
import pandas as pd
from raiutils.exceptions import UserConfigValidationException

from changeproof.adapters.dice import from_dice
from changeproof.adapters.tables import read_counterfactuals
from changeproof.datasets.task import Task
from changeproof.feasible.rules import WAYS
from changeproof.methods.answers import Counterfactuals
from changeproof.methods.given import GivenCounterfactuals
from changeproof.methods.method import Context, Factuals
from changeproof.networks.network import Network
from changeproof.workflow import Results

OUTCOME = "favourable"
SEARCHES = ("random", "genetic")


class Judge:
    """What DiCE wants of a model."""

    def __init__(self, task: Task, network: Network) -> None:
        self.task, self.network = task, network

    def predict_proba(self, frame: pd.DataFrame) -> np.ndarray:
        """Return the probabilities of both classes."""
        favourable = self.network.probabilities(self.task.encoded(frame))
        return np.column_stack([1 - favourable, favourable])


def limits_of(task: Task, person: np.ndarray | None) -> dict[str, list[Any]]:
    """Return what the features that may vary may be, for a person or for anybody."""
    actions, rules = task.actions, task.actions.rules
    low, high = rules.low[rules.feature_of], rules.high[rules.feature_of]
    if person is not None:
        _, low, high = (each[0] for each in actions.limits(person[None]))
    permitted = {}
    for feature, free in zip(actions.features, actions.changeable, strict=True):
        column = feature.columns[0]
        choices: list[Any] = list(feature.categories) or [float(low[column]), float(high[column])]
        if feature.kind == "categorical" and person is not None:
            allowed = high[list(feature.columns)]
            choices = [each for each, may in zip(choices, allowed, strict=True) if may]
        elif feature.kind == "binary":
            choices = [choices[code] for code in (0, 1) if low[column] <= code <= high[column]]
        if free and len(set(choices)) > 1:
            permitted[feature.name] = choices
    return permitted


class Explainer:
    """DiCE with one of its searches, for a network on a task."""

    def __init__(self, task: Task, network: Network, search: str) -> None:
        self.task, self.search = task, search
        numbers = [feature.name for feature in task.features if not feature.categories]
        told = task.readable(task.rows("train")).assign(**{OUTCOME: task.labels_of("train")})
        data = dice_ml.Data(dataframe=told, continuous_features=numbers, outcome_name=OUTCOME)
        model = dice_ml.Model(model=Judge(task, network), backend="sklearn")
        self.dice = dice_ml.Dice(data, model, method=search)

    def answers(self, people: Factuals, limits: str) -> pd.DataFrame:
        """Return an answer per person, empty where there is none."""
        if limits == "for all":
            return self._asked(people, limits_of(self.task, None))
        each = (people[i : i + 1] for i in range(len(people)))
        tables = [self._asked(one, limits_of(self.task, one.rows[0])) for one in each]
        return pd.concat([table for table in tables if len(table)], ignore_index=True)

    def _asked(self, people: Factuals, permitted: dict[str, list[Any]]) -> pd.DataFrame:
        features = [feature.name for feature in self.task.features]
        seed = {"random_seed": 1} if self.search == "random" else {}
        try:
            found = self.dice.generate_counterfactuals(
                self.task.readable(people.rows),
                total_CFs=1,
                desired_class=1,
                features_to_vary=list(permitted),
                permitted_range=permitted,
                **seed,
            )
        except UserConfigValidationException:
            return pd.DataFrame()  # nothing for anybody
        return from_dice(found, people.row_ids.tolist(), features)


def judged(task: Task, network: Network, people: Factuals, table: pd.DataFrame) -> Counterfactuals:
    """Put DiCE's answers to the contract."""
    given = GivenCounterfactuals(table=read_counterfactuals(table, task))
    return given.fit(Context(task, network, 2026, actions=task.actions)).generate(people)


def counted(answers: Counterfactuals) -> dict[str, int]:
    """Return how many answers there are, and how many break which rule."""
    raw = answers.realisation
    assert raw is not None
    return {
        "people": len(answers),
        "answers": int(np.isfinite(raw.raw_distance).sum()),
        "accepted_by_the_base_model": int(raw.raw_base_valid.sum()),
        "broken": int((raw.raw_breach != "").sum()),
        **{way: int((raw.raw_breach == way).sum()) for way in WAYS},
        "found_and_accepted": int(answers.base_valid.sum()),
    }


def main() -> None:
    """Explain, judge, and write how many answers break which rule."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--dataset", default="german-credit")
    parser.add_argument("--people", type=int, default=50)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    results = Results(given.run)
    key = next(key for key in results.answered if key.dataset == given.dataset)
    task, network = results.task(given.dataset), results.base_network(key.dataset, key.base_seed)
    asked = results.counterfactuals(*key)
    people = Factuals(asked.row_ids, asked.factuals)[slice(given.people)]
    rows = []
    for search in SEARCHES:
        explainer = Explainer(task, network, search)
        for limits in ("for all", "per person"):
            answers = judged(task, network, people, explainer.answers(people, limits))
            about = {"dataset": task.name, "search": search, "limits": limits}
            rows.append({**about, **counted(answers)})
            print(pd.Series(rows[-1]).to_string())
            print(pd.Series(answers.outcomes).value_counts().to_string(), "\n")
    path = given.run / "dice.csv"
    pd.DataFrame(rows).to_csv(path, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
