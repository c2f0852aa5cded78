"""Runs that were killed or ran out of space, and directories that were meddled with."""

from __future__ import annotations

import errno
import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from changeproof import InputError, Plan, Results, audit, gate, own_task, run
from changeproof.cli import app
from changeproof.files import write_together
from changeproof.runs.content import arrays_from_bytes, arrays_to_bytes, table_from_bytes
from changeproof.runs.directory import check_free
from changeproof.runs.manifest import MANIFEST, PLAN, plan_hash
from changeproof.runs.published import LIST, origin_of, published
from changeproof.runs.store import checksum
from changeproof.runs.timings import LOG, piece_efforts, sessions
from changeproof.tables.registry import read_finished, read_tables, write_tables
from changeproof.tables.spreadsheets import csv_bytes, read_table
from command_line import call
from loans import loans
from published_run import write_run

FEW: dict[str, Any] = {"methods": ["kdtree"], "families": ["bootstrap(replicates=3)"]}
FEW |= {"factuals": 3, "jobs": 1, "model": "sklearn:LogisticRegression"}
LOANS: dict[str, Any] = {"target": "approved", "favourable": "yes", "id_column": "applicant"}
SMALL = Plan.preset(
    "quick", datasets=["diabetes"], methods=["kdtree"], families=["bootstrap"], factuals=3
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run with tables and report."""
    folder = tmp_path_factory.mktemp("finished") / "run"
    run(SMALL, folder, jobs=1)
    return folder


@pytest.fixture
def copy(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same run to meddle with; a report of it gets the figures that are there, undrawn."""
    folder = finished / "report"
    drawn = {name: folder / name for name in published(folder) if name != "index.html"}
    assert "figures" in {Path(name).parts[0] for name in drawn}

    def as_drawn(tables: object) -> dict[str, bytes]:
        return {name: path.read_bytes() for name, path in drawn.items()}

    monkeypatch.setattr("changeproof.report.printing.print_files", as_drawn)
    return Path(shutil.copytree(finished, tmp_path / "run"))


def pieces(folder: Path) -> dict[str, bytes]:
    found = (folder / "pieces").rglob("*.*.*.*")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.parametrize("left", [[], ["data/.unfinished-1"], [".unfinished-1", ".lock"]])
def test_what_was_killed_before_its_plan_was_written_can_be_begun_again(
    tmp_path: Path, left: list[str]
) -> None:
    out = tmp_path / "out"
    for name in ("data/data.task.parquet", *left):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(b"half")
    results = audit(loans(120), out, publish=False, **LOANS, **FEW)
    assert not list(out.rglob(".unfinished-*"))
    assert Results(out).task("data").fingerprint == results.task("data").fingerprint


def test_a_lost_plan_strands_no_pieces(copy: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (copy / "pieces").rglob("*.*.*.*")}
    (copy / PLAN).write_text('{"format": ')
    with pytest.raises(InputError, match="if it is damaged, remove it and give the full command"):
        run(SMALL, copy, jobs=1, publish=False)
    (copy / PLAN).unlink()
    run(SMALL, copy, jobs=1, publish=False)
    assert {p: p.stat().st_mtime_ns for p in (copy / "pieces").rglob("*.*.*.*")} == before


@pytest.mark.parametrize(
    "name", ["notes.txt", "data/mine.csv", "tables/mine.csv", "report/thesis.tex", LOG]
)
def test_a_directory_of_somebody_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match="is not empty and holds no changeproof run"):
        check_free(tmp_path)


DAMAGED = [b"\xff\xfe", b"[1, 2]", b"7", b"null", b'{"piece": 3}', b'{"piece": "a", "seconds": 1}']
DAMAGED += [b'{"piece": "a", "seconds": "x", "processor_seconds": 1, "peak_memory": 1}']
DAMAGED += [b'{"piece": "a", "seconds": NaN, "processor_seconds": 1, "peak_memory": 1}']
DAMAGED += [b'{"piece": "a", "seconds": true, "processor_seconds": 1, "peak_memory": 1}']
DAMAGED += [b'{"session": 4}', b'{"session": {"started": "x", "colour": 2}}', b"[" * 3000]
DAMAGED += [b'{"session": {"started": "x", "jobs": "two"}}', b'{"session": {"jobs": 1}}']


@pytest.mark.parametrize("line", DAMAGED)
def test_damaged_times_are_passed_over(finished: Path, tmp_path: Path, line: bytes) -> None:
    content = (finished / LOG).read_bytes()
    (tmp_path / LOG).write_bytes(content + line + b"\n")
    assert piece_efforts(tmp_path) == piece_efforts(finished)
    assert sessions(tmp_path) == sessions(finished)


def test_times_are_not_worth_a_failed_run(copy: Path) -> None:
    (copy / LOG).unlink()
    (copy / LOG).mkdir()
    next((copy / "pieces").rglob("survival-*")).unlink()
    assert run(SMALL, copy, jobs=1, publish=False).inventory.complete


def test_tables_stay_until_the_new_ones_are_whole(copy: Path) -> None:
    before = {path: path.read_bytes() for path in (copy / "tables").glob("*.csv")}
    page = (copy / "report" / "index.html").read_bytes()
    more = Plan.checked({**SMALL.model_dump(), "methods": ("kdtree", "wachter")})

    def fail(results: object) -> None:
        raise MemoryError("in the middle of it")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("changeproof.tables.registry.build_tables", fail)
        with pytest.raises(MemoryError):
            run(more, copy, jobs=1)
    assert {path: path.read_bytes() for path in (copy / "tables").glob("*.csv")} == before
    assert (copy / "report" / "index.html").read_bytes() == page
    # But nobody takes them for those of the new plan.
    assert not read_tables(copy)
    made_again = read_finished(copy)[1]
    assert set(made_again["full_results"]["method"]) == {"kdtree", "wachter"}
    run(more, copy, jobs=1)
    for name, table in read_finished(copy)[1].items():
        if "seconds" not in name and name != "timings":
            pd.testing.assert_frame_equal(table, made_again[name])


def test_files_of_others_are_left_alone(copy: Path) -> None:
    others = [copy / "tables" / "mine.csv", copy / "report" / "figures" / "mine.png"]
    for path in others:
        path.write_bytes(b'not "a table')
    run(SMALL, copy, jobs=1)
    assert "mine" not in read_tables(copy)
    assert "mine" not in read_finished(copy)[1]
    run(SMALL, copy, jobs=1, publish=False)
    assert [path.read_bytes() for path in others] == [b'not "a table'] * 2
    left = {path for path in copy.rglob("*") if path.is_file()}
    assert {path for path in left if path.parent.name == "tables"} == {
        others[0],
        copy / "tables" / LIST,
    }


@pytest.mark.parametrize("damage", ["cut", "bytes", "gone", "list", "listed"])
def test_damaged_tables_are_found_and_written_again(copy: Path, damage: str) -> None:
    path = copy / "tables" / "full_results.csv"
    whole = path.read_bytes()
    if damage == "gone":
        path.unlink()
    elif damage == "list":
        (copy / "tables" / LIST).write_bytes(b"[" * 3000)
    elif damage == "listed":
        content = json.loads((copy / "tables" / LIST).read_text())
        content["files"]["../../mine.csv"] = "0"
        (copy / "tables" / LIST).write_text(json.dumps(content))
        (copy.parent.parent / "mine.csv").write_text("mine")
    else:
        path.write_bytes({"cut": whole[:40], "bytes": b"\xff" + whole}[damage])
    before = whole_tables(copy)
    assert not read_tables(copy)
    assert CliRunner().invoke(app, ["show", str(copy)]).exit_code == 0
    pd.testing.assert_frame_equal(read_finished(copy)[1]["full_results"], read_table(whole))
    assert whole_tables(copy) == before
    Results(copy).report()
    assert path.read_bytes() == whole
    if damage == "listed":
        assert (copy.parent.parent / "mine.csv").read_text() == "mine"


def whole_tables(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "tables").iterdir()}


RULES = """
[[rule]]
metric = "coverage"
at_least = 50.0
decided_by = "value"
"""


def edited(copy: Path, value: float = 0.0) -> bytes:
    """Write another number into a table; return how it was."""
    path = copy / "tables" / "people_intervals.csv"
    whole = path.read_bytes()
    table = read_table(whole)
    table.loc[table["metric"] == "coverage", ["value", "low", "high"]] = value
    path.write_bytes(csv_bytes(table))
    return whole


@pytest.mark.parametrize("listed", [True, False])
def test_edited_tables_decide_nothing(copy: Path, listed: bool) -> None:
    (copy / "rules.toml").write_text(RULES)
    whole = edited(copy)
    if not listed:
        (copy / "tables" / LIST).unlink()
    assert gate(copy, copy / "rules.toml").passed()
    if not listed:
        Results(copy).report()
        assert (copy / "tables" / "people_intervals.csv").read_bytes() == whole


def test_a_file_that_no_list_names_is_no_table(copy: Path) -> None:
    (copy / "rules.toml").write_text(RULES)
    shutil.rmtree(copy / "tables")
    (copy / "tables").mkdir()
    (copy / "tables" / "people_intervals.csv").write_text("a,b\n1,2\n")
    assert gate(copy, copy / "rules.toml").passed()
    assert "full_results" in read_finished(copy)[1]


def test_tables_of_another_run_decide_nothing(copy: Path, tmp_path: Path) -> None:
    (copy / "rules.toml").write_text(RULES)
    other = tmp_path / "other"
    run(Plan.checked({**SMALL.model_dump(), "factuals": 2}), other, jobs=1, publish=False)
    write_tables(Results(other))
    edited(other)
    content = json.loads((other / "tables" / LIST).read_text())
    now = (other / "tables" / "people_intervals.csv").read_bytes()
    content["files"]["people_intervals.csv"] = checksum(now)
    (other / "tables" / LIST).write_text(json.dumps(content))
    shutil.rmtree(copy / "tables")
    shutil.copytree(other / "tables", copy / "tables")
    for ask in (lambda: gate(copy, copy / "rules.toml"), lambda: Results(copy).report()):
        with pytest.raises(InputError, match="is not the plan of the tables beside it"):
            ask()
    # The same plan, and pieces of other data or code.
    content["made_from"]["plan"] = origin_of(copy).plan
    (copy / "tables" / LIST).write_text(json.dumps(content))
    assert gate(copy, copy / "rules.toml").passed()


def struck_out(folder: Path, key: str, what: str) -> None:
    """Strike all but the first out of the plan and, where that is asked, out of the manifest."""
    content = json.loads((folder / PLAN).read_text())
    kept, *gone = content["plan"][key]
    content["plan"][key] = [kept]
    (folder / PLAN).write_text(json.dumps(content))
    if what == "plan":
        return
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["plan"] = plan_hash(folder)
    if what == "everything":
        manifest |= {key: {kept: manifest[key][kept]}} if key in manifest else {}
        field = {"methods": "method", "families": "family", "base_seeds": "base_seed"}[key]
        left = [line for line in manifest["pieces"] if line[field] not in gone]
        place = {manifest["pieces"].index(line): new for new, line in enumerate(left)}
        for line in left:
            line["inputs"] = [place[each] for each in line["inputs"]]
        manifest["pieces"] = left
    (folder / MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("what", ["plan", "plan and hash", "everything"])
@pytest.mark.parametrize("key", ["methods", "families", "base_seeds"])
def test_what_is_struck_out_of_a_plan_is_noticed(
    several: Path, tmp_path: Path, key: str, what: str, listed: bool
) -> None:
    copy = Path(shutil.copytree(several, tmp_path / "run"))
    struck_out(copy, key, what)
    if not listed:
        (copy / "tables" / LIST).unlink()
    reason = "is not the plan of the tables" if listed else "does not name all that"
    if what == "plan":
        reason = "is not the plan that"
    elif what == "plan and hash":
        reason = "is damaged, or of another version"
    (copy / "rules.toml").write_text(RULES)
    for command in (["report"], ["show"], ["compare"], ["gate", str(copy / "rules.toml")]):
        ended = CliRunner().invoke(app, [command[0], str(copy), *command[1:]])
        assert isinstance(ended.exception, InputError)
        assert reason in str(ended.exception) and "changeproof run --out" in str(ended.exception)
    if (key, what, listed) != ("methods", "plan", True):
        return
    # Whoever means it says so by running that plan.
    assert CliRunner().invoke(app, ["run", "--jobs", "1", "--out", str(copy)]).exit_code == 0
    assert gate(copy, copy / "rules.toml").passed()


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two methods, two families and two base models, with tables."""
    folder = tmp_path_factory.mktemp("several") / "run"
    both = {"methods": ("kdtree", "robx-robust"), "families": ("bootstrap", "new-initialization")}
    plan = Plan.checked({**SMALL.model_dump(), **both, "base_seeds": (2026, 2027), "limit": False})
    write_tables(run(plan, folder, jobs=1, publish=False))
    return folder


@pytest.mark.parametrize("left", ["none", "one"])
def test_tables_without_their_pieces_decide_nothing(copy: Path, left: str) -> None:
    (copy / "rules.toml").write_text(RULES)
    if left == "none":
        shutil.rmtree(copy / "pieces")
    else:
        next((copy / "pieces").rglob("survival-*")).unlink()
    with pytest.raises(InputError, match=r"is not finished: \d+ of \d+ pieces are missing"):
        gate(copy, copy / "rules.toml")


def test_tables_that_are_whole_are_used_as_they_are(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object) -> None:
        raise AssertionError("resolved or made again")

    monkeypatch.setattr("changeproof.tables.registry.build_tables", refuse)
    monkeypatch.setattr("changeproof.runs.results.read_manifest", refuse)
    (copy / "rules.toml").write_text(RULES)
    assert gate(copy, copy / "rules.toml").passed()


def test_a_comparison_is_one_more_table(tmp_path: Path) -> None:
    from changeproof import compare_with_paper
    from changeproof.paper.comparison import write_comparison

    folder = write_run(tmp_path / "run")
    path = write_comparison(folder, compare_with_paper(folder))
    assert path.name in published(folder / "tables", origin_of(folder))
    assert "paper_comparison" in read_finished(folder)[1]


def test_files_are_written_together_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"old")
    write = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        if content == b"second":
            write(path, content[:2])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match=r"cannot write .*b: No space left on device"):
        write_together({tmp_path / "a": b"first", tmp_path / "b": b"second"})
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


PLANS = [b"[]", b"7", b'{"format": 2}', b'{"format": 2, "plan": [], "tasks": {}}', b"\xff", b"{"]
PLANS += [b'{"format": 2, "plan": {}, "tasks": 3}', b"[" * 2000 + b"]" * 2000]
PLANS += [b'{"format": 2, "plan": ' + b"[" * 2000 + b"]" * 2000 + b', "tasks": {}}']
PLANS += [b'{"format": 2, "plan": {"methods": ["kdtree' + b"(" * 2000 + b'"]}, "tasks": {}}']
PLANS += [b'{"format": 2, "plan": {"datasets": ["data/no.task.parquet"]}, "tasks": {}}']
PLANS += [b'{"format": 2, "plan": {"counterfactuals": {"x": "data/x.parquet"}}, "tasks": {}}']
PLANS += [
    b'{"format": 2, "plan": {"datasets": ["diabetes"], "counterfactuals": '
    b'{"x": "data/x.counterfactuals.parquet"}}, "tasks": {}}'
]


@pytest.mark.parametrize("content", PLANS)
def test_odd_plans_are_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / PLAN).write_bytes(content)
    for command in (["status"], ["report"], ["run", "--out"]):
        ended = CliRunner().invoke(app, [*command, str(tmp_path)])
        assert isinstance(ended.exception, InputError), ended.exception
        assert "\n" not in str(ended.exception)


def test_a_plan_file_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text("datasets = " + "[" * 2000 + "]" * 2000)
    with pytest.raises(InputError, match=r"plan file .* is not valid TOML"):
        Plan.from_toml(tmp_path / "plan.toml")


def test_a_directory_in_place_of_a_piece_is_told(copy: Path) -> None:
    path = next((copy / "pieces").rglob("survival-*"))
    path.unlink()
    (path / "mine").mkdir(parents=True)
    assert CliRunner().invoke(app, ["status", str(copy)]).exit_code == 0
    assert len(Results(copy).inventory.damaged) == 1
    with pytest.raises(InputError, match="is a directory where a piece should be"):
        run(SMALL, copy, jobs=1)
    assert read_finished(copy) and (path / "mine").is_dir()


@pytest.mark.parametrize("blocked", ["tables", "report", "report/figures", "tables/paper"])
def test_where_nothing_can_be_written_one_line_says_so(copy: Path, blocked: str) -> None:
    command = "compare" if blocked == "tables/paper" else "report"
    if command == "compare":
        copy = write_run(copy.parent / "published")
        (copy / "tables" / "paper_comparison.csv").mkdir()
    else:
        shutil.rmtree(copy / blocked)
        (copy / blocked).write_text("in the way")
    ended = call(command, copy)
    assert ended.returncode == 2
    (line,) = [line for line in ended.stderr.splitlines() if line.startswith("changeproof: ")]
    assert "cannot write" in line and "Traceback" not in ended.stderr
    assert not list(copy.rglob(".unfinished-*"))


def elsewhere(copy: Path) -> Path:
    """A folder of somebody, with a file."""
    folder = copy.parent / "elsewhere"
    folder.mkdir()
    (folder / "thesis.txt").write_text("mine")
    return folder


def untouched(folder: Path) -> bool:
    """Say whether all is as `elsewhere` made it."""
    return [(path.name, path.read_text()) for path in folder.iterdir()] == [("thesis.txt", "mine")]


def linked(copy: Path, name: str, folder: Path) -> None:
    """Have a name of a run directory lead elsewhere."""
    path = copy / name
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.symlink_to(folder)


def test_nothing_is_removed_through_a_link_that_a_list_names(copy: Path) -> None:
    folder = elsewhere(copy)
    (copy / "report" / "sub").symlink_to(folder)
    content = json.loads((copy / "report" / LIST).read_text())
    content["files"]["sub/thesis.txt"] = "0"
    (copy / "report" / LIST).write_text(json.dumps(content))
    page = (copy / "report" / "index.html").read_bytes()
    ended = CliRunner().invoke(app, ["report", str(copy)])
    assert f"{copy / 'report' / 'sub'} is a symbolic link" in str(ended.exception)
    with pytest.raises(InputError, match="is a symbolic link"):
        run(SMALL, copy, jobs=1, publish=False)
    assert untouched(folder) and (copy / "report" / "index.html").read_bytes() == page


FOLDERS = ["report", "report/figures", "tables", "pieces", "pieces/diabetes/2026", "data"]


@pytest.mark.parametrize("name", FOLDERS)
def test_no_linked_folder_is_written_to(copy: Path, name: str) -> None:
    folder = elsewhere(copy)
    linked(copy, name, folder)
    ended = CliRunner().invoke(app, ["run", "--jobs", "1", "--out", str(copy)])
    assert f"{copy / name} is a symbolic link" in str(ended.exception)
    writing = ["report", "compare"] if name in ("report", "tables") else []
    for command in (
        ["status"],
        ["show"],
        ["explain", "--row", "0", "--from"],
        *([each] for each in writing),
    ):
        ended = CliRunner().invoke(app, [*command, str(copy)])
        assert ended.exception is None or isinstance(ended.exception, InputError | SystemExit)
    assert untouched(folder)


@pytest.mark.parametrize("dangling", [False, True])
@pytest.mark.parametrize("name", [PLAN, MANIFEST, LOG, ".lock", "tables/full_results.csv", "piece"])
def test_no_linked_file_is_written_to(copy: Path, name: str, dangling: bool) -> None:
    folder = elsewhere(copy)
    target = folder / ("gone" if dangling else "thesis.txt")
    if name == "piece":
        name = str(next((copy / "pieces").rglob("survival-*")).relative_to(copy))
    elif name == PLAN and not dangling:
        target = copy.parent / "plan.json"
        (copy / PLAN).rename(target)
        before = target.read_bytes()
    linked(copy, name, target)
    ended = CliRunner().invoke(app, ["run", "--jobs", "1", "--out", str(copy)])
    assert isinstance(ended.exception, InputError)
    if name != PLAN or not dangling:
        assert f"{copy / name} is a symbolic link" in str(ended.exception)
    assert untouched(folder)
    if name == PLAN and not dangling:
        assert target.read_bytes() == before


def test_a_run_directory_may_itself_be_a_link(copy: Path) -> None:
    (copy.parent / "link").symlink_to(copy)
    next((copy / "pieces").rglob("survival-*")).unlink()
    assert run(SMALL, copy.parent / "link", jobs=1, publish=False).inventory.complete


def disguised(path: Path, content: bytes) -> None:
    """Put other bytes in the place of a piece, under their own checksum."""
    stem, _, suffix = path.name.rsplit(".", 2)
    path.unlink()
    (path.parent / f"{stem}.{checksum(content)}.{suffix}").write_bytes(content)


@pytest.mark.parametrize("kind", ["base", "bank", "counterfactuals", "survival", "limit"])
@pytest.mark.parametrize("other", ["nonsense", "another"])
def test_pieces_of_something_else_are_damaged(copy: Path, kind: str, other: str) -> None:
    path = next((copy / "pieces").rglob(f"{kind}[.-]*"))
    instead = next((copy / "pieces").rglob("base.*" if kind != "base" else "limit.*"))
    disguised(path, b"nonsense" if other == "nonsense" else instead.read_bytes())
    assert [piece.kind for piece in Results(copy).inventory.damaged] == [kind]
    shown = CliRunner().invoke(app, ["status", str(copy)])
    assert shown.exit_code == 0 and "damaged" in shown.output
    for words in (["explain", "--row", "0", "--from"], ["show"], ["compare-runs", str(copy)]):
        ended = CliRunner().invoke(app, [*words, str(copy)])
        assert ended.exception is None or isinstance(ended.exception, InputError)


def test_a_piece_for_other_people_is_refused_by_name(copy: Path) -> None:
    path = next((copy / "pieces").rglob("survival-*"))
    arrays = arrays_from_bytes(path.read_bytes())
    disguised(path, arrays_to_bytes({name: array[:1] for name, array in arrays.items()}))
    (copy / "tables" / LIST).unlink()
    with pytest.raises(InputError, match=r"survival-.* does not hold what its name says"):
        Results(copy).report()


def test_a_small_file_of_a_large_table_is_not_kept_in_memory(copy: Path) -> None:
    content = io.BytesIO()
    table = pa.table({"row_id": pa.array(np.zeros(30_000_000, np.int8))})
    pq.write_table(table, content, compression="zstd")
    with pytest.raises(InputError, match=r"holds 30,000,000 rows and 1 columns; expected at most"):
        table_from_bytes(content.getvalue())
    disguised(next((copy / "pieces").rglob("counterfactuals-*")), content.getvalue())
    assert len(Results(copy).inventory.damaged) == 1
    (copy.parent / "loans.parquet").write_bytes(content.getvalue())
    with pytest.raises(InputError, match=r"loans\.parquet holds 30,000,000 rows"):
        own_task(copy.parent / "loans.parquet", target="row_id", favourable=1)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["gate", "{run}", "{run}/plan.json", "--junit", ""], "--junit is empty"),
        (["gate", "{run}", "{run}/plan.json", "--json", ""], "--json is empty"),
        (["gate", "", "rules.toml"], "DIRECTORY is empty"),
        (["report", "{run}", "--xlsx", ""], "--xlsx is empty"),
        (["run", "--plan", ""], "--plan is empty"),
        (["run", "--out", ""], "--out is empty"),
        (
            ["audit", "--data", "", "--target", "a", "--favourable", "b", "--out", "x"],
            "--data is empty",
        ),
        (["compare-runs", "{run}", "{run}", "--csv="], "--csv is empty"),
        (["explain", "--from", "", "--row", "1"], "--from is empty"),
        (["diagnose", "apds-radius", "--out", ""], "--out is empty"),
        (["explain", "--from", "{run}", "--row", "1", "--method", ""], "at least one name"),
        (["explain", "--from", "{run}", "--row", "1", "--method", ","], "at least one name"),
        (["run", "--methods", ",", "--out", "{run}"], "at least one name"),
    ],
)
def test_empty_names_are_refused(finished: Path, words: list[str], named: str) -> None:
    ended = CliRunner().invoke(app, [word.format(run=finished) for word in words])
    assert isinstance(ended.exception, InputError)
    assert named in str(ended.exception)


@pytest.mark.parametrize("content", ["", "# nothing\n", "factuals = 3\n", "limit = false\n"])
def test_a_plan_that_names_nothing_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "plan.toml").write_text(content)
    arguments = ["run", "--plan", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "run")]
    ended = CliRunner().invoke(app, arguments)
    assert isinstance(ended.exception, InputError)
    assert "names nothing to run; expected at least one of datasets" in str(ended.exception)
    assert not (tmp_path / "run").exists()
    (tmp_path / PLAN).write_text('{"format": 2, "plan": {}, "tasks": {}}')
    with pytest.raises(InputError, match="names nothing to run"):
        check_free(tmp_path)
