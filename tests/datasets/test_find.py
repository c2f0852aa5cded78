from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from changeproof import InputError, load_task
from changeproof.datasets import FILES, dataset_names, dataset_records, paper_datasets
from changeproof.datasets.find import read_embedded
from changeproof.datasets.split import PARTS, Split


def test_the_paper_comes_first() -> None:
    assert paper_datasets() == ("breast-cancer", "diabetes", "wine-quality", "heloc")
    assert dataset_names() == (*paper_datasets(), "german-credit", "car-loans", "employment")


@pytest.mark.parametrize("name", dataset_names())
def test_files_match_their_records(name: str) -> None:
    record, task = dataset_records()[name], load_task(name)
    assert (len(task.frame), len(task.features)) == (record.rows, record.features)
    assert task.name == name
    assert (record.sample is None) == (record.rows == record.original_rows or record.paper)
    assert (FILES / record.file).stat().st_size < 3_000_000
    assert all([record.licence, record.origin, record.package, record.members])


def test_breast_cancer_is_scikit_learns() -> None:
    bunch = load_breast_cancer(as_frame=True)
    task = load_task("breast-cancer")
    np.testing.assert_array_equal(task.frame, bunch.data)
    np.testing.assert_array_equal(task.labels, bunch.target)
    assert task.feature_names == list(bunch.feature_names)


def test_favourable_shares_are_those_of_the_protocol() -> None:
    assert load_task("wine-quality").labels.mean() == pytest.approx(0.633, abs=5e-4)
    assert load_task("diabetes").labels.sum() == 500
    assert load_task("breast-cancer").labels.sum() == 357


def test_heloc_keeps_the_original_row_ids() -> None:
    task = load_task("heloc")
    assert task.frame.index[0] == 0
    assert task.frame.index[1] == 2  # row 1 holds special codes
    assert task.frame.index[-1] <= 10_458
    assert (task.frame >= 0).all(axis=None)


@pytest.mark.parametrize("name", paper_datasets())
def test_the_kept_split_is_the_one_that_scikit_learn_draws(name: str) -> None:
    kept, drawn = load_task(name).split, Split.stratified(load_task(name).labels)
    for part in PARTS:
        one, other = getattr(kept, part), getattr(drawn, part)
        assert (one.dtype, one.tobytes()) == (other.dtype, other.tobytes())


def test_the_papers_datasets_load_without_scikit_learn() -> None:
    code = f"""
import sys
from changeproof.datasets.find import load_task
for name in {paper_datasets()!r}:
    load_task(name).distance_scale
assert "sklearn" not in sys.modules and "scipy.stats" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("damaged", ["diabetes.parquet", "diabetes.split.npz"])
def test_a_damaged_file_is_refused(tmp_path: Path, damaged: str) -> None:
    record = dataset_records()["diabetes"]
    for name in (record.file, str(record.split)):
        shutil.copy(FILES / name, tmp_path)
    assert (
        read_embedded(tmp_path, "diabetes", record).fingerprint == load_task("diabetes").fingerprint
    )
    content = bytearray((tmp_path / damaged).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / damaged).write_bytes(content)
    with pytest.raises(InputError, match=f"{re.escape(damaged)} is damaged"):
        read_embedded(tmp_path, "diabetes", record)


@pytest.mark.parametrize("damaged", ["car-loans.parquet", "car-loans.toml"])
def test_a_damaged_table_or_dataset_file_is_refused(tmp_path: Path, damaged: str) -> None:
    record = dataset_records()["car-loans"]
    for name in (record.file, str(record.dataset_file)):
        shutil.copy(FILES / name, tmp_path)
    assert read_embedded(tmp_path, "car-loans", record).name == "car-loans"
    (tmp_path / damaged).write_bytes((tmp_path / damaged).read_bytes() + b"\n")
    with pytest.raises(InputError, match=f"{damaged} is damaged".replace(".", r"\.")):
        read_embedded(tmp_path, "car-loans", record)


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"unknown dataset 'cancer'; expected one of: breast-c"):
        load_task("cancer")
