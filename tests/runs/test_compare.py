"""Two runs side by side: the same people and changes are found, and what is not is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sklearn.linear_model import LogisticRegression

from changeproof import InputError, Results, compare_runs, evaluate
from changeproof.evaluation.metrics import People
from changeproof.evaluation.people import Sampled, difference
from changeproof.report.terminal.comparisons import print_run_comparison
from changeproof.runs.manifest import MANIFEST, PLAN, plan_hash
from changeproof.runs.pieces import Kind, Piece
from command_line import call
from loans import loans

DATA: dict[str, Any] = {"target": "approved", "favourable": "yes", "id_column": "applicant"}
FAMILIES = ["bootstrap(replicates=4)", "label-update(replicates=4)"]
LOGISTIC = "sklearn:LogisticRegression"


def audited(
    out: Path, model: Any = LOGISTIC, table: pd.DataFrame | None = None, **more: Any
) -> Results:
    table = loans(300) if table is None else table
    asked = {"methods": ["kdtree", "rbr"], "families": FAMILIES, **DATA, **more}
    return evaluate(table, model, out=out, publish=False, jobs=1, **asked)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Audits of a model, of one that is a little different, and with other settings."""
    folder = tmp_path_factory.mktemp("runs")
    audited(folder / "first")
    audited(folder / "other-model", f"{LOGISTIC}(C=0.01)")
    audited(
        folder / "other-method",
        methods=["kdtree", "rbr(extra_distance=0.5)"],
        families=["bootstrap(replicates=4)", "data-deletion(replicates=4)"],
    )
    return folder


def test_a_run_is_the_same_as_itself(folder: Path) -> None:
    comparison = compare_runs(folder / "first", folder / "first")
    table = comparison.table
    # Five metrics over all, and robustness and end-to-end robustness under each of two families.
    assert len(table) == 2 * (5 + 2 * 2)
    assert (table["difference"] == 0).all() and table["paired"].all()
    assert (table["verdict"] == "no clear difference").all()
    assert comparison.clear == [] and not comparison.only_before and not comparison.notes
    results = Results(folder / "first")
    overall = table[table["family"] == "all"].pivot_table(
        index="method", columns="metric", values="before"
    )
    full = results.table().set_index("method")
    for metric in overall.columns:
        np.testing.assert_allclose(overall[metric], full[f"{metric}_mean"])


def test_runs_on_different_models_say_so(folder: Path, tmp_path: Path) -> None:
    (note,) = compare_runs(folder / "first", folder / "other-model").notes
    assert note.startswith("The runs judged different models: before LogisticRegression, trained")
    table, one = loans(300), {"methods": ["kdtree"], "families": FAMILIES[:1]}
    columns = ["income", "debts"]
    for name, strength in (("today", 1.0), ("again", 1.0), ("next", 0.001)):
        model = LogisticRegression(C=strength).fit(table[columns], table["approved"])
        audited(tmp_path / name, model, table, **one)
    audited(tmp_path / "strict", model.set_params(C=0.001), table, threshold=0.6, **one)
    assert not compare_runs(tmp_path / "today", tmp_path / "again").notes
    (note,) = compare_runs(tmp_path / "today", tmp_path / "next").notes
    assert "before the LogisticRegression (sklearn) of object:" in note
    (note,) = compare_runs(tmp_path / "next", tmp_path / "strict").notes
    assert note.endswith("different thresholds: before its own decision, after 0.6.")


def test_the_same_people_and_changes_are_compared_one_by_one(folder: Path) -> None:
    comparison = compare_runs(folder / "first", folder / "other-model")
    runs = [Results(folder / name) for name in ("first", "other-model")]
    answers = [run.counterfactuals("data", 2026, "rbr") for run in runs]
    both = [row for row in answers[0].row_ids if row in set(answers[1].row_ids)]
    assert len(both) > 0 and len(answers[0]) != len(both)
    sides = []
    for run, found in zip(runs, answers, strict=True):
        places = [found.row_ids.tolist().index(row) for row in both]
        families = run.variants("data", 2026)["family"]
        everybody = People.of(run.task("data"), found, run.survived("data", 2026, "rbr"), families)
        sides.append(People(*(v[places] for v in everybody)))
    for line in comparison.lines:
        if (line.method, line.family) == ("rbr", "all"):
            before, after = (Sampled.of([side], line.metric) for side in sides)
            unit = 1.0 if line.metric == "distance" else 100.0
            assert line.paired and line.people_before == line.people_after == len(both)
            assert line.difference == pytest.approx(unit * (after.value - before.value))
            found = difference(before, after, same_people=True, same_bases=True)
            np.testing.assert_allclose((line.low, line.high), found[1:], atol=1e-9)
    assert comparison.by_chance == pytest.approx(0.05 * len(comparison.judged))


def test_other_settings_are_matched_where_that_is_asked(folder: Path) -> None:
    first, second = folder / "first", folder / "other-method"
    plain = compare_runs(first, second)
    assert set(plain.table["method"]) == {"kdtree"}
    assert plain.only_before == {"methods": ("rbr",), "families": ("label-update(replicates=4)",)}
    assert plain.only_after["methods"] == ("rbr(extra_distance=0.5)",)
    # One family in common is all there is, and nothing is counted twice.
    assert plain.table["family"].tolist() == ["all"] * 5
    assert (plain.table["difference"] == 0).all()
    matched = compare_runs(first, second, {"rbr": "rbr(extra_distance=0.5)"})
    table = matched.table.query("method == 'rbr'")
    assert set(table["method_after"]) == {"rbr(extra_distance=0.5)"}
    assert table["paired"].all() and (table["difference"] != 0).any()
    assert "methods" not in matched.only_before
    with pytest.raises(InputError, match=r"unknown method of .*other-method 'gone'; expected one"):
        compare_runs(first, second, {"rbr": "gone"})


def test_other_data_are_not_compared(folder: Path, tmp_path: Path) -> None:
    few = {"methods": ["kdtree"], "families": FAMILIES[:1]}
    other = loans(300).assign(income=lambda table: table["income"] + 100.0)
    audited(tmp_path / "other", table=other, **few)
    with pytest.raises(InputError, match="are runs on different data: few or no rows of data have"):
        compare_runs(folder / "first", tmp_path / "other")
    audited(tmp_path / "named", name="renamed", **few)
    with pytest.raises(InputError, match=r"no dataset in common: .*first has data; .* has renamed"):
        compare_runs(folder / "first", tmp_path / "named")
    mended = loans(300)
    mended.loc[:9, "income"] += 1.0
    audited(tmp_path / "mended", table=mended, drop=["member"], **few)
    comparison = compare_runs(folder / "first", tmp_path / "mended")
    assert "data: 10 rows differ and are left out." in comparison.notes
    assert any("distances are not compared" in note for note in comparison.notes)
    assert "distance" not in set(comparison.table["metric"])


def test_nothing_in_common_is_one_line(folder: Path, tmp_path: Path) -> None:
    audited(tmp_path / "methods", methods=["kdtree"], families=FAMILIES[:1])
    audited(tmp_path / "families", methods=["rbr"], families=["data-deletion(replicates=4)"])
    with pytest.raises(InputError, match=r"no method in common: .* with --match OLD=NEW"):
        compare_runs(tmp_path / "methods", tmp_path / "families")
    with pytest.raises(
        InputError, match=r"no family in common: .* has data-deletion\(replicates=4\)$"
    ):
        compare_runs(folder / "first", tmp_path / "families")
    shutil.rmtree(tmp_path / "methods" / "pieces")
    with pytest.raises(InputError, match="have no finished answers in common"):
        compare_runs(folder / "first", tmp_path / "methods")
    done = call("compare-runs", "methods", "families", cwd=tmp_path)
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1


def with_methods(folder: Path, methods: dict[str, str], *, files: bool = True) -> None:
    """Have a run say that methods were run as well, each with the answers of another one."""
    record, manifest = (json.loads((folder / name).read_text()) for name in (PLAN, MANIFEST))
    record["plan"]["methods"] += methods
    (folder / PLAN).write_text(json.dumps(record))
    manifest["plan"] = plan_hash(folder)
    lines = manifest["pieces"]
    for number, (name, other) in enumerate(methods.items()):
        manifest["methods"][name] = manifest["methods"][other]
        moved = {}
        for place, line in list(enumerate(lines)):
            if line["method"] == other and line["kind"] != "tuning":
                moved[place] = len(lines)
                inputs = [moved.get(each, each) for each in line["inputs"]]
                fingerprint = f"{number}{line['file'].rpartition('.')[2][1:]}"
                piece = Piece(
                    Kind(line["kind"]), line["dataset"], line["base_seed"], fingerprint, name,
                    line["family"],
                )  # fmt: skip
                lines.append({**line, "file": piece.file_stem, "method": name, "inputs": inputs})
                for path in (folder / "pieces").glob(f"{line['file']}.*") if files else ():
                    ending = path.name.split(".", 2)[2]
                    shutil.copy(path, folder / "pieces" / f"{piece.file_stem}.{ending}")
    (folder / MANIFEST).write_text(json.dumps(manifest))


def test_runs_of_another_version_with_methods_that_are_gone_can_be_read(
    folder: Path, tmp_path: Path
) -> None:
    old = Path(shutil.copytree(folder / "first", tmp_path / "old"))
    record = json.loads((old / PLAN).read_text())
    record["plan"]["model"] = "python:gone:model"
    (old / PLAN).write_text(json.dumps(record))
    with_methods(old, {"gone:Method": "rbr"}, files=False)
    text = (old / MANIFEST).read_text()
    for path in list((old / "pieces").rglob("*.*.*.*")):
        stem, fingerprint, rest = path.name.split(".", 2)
        path.rename(path.with_name(f"{stem}.{fingerprint[::-1]}.{rest}"))
        text = text.replace(f"{stem}.{fingerprint}", f"{stem}.{fingerprint[::-1]}")
    (old / MANIFEST).write_text(text)
    comparison = compare_runs(old, folder / "first")
    assert (comparison.table["difference"] == 0).all() and len(comparison.lines) == 18
    assert comparison.only_before == {"methods": ("gone:Method",)}


def test_of_several_versions_of_a_piece_the_last_counts(folder: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(folder / "first", tmp_path / "run"))
    # The same dataset and methods with fewer people, computed later in the same directory.
    audited(run, factuals=10)
    table = compare_runs(run, run).table
    assert (table["people_before"] == 10).all()


def test_methods_of_one_file_name_are_not_taken_for_each_other(
    folder: Path, tmp_path: Path
) -> None:
    run = Path(shutil.copytree(folder / "first", tmp_path / "run"))
    with_methods(run, {"gone:M(a=1)": "rbr", "gone:M(a=[1])": "kdtree"})
    table = compare_runs(run, run).table.set_index(["method", "family", "metric"])["before"]
    for name, other in {"gone:M(a=1)": "rbr", "gone:M(a=[1])": "kdtree"}.items():
        pd.testing.assert_series_equal(table[name], table[other])
    assert not table["rbr"].equals(table["kdtree"])


def test_a_damaged_file_is_named(folder: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(folder / "first", tmp_path / "run"))
    (path,) = (run / "pieces").rglob("counterfactuals-kdtree.*")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"damaged file .*; compute it again: changeproof run"):
        compare_runs(run, folder / "first")


def test_the_terminal_says_how_much_may_be_chance(folder: Path) -> None:
    comparison = compare_runs(
        folder / "first", folder / "other-method", {"rbr": "rbr(extra_distance=0.5)"}
    )
    console = Console(width=120)
    with console.capture() as capture:
        print_run_comparison(comparison, everything=True, console=console)
    text = " ".join(capture.get().split())
    assert "the same" in text and "compared one by one" in text
    assert f"{len(comparison.judged)} differences:" in text
    assert "RBR → RBR (extra_distance=0.5)" in text
    assert "Only before: families label-update(replicates=4)." in text
    if comparison.clear:
        assert "would exclude 0 by chance, had nothing changed" in text


def test_the_command_writes_csv_and_json(folder: Path, tmp_path: Path) -> None:
    match = ("--match", "rbr=rbr(extra_distance=0.5)")
    done = call(
        "compare-runs", "first", "other-method", *match, "--json", "--csv", tmp_path / "c.csv",
        cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    table = pd.read_csv(tmp_path / "c.csv")
    assert len(told["differences"]) == len(table) == told["looked_at"]
    assert told["differences"][0]["method"] == table["method"][0] == "kdtree"
    assert set(table["verdict"]) <= {"better", "worse", "no clear difference"}
    words = call("compare-runs", "first", "other-method", *match, cwd=folder)
    assert "differences:" in words.stdout
    wrong = call("compare-runs", "first", "other-method", "--match", "rbr", cwd=folder)
    assert wrong.returncode == 2 and "--match 'rbr'; expected OLD=NEW" in wrong.stderr
