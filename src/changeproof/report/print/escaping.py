"""Text that means itself, whatever characters are in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache

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


def plain(text: str, known: Callable[[str], bool] = lambda character: True) -> str:
    """Return a text in one line of printable characters that are known; others as escapes."""
    return "".join(
        character
        if character.isprintable() and known(character)
        else character.encode("unicode_escape").decode()
        for character in " ".join(text.split())
    )


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
