"""A table for print as LaTeX, Markdown and CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from changeproof.report.escaping import latex, markdown, plain

UNDEFINED = "undefined"
# More lines than this do not fit on a page.
PAGE = 48
# Names with more characters than this are wrapped.
LONGEST_NAME = 26
WRAPPED_NAME = "9em"


@dataclass(frozen=True)
class Measured:
    """A mean with its standard deviation, either of which may be undefined (NaN)."""

    mean: float
    sd: float
    digits: int

    def text(self, plus_minus: str) -> str:
        """Return mean and sd; only the mean where there is no sd."""
        if math.isnan(self.mean):
            return UNDEFINED
        mean = f"{self.mean:.{self.digits}f}"
        return mean if math.isnan(self.sd) else f"{mean}{plus_minus}{self.sd:.{self.digits}f}"


Cell = str | int | Measured


@dataclass(frozen=True)
class Heading:
    """The heading of a column, and whether more (↑) or less (↓) is better.

    Where room is scarce, LaTeX sets the shorter `lines` one over the other instead.
    """

    name: str
    arrow: str = ""
    left: bool = False
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class PrintTable:
    """A table: headings, and rows in sections, each with a title of its own (or none)."""

    name: str
    caption: str
    headings: tuple[Heading, ...]
    sections: list[tuple[str, list[list[Cell]]]]
    section_heading: str = ""
    size: str = "footnotesize"
    wide: bool = False

    @property
    def lines(self) -> int:
        """How many lines the body has."""
        titles = len(self.sections) if self.section_heading else 0
        return titles + sum(len(rows) for _, rows in self.sections)


def as_markdown(table: PrintTable) -> str:
    """Return a table as GitHub shows it."""
    sections = [Heading(table.section_heading, left=True)] if table.section_heading else []
    headings = [*sections, *table.headings]
    lines = [
        markdown(table.caption),
        "",
        _markdown_row([markdown(f"{heading.name} {heading.arrow}") for heading in headings]),
        _markdown_row([":---" if heading.left else "---:" for heading in headings]),
    ]
    for title, row in _rows(table):
        cells = [markdown(_text(cell, " ± ")) for cell in row]
        lines.append(_markdown_row(([markdown(title)] if table.section_heading else []) + cells))
    return "\n".join(lines) + "\n"


def as_csv(table: PrintTable) -> str:
    """Return a table with means and standard deviations in columns of their own."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    columns = zip(*(row for _, row in _rows(table)), strict=True)
    spread = [any(map(_has_sd, column)) for column in columns]
    head = [table.section_heading] if table.section_heading else []
    for heading, with_sd in zip(table.headings, spread, strict=True):
        name = plain(heading.name)
        head += [name, f"{name} sd"] if with_sd else [name]
    writer.writerow(head)
    for title, row in _rows(table):
        cells = [plain(title)] if table.section_heading else []
        for cell, with_sd in zip(row, spread, strict=True):
            cells += _csv_cells(cell, with_sd)
        writer.writerow(cells)
    return buffer.getvalue()


def as_latex(table: PrintTable) -> str:
    """Return a table in the style of booktabs, to be read with ``\\input``."""
    alignment = "".join("l" if heading.left else "r" for heading in table.headings)
    if max(len(str(row[0])) for _, row in _rows(table)) > LONGEST_NAME:
        alignment = rf"p{{{WRAPPED_NAME}}}{alignment[1:]}"
    head = [r"\toprule", f"{' & '.join(map(_latex_heading, table.headings))} \\\\", r"\midrule"]
    label = rf"\label{{tab:changeproof-{table.name.replace('_', '-')}}}"
    if table.lines > PAGE:
        return _long_table(table, alignment, head, label)
    kind = "table*" if table.wide else "table"
    lines = [
        r"% Needs \usepackage{booktabs}; names with accents also \usepackage[T1]{fontenc}.",
        rf"\begin{{{kind}}}[tbp]",
        rf"  \caption{{{latex(table.caption)}}}",
        f"  {label}",
        r"  \centering",
        f"  \\{table.size}",
        r"  \setlength\tabcolsep{3pt}",
        rf"  \begin{{tabular}}{{{alignment}}}",
        *(f"    {line}" for line in [*head, *_latex_body(table), r"\bottomrule"]),
        r"  \end{tabular}",
        rf"\end{{{kind}}}",
    ]
    return "\n".join(lines) + "\n"


def _long_table(table: PrintTable, alignment: str, head: list[str], label: str) -> str:
    """Return a table that goes on over pages, which works in one-column text only."""
    width = len(table.headings)
    lines = [
        r"% Needs \usepackage{booktabs,longtable} and text in one column;",
        r"% names with accents also \usepackage[T1]{fontenc}.",
        rf"{{\{table.size}",
        r"\setlength\tabcolsep{3pt}",
        rf"\begin{{longtable}}{{{alignment}}}",
        rf"  \caption{{{latex(table.caption)}}}{label}\\",
        *(f"  {line}" for line in [*head, r"\endfirsthead", *head, r"\endhead"]),
        r"  \midrule",
        rf"  \multicolumn{{{width}}}{{r}}{{continued on the next page}} \\",
        r"  \endfoot",
        r"  \bottomrule",
        r"  \endlastfoot",
        *(f"  {line}" for line in _latex_body(table)),
        r"\end{longtable}",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _latex_body(table: PrintTable) -> Iterator[str]:
    for number, (title, rows) in enumerate(table.sections):
        if table.section_heading:
            if number:
                yield r"\addlinespace"
            width = len(table.headings)
            yield rf"\multicolumn{{{width}}}{{l}}{{\textit{{{latex(title)}}}}} \\"
        for row in rows:
            cells = [_text(cell, r" $\pm$ ", latex) for cell in row]
            yield f"{' & '.join(cells)} \\\\"


def _latex_heading(heading: Heading) -> str:
    arrow = {"↑": r" $\uparrow$", "↓": r" $\downarrow$"}.get(heading.arrow, "")
    if len(heading.lines) < 2:
        return latex(heading.name) + arrow
    stacked = r" \\ ".join(latex(line) for line in heading.lines)
    return rf"\shortstack[r]{{{stacked}{arrow}}}"


def _rows(table: PrintTable) -> Iterator[tuple[str, list[Cell]]]:
    for title, rows in table.sections:
        for row in rows:
            yield title, row


def _text(cell: Cell, plus_minus: str, escape: Callable[[str], str] = plain) -> str:
    if isinstance(cell, Measured):
        return cell.text(plus_minus)
    return f"{cell:,}" if isinstance(cell, int) else escape(cell)


def _has_sd(cell: Cell) -> bool:
    return isinstance(cell, Measured) and not math.isnan(cell.sd)


def _csv_cells(cell: Cell, with_sd: bool) -> list[str]:
    if not isinstance(cell, Measured):
        return [plain(str(cell))] + [""] * with_sd
    sd = "" if math.isnan(cell.sd) else f"{cell.sd:.{cell.digits}f}"
    mean = UNDEFINED if math.isnan(cell.mean) else f"{cell.mean:.{cell.digits}f}"
    return [mean, sd] if with_sd else [mean]


def _markdown_row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
