"""Names with settings, import paths, entry points and registered names."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import changeproof as cp
from changeproof import InputError, Plan
from changeproof.methods.tuning import candidates
from changeproof.plugins import Registry, as_text, parsed, spelled, without_settings

GROUP = "changeproof.test-things"


def accept(found: Any, reference: str) -> str:
    if not isinstance(found, str):
        raise InputError(f"thing {reference!r} is no text")
    return found


@pytest.fixture
def registry() -> Registry[Any]:
    return Registry(
        "thing", GROUP, {"separator": "os:sep", "ending": "os:linesep"}, f"{__name__}:accept"
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder from which modules and packages with entry points can be imported."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def offer(folder: Path, package: str, **points: str) -> None:
    information = folder / f"{package}-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name.replace('_', '-')} = {value}" for name, value in points.items()]
    (information / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))


def test_builtins_come_first_then_packages_then_registered(
    registry: Registry[Any], folder: Path
) -> None:
    (folder / "plugin.py").write_text("THING = 'from a package'\n")
    offer(folder, "plugin", own_thing="plugin:THING")
    registry.register("mine", "another")
    assert registry.names == ("separator", "ending", "own-thing", "another")
    assert registry.builtin_names == ("separator", "ending")
    assert registry.get("separator") == "/"
    assert registry.get("own-thing") == "from a package"
    assert registry.get("another") == "mine"
    assert registry.get("plugin:THING") == "from a package"
    given = ["plugin:THING", "ending", "another", "separator"]
    assert registry.check(given, resolve=False) == (
        "separator",
        "ending",
        "plugin:THING",
        "another",
    )


def test_the_last_registration_counts(registry: Registry[Any]) -> None:
    registry.register("first", "mine")
    registry.register("second", "mine")
    assert registry.get("mine") == "second"
    assert registry.names.count("mine") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("separator", "'separator' is a built-in thing; choose another name"),
        ("My Thing", "bad name 'My Thing' for a thing; expected lower-case letters, digits and"),
        ("", "bad name ''"),
        ("a:b", "bad name 'a:b'"),
    ],
)
def test_names_that_are_refused(registry: Registry[Any], name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        registry.register("mine", name)
    assert registry.names == ("separator", "ending")


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("nothing", r"unknown thing 'nothing'; expected one of: separator, ending, .*import path"),
        ("no_such_module:THING", r"'no_such_module:THING' cannot be imported: ModuleNotFoundErr"),
        ("broken:THING", r"'broken:THING' cannot be imported: ZeroDivisionError: division by"),
        ("leaving:THING", r"'leaving:THING' cannot be imported: SystemExit: 3"),
        ("plugin:NOTHING", r"'plugin:NOTHING': plugin has no 'NOTHING'"),
        ("plugin:NUMBER", r"thing 'plugin:NUMBER' is no text"),
        ("plugin:", r"'plugin:' is not an import path; expected module:attribute"),
        ("a b:c", r"'a b:c' is not an import path"),
        ("cracked", r"entry point 'cracked' of package one \(broken:THING\) cannot be imported: Z"),
        ("missing", r"entry point 'missing' of package one \(gone:THING\) cannot be .*Module"),
        ("twice", r"thing 'twice' is offered by the packages .* and .*; name one by its import"),
        ("Loud", r"entry point 'Loud' of package one .* has a bad name"),
    ],
)
def test_references_that_lead_nowhere(
    registry: Registry[Any], folder: Path, reference: str, message: str
) -> None:
    (folder / "plugin.py").write_text("THING = 'text'\nNUMBER = 3\n")
    (folder / "broken.py").write_text("1 / 0\n")
    (folder / "leaving.py").write_text("raise SystemExit(3)\n")
    points = {"cracked": "broken:THING", "missing": "gone:THING", "twice": "plugin:THING"}
    offer(folder, "one", **points, Loud="plugin:THING")
    offer(folder, "two", twice="plugin:NUMBER", whole="plugin:THING")
    with pytest.raises(InputError, match=message) as caught:
        registry.get(reference)
    assert "\n" not in str(caught.value)
    assert registry.get("whole") == "text"


def test_what_is_broken_is_listed_and_harms_no_other(registry: Registry[Any], folder: Path) -> None:
    (folder / "plugin.py").write_text("THING = 'text'\n")
    points = {"good": "plugin:THING", "cracked": "gone:THING", "separator": "plugin:THING"}
    offer(folder, "one", **points)
    broken = registry.broken()
    assert broken["separator (one)"] == "has the name of a built-in thing"
    assert "No module named 'gone'" in broken["cracked"]
    assert len(broken) == 2
    assert registry.get("separator") == "/"


def test_modules_of_the_working_directory_are_found(
    registry: Registry[Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = folder / "work"
    here.mkdir()
    (here / "local_thing.py").write_text("class Outer:\n    THING = 'here'\n")
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    assert registry.get("local_thing:Outer.THING") == "here"


def test_a_record_need_not_be_resolved(registry: Registry[Any]) -> None:
    given = ["gone:THING", "somebody-s", "ending"]
    assert registry.check(given, resolve=False) == ("ending", "gone:THING", "somebody-s")
    with pytest.raises(InputError, match="unknown thing 'Bad Name'"):
        registry.check(["Bad Name"], resolve=False)


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


@pytest.mark.parametrize(
    ("reference", "name"),
    [("rnce", "rnce"), ("a.b:C(x=[1])", "a.b:C"), ("rnce()", "rnce"), ("=cmd()", "=cmd()"),
     ("what they (or we) said", "what they (or we) said")],
)  # fmt: skip
def test_a_reference_without_its_settings(reference: str, name: str) -> None:
    assert without_settings(reference) == name


class Annotated(cp.Method):
    """A method whose settings are annotated by types that are not there, or not at all."""

    name, summary = "annotated", "for tests"

    def __init__(self, *, share: NoSuchType = 0.5, count=3) -> None:  # noqa: F821
        self.share, self.count = share, count

    def _search(self, factuals: cp.Factuals) -> cp.Candidates:
        return cp.Candidates(factuals.rows)


def test_settings_without_types_have_to_be_like_their_defaults() -> None:
    assert Annotated(share=1, count=2).settings() == {"share": 1, "count": 2}
    for settings, message in (
        ({"share": "half"}, "share should be a valid number; got 'half'"),
        ({"count": 2.5}, "count should be a valid integer; got 2.5"),
        ({"share": float("nan")}, "share should be a finite number; got nan"),
    ):
        with pytest.raises(InputError, match=re.escape(message)):
            Annotated(**settings)


def test_numbers_and_lists_of_numpy_are_settings_as_well() -> None:
    assert cp.Bootstrap(replicates=np.int64(3)).replicates == 3
    shares = cp.InfluentialDeletion(shares=np.array([0.1, 0.2])).shares
    assert shares == (0.1, 0.2)
    with pytest.raises(InputError, match="replicates should be greater than 0; got 0"):
        cp.Bootstrap(replicates=0)
