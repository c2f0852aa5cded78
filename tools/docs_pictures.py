"""Draw the pictures of the page on concepts, from models that are trained for them.

python tools/docs_pictures.py FOLDER
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import changeproof as cp
from changeproof.model import Model
from changeproof.tables import names

Floats = npt.NDArray[np.float64]

BLUE, ORANGE, GREY, INK = "#2a6f97", "#d1495b", "#b8bec4", "#22313f"
SEED = 2026
# A rejected person, the way to near advice (just across the boundary), and advice farther away.
PERSON, TOWARDS, FAR = (-0.95, 0.35), (0.9, 0.05), (0.75, -0.9)
EXTENT = 2.4
# The little world of "what each number means": who asks, and what becomes of them.
ASKED, FOUND, VALID, HOLD = 20, 18, 16, 12
STYLE = partial(plt.rc_context, {"svg.hashsalt": "changeproof", "font.family": "DejaVu Sans"})


def toy_task() -> cp.Task:
    """Return a task with two features that can be drawn: income and debts."""
    generator = np.random.default_rng(SEED)
    rows = generator.normal(size=(400, 2))
    score = rows[:, 0] - rows[:, 1] - 0.5 * rows[:, 0] * rows[:, 1]
    outcome = np.where(score + generator.normal(0, 0.7, len(rows)) > 0.2, "yes", "no")
    frame = pd.DataFrame(rows, columns=["income", "debts"]).assign(approved=outcome)
    return cp.own_task(frame, target="approved", favourable="yes", name="toy")


def grid() -> tuple[Floats, Floats, Floats]:
    """Return the axis, and all points of a grid [points, 2] in two shapes."""
    axis = np.linspace(-EXTENT, EXTENT, 81)
    across, up = np.meshgrid(axis, axis)
    return across, up, np.column_stack([across.ravel(), up.ravel()])


def boundaries(axes: Axes, scores: Floats, colour: str, width: float, alpha: float = 1.0) -> None:
    """Draw where probabilities [models, points] of a grid are one half."""
    across, up, _ = grid()
    for model in scores:
        shown = model.reshape(across.shape)
        axes.contour(across, up, shown, [0.5], colors=colour, linewidths=width, alpha=alpha)


def plain(axes: Axes, title: str) -> None:
    """Take away what distracts."""
    axes.set(xlim=(-EXTENT, EXTENT), ylim=(-EXTENT, EXTENT), xticks=[], yticks=[], aspect="equal")
    axes.set_title(title, fontsize=10, color=INK, loc="left")
    for side in axes.spines.values():
        side.set_color(GREY)


def just_across(model: Model) -> Floats:
    """Return the first point on the way of the person that a model accepts."""
    start, end = np.array(PERSON), np.array(TOWARDS)
    way = start + np.linspace(0, 1, 201)[:, None] * (end - start)
    first: Floats = way[model.favourable(way)][0]
    return first


def advice(axes: Axes, goal: Floats, colour: str, words: str, above: float) -> None:
    """Draw an arrow from the person to what the person is told."""
    arrow = {"arrowstyle": "-|>", "color": colour, "lw": 1.6, "shrinkA": 4, "shrinkB": 0}
    axes.annotate("", (goal[0], goal[1]), PERSON, arrowprops=arrow)
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5}
    axes.text(goal[0], goal[1] + above, words, color=colour, fontsize=9, bbox=box)


def draw_family(task: cp.Task, base: cp.BaseModel, bank: cp.Bank) -> Figure:
    """Draw one model and its advice, and the same advice under 25 models of one family."""
    figure, (today, later) = plt.subplots(1, 2, figsize=(8, 4.2), layout="constrained")
    points = grid()[2]
    plain(today, "Today's model")
    rows, labels = task.rows("train"), task.labels_of("train")
    for label, marker, colour in ((1, "o", BLUE), (0, "x", ORANGE)):
        here = rows[labels == label]
        today.scatter(here[:, 0], here[:, 1], s=12, marker=marker, color=colour, alpha=0.45)
    boundaries(today, base.model.probabilities(points)[None], INK, 1.8)
    mine = (bank.table["family"] == "bootstrap").to_numpy()
    plain(later, f"The same advice, and {mine.sum()} models of one family")
    boundaries(later, bank.stack.probabilities(points)[mine], INK, 0.7, 0.5)
    goals = np.array([just_across(base.model), FAR])
    accepted = ["accepted" if yes else "rejected" for yes in base.model.favourable(goals)]
    held = bank.stack.favourable(goals)[mine].sum(axis=0)
    holds = [f"holds in {count} of {mine.sum()}" for count in held]
    for axes, words in ((today, accepted), (later, holds)):
        axes.scatter(*PERSON, s=60, color=INK, zorder=5)
        advice(axes, goals[0], ORANGE, words[0], 0.75)
        advice(axes, goals[1], BLUE, words[1], -0.35)
    today.set(xlabel="income", ylabel="debts")
    later.set(xlabel="income")
    return figure


def draw_families(base: cp.BaseModel, bank: cp.Bank) -> Figure:
    """Draw today's boundary and those of all changed models, a panel per family of the paper."""
    figure, panels = plt.subplots(2, 4, figsize=(9, 4.9), layout="constrained")
    points = grid()[2]
    every, today = bank.stack.probabilities(points), base.model.probabilities(points)
    for axes, family in zip(panels.flat, cp.published_family_names(), strict=True):
        plain(axes, names.family_name(family))
        boundaries(axes, every[(bank.table["family"] == family).to_numpy()], BLUE, 0.6, 0.6)
        boundaries(axes, today[None], INK, 1.6)
    return figure


def draw_numbers() -> Figure:
    """Draw what becomes of twenty people who ask, line by line."""
    figure, axes = plt.subplots(figsize=(8, 2.9), layout="constrained")
    lines = (
        (ASKED, f"{ASKED} people ask", ""),
        (FOUND, "get an answer", f"coverage {FOUND} / {ASKED} = {FOUND / ASKED:.0%}"),
        (
            VALID,
            "today's model accepts it",
            f"base validity {VALID} / {FOUND} = {VALID / FOUND:.0%}",
        ),
        (HOLD, "a changed model accepts it", f"robustness {HOLD} / {VALID} = {HOLD / VALID:.0%}"),
    )
    for place, (count, words, number) in enumerate(lines):
        across = np.arange(ASKED)
        colours = [BLUE if person < count else "#e4e7ea" for person in across]
        axes.scatter(across, np.full(ASKED, -place), s=70, color=colours)
        axes.text(-1, -place, words, ha="right", va="center", fontsize=10, color=INK)
        axes.text(ASKED, -place, number, va="center", fontsize=10, color=INK)
    total = f"end-to-end robustness {HOLD} / {ASKED} = {HOLD / ASKED:.0%}"
    axes.text(ASKED, -len(lines) + 0.15, total, va="center", fontsize=10, color=BLUE, weight="bold")
    axes.set(xlim=(-9.5, ASKED + 10), ylim=(-len(lines) - 0.2, 0.6))
    axes.axis("off")
    return figure


def draw_distance() -> Figure:
    """Draw a change of two features, each measured by what is typical for it."""
    figure, axes = plt.subplots(figsize=(8, 2.2), layout="constrained")
    lines = (
        ("income", "+ 600", "typical deviation 400", 1.5),
        ("debts", "- 1", "typical deviation 2", 0.5),
    )
    for place, (feature, change, typical, measured) in enumerate(lines):
        axes.barh(-place, measured, color=BLUE, height=0.42)
        axes.text(
            -0.05, -place, f"{feature}: {change}\n({typical})", ha="right", va="center", fontsize=9
        )
        axes.text(measured + 0.03, -place, f"{measured:g}", va="center", fontsize=10)
    mean = sum(line[3] for line in lines) / len(lines)
    axes.axvline(mean, color=ORANGE, lw=1.6)
    axes.text(mean + 0.02, 0.42, f"distance: their mean, {mean:g}", color=ORANGE, fontsize=10)
    axes.set(xlim=(-0.7, 2), ylim=(-1.5, 0.75))
    axes.axis("off")
    return figure


def toy_models(task: cp.Task) -> tuple[cp.BaseModel, cp.Bank]:
    """Train today's model of the toy task, and its changed models."""
    learner = cp.NetworkLearner()
    stack = learner.train([cp.TrainingRecipe(initialisation_seed=SEED)], task)
    base = cp.BaseModel(SEED, stack[0])
    families = [cp.get_family(name) for name in cp.published_family_names()]
    return base, cp.build_bank(task, base, families, learner)


def save(figure: Figure, path: Path) -> None:
    """Write a picture as SVG, and close it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def draw_question(path: Path) -> None:
    """Write the README's first picture: today's model, and 25 that may follow it."""
    task = toy_task()
    with STYLE():
        save(draw_family(task, *toy_models(task)), path)


def draw(folder: Path) -> None:
    """Write all pictures of the page on concepts into a folder."""
    task = toy_task()
    base, bank = toy_models(task)
    with STYLE():
        save(draw_family(task, base, bank), folder / "family.svg")
        save(draw_families(base, bank), folder / "families.svg")
        save(draw_numbers(), folder / "numbers.svg")
        save(draw_distance(), folder / "distance.svg")


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
