from __future__ import annotations

import pytest

from changeproof.report.figures import (
    SMALL,
    labels,
    literal,
    shortened,
    text_width,
    wrapped,
)
from changeproof.tables.names import method_name


@pytest.mark.parametrize("name", ["$a$", "a_b", "50%", "<script>", "żółć", "APΔS", "\\alpha{}"])
def test_names_that_the_font_has_stay_as_they_are(name: str) -> None:
    assert literal(name) == name


def test_other_characters_are_escaped_and_stay_different() -> None:
    assert literal("方") == "\\u65b9"
    assert literal("方") != literal("法")
    assert literal("a\x00b") == "a\\x00b"
    assert literal(" a\n\tb ") == "a b"
    assert literal("\u202eabc") == "\\u202eabc"
    assert literal("\ud800") == "\\ud800"


def test_width_is_that_of_the_drawn_text() -> None:
    assert text_width("ab", SMALL) == pytest.approx(2 * text_width("ab", SMALL / 2), rel=0.02)
    assert text_width("$x$", SMALL) > text_width("x", SMALL)
    # Nine tenths of an inch or so: what a ruler says of the name at 7 points.
    assert 0.8 < text_width("Training configuration", 7) < 1.4


def test_long_names_keep_both_ends_and_fit() -> None:
    name = "a-very-long-name-of-a-method-with-version-17"
    short = shortened(name, SMALL, 1.0)
    assert text_width(short, SMALL) <= 1.0
    assert short.startswith("a-very")
    assert short.endswith("17")
    assert shortened("abc", SMALL, 1.0) == "abc"
    assert shortened(name, SMALL, 0.01) == "…"


def test_shortened_names_stay_different() -> None:
    names = [f"the-same-beginning-{n}{'x' * 40}-the-same-end" for n in range(3)]
    found = labels(names, size=SMALL, room=1.0)
    assert len(set(found)) == 3
    assert all(text_width(label, SMALL) <= 1.0 for label in found)
    assert labels([method_name("apds"), "mine"], size=SMALL, room=1.0) == ["APΔS", "mine"]


def test_notes_are_wrapped() -> None:
    lines = wrapped("one two three four five six seven " + "x" * 200, SMALL, 0.8)
    assert len(lines) > 2
    assert all(text_width(line, SMALL) <= 0.8 for line in lines)
    assert " ".join(lines).startswith("one two three four five six seven x")
