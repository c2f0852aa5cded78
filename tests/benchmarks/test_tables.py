"""What the benchmarks make of their measurements."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import machine
from benchmarks.agreement import PlainRun
from benchmarks.growth import exponents
from benchmarks.machine import RESULTS
from benchmarks.methods import compared_with_published, misses
from benchmarks.published import MACHINE, TABLE, published
from benchmarks.report import markdown, number, page
from changeproof import paper_datasets, published_method_names


def test_published_times_cover_all_methods_and_datasets() -> None:
    assert set(TABLE["subject"]) == {*published_method_names(), "bank"}
    for dataset in paper_datasets():
        for method in published_method_names():
            what = "first request" if method == "rnce" else "request"
            assert published(dataset, method, what) > 0
    assert published("heloc", "apds", "request") == 30
    assert np.isnan(published("heloc", "apds", "tuning"))
    assert TABLE["machine"].notna().all()


@pytest.mark.parametrize(
    ("dataset", "method", "fit", "seconds", "verdict"),
    [
        ("heloc", "apds", 9.0, 0.14, "met"),
        ("heloc", "apds", 0.0, 0.16, "missed"),
        ("diabetes", "apds", 0.0, 0.13, "met"),
        ("breast-cancer", "robx-balanced", 0.0, 0.039, "missed"),
        ("diabetes", "kdtree", 0.0, 1.0, "no target"),
        ("diabetes", "rnce", 1.0, 0.0, "met"),
        ("diabetes", "rnce", 2.0, 0.0, "missed"),
    ],
)
def test_targets(dataset: str, method: str, fit: float, seconds: float, verdict: str) -> None:
    assert compared_with_published(dataset, method, fit, seconds)["speed"] == verdict


def test_misses_are_named() -> None:
    row = {
        "dataset": "heloc",
        "method": "apds",
        "speed": "missed",
        "published_ratio": 150.0,
        "target_ratio": 200.0,
        "latency": "met",
        "latency_p90_ms": 300.0,
        "agreement": "yes",
    }
    assert misses(pd.DataFrame([row])) == [
        "heloc apds: 150.0 x the published code on its machine, target 200 x"
    ]
    all_wrong = pd.DataFrame([row | {"latency": "missed", "agreement": "no"}])
    assert len(misses(all_wrong)) == 3
    assert misses(pd.DataFrame([row | {"speed": "no target"}])) == []


def test_agreement_is_of_validity_verdicts_and_distance() -> None:
    fine = {
        "fit_seconds": 0.0,
        "request_seconds": 1.0,
        "people": 8,
        "timeouts": 0,
        "same": 3,
        "compared": 8,
        "base_valid": 8,
        "distance_ratio": 1.05,
    }
    assert PlainRun(**fine).agrees  # type: ignore[arg-type]
    for wrong in ({"base_valid": 7}, {"distance_ratio": 0.8}, {"rows_checked": 5, "rows_same": 4}):
        assert not PlainRun(**(fine | wrong)).agrees  # type: ignore[arg-type]


def test_exponents_are_those_of_the_upper_half() -> None:
    sizes = np.array([1, 2, 4, 8, 16, 32])
    seconds = np.where(sizes < 8, 1.0, sizes.astype(float) ** 1.7)
    base = {"subject": "s", "work": "answer", "dimension": "rows"}
    table = pd.DataFrame(
        [base | {"size": n, "seconds": t} for n, t in zip(sizes, seconds, strict=True)]
        + [base | {"work": "fit", "size": n, "seconds": 1e-5 * n} for n in sizes]
        + [base | {"subject": "slow", "size": 1, "seconds": 9.0}]
    )
    (row,) = exponents(table)
    assert row["exponent"] == pytest.approx(1.7)
    assert (row["from_size"], row["to_size"]) == (8, 32)


def test_rows_replace_those_of_the_same_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "RESULTS", tmp_path)
    machine.save("t", [{"dataset": "a", "x": 1.0}, {"dataset": "b", "x": 2.0}], ["dataset"])
    table = machine.save("t", [{"dataset": "a", "x": 3.0}], ["dataset"])
    assert table[["dataset", "x"]].to_numpy().tolist() == [["a", 3.0], ["b", 2.0]]
    runs = json.loads((tmp_path / "runs.json").read_text())
    assert int(runs["t"]["cores"]) > 0 and runs["t"]["numpy"] == np.__version__
    runs["t"]["processor"] = "another"
    (tmp_path / "runs.json").write_text(json.dumps(runs))
    table = machine.save("t", [{"dataset": "a", "x": 4.0}], ["dataset"])
    assert table["dataset"].tolist() == ["a"]


def test_the_page_is_that_of_its_tables() -> None:
    assert (RESULTS / "README.md").read_text(encoding="utf-8") == page()


def test_published_times_come_last_and_name_their_machine() -> None:
    """Ratios to plain versions are of one run; those to published times are of two machines."""
    parts = page().split("\n## ")[1:]
    shown = [part for part in parts if "published" in part]
    assert [part.split("\n")[0] for part in shown] == ["Methods", "Tuning", "Training"]
    for part in shown:
        assert MACHINE in part
        for header in (line for line in part.split("\n") if "published" in line and "|" in line):
            names = [name.strip() for name in header.strip("|").split("|")]
            assert "ratio to that machine" in names and "ratio" not in names
            assert "published s, other machine" in names
            if "ratio to plain" in names:
                assert names.index("ratio to plain") < names.index("ratio to that machine")


def test_tables_in_words() -> None:
    assert [number(v) for v in (0.0123456, 12.3456, 1234567.0, np.nan, 0.0)] == [
        "0.0123",
        "12.3",
        "1,234,567",
        "-",
        "0",
    ]
    assert markdown(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | ---: |\n| 1 | 2 |"


def test_what_is_measured_again_takes_the_place_of_what_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "RESULTS", tmp_path)
    for seconds in (1.0, 2.0):
        rows = [{"stage": "reading", "subject": "", "seconds": seconds}]
        machine.save("stages", rows, ["stage", "subject"])
    assert pd.read_csv(tmp_path / "stages.csv")["seconds"].tolist() == [2.0]
