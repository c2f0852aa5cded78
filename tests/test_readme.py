"""The README is true: its blocks run as written and say what stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from command_line import call, run_script

README = Path(__file__).resolve().parent.parent / "README.md"
RESULTS = README.parent / "results"
NUMBERS = {2: "twice", 3: "three", 4: "four"}
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
# What each block prints, among other things.
EXPECTED = [["end_to_end_robustness_mean", "to-the-mean", "robx-balanced"]]


def test_every_block_is_tried() -> None:
    assert len(BLOCKS) == len(EXPECTED)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_python_blocks_run_as_written(number: int, tmp_path: Path) -> None:
    script = tmp_path / "example.py"
    script.write_text(BLOCKS[number], encoding="utf-8")
    done = run_script(script)
    assert done.returncode == 0, done.stderr
    for expected in EXPECTED[number]:
        assert expected in done.stdout, f"{expected!r} is not in:\n{done.stdout}"


def test_the_audit_prints_what_stands_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((command, printed),) = re.findall(
        r"```console\nchangeproof (audit --data german-credit .+)\n```\n\n```text\n(.*?)```",
        TEXT,
        flags=re.DOTALL,
    )
    monkeypatch.chdir(tmp_path)
    done = call(*command.split())
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    for line in printed.strip().splitlines():
        assert line in said


def test_numbers_about_the_paper_are_those_of_the_tables() -> None:
    means = {
        run: pd.read_csv(RESULTS / run / "full_results.csv").set_index(["method", "dataset"])
        for run in ("paper", "quorum")
    }
    robust = {run: table["empirical_robustness_mean"] for run, table in means.items()}
    families = pd.read_csv(RESULTS / "paper" / "family_results.csv")
    families = families.set_index(["method", "dataset", "family"])["empirical_robustness_mean"]
    price = pd.read_csv(RESULTS / "quorum" / "price.csv").set_index("method")["price_mean"]
    lasting = pd.read_csv(RESULTS / "life" / "updates" / "life_summary.csv").set_index("method")
    wachter, quorum = robust["paper"]["wachter"], robust["quorum"]["quorum"]
    apds = families["apds"]["breast-cancer"]
    distance = means["paper"]["distance_mean"].xs("diabetes", level="dataset")
    asked = distance["robx-balanced"] / distance["wachter"]
    assert robust["paper"]["robx-balanced"].min() > 99.85
    words = (
        f"holds in {wachter.min():.0f} to {wachter.max():.0f} % of changed models",
        f"holds in {apds['parameter-perturbation']:.0f} % of models whose parameters moved",
        f"in {apds['new-initialization']:.0f} % of those trained from another initialisation",
        f"asks {NUMBERS[round(asked)]} times as much of people as Wachter",
        f"holds in {quorum.min():.1f} to {quorum.max():.1f} % at {price['quorum'].min():.2f} to "
        f"{price['quorum'].max():.2f} times the limit",
        f"updates in a row {_range(lasting, 'betarce')} % of BetaRCE's advice holds, "
        f"{_range(lasting, 'robx-balanced')} % of RobX balanced's",
    )
    said = " ".join(TEXT.split())
    for each in words:
        assert each in said
    table = pd.read_csv(RESULTS / "paper" / "paper_comparison.csv")
    table = table[table["table"] == "full_results"]
    assert f"{table['within'].sum()} of the {len(table)} numbers of its table" in said
    assert table.loc[~table["within"].astype(bool), "explanation"].notna().all()


def _range(lasting: pd.DataFrame, method: str) -> str:
    held = lasting.loc[method, "held_to_the_end"]
    return f"{held.min():.0f} to {held.max():.0f}"
