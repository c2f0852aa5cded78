"""The verdict is true, also of runs that are odd."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from changeproof import Plan, Results, build_tables, evaluate
from changeproof.methods.method import Candidates, Factuals, Method
from changeproof.report.document import document
from changeproof.report.formats import as_latex
from changeproof.report.page.write import build_payload, page_of, render
from changeproof.report.scores import Scores, move_words
from changeproof.report.scores import sentence as ranking_sentence
from changeproof.report.verdict import Finding, not_simulated_words, simulated_words, verdict
from changeproof.tables.registry import read_tables, readable_tables
from changeproof.tables.which_answers import answers_words
from loans import loans
from tabled import tabled

YES = {True: "yes", False: "no"}
LOGISTIC = "sklearn:LogisticRegression"


class Nowhere(Method):
    """Finds nothing."""

    name = "nowhere"
    summary = "nothing"

    def _search(self, factuals: Factuals) -> Candidates:
        return Candidates(np.full_like(factuals.rows, np.nan))


def audited(methods: list[Any], families: list[str], out: Path, **more: Any) -> Results:
    described = {"target": "approved", "favourable": "yes", "id_column": "applicant"}
    return evaluate(
        loans(300), LOGISTIC, methods, families, out=out, jobs=1, publish=False, **described, **more
    )


def test_every_number_is_in_the_tables(quick_run: Results) -> None:
    tables = read_tables(quick_run.folder)
    found = verdict(quick_run, tables)
    full = tables["full_results"].set_index(["dataset", "method"])
    people = tables["people_intervals"].set_index(["dataset", "method", "family", "metric"])
    by_family = tables["family_results"].set_index(["dataset", "method", "family"])
    bar = tables["people_above_bar"].set_index(["dataset", "method"])
    for each in found.findings:
        mine, above = full.loc[each.dataset], bar.loc[each.dataset]["above"].drop("any")
        equal = mine.loc[above.index[above == above.max()]]
        assert each.method == equal["distance_mean"].idxmin()
        row = mine.loc[each.method]
        assert each.holds == row["empirical_robustness_mean"]
        assert each.distance == row["distance_mean"]
        assert each.served == pytest.approx(
            row["coverage_mean"] * row["base_validity_mean"] / 100, rel=1e-5
        )
        interval = people.loc[(each.dataset, each.method, "all", "empirical_robustness")]
        assert [each.low, each.high, each.people] == interval[["low", "high", "people"]].tolist()
        families = by_family.loc[(each.dataset, each.method)]["empirical_robustness_mean"]
        assert each.weakest_holds in (None, families.min())
        assert (each.weakest is None) == (families.min() == families.max())
        assert " who ask (" in each.sentence
        for text in (
            f"for people like these, from 25: {each.low:.1f} to {each.high:.1f}",
            f"{each.distance:.2f}",
        ):
            assert text in each.sentence
    assert found.findings[0].sentence.startswith("On Breast Cancer, with ")
    assert "200 changed models of a neural network (mlp) in 8 kinds" in found.simulated
    assert "data deletion (25; 1%, 5%, 10%)" in found.simulated
    assert found.not_simulated.endswith("no promise about changes that are not listed.")


def test_people_come_before_the_mean(quick_run: Results) -> None:
    tables = read_tables(quick_run.folder)
    bar = tables["people_above_bar"].set_index(["dataset", "method"])
    for each in verdict(quick_run, tables).findings:
        assert each.method is not None and each.above_by is not None
        above = {}
        for method in quick_run.plan.methods:
            key = (each.dataset, 2026, method)
            answers, survived = quick_run.counterfactuals(*key), quick_run.survived(*key)
            above[method] = answers.base_valid & (survived.sum(axis=1) >= 190)
            assert each.above_by[method] == bar.loc[(each.dataset, method), "above"]
            assert each.above_by[method] == above[method].sum()
        assert each.above_by["any"] == np.any(list(above.values()), axis=0).sum()
        mine = bar.loc[(each.dataset, each.method)]
        words = (
            f"{mine['above']} of 25 people get advice that holds in at least 95 % of the 200 "
            "changed models."
        )
        assert each.headline.endswith(words) and each.sentence.startswith(each.headline)
        assert each.sure is not None and each.sure <= mine["above"]
        assert f"This is sure for {mine['sure']} of them, by the 95 % interval" in each.sentence
        assert (
            f"With the best method for each person it would be {each.above_by['any']}, and sure "
            f"for {each.sure_by_any}. The other methods reach: " in each.sentence
        )
        # The mean comes afterwards, of as many models as there were.
        assert each.sentence.index(words) < each.sentence.index("On average it holds in ")
        assert "of 200 changed models (" in each.sentence
        assert "of 100" not in each.sentence


def test_few_changed_models_are_told_as_few(tmp_path: Path) -> None:
    results = audited(["kdtree"], ["bootstrap(replicates=4)"], tmp_path, factuals=20)
    tables = build_tables(results)
    (found,) = verdict(results, tables).findings
    assert "With 4 changed models this is sure for nobody: it takes 73." in found.sentence
    assert " of 4 changed models (" in found.sentence
    served = "20 of 20 who ask (100.0 %; 95 % interval for people like these: 83.9 to 100.0)"
    assert served in found.sentence
    assert tables["people_above_bar"]["sure"].tolist() == [0, 0]
    assert tables["people_above_bar"]["method"].tolist() == ["kdtree", "any"]


def test_one_of_everything(tmp_path: Path) -> None:
    results = audited(["kdtree"], ["bootstrap(replicates=4)"], tmp_path)
    (found,) = (said := verdict(results, build_tables(results))).findings
    assert found.sentence.startswith("With KD-tree, ")
    assert "The only kind of change is bootstrap (replicates=4)." in found.sentence
    assert "weakest" not in found.sentence and "best of" not in found.sentence
    assert said.simulated.startswith(
        "Simulated: 4 changed models of LogisticRegression in one kind: "
    )


def test_what_does_not_fit_is_told_with_its_reason(tmp_path: Path) -> None:
    families = ["bootstrap(replicates=4)", "label-update(replicates=3)", "parameter-perturbation"]
    results = audited(["kdtree", "wachter"], families, tmp_path)
    said = verdict(results, build_tables(results))
    assert "7 changed models of LogisticRegression in 2 kinds" in said.simulated
    assert (
        "parameter perturbation (needs a neural network, for whose parameters its radii were "
        "chosen; this is LogisticRegression" in said.not_simulated
    )
    assert "wachter" not in said.not_simulated.lower()
    assert "new initialization, data deletion" in said.not_simulated
    assert "architecture and 14 further kinds (not asked" in said.not_simulated


def test_nobody_is_helped_where_nothing_is_found(tmp_path: Path) -> None:
    results = audited([Nowhere], ["bootstrap(replicates=2)"], tmp_path)
    (found,) = verdict(results, build_tables(results)).findings
    assert found.sentence == (
        "The method gave nobody advice that today's model accepts, so none can still hold."
    )
    assert found.method is None and found.holds is None


def test_nobody_asks_where_everybody_is_accepted(quick_run: Results) -> None:
    tables = {name: table.copy() for name, table in read_tables(quick_run.folder).items()}
    full = tables["full_results"]
    undefined = [name for name in full.columns if name.endswith(("_mean", "_std"))]
    full[undefined] = np.nan
    for found in verdict(quick_run, tables).findings:
        assert "decides against nobody, so nobody asked" in found.sentence


def test_part_of_a_run_is_not_the_whole(quick_run: Results, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(quick_run.folder, tmp_path / "run"))
    shutil.rmtree(folder / "tables")
    for path in (folder / "pieces").rglob("diabetes/2026/survival-kdtree-bootstrap.*"):
        path.unlink()
    results = Results(folder)
    _, diabetes = verdict(results, build_tables(results)).findings
    assert diabetes.sentence.startswith("So far, on Diabetes, with ")
    assert "the best of 9 methods" in diabetes.sentence
    shutil.rmtree(folder / "pieces")
    results = Results(folder)
    nothing = verdict(results, build_tables(results))
    assert nothing.findings[0].sentence == "So far, on Breast Cancer, nothing is finished yet."
    assert nothing.simulated == "Simulated: no changed models yet."


def test_several_base_models_are_told_as_such(tmp_path: Path) -> None:
    plan = Plan(
        datasets=("diabetes",),
        methods=("kdtree", "robx-robust"),
        families=("parameter-perturbation(replicates=2)", "bootstrap(replicates=3)"),
        base_seeds=(2026, 2027),
        factuals=10,
    )
    results = tabled(plan, tmp_path, jobs=1)
    said = verdict(results, read_tables(tmp_path))
    assert "get advice that the base models accept" in said.findings[0].sentence
    assert "people like these, from 19 of 2 base models: " in said.findings[0].sentence
    assert "5 changed models of a neural network (mlp) in 2 kinds for each of 2 base models" in (
        said.simulated
    )


def test_names_are_text_on_the_page(quick_run: Results) -> None:
    payload = build_payload(quick_run, read_tables(quick_run.folder))
    payload["verdict"]["notes"] = ["<i>"]
    payload["verdict"]["findings"] = [{"headline": "<b>&", "sentence": "<b>&"}]
    shown = render(payload, []).partition('<script type="application/json"')[0]
    assert "&lt;b&gt;&amp;" in shown and "<b>" not in shown and "<i>" not in shown


def test_no_line_of_the_page_ends_inside_of_an_option(quick_run: Results) -> None:
    payload = build_payload(quick_run, read_tables(quick_run.folder))
    payload["verdict"]["notes"] = ["by --most-changes <i>"]
    assert "by <code>--most-changes</code> &lt;i&gt;" in render(payload, [])


def test_a_shorter_way_is_named(quick_run: Results) -> None:
    tables = read_tables(quick_run.folder)
    full: pd.DataFrame = tables["full_results"]
    for found in verdict(quick_run, tables).findings:
        mine = full[full["dataset"] == found.dataset].set_index("method")
        firm = mine[mine["end_to_end_robustness_mean"] >= 95]
        nearest = firm["distance_mean"].min()
        words = f"people have to move {nearest:.2f} typical deviations per feature."
        assert (words in found.sentence) == (nearest < found.distance)


def test_the_nearest_of_those_that_hold_for_as_many_is_named(quick_run: Results) -> None:
    tables = {name: table.copy() for name, table in read_tables(quick_run.folder).items()}
    bar, full = tables["people_above_bar"], tables["full_results"]
    mine = bar["dataset"] == "diabetes"
    bar.loc[mine, ["above", "sure"]] = [20, 5]
    far, near = "robx-robust", "wachter"
    for method, distance, sure in ((far, 0.9, 20), (near, 0.1, 18)):
        own = (full["dataset"] == "diabetes") & (full["method"] == method)
        full.loc[own, "distance_mean"] = distance
        bar.loc[mine & (bar["method"] == method), ["above", "sure"]] = [22, sure]

    def found() -> Finding:
        (finding,) = [e for e in verdict(quick_run, tables).findings if e.dataset == "diabetes"]
        return finding

    assert found().method == near
    assert (found().above, found().sure) == (22, 18)
    more = "RobX robust-first reaches as many and is sure for 20, but asks people to move 0.90 "
    assert more in found().per_person and found().per_person in found().sentence
    # One more person counts more than any distance.
    bar.loc[mine & (bar["method"] == far), "above"] = 23
    assert found().method == far and "reaches as many" not in found().sentence
    # Where advice holds for nobody, what it reaches on average decides.
    bar.loc[mine, ["above", "sure"]] = 0
    whole = full[full["dataset"] == "diabetes"].set_index("method")["end_to_end_robustness_mean"]
    assert found().method == whole.idxmax()


def test_one_distance_is_one_number(quick_run: Results) -> None:
    """The verdict, the sentences of the ranking and the gate's rules say the same."""
    tables = read_tables(quick_run.folder)
    scores, plan = Scores(tables), quick_run.shown
    for found in verdict(quick_run, tables).findings:
        assert found.method is not None and found.distance is not None
        score = scores.get(found.dataset, found.method)
        assert score is not None
        words = f"people to {move_words(found.distance)}."
        assert words in found.on_average
        assert words in ranking_sentence("Averaged", found.method, score, "people")
        best = plan.methods[scores.best_first(found.dataset, plan.methods)[0]]
        assert best == found.method


def test_what_really_happened_is_not_called_simulated(quick_run: Results) -> None:
    tables = read_tables(quick_run.folder)
    real = ["bootstrap", "successor", "later-data(window='rolling')"]
    renamed = {"data-deletion": real[1], "data-addition": real[2]}
    names = tuple(renamed.get(family, family) for family in quick_run.plan.families)
    plan = quick_run.plan.model_copy(update={"families": names})
    variants = tables["variants"].replace({"family": renamed})
    apart = simulated_words(plan, variants, "mlp", ["new-initialization", *names[2:]])
    assert "The average leaves out bootstrap." in apart
    said = simulated_words(plan, variants, "mlp")
    assert "average" not in said
    assert "175 changed models" in said and "successor (" not in said
    assert said.endswith(" The real successor was tested as well.")
    for words in ("real successor", "came later"):
        assert words not in not_simulated_words(plan)
    only = simulated_words(plan, variants[variants["family"] == "successor"], "mlp")
    assert only == "Simulated: nothing; only the real successor was tested."


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({}, True),
        ({"missing": "impute-and-keep"}, True),
        ({"actions": {"debts": {"change": "decrease"}}}, False),
        ({"most_changes": 2}, False),
    ],
)
def test_no_rule_at_all_is_told(tmp_path: Path, rule: dict[str, Any], said: bool) -> None:
    results = audited(["kdtree"], ["bootstrap(replicates=2)"], tmp_path, factuals=5, **rule)
    tables = build_tables(results)
    lines = verdict(results, tables).lines
    beginning = "Nothing was said about what may change, so advice may ask people for any change."
    found = [line for line in lines if line.startswith(beginning)]
    assert len(found) == said
    for option in ("--immutable", "--only-increase", "--range", "--most-changes"):
        assert all(option in line for line in found)
    # Once on every surface that has the verdict.
    page, whole = page_of(results, tables).decode(), json.dumps(document(results, tables))
    assert page.count(f'<p class="note">{beginning}') == said
    assert (
        len([line for line in json.loads(whole)["verdict"]["lines"] if beginning in line]) == said
    )
    assert str(results).count(beginning) == said


def test_columns_that_nobody_can_change_are_named(tmp_path: Path) -> None:
    table = loans(300).rename(columns={"debts": "Age"})
    described = {"target": "approved", "favourable": "yes", "id_column": "applicant"}
    results = evaluate(
        table, LOGISTIC, ["kdtree"], ["bootstrap(replicates=2)"], factuals=5, out=tmp_path, jobs=1,
        publish=False, **described,
    )  # fmt: skip
    (note,) = [each for each in verdict(results, build_tables(results)).notes if "may ask" in each]
    assert "may ask people for any change, also of 'Age'. Say what they cannot change" in note


def test_embedded_datasets_are_as_published(quick_run: Results) -> None:
    notes = verdict(quick_run, read_tables(quick_run.folder)).notes
    assert not any("what may change" in note for note in notes)


@pytest.mark.parametrize("feasible", [True, False])
def test_it_says_whose_answers_these_are(tmp_path: Path, feasible: bool) -> None:
    """What people can be told is not what a method proposes, and may hold much less."""
    results = audited(
        ["kdtree"], ["bootstrap(replicates=2)"], tmp_path, factuals=5, feasible=feasible
    )
    tables = build_tables(results)
    lines = verdict(results, tables).lines
    said = [line for line in lines if line.startswith("Answers are ")]
    assert said == [answers_words(feasible)]
    assert ("--as-published (in Python feasible=False)" in said[0]) == feasible
    assert ("as published: what the methods propose" in said[0]) != feasible
    # As published nobody is advised, so nobody is asked what people cannot change.
    assert any("--immutable" in line for line in lines) == feasible
    page, whole = page_of(results, tables).decode(), document(results, tables)
    assert page.count('<p class="note">Answers are ') == 1
    assert json.loads(json.dumps(whole))["verdict"]["lines"].count(said[0]) == 1
    assert str(results).count("Answers are ") == 1
    for table in readable_tables(tables):
        captioned = "the nearest found that pass each method" in as_latex(table)
        assert captioned == (feasible and table.name in ("full_results", "family_results"))


def test_several_successors_are_not_one_kind_of_change(tmp_path: Path) -> None:
    table, described = loans(300), {"target": "approved", "favourable": "yes"}
    rows, fewer = table[["income", "debts"]], table[["income"]]
    today = LogisticRegression(max_iter=1000).fit(rows, table["approved"])
    strict = LogisticRegression(max_iter=1000).fit(rows, (rows["income"] > 4200).map(YES))
    loose = LogisticRegression(max_iter=1000).fit(fewer, table["approved"])
    results = evaluate(
        table, today, ["kdtree"], ["bootstrap(replicates=2)"], factuals=8, out=tmp_path, jobs=1,
        successors={"strict": strict, "loose": loose}, publish=False, **described,
    )  # fmt: skip
    said = verdict(results, build_tables(results))
    both = "the mean of the successors strict and loose"
    assert f"The weakest kind of change is {both}: " in said.findings[0].on_average
    assert f"The average leaves out {both}." in said.simulated
    alone = results.plan.model_copy(update={"successors": {"strict": ""}})
    variants = build_tables(results)["variants"]
    assert "The average leaves out the successor." in simulated_words(
        alone.model_copy(update={"families": ("bootstrap(replicates=2)", "successor")}),
        variants,
        "mlp",
        ["bootstrap(replicates=2)"],
    )


def test_letters_are_no_methods_answers(tmp_path: Path) -> None:
    table = loans(300)
    letters = table[table["approved"] == "no"].head(20).assign(debts=0)
    letters = letters[["applicant", "income", "debts", "purpose", "owner", "member"]]
    results = audited(
        [], ["bootstrap(replicates=2)"], tmp_path,
        counterfactuals={"letters": letters.rename(columns={"applicant": "id"})},
    )  # fmt: skip
    said = verdict(results, build_tables(results)).lines
    assert not any(line.startswith("Answers are ") for line in said)
