"""A table as LaTeX, Markdown, CSV and HTML; text is shown as it is, whatever is in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from html import escape

import pandas as pd

from changeproof.evaluation.metrics import Metric
from changeproof.report.judged import judged_words
from changeproof.tables.display import Cell, Heading, Measured, Table, Tables
from changeproof.tables.registry import screen_tables
from changeproof.tables.spreadsheets import guarded_text

LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "`": r"\textasciigrave{}",
    "'": r"{'}", '"': r"{''}",
    # After a line break in a table these two would be taken for its arguments.
    "[": "{[}", "*": "{*}",
    "\N{EN DASH}": "{--}", "\N{EM DASH}": "{---}", "…": r"\ldots{}",
    "\N{MULTIPLICATION SIGN}": r"\ensuremath{\times}",
    "±": r"\ensuremath{\pm}", "÷": r"\ensuremath{\div}",
    "≤": r"\ensuremath{\leq}", "≥": r"\ensuremath{\geq}", "→": r"\ensuremath{\to}",
    "∆": r"\ensuremath{\Delta}", "µ": r"\ensuremath{\mu}", "°": r"\ensuremath{^\circ}",
}  # fmt: skip
# Letters with accents that the usual fonts of LaTeX (T1) have.
ACCENTED = frozenset(
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿ"
    "ĂăĄąĆćČčĎďĐđĘęĚěĞğİıĹĺĽľŁłŃńŇňŊŋŐőŒœŔŕŘřŚśŞşŠšŢţŤťŮůŰűŸŹźŻżŽž"
)
GREEK = re.compile(r"GREEK (SMALL|CAPITAL) LETTER (\S+)")
GREEK_CAPITALS = frozenset("ΓΔΘΛΞΠΣΥΦΨΩ")
MARKDOWN = frozenset("\\`*_{}[]#|~$!")
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# More lines than this do not fit on a page.
PAGE = 48
# Tables with more columns than these need a whole page's width, and smaller letters.
NARROW, READABLE = 3, 6
# Names with more characters than this are wrapped.
LONGEST_NAME = 26
WRAPPED_NAME = "9em"
ARROWS = {"↑": r" $\uparrow$", "↓": r" $\downarrow$", "": ""}


def plain(text: str, known: Callable[[str], bool] = lambda character: True) -> str:
    """Return a text in one line of printable characters that are known; others as escapes."""
    return "".join(
        character
        if character.isprintable() and known(character)
        else character.encode("unicode_escape").decode()
        for character in " ".join(text.split())
    )


def as_markdown(table: Table) -> str:
    """Return a table as GitHub shows it."""
    headings, rows = table.flat()
    lines = [
        [markdown(f"{heading.name} {heading.arrow}") for heading in headings],
        [":---" if heading.left else "---:" for heading in headings],
        *([markdown(_text(cell)) for cell in row] for row in rows),
    ]
    return "\n".join(
        [markdown(table.caption), "", *(f"| {' | '.join(row)} |" for row in lines), ""]
    )


def as_csv(table: Table) -> str:
    """Return a table with means and standard deviations in columns of their own."""
    headings, rows = table.flat()
    columns: list[list[str]] = []
    for heading, cells in zip(headings, zip(*rows, strict=True), strict=True):
        means = [
            cell.mean_text
            if isinstance(cell, Measured)
            else guarded_text(plain(cell.words if isinstance(cell, Metric) else str(cell)))
            for cell in cells
        ]
        sds = [cell.sd_text if isinstance(cell, Measured) else "" for cell in cells]
        columns.append([guarded_text(plain(heading.name)), *means])
        if any(sds):
            columns.append([f"{plain(heading.name)} sd", *sds])
    lines = pd.DataFrame(zip(*columns, strict=True))
    return lines.to_csv(index=False, header=False, lineterminator="\n")


def as_latex(table: Table) -> str:
    """Return a table in the style of booktabs, to be read with ``\\input``.

    One that does not fit on a page goes on over pages, which works in one-column text only.
    """
    width = len(table.headings)
    alignment = "".join("l" if heading.left else "r" for heading in table.headings)
    if max(len(str(row[0])) for _, rows in table.sections for row in rows) > LONGEST_NAME:
        alignment = rf"p{{{WRAPPED_NAME}}}{alignment[1:]}"
    head = [r"\toprule", f"{' & '.join(map(_latex_heading, table.headings))} \\\\", r"\midrule"]
    body = list(_latex_body(table))
    size = "footnotesize" if width <= READABLE else "scriptsize"
    style = [rf"\{size}", r"\setlength\tabcolsep{3pt}"]
    caption = rf"\caption{{{latex(table.caption)}}}"
    label = rf"\label{{tab:changeproof-{table.name.replace('_', '-')}}}"
    if len(body) > PAGE:
        lines = [
            r"% Needs \usepackage{booktabs,longtable} and text in one column;",
            r"% names with accents also \usepackage[T1]{fontenc}.",
            "{" + style[0],
            style[1],
            rf"\begin{{longtable}}{{{alignment}}}",
            rf"{caption}{label}\\",
            *[*head, r"\endfirsthead", *head, r"\endhead", r"\midrule"],
            rf"\multicolumn{{{width}}}{{r}}{{continued on the next page}} \\",
            *[r"\endfoot", r"\bottomrule", r"\endlastfoot", *body],
            r"\end{longtable}",
            "}",
        ]
    else:
        kind = "table" if width <= NARROW else "table*"
        lines = [
            r"% Needs \usepackage{booktabs}; names with accents also \usepackage[T1]{fontenc}.",
            rf"\begin{{{kind}}}[tbp]",
            *[caption, label, r"\centering", *style],
            rf"\begin{{tabular}}{{{alignment}}}",
            *[*head, *body, r"\bottomrule"],
            r"\end{tabular}",
            rf"\end{{{kind}}}",
        ]
    return "\n".join(lines) + "\n"


def _latex_body(table: Table) -> Iterator[str]:
    for place, (title, rows) in enumerate(table.sections):
        if table.section_heading:
            if place:
                yield r"\addlinespace"
            yield rf"\multicolumn{{{len(table.headings)}}}{{l}}{{\textit{{{latex(title)}}}}} \\"
        for row in rows:
            cells = [_text(cell, r" $\pm$ ", latex) for cell in row]
            yield f"{' & '.join(cells)} \\\\"


def _latex_heading(heading: Heading) -> str:
    arrow = ARROWS[heading.arrow]
    if len(heading.lines) < 2:
        return latex(heading.name) + arrow
    stacked = r" \\ ".join(latex(line) for line in heading.lines)
    return rf"\shortstack[r]{{{stacked}{arrow}}}"


def _text(cell: Cell, plus_minus: str = " ± ", escape_text: Callable[[str], str] = plain) -> str:
    if isinstance(cell, Measured):
        return cell.text(plus_minus)
    if isinstance(cell, Metric):
        return escape_text(cell.words)
    return f"{cell:,}" if isinstance(cell, int) else escape_text(cell)


def results_html(tables: Tables) -> str:
    """Return the main tables of a run as HTML, as the terminal shows them."""
    words = judged_words(tables)
    parts = [f"<p>{escape(words)}</p>"] if words else []
    for table in screen_tables(tables):
        headings, rows = table.flat()
        cells = [[table.on_screen(cell) for cell in row] for row in rows]
        frame = pd.DataFrame(cells, columns=[heading.on_screen for heading in headings])
        with pd.option_context("display.max_colwidth", None):
            html = frame.to_html(index=False, border=0)
        parts.append(f"<b>{escape(table.title)}</b>\n{html}")
    return "\n".join(parts)


def markdown(text: str) -> str:
    """Return a text that Markdown shows as it is, also inside a table."""
    return "".join(
        f"\\{character}" if character in MARKDOWN else ENTITIES.get(character, character)
        for character in plain(text)
    )


def latex(text: str) -> str:
    """Return a text that LaTeX sets as it is; characters that it lacks, as code points."""
    shown = plain(text)
    # Two hyphens in a row would become a dash.
    return "".join(
        "-{}" if shown[place : place + 2] == "--" else _latex_character(character)
        for place, character in enumerate(shown)
    )


@cache
def _latex_character(character: str) -> str:
    if character in LATEX:
        return LATEX[character]
    if character.isascii() or character in ACCENTED:
        return character
    found = GREEK.fullmatch(unicodedata.name(character, ""))
    if found is None or (found[1] == "CAPITAL" and character not in GREEK_CAPITALS):
        return f"{{[}}U+{ord(character):04X}]"
    name = {"LAMDA": "lambda", "OMICRON": "mathit{o}"}.get(found[2], found[2].lower())
    return rf"\ensuremath{{\{name if found[1] == 'SMALL' else name.capitalize()}}}"
