"""Random tables with rules between features, and a slow, obvious judge of what people are told."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from changeproof import Network, Task, own_task
from changeproof.methods.method import Context, Factuals, Method

Row = Mapping[str, Any]
# Told rows, and people's own: whether a rule is kept. None where there is no value.
Judge = Callable[[Row, Row], bool | None]
ROWS = 60
LEVELS = ["school", "college", "bachelor", "master"]
JOBS = ["none", "clerk", "smith"]
TOLERANCE = 1e-9


@dataclass
class Related:
    """A table with rules, and what they mean in plain Python."""

    table: pd.DataFrame
    rules: list[str] = field(default_factory=list)
    judges: dict[str, tuple[set[str], Judge]] = field(default_factory=dict)
    # What a derived feature has to be, and the size of its steps.
    derived: dict[str, tuple[set[str], Callable[[Row], float], float]] = field(default_factory=dict)
    causes: dict[str, str] = field(default_factory=dict)
    effects: dict[str, tuple[Callable[[Row], float], float]] = field(default_factory=dict)
    actions: dict[str, dict[str, Any]] = field(default_factory=dict)
    most: int | None = None
    limits: pd.DataFrame | None = None

    @property
    def task(self) -> Task:
        return own_task(
            self.table,
            target="good",
            favourable="yes",
            name="related",
            id_column="person",
            rules=self.rules,
            causes=self.causes,
            actions=self.actions,
            most_changes=self.most,
            person_limits=self.limits,
        )

    def add(self, text: str, names: set[str], judge: Judge) -> None:
        self.rules.append(text)
        self.judges[text] = names, judge

    def broken(self, now: Row, was: Row, person: int) -> list[str]:
        """Return what a told row breaks."""
        changed = {name for name in was if differs(now[name], was[name])}
        found = []
        for text, (names, judge) in self.judges.items():
            if names & changed and judge(now, was) is not True:
                found.append(text)
        for name, (inputs, value, step) in self.derived.items():
            if inputs & changed:
                wanted = value(now)
                if not math.isfinite(wanted) or abs(now[name] - wanted) > 0.5001 * step:
                    found.append(f"{name} is {now[name]}, not {wanted}")
            elif name in changed:
                found.append(f"{name} changes by itself")
        for name, (effect, step) in self.effects.items():
            done = now[name] - was[name] - (effect(now) - effect(was))
            if self.actions.get(name, {}).get("change") == "none" and abs(done) > 0.5001 * step:
                found.append(f"{name} is changed by {done}")
            if self.actions.get(name, {}).get("change") == "increase" and done < -0.5001 * step:
                found.append(f"{name} is lowered by {done}")
        acted = changed - set(self.derived)
        acted -= {
            name
            for name, (effect, step) in self.effects.items()
            if abs(now[name] - was[name] - (effect(now) - effect(was))) <= 0.5001 * step
        }
        if self.most is not None and len(acted) > self.most:
            found.append(f"{len(acted)} features change")
        return found + self._outside(now, was, person)

    def _outside(self, now: Row, was: Row, person: int) -> list[str]:
        if self.limits is None or person not in set(self.limits["person"]):
            return []
        mine = self.limits[self.limits["person"] == person].iloc[0]
        found = []
        for column in self.limits.columns.drop("person"):
            side, name = column.split(":")
            if pd.isna(mine[column]) or not differs(now[name], was[name]):
                continue
            fixed = side == "fixed" and mine[column] == "yes"
            low = side == "low" and now[name] < mine[column] - TOLERANCE
            high = side == "high" and now[name] > mine[column] + TOLERANCE
            if fixed or low or high:
                found.append(f"{column} of person {person}")
        return found


def differs(one: Any, other: Any) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return bool(one != other)
    return abs(one - other) > TOLERANCE * (1 + abs(other))


def random_table(seed: int, rows: int = ROWS) -> Related:
    draw = np.random.default_rng(seed)
    age = draw.integers(18, 70, rows)
    table = pd.DataFrame(
        {
            "person": np.arange(100, 100 + rows),
            "minutes": draw.integers(0, 400, rows),
            "calls": draw.integers(0, 12, rows),
            "age": age,
            "seniority": np.minimum(draw.integers(0, 30, rows), age - 16),
            "income": draw.normal(3000, 700, rows).round(-1).clip(500),
            "debt": draw.integers(0, 2000, rows),
            "level": draw.choice(LEVELS, rows),
            "job": draw.choice(JOBS, rows),
            "owner": draw.choice(["no", "yes"], rows),
        }
    )
    table["rent"] = np.where(table["owner"] == "yes", 0, draw.integers(200, 900, rows))
    found = Related(table)
    found.actions["level"] = {"order": LEVELS}
    chosen = [each for each in KINDS if draw.random() < 0.45]
    for kind in chosen or KINDS[:1]:
        kind(found, draw)
    if draw.random() < 0.4:
        found.actions["age"] = {"change": "increase", "by": float(draw.integers(1, 9))}
    if draw.random() < 0.3:
        found.most = int(draw.integers(1, 5))
    if draw.random() < 0.3:
        found.limits = _limits(table, draw)
    numbers = found.table.drop(columns="person").select_dtypes("number")
    scores = (numbers - numbers.mean()) / numbers.std() @ draw.normal(size=numbers.shape[1])
    found.table["good"] = np.where(scores > scores.median(), "yes", "no")
    return found


def _limits(table: pd.DataFrame, draw: np.random.Generator) -> pd.DataFrame:
    people = draw.permutation(len(table))[: len(table) // 2]
    mine = table.iloc[people]
    some = draw.random((3, len(people))) < 0.6
    return pd.DataFrame(
        {
            "person": mine["person"].to_numpy(),
            "high:income": np.where(some[0], mine["income"] + draw.integers(0, 800), np.nan),
            "low:debt": np.where(some[1], mine["debt"] - draw.integers(0, 300), np.nan),
            "fixed:job": np.where(some[2], "yes", None),
        }
    )


def _charge(found: Related, draw: np.random.Generator) -> None:
    price = float(draw.choice([0.17, 0.085, 0.05]))
    found.table["charge"] = (price * found.table["minutes"]).round(2)
    found.rules.append(f"charge = {price} * minutes")
    found.derived["charge"] = {"minutes"}, lambda row: price * row["minutes"], 0.01


def _ratio(found: Related, draw: np.random.Generator) -> None:
    found.table["ratio"] = (found.table["debt"] / found.table["income"]).round(4)
    found.rules.append("ratio = debt / income")
    found.derived["ratio"] = {"debt", "income"}, lambda r: r["debt"] / r["income"], 0.0001
    if draw.random() < 0.5:
        found.actions["ratio"] = {"low": 0.0, "high": float(found.table["ratio"].max())}


def _bonus(found: Related, draw: np.random.Generator) -> None:
    def bonus(row: Row) -> float:
        return max(0.0, row["income"] - 3000) if row["level"] == "master" else 0.0

    found.table["bonus"] = [bonus(row) for row in found.table.to_dict("records")]
    found.rules.append("bonus = if level == master then max(0, income - 3000) else 0")
    found.derived["bonus"] = {"income", "level"}, bonus, 1.0


def _seniority(found: Related, draw: np.random.Generator) -> None:
    found.add(
        "seniority <= age - 16",
        {"seniority", "age"},
        lambda now, was: now["seniority"] <= now["age"] - 16 + TOLERANCE,
    )


def _affordable(found: Related, draw: np.random.Generator) -> None:
    share = float(draw.choice([0.3, 0.45]))
    found.add(
        f"rent + 0.1 * debt <= {share} * income",
        {"rent", "debt", "income"},
        lambda now, was: now["rent"] + 0.1 * now["debt"] <= share * now["income"] + 1e-6,
    )


def _bounded_ratio(found: Related, draw: np.random.Generator) -> None:
    found.add(
        "debt / max(calls, 0) <= 500",
        {"debt", "calls"},
        lambda now, was: (
            None if now["calls"] == 0 else now["debt"] / max(now["calls"], 0) <= 500 + TOLERANCE
        ),
    )


def _learning_takes_time(found: Related, draw: np.random.Generator) -> None:
    years = int(draw.integers(1, 4))
    rank = LEVELS.index
    found.add(
        f"level up => age at least + {years}",
        {"level", "age"},
        lambda now, was: (
            rank(now["level"]) <= rank(was["level"]) or now["age"] >= was["age"] + years - TOLERANCE
        ),
    )


def _rent(found: Related, draw: np.random.Generator) -> None:
    found.add(
        "if owner == yes then rent == 0",
        {"owner", "rent"},
        lambda now, was: now["owner"] != "yes" or abs(now["rent"]) <= TOLERANCE,
    )
    found.add(
        "owner == no => rent > 100",
        {"owner", "rent"},
        lambda now, was: now["owner"] != "no" or now["rent"] > 100 + TOLERANCE,
    )


def _steps(found: Related, draw: np.random.Generator) -> None:
    allowed = [("none", "clerk"), ("clerk", "smith")]
    found.add(
        "job: none -> clerk, clerk -> smith",
        {"job"},
        lambda now, was: (was["job"], now["job"]) in allowed,
    )


def _no_return(found: Related, draw: np.random.Generator) -> None:
    found.add("owner: not yes -> no", {"owner"}, lambda now, was: now["owner"] == "yes")


def _together(found: Related, draw: np.random.Generator) -> None:
    found.add(
        "minutes, calls change together",
        {"minutes", "calls"},
        lambda now, was: (
            differs(now["minutes"], was["minutes"]) and differs(now["calls"], was["calls"])
        ),
    )


def _or_else(found: Related, draw: np.random.Generator) -> None:
    found.add(
        "job != none or income <= 2500",
        {"job", "income"},
        lambda now, was: now["job"] != "none" or now["income"] <= 2500 + TOLERANCE,
    )


def _equal(found: Related, draw: np.random.Generator) -> None:
    found.add(
        "changed(calls) => calls == 2 or calls == 4",
        {"calls"},
        lambda now, was: abs(now["calls"] - 2) <= TOLERANCE or abs(now["calls"] - 4) <= TOLERANCE,
    )


def _cause(found: Related, draw: np.random.Generator) -> None:
    factor = float(draw.choice([40.0, 12.5]))
    found.causes["income"] = f"{factor} * seniority + (if level == master then 300 else 0)"
    found.effects["income"] = (
        lambda row: factor * row["seniority"] + (300 if row["level"] == "master" else 0),
        10.0,
    )
    found.actions["income"] = {
        "change": str(draw.choice(["any", "none", "increase"])),
        "step": 10.0,
    }


KINDS = [
    _charge, _ratio, _bonus, _seniority, _affordable, _bounded_ratio, _learning_takes_time, _rent,
    _steps, _no_return, _together, _or_else, _equal, _cause,
]  # fmt: skip


def random_network(task: Task, seed: int) -> Network:
    """Return a network of random weights that rejects about half of the rows."""
    draw = np.random.default_rng(seed)
    shapes = [(8, task.n_features), (8, 8), (1, 8)]
    weights = tuple(draw.normal(0, 1, shape).astype(np.float32) for shape in shapes)
    biases = [np.zeros(len(weight), np.float32) for weight in weights]
    middle = np.median(Network(weights, tuple(biases)).logits(task.rows("train")))
    biases[-1] = np.array([-middle], np.float32)
    return Network(weights, tuple(biases))


def contradictions(found: Related, method: type[Method], seed: int) -> tuple[int, int, list[str]]:
    """Return how many people asked, how many have an answer, and what answers break."""
    task = found.task
    network = random_network(task, seed)
    rows = np.concatenate([task.rows("test"), task.rows("train")])
    ids = np.concatenate([task.row_ids("test"), task.row_ids("train")])
    rejected = ~network.favourable(rows)
    context = Context(task, network, seed, actions=task.actions)
    answers = method().fit(context).generate(Factuals(ids[rejected], rows[rejected]))
    there = answers.found
    own = task.readable(answers.factuals[there]).to_dict("records")
    told = task.readable(answers.rows[there]).to_dict("records")
    people = task.ids.loc[answers.row_ids[there].tolist()].tolist()
    broken = [
        f"seed {seed}, {method.name}, person {person}: {words}; {was} -> {now}"
        for was, now, person in zip(own, told, people, strict=True)
        for words in found.broken(now, was, person)
    ]
    return len(answers), int(there.sum()), broken
