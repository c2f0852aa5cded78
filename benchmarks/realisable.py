"""Methods that search realisable rows, beside the same methods mended afterwards.

    python -m benchmarks.realisable RUN [--out DIRECTORY] [--jobs N]

RUN is a finished run of a plan with `realisable = true`, such as that of the preset `recourse`.
Its base models and changed models are used again in DIRECTORY, where every method searches as
published and its answers are made realisable afterwards. RUN/native.csv then has both ways side
by side. Distance and features changed are means over the people whom both ways gave an answer
that the base model accepts: one way may help people whom the other does not, and those are harder
to help. For methods with a test of robustness of their own (a certificate, a stable surrounding,
an ensemble that agrees, the worst surrogate), the table also says how many people have an answer
that passes it, and the distance where both ways do.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import new_class
from typing import Any

import numpy as np
import pandas as pd

from changeproof.commands.progress import ConsoleObserver
from changeproof.evaluation.metrics import measure
from changeproof.methods import builtin_method_names, get_method
from changeproof.methods.method import (
    Candidates,
    Context,
    Counterfactuals,
    Factuals,
    Method,
)
from changeproof.model import Booleans, Floats
from changeproof.runs.manifest import read_plan
from changeproof.runs.plan import Plan
from changeproof.runs.resolve import Given, resolve
from changeproof.runs.results import StoredResults
from changeproof.workers.workplace import ThisMachine
from changeproof.workflow import Results, run_resolved

SUFFIX = "-afterwards"
# How methods that have one judge for themselves whether a row is robust.
OWN_TESTS: dict[str, Callable[[Any, Factuals, Floats], Booleans]] = {
    "apds": lambda method, _, rows: method._sample.all_favourable(rows),
    "betarce": lambda method, _, rows: method._robust(rows),
    "rnce": lambda method, _, rows: method._stays(rows),
    "roar-lime": lambda method, people, rows: worst_surrogate(method, people, rows) >= 0.0,
    "robx-balanced": lambda method, _, rows: method._stable(rows),
    "robx-robust": lambda method, _, rows: method._stable(rows),
}


class Afterwards(Method):
    """Hides from a method what may change; its answers are made realisable all the same."""

    def _prepare(self) -> None:
        with self._hidden():
            super()._prepare()

    def _search(self, factuals: Factuals) -> Candidates:
        with self._hidden():
            return super()._search(factuals)  # type: ignore[safe-super]

    @contextmanager
    def _hidden(self) -> Iterator[None]:
        seen = self.context
        self.context = replace(seen, actions=None)
        try:
            yield
        finally:
            self.context = seen


def afterwards(name: str) -> type[Method]:
    """Return the class of a built-in method that does not know what may change."""
    known = get_method(name)
    return new_class(
        f"Afterwards{known.__name__}",
        (Afterwards, known),
        exec_body=lambda body: body.update(name=name + SUFFIX, __module__=__name__),
    )


# Workers find them here.
CLASSES = {cls.__name__: cls for cls in map(afterwards, builtin_method_names())}
globals().update(CLASSES)


def run_afterwards(native: Path, out: Path, jobs: int | None) -> Results:
    """Run the plan of a run again, with every method mended afterwards."""
    plan = read_plan(native)
    if not plan.realisable:
        raise SystemExit(f"the plan of {native} does not say realisable = true")
    if not out.exists():
        shutil.copytree(native, out)
    methods = {cls.name: cls() for cls in CLASSES.values() if _base_name(cls) in plan.methods}
    values = plan.model_dump() | {"methods": tuple(methods)}
    resolved = resolve(Plan.checked(values, record=True), out, Given(methods=methods))
    with ConsoleObserver() as observer:
        return run_resolved(resolved, out, ThisMachine(jobs), observer, publish=False)


def _base_name(cls: type[Method]) -> str:
    return cls.name.removesuffix(SUFFIX)


def worst_surrogate(method: Any, people: Factuals, rows: Floats) -> Floats:
    """Return the logit of rows under the least favourable surrogate within ROAR's radius."""
    found = method._surrogates.of(method.context, people)
    coefficients = np.array([surrogate.coefficients for surrogate in found])
    intercepts = np.array([surrogate.intercept for surrogate in found])
    worst = coefficients * rows - method.radius * np.abs(rows)
    return np.asarray(worst.sum(axis=1) + intercepts - method.radius)


def passing(native: StoredResults, key: Any, both: list[Counterfactuals]) -> list[Booleans]:
    """Return which accepted answers of both ways pass the method's own test of robustness."""
    if key.method not in OWN_TESTS:
        return [answers.base_valid for answers in both]
    network, task = native.base_network(key.dataset, key.base_seed), native.task(key.dataset)
    context = Context(task, network, key.base_seed, actions=task.actions)
    method = get_method(key.method)().fit(context)
    found = []
    for answers in both:
        passes = answers.base_valid.copy()
        people = Factuals(answers.row_ids, answers.factuals)[passes]
        passes[passes] = OWN_TESTS[key.method](method, people, answers.rows[passes])
        found.append(passes)
    return found


def side_by_side(native: StoredResults, other: StoredResults) -> pd.DataFrame:
    """Return both ways for every dataset and method, as means over base models."""
    rows = []
    for key in native.answered:
        task, people = native.task(key.dataset), native.counterfactuals(*key)
        mended_key = key._replace(method=key.method + SUFFIX)
        mended = other.counterfactuals(*mended_key)
        assert np.array_equal(people.row_ids, mended.row_ids)
        both = people.base_valid & mended.base_valid
        passes = passing(native, key, [people, mended])
        sure = passes[0] & passes[1]
        row: dict[str, Any] = {
            **key._asdict(),
            "valid_in_both": 100.0 * both.mean(),
            "robust_in_both": 100.0 * sure.mean(),
        }
        for way, answers, survived, robust in (
            ("native", people, native.survived(*key), passes[0]),
            ("afterwards", mended, other.survived(*mended_key), passes[1]),
        ):
            metrics = measure(task, answers, survived)
            told = answers.found
            broken = task.actions.breaches(answers.factuals[told], answers.rows[told]).any
            changed = task.actions.changed(answers.factuals[both], answers.rows[both]).sum(axis=1)
            distances = task.distances(answers.factuals[both], answers.rows[both])
            row |= {
                f"violations_{way}": int(broken.sum()),
                f"coverage_{way}": metrics.coverage,
                f"base_validity_{way}": metrics.base_validity,
                f"empirical_robustness_{way}": metrics.empirical_robustness,
                f"end_to_end_robustness_{way}": metrics.end_to_end_robustness,
                f"robust_by_its_own_test_{way}": 100.0 * robust.mean(),
                f"distance_if_robust_{way}": _mean(
                    task.distances(answers.factuals[sure], answers.rows[sure])
                ),
                f"distance_{way}": distances.mean() if both.any() else np.nan,
                f"features_changed_{way}": changed.mean() if both.any() else np.nan,
                f"milliseconds_{way}": 1e3 * float(np.mean(answers.seconds)),
            }
        rows.append(row)
    frame = pd.DataFrame(rows).drop(columns="base_seed")
    counted = [name for name in frame.columns if name.startswith("violations")]
    groups = frame.groupby(["dataset", "method"], sort=False)
    table = groups.mean()
    table[counted] = groups[counted].sum()
    return table.reset_index()


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else np.nan


def main() -> None:
    """Run the other way, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--jobs", type=int)
    given = parser.parse_args()
    out = given.out or given.run.with_name(given.run.name + SUFFIX)
    other = run_afterwards(given.run, out, given.jobs)
    table = side_by_side(Results(given.run), other)
    table.to_csv(given.run / "native.csv", index=False, float_format="%.6g", lineterminator="\n")
    with pd.option_context("display.width", 250, "display.max_columns", 30):
        print(table.round(2).to_string(index=False))


if __name__ == "__main__":
    # Under its own name, so that workers can find the classes.
    from benchmarks.realisable import main as run_main

    run_main()
