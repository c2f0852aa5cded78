"""The tutorials are true: their blocks and commands run as written, from top to bottom."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from command_line import run_script

DOCS = Path(__file__).resolve().parent.parent / "docs"
DICE = "## From DiCE"
# What the blocks of a page print, among other things.
EXPECTED = {
    "a-new-method.md": [
        "All checks passed.",
        "Stop when sure",
        "stopping is recomputed.",
        "Leaderboard: board/index.html",
    ],
    "from-python.md": [
        "end_to_end_robustness_mean",
        "to-the-mean",
        "betarce(robustness=0.8)",
        "parameter-perturbation    0.9",
        "Name: held",
    ],
    "the-paper.md": ["All 22 judged numbers are within their tolerance or explained."],
    "before-a-release.md": [
        "Report: audit/report/index.html",
        "30 letters, 30 of them with advice (by kdtree: 15, linear-robust: 15), in letters",
        "2 rules: 1 pass, 1 not decided.",
        "sent on loans, under next:",
        "nearest on loans, under next:",
        "Complete.",
    ],
    "beyond.md": [
        "Report: runs/beyond/report/index.html",
        "Measurement error",
        "int6, by layer",
        "measurement-error(replicates=10, shares=[0.02])",
    ],
    "own-data.md": [
        "Task('loans', 600 rows, 4 features)",
        "purpose categorical ('car', 'house', 'study')",
        "owner binary ('no', 'yes')",
        "empirical_robustness_mean",
        "column 'income' has 2 of 600 values missing (first at row 'A0003')",
        "Task('diabetes', 768 rows, 8 features)",
    ],
    "what-may-change.md": [
        "Report: runs/loans/report/index.html",
        "end_to_end_robustness_mean",
        "features_changed_mean",
        "halfway-and-sure            100.0",
    ],
    "rules-between-features.md": [
        "Dataset file to edit: proposed.toml",
        "_charge then becomes ",
        "with rules: (0, ",
        "burden then becomes ",
        "income follows its causes: ",
        "income then becomes ",
        "Report: runs/credit/report/index.html",
    ],
    "choices.md": [
        "Report: audit/report/index.html",
        "simulated futures",
        "times_as_far_mean",
        "Or: (",
        "20 % short_mean",
    ],
    "letters.md": [
        "Report: audit/report/index.html",
        "['Your monthly income of ",
        "12 letters, 12 of them with advice (by ",
        "Dear customer,",
        "Report: next-year/report/index.html",
        "Monatliches Einkommen von",
        "changed models accept that",
        "10 letters, 10 of them with advice (by robx-balanced: 9, kdtree: 1), in german-letters",
    ],
    "gate.md": [
        "pass         advice survives a retrain: ",
        "not decided  every method helps everybody: ",
        "fail         one method asks for little: ",
        "3 rules: 1 pass, 1 fail, 1 not decided.",
        "The gate is closed.",
        "pass | advice survives a retrain | robx-robust",
        "closed",
    ],
    "plugs-in.md": [
        "1 passed",
        "1 rule: 1 pass.",
        "### The gate is open",
        "same: True",
        "gate: open",
        "(distances in typical deviations per feature):",
    ],
    "how-long.md": [
        "Report: audit/report/index.html",
        "How long advice lasts (95 % interval over people and futures)",
        "What lasting advice costs over the limit (one base model)",
        "simulated futures",
        "held_so_far_mean",
    ],
    "cluster.md": ["Report: runs/far/report/index.html", "10 True"],
    "quorum.md": ["Report: runs/quorum/report/index.html", "quorum", "kdtree"],
    "ellice.md": ["changeproof.adapters.ellice:ElliCE", "kdtree"],
    "own-counterfactuals.md": [
        "rows have no counterfactual']",
        "our-tool",
        "{'found': ",
        "'not in the table': ",
        "empirical_robustness_mean",
    ],
    "successor.md": [
        "letters on loans, under next:",
        "simulated models change",
        "KD-tree renews ",
        "The successor is known by its scores of the letters only.",
        "letters on loans, under firm:",
        "True True",
        "distance_more",
    ],
    "who-is-let-down.md": [
        "The largest difference between groups",
        "Report: audit/report/index.html",
        "female",
    ],
    "compare-runs.md": [
        "RBR → RBR",
        "would exclude 0 by chance, had nothing changed",
        "Every difference: comparison.csv",
        "no clear difference",
    ],
    "own-model.md": [
        "Report: audit/report/index.html",
        "Simulated: 33 changed models",
        "feature",
        "Still holds after the model changes",
        "of joblib:model.joblib, as it is. A refit of it on the 300 training rows decides",
        "Undecided: rbr holds most often, in 46 of 50 changed models",
        "('Raise income from ",
        "needs gradients of a model",
        "wachter",
    ],
}


def script(text: str) -> str:
    """Turn a page into a Python script, with its commands as calls.

    A block that starts with the name of a file is written into that file instead.
    """
    lines = []
    for kind, block in re.findall(r"```(python|console)\n(.*?)```", text, flags=re.DOTALL):
        if name := re.match(r"# (\w+\.py)\n", block):
            lines.append(f"open({name[1]!r}, 'w').write({block!r})")
            continue
        if kind == "python":
            lines.append(block)
            continue
        lines += [f"command({line!r})" for line in re.split(r"\n(?=\S)", block.strip())]
    return "\n".join(lines)


def missing(text: str, printed: str) -> list[str]:
    """Return what a page says is printed, and was not, or not in this order.

    Lines may be broken elsewhere, and `…` stands for what was left out.
    """
    rest, lost = " ".join(printed.split()), []
    for block in re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL):
        for part in " ".join(block.split()).split("…"):
            before, found, after = rest.partition(part.strip())
            if part.strip() and not found:
                lost.append(part.strip())
            rest = after if found else before
    return lost


def test_every_tutorial_is_tried() -> None:
    # Tables of the first two are those of committed results (tests/benchmarks); tests/docs has the
    # blocks of the last three.
    elsewhere = {"compared.md", "faithful.md", "glossary.md"}
    elsewhere |= {"board.md", "migrating.md", "own-method.md"}
    assert {path.name for path in DOCS.glob("*.md")} == set(EXPECTED) | elsewhere


@pytest.mark.parametrize("page", sorted(EXPECTED))
def test_a_page_runs_from_top_to_bottom(page: str, tmp_path: Path) -> None:
    if page == "ellice.md":
        pytest.importorskip("ellice", reason="ellice is not installed (extra: ellice)")
    if page == "plugs-in.md":
        pytest.importorskip("mlflow", reason="mlflow is not installed (extra: mlflow)")
    text = (DOCS / page).read_text(encoding="utf-8")
    if find_spec("dice_ml") is None:
        text = text.partition(DICE)[0]
    (tmp_path / "page.py").write_text(script(text), encoding="utf-8")
    done = run_script(tmp_path / "page.py")
    assert done.returncode == 0, done.stdout + done.stderr
    for expected in EXPECTED[page]:
        assert expected in done.stdout, f"{expected!r} is not in:\n{done.stdout}"
    assert not (lost := missing(text, done.stdout)), f"{lost} is not in:\n{done.stdout}"


@pytest.mark.skipif(find_spec("dice_ml") is None, reason="dice-ml is not installed (extra: dice)")
def test_the_page_on_counterfactuals_has_a_part_for_dice() -> None:
    assert DICE in (DOCS / "own-counterfactuals.md").read_text(encoding="utf-8")
