"""A table for print as LaTeX, Markdown and CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pandas as pd

from changeproof.report.numbers import Measured
from changeproof.report.print.escaping import latex, markdown, plain
from changeproof.report.table import Cell, Heading, Table
from changeproof.spreadsheets import guarded_text

# More lines than this do not fit on a page.
PAGE = 48
# Tables with more columns than these need a whole page's width, and smaller letters.
NARROW, READABLE = 3, 6
# Names with more characters than this are wrapped.
LONGEST_NAME = 26
WRAPPED_NAME = "9em"
ARROWS = {"↑": r" $\uparrow$", "↓": r" $\downarrow$", "": ""}


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
            cell.mean_text if isinstance(cell, Measured) else guarded_text(plain(str(cell)))
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


def _text(cell: Cell, plus_minus: str = " ± ", escape: Callable[[str], str] = plain) -> str:
    if isinstance(cell, Measured):
        return cell.text(plus_minus)
    return f"{cell:,}" if isinstance(cell, int) else escape(cell)
