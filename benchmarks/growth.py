"""How time grows with people, training rows, features, hidden width and variants.

One dimension at a time grows on a log grid while the others stay where they are, on tasks that
are generated. Fitted is the exponent of a power law: the slope of log time by log size, by least
squares over the upper half of the grid. Measured is processor time of one thread, so that others
on the machine do not bend the lines. A subject that gets too slow leaves the grid early, and its
exponent is that of the points it has.

    python -m benchmarks.growth

writes benchmarks/results/growth.csv, exponents.csv and growth.png, and prints the exponents.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count

import numpy as np
import pandas as pd

from benchmarks.growth_picture import draw
from benchmarks.machine import RESULTS, one_thread, save
from changeproof import (
    Context,
    Factuals,
    Method,
    Network,
    NetworkStack,
    Task,
    TrainingData,
    TrainingRecipe,
    get_method,
    method_names,
    survival,
    train,
)

SEED = 2026
TOO_SLOW = 2.5  # seconds after which a subject does not go on to the next size
ENOUGH = 0.2  # seconds up to which a measurement is repeated
MOST_REPEATS = 10
NOTHING = 1e-3  # seconds; who fits in less has nothing to prepare
EPOCHS = 40  # of the trainer's measurements, so that none stops early
FRESH_IDS = count()
NOISE = 0.02  # of the parameters of variants for survival: how they differ does not matter


@dataclass(frozen=True)
class Size:
    """How large a problem is; `rows` are those of the training part."""

    people: int = 32
    rows: int = 1_000
    features: int = 10
    width: int = 32
    variants: int = 8


GRIDS: dict[str, tuple[int, ...]] = {
    "people": (8, 16, 32, 64, 128, 256, 512),
    "rows": (500, 1_000, 2_000, 4_000, 8_000),
    "features": (4, 8, 16, 32, 64),
    "width": (8, 16, 32, 64, 128),
    "variants": (8, 16, 32, 64, 128, 256),
}
DIMENSIONS = {"trainer": ("rows", "features", "width", "variants")}
DIMENSIONS |= {"survival": ("people", "features", "width", "variants")}
METHOD_DIMENSIONS = ("people", "rows", "features", "width")


def features_and_scores(rows: int, features: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows, and scores that are mostly linear in half of the features, and partly not."""
    generator = np.random.default_rng(seed)
    values = generator.normal(size=(rows, features))
    linear = values[:, : features // 2].sum(axis=1) / np.sqrt(features // 2)
    bent = np.abs(values[:, features // 2 :]).sum(axis=1) / np.sqrt(features - features // 2)
    return values, linear + 0.5 * (bent - bent.mean()) + 0.3 * generator.normal(size=rows)


@lru_cache(maxsize=1)
def base_context(rows: int, features: int, width: int) -> Context:
    """Return a task of that size with its base network."""
    values, scores = features_and_scores(2 * rows, features, SEED)
    frame = pd.DataFrame(values, columns=[f"x{i}" for i in range(features)])
    task = Task("generated", frame, (scores > 0).astype(int))
    recipe = TrainingRecipe(initialisation_seed=SEED, hidden=(width, width))
    return Context(task, train([recipe], TrainingData.of(task)).stack[0], SEED)


def adverse_people(context: Context, number: int) -> np.ndarray:
    """Draw rows of people whom the base network calls adverse."""
    others, _ = features_and_scores(8 * number + 100, context.task.n_features, SEED + 1)
    rows = context.task.standardise(others)
    adverse = rows[~context.model.favourable(rows)][:number]
    assert len(adverse) == number, "fewer adverse people than asked for"
    return adverse


def strangers(rows: np.ndarray) -> Factuals:
    """Give rows ids that were never given before: a method may remember whom it has answered."""
    return Factuals(np.array([next(FRESH_IDS) for _ in rows]), rows)


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that work takes, the least of several where it is quick."""
    seconds: list[float] = []
    while not seconds or (len(seconds) < MOST_REPEATS and sum(seconds) < ENOUGH):
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return min(seconds)


def measure_trainer(size: Size) -> dict[str, float]:
    context = base_context(size.rows, size.features, size.width)
    data = TrainingData.of(context.task)
    recipes = [
        TrainingRecipe(
            initialisation_seed=seed,
            hidden=(size.width, size.width),
            max_epochs=EPOCHS,
            patience=EPOCHS,
        )
        for seed in range(size.variants)
    ]
    return {"train": timed(lambda: train(recipes, data))}


def measure_survival(size: Size) -> dict[str, float]:
    context = base_context(size.rows, size.features, size.width)
    people = strangers(adverse_people(context, size.people))
    answers = get_method("kdtree")().fit(context).generate(people)
    network, generator = context.model, np.random.default_rng(SEED)
    assert isinstance(network, Network)

    def moved(array: np.ndarray) -> np.ndarray:
        return (array + NOISE * generator.normal(size=array.shape)).astype(np.float32)

    stack = NetworkStack.of(
        [
            Network(tuple(map(moved, network.weights)), tuple(map(moved, network.biases)))
            for _ in range(size.variants)
        ]
    )
    return {"evaluate": timed(lambda: survival(answers, stack))}


@lru_cache(maxsize=1)
def fitted(name: str, rows: int, features: int, width: int) -> tuple[Method, float]:
    """Return a fitted and warm method, and the seconds that fitting took."""
    context = base_context(rows, features, width)
    seconds = timed(lambda: get_method(name)().fit(context))
    method = get_method(name)().fit(context)
    method.generate(strangers(adverse_people(context, 2)))
    return method, seconds


def measure_method(name: str, size: Size) -> dict[str, float]:
    """Return the seconds of fitting and of answering everybody."""
    method, fit = fitted(name, size.rows, size.features, size.width)
    rows = adverse_people(method.context, size.people)
    return {"fit": fit, "answer": timed(lambda: method.generate(strangers(rows)))}


def measure(subject: str, size: Size) -> dict[str, float]:
    if subject == "trainer":
        return measure_trainer(size)
    if subject == "survival":
        return measure_survival(size)
    return measure_method(subject, size)


def walk_grid(subject: str, dimension: str) -> Iterator[dict[str, object]]:
    """Measure a subject along a dimension, as far as it is quick enough."""
    for value in GRIDS[dimension]:
        seconds = measure(subject, replace(Size(), **{dimension: value}))
        for work, each in seconds.items():
            if work == "fit" and dimension == "people":
                continue
            yield {
                "subject": subject,
                "work": work,
                "dimension": dimension,
                "size": value,
                "seconds": each,
            }
        if sum(seconds.values()) > TOO_SLOW:
            break


def exponents(table: pd.DataFrame) -> list[dict[str, object]]:
    """Fit a power law to the upper half of every grid, at least two points of it.

    None is fitted to less than two points, nor to fitting where there is nothing to prepare.
    """
    rows = []
    for (subject, work, dimension), points in table.groupby(["subject", "work", "dimension"]):
        points = points.sort_values("size")
        if len(points) < 2 or (work == "fit" and points["seconds"].max() < NOTHING):
            continue
        upper = points.tail(max(2, (len(points) + 1) // 2))
        slope = np.polyfit(np.log(upper["size"]), np.log(upper["seconds"]), 1)[0]
        rows.append(
            {
                "subject": subject,
                "work": work,
                "dimension": dimension,
                "exponent": slope,
                "from_size": upper["size"].iloc[0],
                "to_size": upper["size"].iloc[-1],
                "to_seconds": upper["seconds"].iloc[-1],
            }
        )
    return rows


def main() -> None:
    found: list[dict[str, object]] = []
    with one_thread():
        for subject in ("trainer", "survival", *method_names()):
            measure(subject, Size())  # warm up
            for dimension in DIMENSIONS.get(subject, METHOD_DIMENSIONS):
                found += walk_grid(subject, dimension)
            print(f"{subject} measured", flush=True)
    table = pd.DataFrame(found)
    fitted = exponents(table)
    save("growth", found, ["subject", "work", "dimension", "size"])
    save("exponents", fitted, ["subject", "work", "dimension"])
    draw(table, pd.DataFrame(fitted), RESULTS / "growth.png")
    wide = pd.DataFrame(fitted).pivot_table("exponent", ["subject", "work"], "dimension")
    print(wide.reindex(columns=list(GRIDS)).to_string(float_format="%.2f", na_rep=""))


if __name__ == "__main__":
    main()
