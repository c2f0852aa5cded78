"""An audit in MLflow: its numbers, its page and its tables beside the model that it is about."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from changeproof import __version__
from changeproof.errors import InputError
from changeproof.evaluation.metrics import METRICS
from changeproof.gating.judging import gate
from changeproof.gating.writing import as_json
from changeproof.models.libraries import required
from changeproof.models.mlflow import QUIET
from changeproof.models.references import MLFLOW, STORED
from changeproof.report.page.provenance import provenance
from changeproof.report.verdict import Verdict, verdict
from changeproof.runs.directory import TABLES
from changeproof.runs.manifest import PLAN
from changeproof.runs.results import StoredResults
from changeproof.tables.display import Tables
from changeproof.workflow import Results, write_everything

PREFIX = "changeproof"
# What names of metrics may not have in MLflow; a slash would begin a group.
FORBIDDEN = re.compile(r"[^\w\-.: ]")
LONGEST_NAME, LONGEST_TAG = 80, 4900
# What a verdict counts, and what MLflow calls it.
COUNTS = {
    "asked": "people_asked",
    "accepted": "people_with_valid_advice",
    "above": "people_with_lasting_advice",
    "sure": "people_with_surely_lasting_advice",
}


def log_audit(
    run: Results | str | Path,
    *,
    model: str | None = None,
    rules: str | Path | Mapping[str, Any] | Sequence[Any] | None = None,
    path: str = PREFIX,
) -> str:
    """Log a finished audit to MLflow: to the active run, or to a new one if there is none.

    Needs MLflow, an extra: ``pip install 'changeproof[mlflow]'``.

    - Metrics: "METHOD/end_to_end_robustness" and the other averages by method, as in the table
      `full_results`; how many people get advice that lasts; the balanced accuracy. With several
      datasets, the dataset comes first. What is undefined is left out.
    - Artifacts: the page, every table, the plan, the verdict, and what the gate said.
    - Tags: which data and model, the fingerprint of the run, and the verdict in a sentence. For a
      model that MLflow keeps also its address and its run, and metrics are linked with the model.

    Page and tables say what people were told: log them where that may be read.

    Parameters
    ----------
    run
        Results, or the directory of a run.
    model
        The address of the model in MLflow, such as "models:/loans/3"; by default that of an audit
        of "mlflow:models:/loans/3".
    rules
        Rules of a gate, whose answer is logged as well; see `gate`.
    path
        The folder for artifacts, and how tags begin.

    Returns
    -------
    The id of the MLflow run.

    Examples
    --------
    >>> with mlflow.start_run():
    ...     cp.log_audit("audit", rules="rules.toml")
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    mlflow = required("mlflow", "logging an audit")
    results = run if isinstance(run, Results) else Results(run)
    if not results.inventory.complete:
        raise InputError(f"the run in {results.folder} is not finished; only whole runs are logged")
    # Written first, so that the numbers are the very ones of the files.
    page, tables = write_everything(results), results.tables()
    found = verdict(results, tables)
    judged = gate(results.folder, rules) if rules is not None else None
    address = model or _address(results)
    about = _model_info(mlflow, address)
    tags = {
        "version": __version__,
        "data": ", ".join(results.shown.datasets),
        "model": _reference(results),
        "fingerprint": provenance(results)["fingerprint"],
        "verdict": " ".join(each.headline for each in found.findings),
        "model_uri": address,
        "model_run_id": getattr(about, "run_id", None),
        "gate": None if judged is None else "open" if judged.passed() else "closed",
    }
    active = mlflow.active_run()
    new = mlflow.start_run(run_name=f"{PREFIX} {tags['data']}") if active is None else None
    with new if new is not None else nullcontext(active) as here:
        mlflow.set_tags(
            {f"{path}.{key}": value[:LONGEST_TAG] for key, value in tags.items() if value}
        )
        mlflow.log_metrics(audit_metrics(found, tables), model_id=getattr(about, "model_id", None))
        mlflow.log_artifact(str(page), f"{path}/report")
        mlflow.log_artifact(str(results.folder / PLAN), path)
        for file in sorted((results.folder / TABLES).glob("*.csv")):
            mlflow.log_artifact(str(file), f"{path}/tables")
        mlflow.log_text("\n".join(found.lines) + "\n", f"{path}/verdict.txt")
        if judged is not None:
            mlflow.log_text(as_json(judged), f"{path}/gate.json")
        return str(here.info.run_id)


def audit_metrics(found: Verdict, tables: Tables) -> dict[str, float]:
    """Return the numbers of an audit by names that MLflow takes; what is undefined is left out."""
    return {
        name: float(value)
        for name, value in _numbers(found, tables)
        if value is not None and math.isfinite(value)
    }


def _numbers(found: Verdict, tables: Tables) -> Iterator[tuple[str, float | None]]:
    datasets = safe_names(each.dataset for each in found.findings)
    group = {dataset: f"{name}/" if len(datasets) > 1 else "" for dataset, name in datasets.items()}
    rows = tables["full_results"].to_dict("records")
    methods = safe_names(str(row["method"]) for row in rows)
    for row in rows:
        for metric in METRICS:
            name = f"{group[str(row['dataset'])]}{methods[str(row['method'])]}/{metric}"
            yield name, row[f"{metric}_mean"]
    for each in found.findings:
        for field, name in COUNTS.items():
            yield f"{group[each.dataset]}{name}", getattr(each, field)
    for row in tables["dataset_summary"].to_dict("records"):
        yield f"{group[str(row['dataset'])]}balanced_accuracy", row["balanced_accuracy_mean"]


def safe_names(given: Iterable[str]) -> dict[str, str]:
    """Return names that MLflow takes, no two alike.

    >>> safe_names(["kdtree", "rbr(samples=5)", "rbr(samples:5)"])
    {'kdtree': 'kdtree', 'rbr(samples=5)': 'rbr_samples_5_', 'rbr(samples:5)': 'rbr_samples:5_'}
    """
    found: dict[str, str] = {}
    for name in dict.fromkeys(given):
        # A name of dots only would be a folder above.
        plain = short = FORBIDDEN.sub("_", name)[:LONGEST_NAME].strip(". ") or "_"
        number = 1
        while short in found.values():
            number += 1
            short = f"{plain} {number}"
        found[name] = short
    return found


def _reference(results: StoredResults) -> str:
    judged = results.manifest.judged
    return results.manifest.model if judged is None else judged.reference


def _address(results: StoredResults) -> str | None:
    """Return where MLflow keeps the judged model, if an audit names it."""
    kind, _, rest = _reference(results).partition(":")
    return rest if kind == MLFLOW and rest.startswith(STORED) else None


def _model_info(mlflow: Any, address: str | None) -> Any:
    """Return what MLflow knows of a model; None where it cannot be asked, as from elsewhere."""
    if address is None:
        return None
    try:
        return mlflow.models.get_model_info(address)
    except Exception:
        return None
