from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import changeproof
from changeproof import Plan, Results, run
from changeproof.cli import app
from command_line import call, call_anew


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--datasets", "adult"], "datasets: unknown dataset 'adult'; expected one of: breast"),
        (["--methods", "kdtree,dice"], "unknown method 'dice'; expected one of:"),
        (["--families", "drift"], "unknown family 'drift'; expected one of: new-initialization"),
        (["--factuals", "-3"], "factuals: input should be greater than or equal to 1; got -3"),
        (["--base-seeds", "one"], "base seed 'one'; expected a whole number"),
        (["--preset", "paper", "--plan", "x.toml"], "either --preset or --plan, not both"),
        (["--plan", "x.toml"], "cannot read plan file x.toml: No such file"),
        (["--plan", "wrong.toml"], "wrong.toml: unknown key 'method'; expected one of: datasets"),
        (["--methods", "own:Gone"], "method 'own:Gone': own has no 'Gone'"),
        (
            ["--methods", "kdtree,cracked:Any"],
            "cracked:Any' cannot be imported: ZeroDivision",
        ),
        (["--families", "nowhere:Any"], "'nowhere:Any' cannot be imported: ModuleNotFoundError"),
        (["--methods", "own:NOT_ONE"], "is an object of type int; expected a subclass of change"),
        (["--jobs", "0"], "jobs must be at least 1; got 0"),
        (
            ["--out", "foreign"],
            "output directory foreign is not empty and holds no",
        ),
    ],
)
def test_bad_input_is_one_line_exit_2_and_nothing_written(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "wrong.toml").write_text('method = ["kdtree"]\n')
    (tmp_path / "own.py").write_text("NOT_ONE = 1\n")
    (tmp_path / "cracked.py").write_text("1 / 0\n")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.txt").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    done = call("run", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_run_show_status_and_go_on(tmp_path: Path) -> None:
    options = ["--datasets", "diabetes", "--methods", "kdtree", "--factuals", "4"]
    done = call_anew("run", *options, "--jobs", "1", "--out", "mine", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Report: mine/report/index.html" in done.stdout
    assert (tmp_path / "mine/report/index.html").exists()
    again = call("run", "--out", "mine", "--jobs", "1", cwd=tmp_path)
    assert again.returncode == 0
    assert "19 pieces are done already, 0 to do" in again.stderr
    shown = call("show", "mine", cwd=tmp_path)
    assert shown.returncode == 0
    assert "Diabetes" in shown.stdout
    assert "KD-tree" in shown.stdout
    assert "Complete." in call("status", "mine", cwd=tmp_path).stdout
    next((tmp_path / "mine/pieces").rglob("survival*")).unlink()
    status = call("status", "mine", cwd=tmp_path)
    assert "missing: diabetes 2026 survival kdtree" in status.stdout
    assert "Continue with: changeproof run --out mine" in status.stdout
    (tmp_path / "mine/report/index.html").unlink()
    reported = call("report", "mine", cwd=tmp_path)
    assert reported.returncode == 0, reported.stderr
    assert "Report: mine/report/index.html" in reported.stdout
    assert "diabetes 2026 survival kdtree" in (tmp_path / "mine/report/index.html").read_text()


def test_show_and_status_need_a_run(tmp_path: Path) -> None:
    for command in ("show", "status", "report"):
        done = call(command, "nowhere", cwd=tmp_path)
        assert done.returncode == 2
        assert "nowhere is not a run directory: it has no plan.json" in done.stderr


def test_report_opens_the_page_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: not opened.append(address))
    folder = tmp_path / "run"
    page = folder / "report" / "index.html"
    asked = {"datasets": ["diabetes"], "methods": ["kdtree"], "families": ["bootstrap"]}
    run(Plan.preset("quick", **asked, factuals=3), folder, jobs=1, publish=False)
    done = CliRunner().invoke(app, ["report", str(folder), "--open"])
    assert done.exit_code == 0
    assert opened == [page.resolve().as_uri()]
    CliRunner().invoke(app, ["report", str(folder)])
    assert len(opened) == 1


def test_show_one_table(quick_run: Results) -> None:
    shown = CliRunner().invoke(app, ["show", str(quick_run.folder), "--table", "tuning"])
    assert shown.exit_code == 0
    assert "chosen" in shown.stdout
    wrong = CliRunner().invoke(app, ["show", str(quick_run.folder), "--table", "nope"])
    assert "unknown table 'nope'" in str(wrong.exception)


@pytest.mark.parametrize("subject", ["datasets", "families", "methods"])
def test_lists_name_everything(subject: str) -> None:
    names = {
        "datasets": changeproof.dataset_names(),
        "families": changeproof.family_names(),
        "methods": changeproof.method_names(),
    }[subject]
    listed = CliRunner().invoke(app, ["list", subject]).stdout
    assert all(name in listed for name in names)
    assert f"where the {subject} are from" not in listed


@pytest.mark.parametrize("subject", ["families", "methods"])
def test_lists_say_where_things_are_from(subject: str) -> None:
    told = CliRunner().invoke(app, ["list", subject, "-v"], env={"COLUMNS": "400"}).stdout
    sources = told.partition(f"where the {subject} are from")[2]
    builtin = {
        "families": {n: changeproof.get_family(n) for n in changeproof.builtin_family_names()},
        "methods": {n: changeproof.get_method(n) for n in changeproof.builtin_method_names()},
    }[subject]
    for name, found in builtin.items():
        line = next(line for line in sources.splitlines() if line.split()[:1] == [name])
        assert found.source and found.source in line
    assert "https://github.com/genwro-ai/robust-counterfactual-methods-audit" in sources


OWN = """
def up(context, factuals):
    return factuals.rows + 1.0

def down(context, factuals):
    return factuals.rows - factuals.rows.mean(axis=0)

def short(context, factuals):
    return factuals.rows[:, :1]

def crash(context, factuals):
    return factuals.nothing

def one(task, base):
    from changeproof import TrainingRecipe
    return [TrainingRecipe(initialisation_seed=base.seed + 1, max_epochs=5)]
"""


@pytest.mark.parametrize(
    ("failing", "code", "message"),
    [
        ("short", 2, "counterfactuals of own:short failed: method 'own:short' returned candidates"),
        ("crash", 1, "counterfactuals of own:crash failed: AttributeError: 'Factuals' object has"),
    ],
)
def test_a_method_that_fails_is_named_and_the_rest_is_there(
    tmp_path: Path, failing: str, code: int, message: str
) -> None:
    (tmp_path / "own.py").write_text(OWN)
    options = ["--datasets", "diabetes", "--methods", f"own:up,own:{failing}", "--factuals", "3"]
    done = call("run", *options, "--families", "own:one", "--jobs", "1", "--out", "o", cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Tables and report of everything else are in o." in done.stderr
    assert "own:up" in (tmp_path / "o/tables/full_results.csv").read_text()
    assert "Traceback" not in done.stderr or code == 1
    shown = call("show", "o", cwd=tmp_path)
    assert shown.returncode == 0
    assert "own:up" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["own:up"], 0, "All checks passed."),
        (["--family", "own:one"], 0, "All checks passed."),
        (["own:down"], 1, "batch size: answer every person independently"),
        (["own:gone"], 2, "method 'own:gone': own has no 'gone'"),
        (["--family", "nobody"], 2, "unknown family 'nobody'; expected one of"),
    ],
)
def test_check(tmp_path: Path, arguments: list[str], code: int, said: str) -> None:
    (tmp_path / "own.py").write_text(OWN)
    done = call("check", *arguments, cwd=tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    assert said in (done.stderr if code == 2 else done.stdout)


def test_packages_with_methods_are_listed_and_broken_ones_with_their_reason(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    information = tmp_path / "own-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
    points = "[changeproof.methods]\nmove-up = own:up\nlost = own_lost:Any\n"
    (information / "entry_points.txt").write_text(points)
    places = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = call_anew("list", "methods", PYTHONPATH=places)
    assert done.returncode == 0, done.stderr
    assert "move-up" in done.stdout
    assert "broken: lost: entry point 'lost' of package own (own_lost:Any) cannot" in done.stdout
    asked = call_anew("run", "--methods", "lost", cwd=tmp_path, PYTHONPATH=places)
    assert asked.returncode == 2
    assert "entry point 'lost' of package own (own_lost:Any) cannot be imported" in asked.stderr
    assert not (tmp_path / "runs").exists()


def test_help_and_version_need_no_heavy_import() -> None:
    code = (
        "import sys; sys.argv = ['changeproof', '--help']\n"
        "from changeproof.cli import main\n"
        "try:\n    main()\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'numba', 'pandas', 'sklearn', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for command in ("run", "report", "show", "status", "list", "compare", "check", "audit"):
        assert command in done.stdout
    assert call_anew("--version").stdout.strip() == changeproof.__version__
