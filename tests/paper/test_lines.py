from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from changeproof import compare_with_paper
from changeproof.paper.comparison import Deviation, Line, Rule, Verdict, read_deviations
from command_line import call
from loans import loans
from published_run import Tables, outside, setting

Fabricate = Callable[..., Path]


def test_a_run_without_a_number_of_the_paper_is_not_compared(fabricate: Fabricate) -> None:
    def emptied(tables: Tables) -> None:
        tables |= {name: table.iloc[:0] for name, table in tables.items()}

    folder = fabricate(emptied)
    done = call("compare", folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("changeproof: nothing to compare: the run in ")
    assert not (folder / "tables" / "paper_comparison.csv").exists()


def test_an_audit_has_nothing_to_compare(tmp_path: Path) -> None:
    loans().to_csv(tmp_path / "loans.csv", index=False)
    words = "--id-column applicant --target approved --favourable yes --methods kdtree"
    words += " --model sklearn:GaussianNB --families bootstrap(replicates=2) --factuals 5 --jobs 1"
    done = call("audit", "--data", "loans.csv", *words.split(), "--out", "audit", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = call("compare", "audit", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("changeproof: nothing to compare: the run in audit has no number")
    assert not (tmp_path / "audit" / "tables" / "paper_comparison.csv").exists()


def test_undefined_is_never_within(fabricate: Fabricate) -> None:
    comparison = compare_with_paper(
        fabricate(setting("full_results", "distance_mean", math.nan, dataset="heloc", method="rbr"))
    )
    assert outside(comparison) == [("full_results", "heloc", "rbr", "distance")]
    for rule in set(Rule) - {Rule.SHOWN}:
        line = Line("t", "d", "m", "x", 1.0, ours=math.nan, rule=rule, tolerance=math.inf)
        assert line.within is False


@pytest.mark.parametrize(
    ("share", "verdict"),
    [
        (85.9, Verdict.WITHIN),
        (90.9, Verdict.WITHIN),
        (94.6, Verdict.EXPLAINED),
        (99.6, Verdict.EXPLAINED),
        (99.7, Verdict.OUTSIDE),
        (80.8, Verdict.OUTSIDE),
    ],
)
def test_a_deviation_explains_only_what_it_expects(
    fabricate: Fabricate, share: float, verdict: Verdict
) -> None:
    folder = fabricate(setting("certified", "certified_share_mean", share, dataset="breast-cancer"))
    comparison = compare_with_paper(folder)
    (line,) = (
        line
        for line in comparison.lines
        if (line.dataset, line.metric) == ("breast-cancer", "certified_share")
    )
    assert line.verdict is verdict
    assert comparison.passed == (verdict is not Verdict.OUTSIDE)
    assert ("94.6 %" in line.explanation) == (89.6 <= share <= 99.6)
    assert line.within == (verdict is Verdict.WITHIN)


def test_deviations_name_numbers_that_there_are(fabricate: Fabricate) -> None:
    lines = compare_with_paper(fabricate()).lines
    for deviation in read_deviations():
        assert len(deviation.reason) > 40
        named = [line.metric for line in lines if deviation.names(line)]
        assert sorted(named) == sorted(deviation.metrics)


def test_a_deviation_without_expected_value_is_around_the_published_one() -> None:
    deviation = Deviation("t", "d", "m", ["x"], 9.6, "because")
    line = Line("t", "d", "m", "x", 58.5)
    assert not deviation.explains(line)
    for ours, explained in ((68.1, True), (48.9, True), (68.2, False), (math.nan, False)):
        assert deviation.explains(Line("t", "d", "m", "x", 58.5, ours=ours)) is explained
    assert not deviation.explains(Line("t", "d", "m", "y", 58.5, ours=58.5))
