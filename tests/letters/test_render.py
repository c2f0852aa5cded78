"""Templates and values are text: nothing hostile in them is executed, or becomes markup."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from changeproof import InputError
from changeproof.letters.render import as_text, load_template, page

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "![](http://example.com/track.png)",
    "# heading",
    "1. list",
    "- list",
    "a\n\n# b",
    "**bold** _under_ `code` ~~gone~~",
    "&lt;b&gt; &amp;",
    "{{ 7 * 7 }} {% for x in y %}",
    "</body></html>",
    "\\<b>",
    "| a | b |",
]


def rendered(tmp_path: Path, template: str, **values: Any) -> str:
    path = tmp_path / "letter.md.j2"
    path.write_text(template, encoding="utf-8")
    return load_template(path)(values)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_values_are_shown_and_do_nothing(tmp_path: Path, text: str) -> None:
    written = rendered(tmp_path, "Dear {{ name }},\n\n- {{ name }}.\n", name=text)
    shown = page(written, text, "en")
    body = shown.partition("<body>")[2].partition("\n</body>\n</html>")[0]
    assert set(re.findall(r"<(/?\w+)", body)) == {"p", "/p", "ul", "/ul", "li", "/li"}
    assert "<script" not in shown
    assert html.unescape(body).count(" ".join(text.split("\n\n"))) == 2 or "\n" in text


@given(st.text(max_size=60))
def test_any_text_is_shown_as_it_is(text: str) -> None:
    plain = re.sub(r"\s+", " ", text).strip()
    if not plain.isprintable() or not plain:
        return
    body = MarkdownIt("commonmark", {"html": False}).render(f"x {as_text(plain)} x")
    assert html.unescape(body) == f"<p>x {plain} x</p>\n"


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ name.__class__ }}",
        "{{ say.__globals__ }}",
        "{{ say.__code__ }}",
        "{{ cycler.__init__.__globals__.os.system('touch hacked') }}",
        "{{ lipsum.__globals__ }}",
        "{{ ''|attr('__class__') }}",
        "{{ '%s' | format(name.__class__) }}",
        "{{ '{0.__class__}'.format(name) }}",
        "{{ 'a' * 10000000000 }}",
        "{{ 9 ** 999999999 }}",
        "{{ range(100000000) }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
        "{{ people.append(1) }}",
        "{{ nobody }}",
        "{{ 1 / 0 }}",
        "{% if %}",
    ],
)
def test_hostile_templates_end_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template: str
) -> None:
    monkeypatch.chdir(tmp_path)
    values: dict[str, Any] = {"name": "Ann", "people": [1], "say": lambda name: name}
    try:
        written = rendered(tmp_path, template, **values)
    except InputError as error:
        assert "\n" not in str(error)
        assert "letter.md.j2" in str(error)
    else:
        # What the sandbox hides is undefined, or shown as text.
        assert "class" not in written or "<" not in written
        pytest.fail(f"{template} gave {written!r}")
    assert [path.name for path in tmp_path.iterdir()] == ["letter.md.j2"]


def test_markup_in_a_template_is_shown(tmp_path: Path) -> None:
    written = rendered(tmp_path, "**Dear** {{ name | safe }}\n\n<script>x</script>\n", name="<b>")
    shown = page(written, "<title>", "en")
    assert "<strong>Dear</strong> &lt;b&gt;" in shown
    assert "&lt;script&gt;" in shown
    assert "<script" not in shown
    assert "<title>&lt;title&gt;</title>" in shown
    assert "default-src 'none'" in shown
