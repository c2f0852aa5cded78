"""The generated tables: the same for the same seed, of all kinds of columns, in both formats."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from benchmarks import large, large_table
from changeproof import load_dataset, own_task


def test_the_first_rows_of_a_long_table_are_those_of_a_short_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(large_table, "BLOCK", 400)
    long, short = large_table.large_table(1_000), large_table.large_table(500)
    pd.testing.assert_frame_equal(long.head(500), short)
    assert not long.head(400).equals(long.iloc[400:800].reset_index(drop=True))
    assert not large_table.large_table(500, seed=7).equals(short)


@pytest.mark.parametrize("concept", large_table.CONCEPTS)
def test_columns_are_of_all_kinds_and_both_outcomes_are_common(concept: str) -> None:
    table = large_table.large_table(2_000, concept=concept)
    task = own_task(table, target="granted", favourable="yes")
    kinds = [feature.kind for feature in task.features]
    counts = {kind: kinds.count(kind) for kind in set(kinds)}
    assert counts == {"numeric": 8, "integer": 6, "categorical": 4, "binary": 2}
    assert 0.3 < task.labels.mean() < 0.75


def test_both_formats_hold_the_same_and_the_benchmark_describes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_table, "BLOCK", 300)
    for suffix in ("csv", "parquet"):
        large_table.write(tmp_path / f"large.{suffix}", 500)
        text = large.DESCRIPTION.replace("TABLE", f"large.{suffix}")
        text = f'name = "large"\n{text}'
        (tmp_path / f"{suffix}.toml").write_text(text)
    one, other = (load_dataset(tmp_path / f"{suffix}.toml") for suffix in ("csv", "parquet"))
    assert one.fingerprint == other.fingerprint
    assert len(one.frame) == 500
    assert one.declared["schooling"].order == tuple(large_table.SCHOOLING)


def test_faster_growth_than_rows_and_too_much_memory_are_misses() -> None:
    fine = {"rows": [1_000, 10_000], "processor_seconds": [5.0, 49.0], "peak_gib": [1.0, 5.9]}
    assert large.misses(pd.DataFrame(fine)) == []
    slow = pd.DataFrame(fine | {"processor_seconds": [5.0, 51.0]})
    assert "1,000 to 10,000 rows: processor time grew 10.2 times" in large.misses(slow)[0]
    big = pd.DataFrame(fine | {"peak_gib": [1.0, 6.1]})
    assert "10,000 rows took 6.1 GiB" in large.misses(big)[0]
