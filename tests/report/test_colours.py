"""A method has one colour, in print and on the page."""

from __future__ import annotations

import re

import pytest

from changeproof.methods import builtin_method_names
from changeproof.report.colours import COLOURS, ON_DARK, stylesheet
from changeproof.report.figures.marks import method_marks
from changeproof.report.page.write import ASSETS
from changeproof.tables.names import mark_places


def page_colours() -> list[list[str]]:
    """Return the colours of the two themes, by place, as the page defines them."""
    style = stylesheet() + (ASSETS / "page.css").read_text(encoding="utf-8")
    found = re.findall(r"--series-(\d): (#\w{6});", style)
    assert [int(place) for place, _ in found] == [*range(10)] * 2
    colours = [colour for _, colour in found]
    return [colours[:10], colours[10:]]


@pytest.mark.parametrize("more", [(), tuple(f"own:M{number}" for number in range(30))])
def test_print_and_page_have_the_same_colours(more: tuple[str, ...]) -> None:
    light, dark = page_colours()
    assert (light, dark) == (list(COLOURS), list(ON_DARK))
    methods = [*builtin_method_names(), *more]
    marks, places = method_marks(methods), mark_places(methods)
    # The page takes the colour of a place as `page.hue` does.
    assert "page.hue = (place) => place % 10;" in (ASSETS / "core.js").read_text(encoding="utf-8")
    for name in methods:
        assert marks[name].colour == light[places[name] % 10]
    assert len({marks[name].colour for name in builtin_method_names()}) == 10
