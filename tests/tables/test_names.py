from __future__ import annotations

import pytest

from changeproof import dataset_names, family_names, method_names, published_method_names
from changeproof.tables.names import (
    DATASETS,
    FAMILIES,
    METHODS,
    dataset_name,
    different_names,
    family_name,
    mark_places,
    method_name,
    short_family,
    without_settings,
)


def test_every_built_in_reference_has_a_name() -> None:
    assert set(METHODS) == set(method_names())
    assert set(DATASETS) == set(dataset_names())
    assert set(FAMILIES) == set(family_names())


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
