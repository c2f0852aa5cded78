"""From plain values to documents: a template in a sandbox, Markdown, and a page made from it.

Templates are Markdown. Nothing that they print is markup: values are escaped, whatever they hold,
and a tag in a template is shown, not obeyed. So neither names nor templates can run anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markdown_it import MarkdownIt

from changeproof.errors import InputError, one_line, visible

HERE = Path(__file__).parent
DEFAULT_TEMPLATE, FRAME = HERE / "letter.md.j2", HERE / "letter.html"
# What has a meaning in Markdown wherever it stands, and an underscore that is not inside a word.
ANYWHERE = re.compile(r"[\\`*\[\]<>|~&]|(?<![^\W_])_|_(?![^\W_])")
# What has one at the beginning of a line.
AT_FIRST = re.compile(r"^(?:[-+#=:]|(\d{1,9})(?=[.)]))")
# A text is repeated to no more than this, and a number to no higher power.
LONGEST, HIGHEST = 100_000, 64


def as_text(value: Any) -> str:
    """Return a value as Markdown that shows it, on one line."""
    text = visible(" ".join(str(value).splitlines()))
    text = ANYWHERE.sub(lambda found: f"\\{found[0]}", text)
    found = AT_FIRST.match(text)
    if found is None:
        return text
    return f"{found[1]}\\{text[found.end() :]}" if found[1] else f"\\{text}"


class _Sandbox(ImmutableSandboxedEnvironment):
    """Templates that see plain values only, and cannot fill the memory."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" and isinstance(right, int | float) and abs(right) > HIGHEST:
            raise SecurityError(f"a power of {right}")
        if operator == "*":
            for text, times in ((left, right), (right, left)):
                several = isinstance(text, str | list | tuple) and isinstance(times, int)
                if several and len(text) * times > LONGEST:
                    raise SecurityError(f"a text of {len(text) * times} characters")
        return super().call_binop(context, operator, left, right)


def load_template(path: Path | None) -> Callable[[Mapping[str, Any]], str]:
    """Return what makes Markdown of the values of a letter, by a template or the default one."""
    source = DEFAULT_TEMPLATE if path is None else path
    where = "the default template" if path is None else f"template {path}"
    try:
        text = source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {where}: {one_line(error)}") from None
    sandbox = _Sandbox(
        undefined=jinja2.StrictUndefined,
        finalize=as_text,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    try:
        template = sandbox.from_string(text)
    except jinja2.TemplateSyntaxError as error:
        raise InputError(f"{where}, line {error.lineno}: {one_line(error)}") from None

    def rendered(values: Mapping[str, Any]) -> str:
        try:
            written = template.render(values)
        except Exception as error:  # whatever a template does wrong is a mistake in it
            raise InputError(f"{where}: {one_line(error)}") from None
        return re.sub(r"\n{3,}", "\n\n", written).strip() + "\n"

    return rendered


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False})


@cache
def _frame() -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True)
    return environment.from_string(FRAME.read_text(encoding="utf-8"))


def page(markdown: str, title: str, language: str) -> str:
    """Return Markdown as a page of HTML that loads nothing and runs nothing."""
    from markupsafe import Markup

    body = Markup(_markdown().render(markdown))
    return _frame().render(body=body, title=title, language=language) + "\n"
