"""An audit of a fitted LightGBM model: 100,000 rows, 30 features with categories and gaps.

The model is fitted by LightGBM itself on the table of `large_table.py` with ten more columns and
some gaps, and handed over in LightGBM's own format, as it is. 250 people, all methods that fit the
model, the default families. What is measured is as in `large.py`.

    python -m benchmarks.boosted [ROWS] [--people N] [--keep FOLDER]

writes benchmarks/results/boosted.csv, and prints it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.large import JOBS, Watched
from benchmarks.large_table import write
from benchmarks.machine import save

ROWS, PEOPLE, MORE_COLUMNS, GAPS = 100_000, 250, 10, 0.05
NOT_FEATURES = ["granted"]


def table_of(rows: int, path: Path) -> pd.DataFrame:
    """Return the table of `large_table.py`, wider and with gaps."""
    write(path, rows)
    table = pd.read_parquet(path)
    draw = np.random.default_rng(30)
    for number in range(MORE_COLUMNS):
        table[f"more_{number}"] = draw.normal(size=rows).round(3)
    for name in ("income", "commute", "sector", "more_0"):
        table.loc[draw.random(rows) < GAPS, name] = None
    texts = [name for name in table.columns if table[name].dtype in ("object", "str")]
    typed = table.astype({name: "category" for name in texts if name not in NOT_FEATURES})
    typed.to_parquet(path)
    return typed


def measure(rows: int, people: int, folder: Path) -> dict[str, Any]:
    import joblib
    from lightgbm import LGBMClassifier

    path, saved, out = folder / "boosted.parquet", folder / "model.joblib", folder / "audit"
    table = table_of(rows, path)
    model = LGBMClassifier(n_jobs=JOBS, verbosity=-1)
    model.fit(table.drop(columns=NOT_FEATURES), table["granted"])
    joblib.dump(model, saved)
    command = [sys.executable, "-m", "changeproof", "audit", "--data", str(path)]
    command += ["--target", "granted", "--favourable", "yes", "--factuals", str(people)]
    command += ["--model", f"joblib:{saved}", "--unpickle-and-run-its-code"]
    command += ["--jobs", str(JOBS), "--out", str(out)]
    watched = Watched(command)
    seconds = watched.finished()
    return {
        "rows": rows,
        "people": people,
        "features": len(table.columns) - len(NOT_FEATURES),
        "seconds": seconds,
        "processor_seconds": sum(watched.spent.values()),
        "peak_gib": watched.peak / 2**30,
        "silence_seconds": watched.silence,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=int, nargs="?", default=ROWS)
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--keep", type=Path, help="a new folder to leave table and audit in")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if asked.keep is None else asked.keep
        folder.mkdir(exist_ok=asked.keep is None)
        found = save("boosted", [measure(asked.rows, asked.people, folder)], ["rows", "people"])
    print(found.to_string(index=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
