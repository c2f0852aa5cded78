"""How the documentation site is built; `tools/build_docs.py` puts its sources together."""

import re
from typing import Any

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

linkcheck_timeout = 20
linkcheck_workers = 4


def code_as_code(
    _app: Any, _what: str, _name: str, _thing: Any, _options: Any, lines: list[str]
) -> None:
    """Turn the single backticks of docstrings into the two that Sphinx wants."""
    for place, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[place] = re.sub(r"(?<!`)`([^`]+)`(?!`)(?=(\w?))", _doubled, line)


def _doubled(found: re.Match[str]) -> str:
    return f"``{found[1]}``" + ("\\ " if found[2] else "")


def setup(app: Any) -> None:
    """Have docstrings read as they are written."""
    app.connect("autodoc-process-docstring", code_as_code, priority=400)
