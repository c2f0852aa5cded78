"""The real successor, from files to verdicts, and what is refused on the way."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import changeproof as cp
import shipped
from changeproof import InputError, Results
from changeproof.cli import app
from changeproof.report.page.letters import letter_lines
from changeproof.report.page.write import build_payload
from command_line import call
from paged import parts

AUDIT = ["audit", "--data", "loans.csv", "--target", "approved", "--favourable", "yes"]
AUDIT += ["--id-column", "applicant", "--counterfactuals", "letters.csv", "--out", "audit"]
FEW = ["--families", "bootstrap(replicates=4),parameter-perturbation", "--jobs", "1"]
LOOK = "--unpickle-and-run-its-code"


@pytest.fixture(scope="module")
def at_hand(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shipped.written(tmp_path_factory.mktemp("successor"))


@pytest.fixture(scope="module")
def audited(at_hand: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """An audit with the same successor three times, and once with another threshold."""
    folder = tmp_path_factory.mktemp("audited")
    shutil.copytree(at_hand, folder, dirs_exist_ok=True)
    options = ["--model", "pickle:today.pkl", "--successor", "pickle:next.pkl"]
    options += ["--successor", "open=onnx:next.onnx", "--successor", "house=scores:scores.csv"]
    options += ["--successor", "firm=pickle:next.pkl@0.7", "--renew", "kdtree", LOOK]
    done = call(*AUDIT, *FEW, *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


@pytest.fixture(scope="module")
def results(audited: tuple[Path, str]) -> Results:
    """The directory as somebody else reads it, without any of the models."""
    folder, _ = audited
    for name in ("today.pkl", "next.pkl", "next.onnx", "scores.csv"):
        (folder / name).unlink(missing_ok=True)
    return Results(folder / "audit")


def test_pickle_onnx_and_scores_give_the_same_verdicts(results: Results, at_hand: Path) -> None:
    table = results.table("letters")
    wide = table.pivot_table("verdict", "id", "successor", aggfunc="first")
    assert wide["next"].tolist() == wide["open"].tolist() == wide["house"].tolist()
    later = pickle.loads((at_hand / "next.pkl").read_bytes())
    today = pickle.loads((at_hand / "today.pkl").read_bytes())
    told = pd.read_csv(at_hand / "letters.csv")
    accepted, holds = (m.predict(told[shipped.FEATURES]) == "yes" for m in (today, later))
    expected = np.select([~accepted, holds], ["not accepted today", "holds"], "breaks")
    found = table[table["successor"] == "next"].set_index("id").loc[told["id"], "verdict"]
    assert found.tolist() == expected.tolist()
    assert {"breaks", "holds"} <= set(expected)
    firm = table[table["successor"] == "firm"].set_index("id").loc[told["id"]]
    shares = later.predict_proba(told[shipped.FEATURES])[:, 1]
    assert ((firm["successor_score"] >= 0.7) == (shares >= 0.7)).all()
    np.testing.assert_allclose(firm["successor_margin"], shares - 0.7, atol=1e-5)
    np.testing.assert_allclose(firm["today_margin"], firm["today_score"] - 0.5, atol=1e-5)
    assert (firm["counterfactual:debts"] == 0).all()
    np.testing.assert_array_equal(firm["counterfactual:income"], told["income"])


def test_the_successor_stands_beside_what_was_simulated(results: Results) -> None:
    table = results.table("successors").set_index(["successor", "family"])
    whole, drawn = table.loc[("next", "all")], table.loc[("next", "bootstrap(replicates=4)")]
    assert whole["models"] == drawn["models"] == 4
    letters = results.table("letters")
    broken = (letters[letters["successor"] == "next"]["verdict"] == "breaks").sum()
    assert whole["broken"] == broken > 0
    key = results.with_letters[0]
    survived, valid = results.survived(*key), results.counterfactuals(*key).base_valid
    each = (~survived[valid]).sum(axis=0)
    assert whole["broken_most"] == each[:4].max() and each[4] == broken
    assert whole["models_break_as_many"] == (each[:4] >= broken).sum()
    variants = results.variants(*key[:2])
    assert whole["decisions_changed"] == pytest.approx(100 * variants["hard_disagreement"][4], 1e-5)
    assert np.isnan(table.loc[("house", "all"), "decisions_changed"])
    assert variants["level"].tolist()[4:] == ["next", "open", "house", "firm"]


def test_renewals_say_what_they_cost(results: Results) -> None:
    table, letters = results.table("renewals"), results.table("letters")
    assert set(table["successor"]) == {"next", "open", "firm"}
    for name, part in table.groupby("successor"):
        broken = letters[(letters["successor"] == name) & (letters["verdict"] == "breaks")]
        assert sorted(part["id"]) == sorted(broken["id"])
    done = table[table["accepted"]]
    assert len(done) and (done["distance_further"] > 0).all()
    np.testing.assert_allclose(
        done["distance_more"], done["distance_together"] - done["distance_old"], atol=1e-5
    )
    assert (
        done["distance_together"] <= done["distance_old"] + done["distance_further"] + 1e-5
    ).all()
    assert done["changes"].str.contains(" from .* to ").all()


def test_the_command_line_says_it_in_sentences(audited: tuple[Path, str], results: Results) -> None:
    said = audited[1]
    assert "letters on loans, under next:" in said
    assert " of decisions; " in said and "KD-tree renews " in said
    assert "Left out: renewals under house (house is a table of scores" in said
    assert "Left out: parameter-perturbation (needs a neural network, for whose" in said
    lines = list(letter_lines(results.tables()))
    assert all(line in said for line in lines)
    (shown,) = parts(build_payload(results, results.tables()), "letters", "choice")
    assert [name.split()[-1] for name in shown["choice"][0][1]] == ["next", "open", "house", "firm"]
    tables = [[part for part in view if "table" in part] for view in shown["views"]]
    verdicts = [person[1] for person in tables[0][0]["rows"]]
    kinds = [verdict.partition(":")[0] for verdict in verdicts]
    assert kinds == sorted(kinds, key=["breaks", "holds", "not accepted today"].index)
    assert verdicts[-1].startswith("not accepted today: it scores 0.")
    assert verdicts[-1].endswith("(favourable: from 0.5)")
    assert len(tables[2]) == 1 and len(tables[0]) == 2


def test_the_directory_is_read_without_the_models(
    audited: tuple[Path, str], results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert results.manifest.model == "today" and results.inventory.complete
    plan = json.loads((results.folder / "plan.json").read_text())["plan"]
    assert plan["model"].startswith("object:today@")
    assert plan["successors"]["firm"].startswith("pickle:next.pkl@0.7#")
    before = (results.folder / "tables" / "letters.csv").read_bytes()
    shutil.rmtree(results.folder / "tables")
    monkeypatch.chdir(audited[0])
    for command in ("status", "report", "show"):
        done = CliRunner().invoke(app, [command, "audit"])
        assert done.exit_code == 0, done.output
    assert (results.folder / "tables" / "letters.csv").read_bytes() == before


def test_a_pickle_is_read_behind_the_flag_only(at_hand: Path, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "sprung",))

    (tmp_path / "trap.pkl").write_bytes(pickle.dumps(Trap()))
    shutil.copytree(at_hand, tmp_path, dirs_exist_ok=True)
    for options in (
        ["--model", "pickle:trap.pkl", "--successor", "onnx:next.onnx"],
        ["--model", "onnx:next.onnx", "--successor", "pickle:trap.pkl"],
    ):
        done = call(*AUDIT, *FEW, *options, cwd=tmp_path)
        assert done.returncode != 0 and LOOK in done.stderr
        assert not (tmp_path / "sprung").exists() and not (tmp_path / "audit").exists()


SUCCESSOR = ["--model", "pickle:today.pkl", "--successor"]
REFUSED = {
    "scores without ids": ([*SUCCESSOR, "scores:no-ids.csv"], "no column has the ids of people"),
    "unknown ids": ([*SUCCESSOR, "scores:unknown.csv"], "id X1 (row 1) is not in task 'loans'"),
    "missing ids": ([*SUCCESSOR, "scores:few.csv"], "people have a letter, but no score"),
    "other inputs": ([*SUCCESSOR, "onnx:other.onnx"], "ONNX model other takes the inputs X"),
    "other columns": ([*SUCCESSOR, "pickle:other.pkl"], "'loans' has no fees among its features"),
    "no threshold": ([*SUCCESSOR, "pickle:next.pkl@high"], "threshold 'high' is not a number"),
    "far off": ([*SUCCESSOR, "pickle:next.pkl@620"], "next gives probabilities; expected a number"),
    "upside down": (
        [*SUCCESSOR, "pickle:next.pkl", "--threshold", "<=0.2"],
        "threshold <=0.2: today gives probabilities; expected a number between 0 and 1",
    ),
    "nobody": ([*SUCCESSOR, "pickle:next.pkl@0.9999999"], "calls no test row of 'loans'"),
    "twice": (
        [*SUCCESSOR, "pickle:next.pkl", "--successor", "onnx:next.onnx"],
        "are called 'next'",
    ),
    "nothing to renew": (["--renew", "kdtree"], "renewed under a successor, and there is none"),
    "gradients": (
        [*SUCCESSOR, "onnx:next.onnx", "--renew", "wachter"],
        "letters cannot be renewed: wachter needs gradients of a model",
    ),
    "only scores": (
        [*SUCCESSOR, "scores:scores.csv", "--renew", "kdtree"],
        "letters cannot be renewed: scores is a table of scores",
    ),
    "seeds": (
        [*SUCCESSOR, "pickle:next.pkl", "--base-seeds", "2026,2027"],
        "today is fitted already, and so is one base model",
    ),
}


@pytest.fixture(scope="module")
def mistakes(at_hand: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mistakes")
    shutil.copytree(at_hand, folder, dirs_exist_ok=True)
    scores = pd.read_csv(folder / "scores.csv")
    scores[["score"]].to_csv(folder / "no-ids.csv", index=False)
    scores.assign(id=["X1", *scores["id"][1:]]).to_csv(folder / "unknown.csv", index=False)
    scores[3:].to_csv(folder / "few.csv", index=False)
    frame = shipped.table()
    numbers = frame[["income", "debts"]]
    other = LogisticRegression().fit(numbers.rename(columns={"debts": "fees"}), frame["approved"])
    (folder / "other.pkl").write_bytes(pickle.dumps(other))
    from skl2onnx import to_onnx

    plain = LogisticRegression().fit(numbers.to_numpy(np.float32), frame["approved"])
    made = to_onnx(plain, numbers.to_numpy(np.float32)[:1])
    (folder / "other.onnx").write_bytes(made.SerializeToString())
    return folder


@pytest.mark.parametrize("mistake", REFUSED)
def test_mistakes_get_one_clear_line_and_nothing_is_written(
    mistakes: Path, mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, reason = REFUSED[mistake]
    monkeypatch.chdir(mistakes)
    done = CliRunner().invoke(app, [*AUDIT, *FEW, *options, LOOK])
    assert isinstance(done.exception, InputError), done.output
    assert reason in str(done.exception) and "\n" not in str(done.exception)
    assert not (mistakes / "audit").exists()


def test_the_command_line_itself_says_one_line(mistakes: Path) -> None:
    options, reason = REFUSED["other columns"]
    done = call(*AUDIT, *FEW, *options, LOOK, cwd=mistakes)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert reason in done.stderr and not (mistakes / "audit").exists()


def test_in_python_models_are_handed_over(tmp_path: Path) -> None:
    frame = shipped.table()
    today, later = shipped.current(frame), shipped.stricter(frame)
    told = shipped.letters(frame, today)

    def points(people: pd.DataFrame) -> Any:
        return 1000 * later.predict_proba(people[shipped.FEATURES])[:, 1]

    results = cp.evaluate(
        frame,
        today,
        families=["bootstrap(replicates=2)"],
        counterfactuals={"letters": told},
        successors={
            "next": later,
            "points": (points, 500),
            "house": shipped.scores(told, later),
        },
        jobs=1,
        **shipped.DATA,
    )
    survived = results.survived("data", 2026, "letters")[:, 2:]
    assert (survived == survived[:, :1]).all()
    assert results.plan.methods == () and results.shown.families[-1] == "successor"
    alone = cp.evaluate(
        frame,
        points,
        threshold=500,
        counterfactuals={"letters": told},
        successors={"house": (shipped.scores(told, later), 0.5)},
        out=tmp_path / "alone",
        publish=False,
        jobs=1,
        **shipped.DATA,
    )
    assert alone.plan.families == ()
    assert "cannot be fitted again" in alone.plan.left_out["bootstrap"]
    lines = letter_lines(Results(tmp_path / "alone").tables())
    assert any(line.endswith("Nothing was simulated beside it.") for line in lines)
    with pytest.raises(InputError, match="is not fitted: it has no classes_"):
        cp.evaluate(frame, today, successors={"next": shipped.pipeline()}, **shipped.DATA)


def test_thresholds_hold_everywhere(tmp_path: Path) -> None:
    frame = shipped.table()
    notes: list[str] = []

    class Listening(cp.Observer):
        def note(self, note: str) -> None:
            notes.append(note)

    results = cp.evaluate(
        frame,
        "mlp:4",
        ["kdtree", "betarce"],
        ["bootstrap(replicates=2)", "architecture(replicates=2)"],
        threshold=0.7,
        successors={"next": (shipped.stricter(frame), 0.6)},
        factuals=6,
        out=tmp_path / "run",
        publish=False,
        jobs=1,
        observer=Listening(),
        **shipped.DATA,
    )
    task, key = results.task("data"), ("data", 2026, "kdtree")
    base = results.base_network("data", 2026)
    rows = task.rows("test")
    plain = cp.evaluate(task, "mlp:4", ["kdtree"], ["bootstrap(replicates=2)"], factuals=2, jobs=1)
    shares = plain.base_network("data", 2026).probabilities(rows)
    np.testing.assert_array_equal(base.favourable(rows), shares >= 0.7)
    answers, scores = results.counterfactuals(*key), results.letters(*key)
    np.testing.assert_array_equal(
        scores.margins[answers.found, 0] >= 0, answers.base_valid[answers.found]
    )
    assert [str(at) for at in scores.thresholds] == ["0.7", "0.6"]
    assert any("today's model (mlp:4) is trained here" in note for note in notes)
    again = Results(tmp_path / "run")
    assert again.inventory.complete and again.plan.threshold == "0.7"
    np.testing.assert_array_equal(again.survived(*key), results.survived(*key))


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no chromium here")
def test_the_page_shows_letters_and_all_its_charts(results: Results) -> None:
    from playwright.sync_api import sync_playwright

    trouble: list[str] = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_context(offline=True).new_page()
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.goto((results.folder / "report" / "index.html").resolve().as_uri())
        page.wait_for_selector("html[data-ready]")
        section = page.locator("#letters")
        table = results.table("letters")
        rows = section.get_by_role("region", name="Letters:").locator("tbody tr")
        assert rows.count() == (table["successor"] == "next").sum()
        assert section.get_by_role("heading", name="Renewals").count() == 1
        section.get_by_label("Letters and successor").select_option(index=2)
        assert "known by its scores of the letters only" in section.inner_text()
        assert section.get_by_role("heading", name="Renewals").count() == 0
        page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
        for figure in page.locator("figure").all():
            figure.scroll_into_view_if_needed()
        page.wait_for_function("page.waiting.size === 0 && page.unpacked.size > 0")
        browser.close()
    assert trouble == []


def test_one_person_is_explained_at_the_threshold(
    at_hand: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(at_hand / "loans.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    words = ["explain", *AUDIT[1:9], "--model", "sklearn:LogisticRegression", "--method", "kdtree"]
    words += ["--families", "bootstrap(replicates=2)", "--row", "A000", "--out", "one", "--json"]
    words += ["--jobs", "1"]
    refused = CliRunner().invoke(app, [*words, "--threshold", "620"])
    assert isinstance(refused.exception, InputError) and not (tmp_path / "one").exists()
    assert "LogisticRegression gives probabilities; expected a number" in str(refused.exception)
    firm, plain = (
        json.loads(CliRunner().invoke(app, [*words, *more]).stdout)
        for more in (["--threshold", "0.9"], ["--out", "two"])
    )
    assert firm["base_valid"] and firm["distance"] > plain["distance"]
