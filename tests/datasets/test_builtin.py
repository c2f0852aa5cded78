from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from changeproof import InputError, load_task
from changeproof.datasets.builtin import FILES, dataset_names, dataset_records, read_embedded


@pytest.mark.parametrize("name", dataset_names())
def test_files_match_their_records(name: str) -> None:
    record, task = dataset_records()[name], load_task(name)
    assert task.frame.shape == (record.rows, record.features)
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


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    record = dataset_records()["diabetes"]
    copy = Path(shutil.copy(FILES / record.file, tmp_path))
    content = bytearray(copy.read_bytes())
    content[len(content) // 2] ^= 1
    copy.write_bytes(content)
    with pytest.raises(InputError, match=r"diabetes\.parquet is damaged"):
        read_embedded(tmp_path, record)


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"unknown dataset 'cancer'; expected one of: breast-c"):
        load_task("cancer")
