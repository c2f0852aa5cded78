"""Other libraries' methods beside ours: the same people, base model and changed models.

Each library runs in an environment of its own, which has to be named. Its methods (listed in
`rival_tools.py`) are asked about one person after the other, in one process per method; so are
all of ours that fit the model. All answers are judged by the same code under the same 200 changed
models. Times are processor time of one thread, after a first request that is not counted.

    python -m benchmarks.rivals --python dice=/envs/dice/bin/python --python nice=... \\
        [DATASET ...] [--models network "logistic regression"] [--people 40] [--seconds 120]
        [--methods NAME ...]

writes benchmarks/results/rivals.csv, and prints it. `--methods` measures only some of ours again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import rival_tools
from benchmarks.machine import one_thread, save
from benchmarks.rival_tools import RIVALS, Rival
from changeproof import Context, Counterfactuals, Method, make_method, tune
from changeproof import __version__ as our_version
from changeproof.changes import get_family, published_family_names
from changeproof.changes.bank import Bank, build_bank
from changeproof.changes.family import BaseModel
from changeproof.datasets.find import load_task
from changeproof.evaluation.factuals import evaluation_factuals, survival, tuning_factuals
from changeproof.evaluation.metrics import measure
from changeproof.methods import builtin_method_names
from changeproof.methods.given import PREFIX, REASON, ROW_ID, GivenCounterfactuals
from changeproof.methods.method import PrivateLearner
from changeproof.models.find import find_learner
from changeproof.models.learner import Learner
from changeproof.networks.network import Network
from changeproof.networks.training import TrainingRecipe

BASE_SEED, PEOPLE, MOST_SECONDS = 2026, 40, 120.0
DATASETS = ("diabetes", "heloc")
MODELS = {
    "network": "mlp",
    "logistic regression": "sklearn:LogisticRegression(max_iter=1000)",
}
KEYS = ["dataset", "model", "tool", "method"]
OURS = "changeproof"
BUILT_IN = builtin_method_names()
WALL = 15  # times as many seconds pass at most, before a library is given up
SAME = 1e-5  # the answers of libraries in single precision are off by this at most
# What cannot be measured, and why, as seen on 2026-11-18 with Python 3.11.
ABSENT = {
    "RobustX": "not in the registry by that name (`pip install robustx`: No matching distribution "
    "found); its earlier name `rocelib` is. That pins torch 2.4.1 and tensorflow 2.16.2; installed "
    "without its dependencies it runs with torch 2.13.0. Its MCE, MCER, PROPLACE, RNCE, STCE, "
    "RoCourseNet and ModelMultiplicityMILP need Gurobi, a solver under a proprietary licence",
    "RecourseBench": "not in the registry (`pip install recourse-bench`: No matching distribution "
    "found)",
    "CARLA": "`pip install carla-recourse`: No matching distribution found for "
    "tensorflow==1.14.0; it also needs `recourse`, which needs CPLEX, a solver under a "
    "proprietary licence",
    "alibi": "Business Source License 1.1: production use needs a licence",
    "CEML": "pins torch 2.0.1, tensorflow 2.13.1 and jax 0.4.13",
}


class Subject:
    """A dataset and a base model: what everybody is asked about."""

    def __init__(self, dataset: str, model: str, people: int) -> None:
        self.dataset, self.model = dataset, model
        self.task = load_task(dataset)
        self.learner: Learner = find_learner(MODELS[model])
        recipe = TrainingRecipe(initialisation_seed=BASE_SEED)
        self.base = self.learner.train([recipe], self.task)[0]
        self.people = evaluation_factuals(self.task, self.base, BASE_SEED, people)
        self.context = Context(self.task, self.base, BASE_SEED, PrivateLearner(self.learner))

    def bank(self) -> Bank:
        families = [get_family(name) for name in published_family_names()]
        fitting = [each for each in families if not each.left_out(self.learner, [self.task])]
        return build_bank(self.task, BaseModel(BASE_SEED, self.base), fitting, self.learner)

    def write(self, path: Path) -> None:
        """Write what the other libraries are told."""
        base = self.base
        if isinstance(base, Network):
            weights, biases = list(base.weights), list(base.biases)
        else:
            weights, biases = [base.coefficients[None]], [np.array([base.intercept])]
        layers = {f"weight_{place}": weight for place, weight in enumerate(weights)}
        layers |= {f"bias_{place}": bias for place, bias in enumerate(biases)}
        np.savez(
            path,
            train=self.task.rows("train"),
            labels=self.task.labels_of("train"),
            people=self.people.rows,
            original_train=self.task.frame.loc[self.task.row_ids("train")].to_numpy(float),
            original_people=self.task.frame.loc[self.people.row_ids].to_numpy(float),
            mean=self.task.mean,
            scale=self.task.scale,
            seed=BASE_SEED,
            layers=len(weights),
            **layers,
        )

    def checked(self, rows: np.ndarray) -> Counterfactuals:
        """Return another library's rows as our own are: checked against the base model."""
        table = pd.DataFrame(rows, columns=[PREFIX + name for name in self.task.feature_names])
        table = table.assign(**{ROW_ID: self.people.row_ids[: len(rows)], REASON: "nothing found"})
        return (
            GivenCounterfactuals(table=table).fit(self.context).generate(self.people[: len(rows)])
        )


class Judge:
    """The changed models of a subject, and what they make of answers."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.bank = subject.bank()

    def __call__(self, answers: Counterfactuals) -> dict[str, float]:
        families = self.bank.table["family"].tolist()
        held = survival(answers, self.bank.stack)
        found = measure(self.subject.task, answers, held, families).as_dict()
        return {name.replace("empirical_", ""): value for name, value in found.items()}


def fits(subject: Subject, name: str) -> bool:
    """Return whether a method of ours is there, and fits the model."""
    path, found, _ = name.partition(":")
    there = find_spec(path) is not None if found else name.partition("(")[0] in BUILT_IN
    return there and make_method(name).needs in subject.learner.offers_on(subject.task)


def tuned(name: str, context: Context) -> Method:
    """Return a method with the settings that its tuning chooses, where nobody gave any."""
    method = make_method(name)
    candidates = type(method).tuning_candidates() if name in BUILT_IN else ()
    if not candidates:
        return method
    tuning = tuning_factuals(context.task, context.model, context.base_seed)
    table = tune(candidates, context, tuning)
    return next(each for each, chosen in zip(candidates, table["chosen"], strict=True) if chosen)


def ours(subject: Subject, name: str, most_seconds: float) -> tuple[dict[str, Any], np.ndarray]:
    """Return the times of a method of ours, and its answers."""
    method, context = tuned(name, subject.context), subject.context
    # Again for single requests: some methods remember what they found for a person.
    again = type(method)(**method.settings()).fit(context)
    again.generate(subject.people[:1])
    started = time.process_time()
    method.fit(context)
    prepared = time.process_time() - started
    started = time.process_time()
    answers = method.generate(subject.people)
    batch = (time.process_time() - started) / len(subject.people)
    spent, singles = [], 0.0
    for place in range(len(subject.people)):
        if singles > most_seconds:
            break
        started = time.process_time()
        again.generate(subject.people[place : place + 1])
        spent.append(time.process_time() - started)
        singles += spent[-1]
    times = {
        "prepared_seconds": prepared,
        "seconds_per_person": float(np.mean(spent)),
        "batch_seconds_per_person": batch,
    }
    certified = answers.certified
    if certified is not None:
        times["certified"] = 100.0 * float(certified.mean())
    return times, answers.rows


def theirs(
    rival: Rival, python: str, work: Path, most_seconds: float
) -> tuple[dict[str, np.ndarray], str]:
    """Return what a method of another library answered, or the line that says why nothing."""
    out = work.with_name(f"{rival.tool}-{rival.method}.npz")
    threads = dict.fromkeys(
        ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC"), "1"
    )
    given = [rival.tool, rival.method, str(work), str(out), str(most_seconds)]
    eigen = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}
    try:
        asked = subprocess.run(
            [python, rival_tools.__file__, *given],
            capture_output=True,
            text=True,
            check=False,
            timeout=WALL * most_seconds,
            env=os.environ | threads | eigen | {"PYTHONPATH": ""},
        )
    except subprocess.TimeoutExpired:
        return {}, f"no answer to the first two people in {WALL * most_seconds:g} s"
    if asked.returncode:
        return {}, asked.stderr.strip().splitlines()[-1]
    with np.load(out) as stored:
        return dict(stored), ""


def beside(
    subject: Subject, judge: Judge, rival: Rival, answers: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Return what became of a rival's answers to those whom it had the time to answer."""
    asked = int(np.isfinite(answers["seconds"]).sum())
    failures = answers["failures"].tolist()
    return {
        "failures": len(failures),
        "failure": failures[0] if failures else "",
        "version": str(answers["version"]),
        "people": asked,
        "prepared_seconds": float(answers["prepared"]),
        "seconds_per_person": float(answers["seconds"][:asked].mean()),
        **judge(subject.checked(answers["rows"][:asked])),
    }


def compared(
    judge: Judge, subject: Subject, own: tuple[dict[str, Any], np.ndarray], rows: np.ndarray
) -> dict[str, Any]:
    """Return our method of the same name on the people whom the rival answered."""
    times, answers = own
    mine = judge(subject.checked(answers[: len(rows)]))
    both = np.isfinite(rows).all(axis=1) & np.isfinite(answers[: len(rows)]).all(axis=1)
    same = np.abs(rows[both] - answers[: len(rows)][both]).max(axis=1) <= SAME
    return {
        "our_seconds_per_person": times["seconds_per_person"],
        "our_base_validity": mine["base_validity"],
        "our_robustness": mine["robustness"],
        "our_distance": mine["distance"],
        "answered_by_both": int(both.sum()),
        "same_answers": int(same.sum()),
    }


def measured(
    subject: Subject, pythons: dict[str, str], chosen: Sequence[str] | None, most_seconds: float
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a subject: ours first, then those of the libraries that are there."""
    judge = Judge(subject)
    common = {"dataset": subject.dataset, "model": subject.model}
    known: dict[str, tuple[dict[str, Any], np.ndarray]] = {}

    def own(name: str) -> tuple[dict[str, Any], np.ndarray]:
        if name not in known:
            known[name] = ours(subject, name, most_seconds)
        return known[name]

    for name in BUILT_IN if chosen is None else chosen:
        if not fits(subject, name):
            continue
        times, rows = own(name)
        yield common | {
            "tool": OURS,
            "method": name,
            "version": our_version,
            "people": len(rows),
            **times,
            **judge(subject.checked(rows)),
        }
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "work.npz"
        subject.write(work)
        for rival in RIVALS.values():
            if rival.tool not in pythons or (rival.linear and isinstance(subject.base, Network)):
                continue
            row = common | {"tool": rival.tool, "method": rival.method, "settings": rival.settings}
            answers, why_not = theirs(rival, pythons[rival.tool], work, most_seconds)
            if why_not:
                yield row | {"why_not": why_not}
                continue
            row |= beside(subject, judge, rival, answers)
            if rival.ours is not None and fits(subject, rival.ours):
                asked = row["people"]
                row |= {"ours": rival.ours}
                row |= compared(judge, subject, own(rival.ours), answers["rows"][:asked])
            yield row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", default=DATASETS)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--python", action="append", default=[], metavar="TOOL=PATH")
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--seconds", type=float, default=MOST_SECONDS, help="per method at most")
    parser.add_argument("--methods", nargs="*", help="only these of ours, not all that fit")
    parser.add_argument("--unsaved", action="store_true", help="print only")
    asked = parser.parse_args()
    pythons = dict(each.split("=", 1) for each in asked.python)
    shown = [*KEYS, "people", "seconds_per_person", "base_validity", "robustness", "distance"]
    with one_thread():
        for dataset in asked.datasets:
            for model in asked.models:
                subject = Subject(dataset, model, asked.people)
                for row in measured(subject, pythons, asked.methods, asked.seconds):
                    line = {name: row.get(name, "") for name in [*shown, "why_not"]}
                    print(*line.values(), sep="  ", flush=True)
                    if not asked.unsaved:
                        save("rivals", [row], KEYS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
