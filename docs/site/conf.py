"""How the documentation site is built; `tools/build_docs.py` puts its sources together."""

import inspect
import re
from typing import Any

from numpy.typing import ArrayLike
from sphinx.util.inspect import stringify_signature
from sphinx.util.typing import stringify_annotation

from changeproof import __version__

project = "changeproof"
author = "The changeproof maintainers"
copyright = "2026, the changeproof maintainers"
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_attr_annotations = False
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80

html_theme = "furo"
html_title = f"changeproof {version}"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#2a6f97", "color-brand-content": "#2a6f97"},
    "dark_css_variables": {"color-brand-primary": "#7cc4ea", "color-brand-content": "#7cc4ea"},
}
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False

# Defaults that are no code, and types that NumPy spells out by names of its own.
PLAIN = [
    (r"<factory>|<function .*?>>?", "..."),
    (r"<(\w+(?:\.\w+)+): [^<>]+>", r"\1"),
    *(
        (re.escape(stringify_annotation(ArrayLike, mode)), "ArrayLike")
        for mode in ("smart", "fully-qualified")
    ),
]

linkcheck_timeout = 20
linkcheck_workers = 4


def code_as_code(
    _app: Any, _what: str, _name: str, _thing: Any, _options: Any, lines: list[str]
) -> None:
    """Turn the single backticks of docstrings into the two that Sphinx wants."""
    for place, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[place] = re.sub(r"(?<!`)`([^`]+)`(?!`)(?=(\w?))", _doubled, line)


def plain_signature(
    _app: Any, what: str, _name: str, thing: Any, _options: Any, arguments: str | None, back: Any
) -> tuple[str | None, Any] | None:
    """Write a signature as its author did: Sphinx reads none with defaults that are no code."""
    if arguments is None:
        return None
    if what == "class" and hasattr(thing, "setting_names"):
        # What makes one takes any arguments, and checks them against those of `__init__`.
        made = inspect.signature(thing.__init__).parameters if thing.setting_names() else {}
        public = [each for name, each in made.items() if name != "self" and name[0] != "_"]
        arguments = stringify_signature(inspect.Signature(public), unqualified_typehints=True)
    for pattern, text in PLAIN:
        arguments = re.sub(pattern, text, arguments)
        back = re.sub(pattern, text, back) if back else back
    return _without_annotated(arguments), back


def _without_annotated(text: str) -> str:
    """Return a signature with what is annotated, and not with what it is annotated with."""
    while found := re.search(r"(?:~?typing\.)?Annotated\[", text):
        start, depth, comma = found.end(), 1, None
        place = start
        while depth:
            depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(text[place], 0)
            if text[place] == "," and depth == 1 and comma is None:
                comma = place
            place += 1
        text = text[: found.start()] + text[start:comma] + text[place:]
    return text


def no_settings_of_libraries(
    _app: Any, _what: str, name: str, _thing: Any, skipped: bool, _options: Any
) -> bool | None:
    """Leave out what a class has only because Pydantic asks for it."""
    return True if name == "model_config" else None


def _doubled(found: re.Match[str]) -> str:
    return f"``{found[1]}``" + ("\\ " if found[2] else "")


def setup(app: Any) -> None:
    """Have docstrings read as they are written."""
    app.connect("autodoc-process-docstring", code_as_code, priority=400)
    app.connect("autodoc-process-signature", plain_signature)
    app.connect("autodoc-skip-member", no_settings_of_libraries)
