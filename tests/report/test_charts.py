"""Marks: one for each method, in print and on the page."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from changeproof import published_method_names, usual_method_names
from changeproof.report.charts import COLOURS, ON_DARK, SHAPES, method_marks, stylesheet
from changeproof.report.figures import INKS
from changeproof.tables.names import mark_places

METHODS = usual_method_names()


def test_a_method_has_the_same_mark_whatever_is_beside_it() -> None:
    everything = method_marks(METHODS)
    assert method_marks(["wachter", "mine"])["wachter"] == everything["wachter"]
    assert method_marks(["b", "a"]) == method_marks(["a", "b", "a"])


def test_up_to_220_methods_have_marks_of_their_own() -> None:
    names = [*METHODS, *(f"own-{n:03d}" for n in range(220 - len(METHODS)))]
    marks = method_marks(names)
    assert set(marks) == set(names)
    assert len(set(marks.values())) == 220
    assert len(method_marks([f"m{n}" for n in range(400)])) == 400


def test_methods_of_the_package_differ_in_colour_and_in_shape() -> None:
    marks = method_marks(usual_method_names())
    assert len({mark.colour for mark in marks.values()}) == len(usual_method_names())
    assert len({mark.shape for mark in marks.values()}) == len(usual_method_names())
    # Published pictures stay as they are.
    published = [marks[name] for name in published_method_names()]
    assert [INKS[mark.colour] for mark in published] == list(COLOURS[:9])
    drawn = {shape.plotly: shape.matplotlib for shape in SHAPES}
    assert [drawn[mark.shape] for mark in published] == list("osP^DvXp<")


@pytest.mark.parametrize("more", [(), tuple(f"own:M{number}" for number in range(30))])
def test_print_and_page_have_the_same_colours(more: tuple[str, ...]) -> None:
    found = re.findall(r"--series-(\d): (#\w{6});", stylesheet())
    assert [int(place) for place, _ in found] == [*range(10)] * 2
    colours = [colour for _, colour in found]
    assert colours == [*COLOURS, *ON_DARK]
    methods = [*usual_method_names(), *more]
    marks, places = method_marks(methods), mark_places(methods)
    for name in methods:
        assert INKS[marks[name].colour] == colours[places[name] % 10]
    assert len({marks[name].colour for name in usual_method_names()}) == 10


def test_colours_differ_in_brightness_or_hue_for_colour_blind_people() -> None:
    # What is left for a deuteranope of linear red, green and blue, after Viénot, Brettel and
    # Mollon (1999).
    def seen(colour: str) -> tuple[float, float]:
        red, green, blue = ((int(colour[n : n + 2], 16) / 255) ** 2.2 for n in (1, 3, 5))
        yellow = 0.29275 * red + 0.70725 * green
        return yellow ** (1 / 2.2), max(blue + 0.02234 * (green - red), 0.0) ** (1 / 2.2)

    for one, other in combinations(COLOURS, 2):
        apart = sum((a - b) ** 2 for a, b in zip(seen(one), seen(other), strict=True)) ** 0.5
        assert apart > 0.1, (one, other)


def test_two_settings_of_a_method_have_marks_of_their_own() -> None:
    names = ["robx-balanced", "robx-balanced(quantile=0.7)", "robx-balanced(quantile=0.9)"]
    marks = method_marks(names)
    assert len(set(marks.values())) == 3
    assert marks["robx-balanced"] == method_marks(METHODS)["robx-balanced"]
