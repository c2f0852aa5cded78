from __future__ import annotations

import pytest

from changeproof import (
    builtin_family_names,
    builtin_method_names,
    dataset_names,
    get_family,
    get_method,
    published_method_names,
)
from changeproof.methods import REGISTRY as METHODS
from changeproof.plugins import without_settings
from changeproof.tables.names import (
    DATASETS,
    dataset_name,
    different_names,
    family_label,
    family_name,
    mark_places,
    method_name,
    short_family,
)


def test_every_built_in_reference_has_a_name() -> None:
    assert set(DATASETS) == set(dataset_names())
    labels = [get_method(name).label for name in builtin_method_names()]
    assert all(labels)
    assert len(set(labels)) == len(labels)
    families = [get_family(name).label for name in builtin_family_names()]
    assert all(label is not None and all(label) for label in families)
    assert len({label.short for label in families if label is not None}) == len(families)


def test_what_really_happened_has_a_name_too() -> None:
    assert family_name("successor") == "Successor"
    assert family_label("successor").short == "succ."


def test_a_method_of_ones_own_is_called_by_its_label(monkeypatch: pytest.MonkeyPatch) -> None:
    kdtree = get_method("kdtree")
    monkeypatch.setitem(METHODS._registered, "mine", type("Mine", (kdtree,), {"label": "Mine!"}))
    assert method_name("mine(a=1)") == "Mine! (a=1)"


def test_no_code_of_others_is_imported_for_a_name() -> None:
    assert METHODS.known("antigravity:geohash") is None
    assert method_name("antigravity:geohash") == "antigravity:geohash"


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("robx-balanced", "RobX balanced"),
        ("robx-balanced(quantile=0.7)", "RobX balanced (quantile=0.7)"),
        ("robx-balanced()", "RobX balanced"),
        ("rbr(delta=0.2, name='a(b)')", "RBR (delta=0.2, name='a(b)')"),
        ("my_package.module:MyMethod", "my_package.module:MyMethod"),
        ("my_package.module:MyMethod(a=1)", "my_package.module:MyMethod (a=1)"),
        ("mine", "mine"),
        ("what they (or we) said", "what they (or we) said"),
    ],
)
def test_methods_are_named_with_their_settings(reference: str, name: str) -> None:
    assert method_name(reference) == name


def test_families_are_named_with_their_settings() -> None:
    assert family_name("data-deletion(share=0.2)") == "Data deletion (share=0.2)"
    assert short_family("data-deletion(share=0.2)") == "delete (share=0.2)"
    assert short_family("own:change") == "own:change"
    assert dataset_name("heloc") == "HELOC"
    assert without_settings("own:change(a=1)") == "own:change"
    assert without_settings("rnce") == "rnce"


def test_names_that_would_be_alike_stay_references() -> None:
    assert different_names(["heloc", "HELOC", "diabetes"], dataset_name) == {
        "heloc": "heloc",
        "HELOC": "HELOC",
        "diabetes": "Diabetes",
    }


def test_methods_of_the_package_have_marks_of_their_own_whatever_is_beside_them() -> None:
    places = mark_places(["quorum", "kdtree", "mine", "kdtree(k=3)"])
    assert list(places) == ["quorum", "kdtree", "mine", "kdtree(k=3)"]
    assert places == {"quorum": 9, "kdtree": 2, "kdtree(k=3)": 10, "mine": 11}
    assert list(mark_places(published_method_names()).values()) == list(range(9))
