"""Other libraries' methods beside ours: what they are told, and what is made of their answers."""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks import rival_tools
from benchmarks.rival_tools import RIVALS, Rival, Work, answer
from benchmarks.rivals import MODELS, Judge, Subject, compared, fits, theirs, tuned

SOME = 4


@cache
def asked(model: str) -> Subject:
    return Subject("diabetes", model, SOME)


@pytest.fixture
def network() -> Subject:
    return asked("network")


def written(subject: Subject, folder: Path) -> Path:
    path = folder / "work.npz"
    subject.write(path)
    return path


@pytest.mark.parametrize("model", MODELS)
def test_libraries_are_told_the_model_that_judges(model: str, tmp_path: Path) -> None:
    subject = asked(model)
    work = Work.read(str(written(subject, tmp_path)))
    rows = subject.task.rows("test")
    ours = subject.base.probabilities(rows)
    np.testing.assert_allclose(work.probabilities(rows)[:, 1], ours, atol=1e-6)
    np.testing.assert_array_equal(work.people, subject.people.rows)
    # Those who read original units see the same people.
    fitted = rival_tools._Fitted(work)
    np.testing.assert_allclose(fitted.standardised(work.original_people), work.people, atol=1e-9)
    np.testing.assert_array_equal(fitted.predict(work.original_people), 0)


def test_what_runs_elsewhere_needs_nothing_of_ours() -> None:
    tree = ast.parse(Path(rival_tools.__file__).read_text(encoding="utf-8"))
    names = {
        name.partition(".")[0]
        for node in tree.body
        for name in (
            [each.name for each in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert names - {*sys.stdlib_module_names} == {"numpy"}
    assert all(
        "changeproof" not in str(ast.dump(node))
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    )


def test_answers_come_back_from_a_process_of_its_own(network: Subject, tmp_path: Path) -> None:
    pytest.importorskip("ellice", reason="ellice is not installed (extra: ellice)")
    rival = RIVALS["ellice", "data_supported"]
    answers, why_not = theirs(rival, sys.executable, written(network, tmp_path), 60.0)
    assert not why_not
    assert np.isfinite(answers["seconds"]).all() and str(answers["version"])
    assert rival.ours is not None and fits(network, rival.ours)
    ours = tuned(rival.ours, network.context).fit(network.context).generate(network.people)
    # The same library through our adapter gives the same rows.
    np.testing.assert_allclose(answers["rows"], ours.rows, atol=1e-5)


def test_a_library_that_is_not_there_is_said_in_a_line(network: Subject, tmp_path: Path) -> None:
    rival = RIVALS["rocelib", "KDTreeNNCE"]
    answers, why_not = theirs(rival, sys.executable, written(network, tmp_path), 60.0)
    assert not answers
    assert why_not == "ModuleNotFoundError: No module named 'rocelib'"


def test_answers_are_judged_and_compared(network: Subject) -> None:
    judge = Judge(network)
    method = tuned("kdtree", network.context).fit(network.context)
    rows = method.generate(network.people).rows
    judged = judge(network.checked(rows))
    assert judged["coverage"] == 100.0 and judged["base_validity"] == 100.0
    # A row that is the person's own is no answer, and a row of NaN neither.
    rows_of_others = rows.copy()
    rows_of_others[0], rows_of_others[1] = network.people.rows[0], np.nan
    assert judge(network.checked(rows_of_others))["coverage"] == 50.0
    times = {"seconds_per_person": 0.5}
    beside = compared(judge, network, (times, rows), rows_of_others)
    assert (beside["answered_by_both"], beside["same_answers"]) == (3, 2)
    assert beside["our_robustness"] == judged["robustness"]


def test_who_breaks_a_library_gets_no_answer(network: Subject, tmp_path: Path) -> None:
    def prepare(work: Work) -> rival_tools.Ask:
        def ask(person: np.ndarray, place: int) -> np.ndarray:
            if place == 2:
                raise ValueError("of their own")
            return person + 1.0

        return ask

    broken = Rival("none", "broken", "numpy", None, "", False, prepare)
    found = answer(broken, Work.read(str(written(network, tmp_path))), 60.0)
    assert found["failures"].tolist() == ["ValueError: of their own"]
    np.testing.assert_array_equal(np.isnan(found["rows"]).all(axis=1), [0, 0, 1, 0])


def test_time_is_a_budget(network: Subject, tmp_path: Path) -> None:
    def prepare(work: Work) -> rival_tools.Ask:
        def ask(person: np.ndarray, place: int) -> np.ndarray:
            for _ in range(200):
                np.linalg.svd(np.ones((60, 60)))
            return person + place

        return ask

    slow = Rival("none", "slow", "numpy", None, "", False, prepare)
    found = answer(slow, Work.read(str(written(network, tmp_path))), 1e-6)
    np.testing.assert_array_equal(np.isfinite(found["seconds"]), [True, False, False, False])
    np.testing.assert_array_equal(found["rows"][0], network.people.rows[0])
    assert np.isnan(found["rows"][1:]).all()
