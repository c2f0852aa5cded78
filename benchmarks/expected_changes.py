"""Which change do you expect? quorum built for some kinds of change, and tested on others.

For each base network of the paper's tables quorum is built for one kind of change, for all kinds,
and for all kinds but one. The same people are advised by each, and one bank judges: all families of
single changes that fit networks and these tables, also those that quorum has no kind for.

    python -m benchmarks.expected_changes [--jobs 2]

writes benchmarks/results/expected_changes.csv and docs/expected-changes.png; with --redraw only the
picture, from the table that is there.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import pandas as pd

from benchmarks.expected_changes_picture import picture
from benchmarks.machine import RESULTS, one_thread, save
from changeproof import (
    Context,
    Quorum,
    TrainingRecipe,
    get_family,
    load_task,
    paper_datasets,
    published_family_names,
)
from changeproof.changes import beyond_family_names
from changeproof.changes.bank import build_bank, reserved_recipes
from changeproof.changes.family import BaseModel
from changeproof.evaluation.factuals import evaluation_factuals
from changeproof.models.network import NetworkLearner
from changeproof.models.private import PrivateLearner

# No setting was chosen by a look at these.
SEEDS = (5501, 5502)
PEOPLE = 60
ALL_KINDS, ALL_BUT_ONE = "all kinds", "all kinds but the tested one"
PICTURE = Path(__file__).resolve().parent.parent / "docs" / "expected-changes.png"
KEYS = ["dataset", "base_seed", "built_for", "without", "tested_on"]


class Choice(NamedTuple):
    """What quorum is built for: one kind of change, or all but those left out."""

    built_for: str
    without: str
    expect: tuple[str, ...]


def choices() -> Iterator[Choice]:
    """Yield each kind alone, all kinds, and all kinds but one."""
    kinds = published_family_names()
    for kind in kinds:
        yield Choice(kind, "", (kind,))
    yield Choice(ALL_KINDS, "", ())
    for kind in kinds:
        yield Choice(ALL_KINDS, kind, tuple(other for other in kinds if other != kind))


def fitting_families(datasets: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return families of single changes that fit, and why the others do not."""
    learner, tasks = NetworkLearner(), [load_task(name) for name in datasets]
    reasons = {name: get_family(name).left_out(learner, tasks) for name in _single_changes()}
    fitting = [name for name, reason in reasons.items() if not reason]
    return fitting, {name: reason for name, reason in reasons.items() if reason}


def _single_changes() -> tuple[str, ...]:
    return (*published_family_names(), *beyond_family_names())


def measured(
    dataset: str,
    seed: int,
    people: int,
    tested_on: Sequence[str],
    built_for: Sequence[Choice] | None = None,
) -> list[dict[str, Any]]:
    """Build quorums for one base network, and let one bank judge the advice of each."""
    with one_thread():
        task, learner = load_task(dataset), NetworkLearner()
        network = learner.train([TrainingRecipe(initialisation_seed=seed)], task)[0]
        base = BaseModel(seed, network)
        families = [get_family(name) for name in tested_on]
        reserved = frozenset(reserved_recipes(task, base, learner, families))
        context = Context(task, network, seed, PrivateLearner(learner, lambda: reserved))
        factuals = evaluation_factuals(task, network, seed, people)
        bank = build_bank(task, base, families, learner)
        rows = []
        for choice in choices() if built_for is None else built_for:
            answers = Quorum(expect=choice.expect).fit(context).generate(factuals)
            found = answers.found
            accepted = bank.stack.favourable(answers.rows[found]).mean(axis=1)
            distance = task.distances(factuals.rows[found], answers.rows[found]).mean()
            for family in tested_on:
                mine = (bank.table["family"] == family).to_numpy()
                rows.append(
                    {
                        "dataset": dataset,
                        "base_seed": seed,
                        "built_for": choice.built_for,
                        "without": choice.without,
                        "tested_on": family,
                        "robustness": float(accepted[mine].mean()),
                        "distance": float(distance),
                        "n_people": int(found.sum()),
                    }
                )
    return rows


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each choice: robustness by family in percent, and `distance`.

    Both are means over base networks; a distance is relative to that of all kinds. In the last line
    each family is tested on the quorum that was built for all kinds but this one.
    """
    table = table.fillna({"without": ""})
    whole = table[(table["built_for"] == ALL_KINDS) & (table["without"] == "")]
    whole = whole.groupby(["dataset", "base_seed"])["distance"].first().rename("whole")
    table = table.join(whole, on=["dataset", "base_seed"])
    table = table.assign(
        robustness=100.0 * table["robustness"], distance=table["distance"] / table["whole"]
    )
    unseen = table[table["without"] == table["tested_on"]].assign(built_for=ALL_BUT_ONE)
    shown = pd.concat([table[table["without"] == ""], unseen])
    found = shown.pivot_table("robustness", "built_for", "tested_on")
    found["distance"] = shown.groupby("built_for")["distance"].mean()
    lines = [*published_family_names(), ALL_KINDS, ALL_BUT_ONE]
    columns = [name for name in (*_single_changes(), "distance") if name in found]
    return found.loc[[name for name in lines if name in found.index], columns]


def redraw() -> pd.DataFrame:
    """Draw the picture of the table that is kept; return what it shows."""
    found = summary(pd.read_csv(RESULTS / "expected_changes.csv"))
    PICTURE.write_bytes(picture(found))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", default=list(paper_datasets()))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--families", nargs="+", help="what to test on; all that fit")
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--unsaved", action="store_true", help="print, and keep nothing")
    parser.add_argument("--redraw", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if not options.redraw:
        tested_on, left_out = fitting_families(options.datasets)
        for family, reason in left_out.items():
            print(f"{family} is left out: {reason}")
        work = joblib.Parallel(n_jobs=options.jobs, return_as="generator_unordered")(
            joblib.delayed(measured)(dataset, seed, options.people, options.families or tested_on)
            for seed in options.seeds
            for dataset in options.datasets
        )
        for rows in work:
            print(f"{rows[0]['dataset']}, base seed {rows[0]['base_seed']}", flush=True)
            if options.unsaved:
                print(*rows, sep="\n")
            else:
                save("expected_changes", rows, KEYS)
    if not options.unsaved:
        print(redraw().T.to_string(float_format=lambda value: f"{value:.2f}"))


if __name__ == "__main__":
    main()
