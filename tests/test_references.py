"""Names with settings, wherever a name is accepted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import changeproof as cp
from changeproof import InputError, Plan
from changeproof.methods.tuning import candidates
from changeproof.plugins import as_text, parsed, spelled

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner),
    max_leaves=4,
)  # fmt: skip
SETTINGS = st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), PLAIN, max_size=3)


@given(st.sampled_from(["kdtree", "my_package.module:MyMethod"]), SETTINGS)
def test_what_is_written_is_read(name: str, settings: dict[str, Any]) -> None:
    settings = {key: value for key, value in settings.items() if key.isidentifier()}
    try:
        compile(f"f({', '.join(f'{key}=0' for key in settings)})", "", "eval")
    except SyntaxError:
        return  # a keyword of Python
    assert parsed(spelled(name, settings)) == (name, settings)


@pytest.mark.parametrize("text", ["a(b", "a(b)", "a(b=c)", "a(b=1)(c=2)", "a(**{})", "a(b=f(1))"])
def test_only_plain_settings_by_name_are_read(text: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"{text!r}: expected a name, or name(setting")):
        parsed(text)


def test_settings_reach_methods_and_families() -> None:
    method = cp.make_method("robx-balanced( quantile = 0.7 )")
    assert method.name == "robx-balanced(quantile=0.7)"
    assert method.settings()["quantile"] == 0.7
    family = cp.get_family("bootstrap(replicates=3)")
    assert (family.name, family.settings()) == ("bootstrap(replicates=3)", {"replicates": 3})
    assert repr(family) == "Bootstrap(replicates=3)"


@pytest.mark.parametrize(
    ("key", "reference", "message"),
    [
        ("methods", "kdtree(k=3)", "'kdtree(k=3)' has no setting 'k'; it has none"),
        ("methods", "wachter(speed=1)", "has no setting 'speed'; expected one of: "),
        ("methods", "wachter(", "expected a name, or name(setting=value)"),
        ("families", "bootstrap(replicates=0)", "replicates should be greater than 0; got 0"),
        ("families", "bootstrap(replicates='x')", "replicates should be a valid integer; got 'x'"),
        ("families", "bootstrap(replicates=2.5)", "replicates should be a valid integer; got 2.5"),
        ("methods", "wachter(penalty=True)", "penalty should be a valid number; got True"),
        ("methods", {"quantile": 0.7}, "{'quantile': 0.7} has no 'name'"),
    ],
)
def test_settings_that_do_not_fit(key: str, reference: Any, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        Plan.preset("quick", **{key: [reference]})


def test_plans_take_settings_as_text_and_as_tables(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(
        'methods = ["robx-balanced", {name = "robx-balanced", quantile = 0.7}]\n'
        'families = ["bootstrap(replicates=4)"]\ndatasets = ["diabetes"]\n'
    )
    plan = Plan.from_toml(path)
    assert plan.methods == ("robx-balanced", "robx-balanced(quantile=0.7)")
    assert plan.families == ("bootstrap(replicates=4)",)
    with pytest.raises(InputError, match=r"'bootstrap\(replicates=4\)' is given more than once"):
        Plan.preset("quick", families=["bootstrap(replicates=4)", "bootstrap( replicates=4 )"])
    assert as_text("kdtree") == "kdtree"


def test_two_settings_of_a_method_side_by_side(tmp_path: Path) -> None:
    names = ("betarce(ensemble_size=4, robustness=0.3)", "betarce(ensemble_size=8, robustness=0.3)")
    plan = Plan.preset(
        "quick",
        datasets=["diabetes"],
        factuals=4,
        methods=list(names),
        families=["bootstrap(replicates=3)", "parameter-perturbation(replicates=7)"],
    )
    results = cp.run(plan, tmp_path, jobs=1)
    assert set(results.table()["method"]) == set(names)
    changed = results.variants("diabetes", 2026)
    assert changed["family"].tolist() == [plan.families[0]] * 3 + [plan.families[1]] * 7
    assert changed["level"].tolist()[3:] == ["0.001"] * 2 + ["0.005"] * 2 + ["0.01", "0.02", "0.05"]
    one, other = (results.counterfactuals("diabetes", 2026, name) for name in names)
    assert set(one.diagnostics["bound"]) != set(other.diagnostics["bound"])
    page = (tmp_path / "report" / "index.html").read_text()
    assert all(name in page for name in names)


def test_what_is_given_by_hand_is_not_tuned() -> None:
    free = candidates(cp.make_method("wachter"))
    rates = {method.settings()["penalty"] for method in free}
    pinned = candidates(cp.make_method("wachter(penalty=0.5)"))
    assert len(rates) > 1
    assert len(pinned) == len(free) // len(rates)
    assert {method.settings()["penalty"] for method in pinned} == {0.5}
    assert [m.name for m in candidates(cp.make_method("kdtree"))] == ["kdtree"]


@pytest.mark.parametrize(
    "name", [*cp.published_family_names(), "recalibration", "measurement-error"]
)
@pytest.mark.parametrize("replicates", [1, 7, 60])
def test_the_number_of_changed_models_is_a_choice(
    name: str, replicates: int, cancer: cp.Task, cancer_network: cp.Network
) -> None:
    base, learner = cp.BaseModel(2026, cancer_network), cp.NetworkLearner()
    variants = cp.get_family(f"{name}(replicates={replicates})").variants(cancer, base, learner)
    assert len(variants) == replicates
    assert len({(variant.level, variant.replicate) for variant in variants}) == replicates
