from __future__ import annotations

from importlib.resources import files


def test_type_checkers_are_told_that_the_package_is_typed() -> None:
    assert files("changeproof").joinpath("py.typed").is_file()
