"""Texts in cells that stand for something else: numbers with marks, dates, nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

CURRENCIES = "$€£¥₹₽₩₺₿"
CODES = "USD|EUR|GBP|JPY|CHF|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL"
# What people write where they know nothing, beside what pandas reads as missing.
PLACEHOLDERS = frozenset(
    {
        "?",
        "??",
        "-",
        "--",
        "---",
        "\u2013",
        "\u2014",
        ".",
        "..",
        "...",
        "*",
        "**",
        "#",
        "_",
        "/",
        "!",
    }
    | {"na", "n.a.", "n.a", "n. a.", "n/a", "nan", "nil", "null", "missing", "not available"}
    | {"(blank)", "blank", "(missing)", "(null)", "undefined", "tbd", "#n/a", "#ref!", "#value!"}
    | {"#div/0!", "#name?", "#null!", "#num!", "<na>", "no data", "not applicable", "not given"}
)

_GROUPS = r"\d{1,3}(?:[,.'\u2019 \u00a0\u202f]\d{3})+(?:[.,]\d+)?"
_NUMBER = re.compile(rf"[+\-\u2212]?(?:{_GROUPS}|\d+(?:[.,]\d+)?|[.,]\d+)")
_MARKS = re.compile(
    rf"(?P<sign>[+\-\u2212]?)\s*(?:[{re.escape(CURRENCIES)}]|{CODES})?\s*(?P<number>.*?)\s*"
    rf"(?:[{re.escape(CURRENCIES)}]|{CODES}|%|‰)?",
    re.IGNORECASE,
)
_CLOCK = r"(?:[T ]+\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:[AaPp][Mm]|Z|[+\-]\d{2}:?\d{2})?)?"
_DATE = re.compile(
    r"(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2(?:\d{4}|\d{2})"
    r"|\d{1,2}\.?[- ](?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?[- ]\d{2,4}"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d{1,2},? \d{4})" + _CLOCK,
    re.IGNORECASE,
)


def is_number(text: str) -> bool:
    """Return whether a text is a number that Python reads."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_marked_number(text: str) -> bool:
    """Return whether a text is a number with a percent sign, a currency or separators.

    >>> [is_marked_number(text) for text in ("12 %", "$1,200.50", "1.200,50 €", "12", "10-20")]
    [True, True, True, False, False]
    """
    if is_number(text):
        return False
    found = _MARKS.fullmatch(text.strip())
    return found is not None and _NUMBER.fullmatch(found["number"]) is not None


def is_date(text: str) -> bool:
    """Return whether a text looks like a date, with or without a time of day.

    >>> [is_date(text) for text in ("2026-11-17", "17.11.2026", "17 Nov 2026", "2026", "1.2.3")]
    [True, True, True, False, False]
    """
    return _DATE.fullmatch(text.strip()) is not None


def is_placeholder(text: str) -> bool:
    """Return whether a text often stands for a value that nobody knows."""
    return text.strip().lower() in PLACEHOLDERS


def shown(values: Sequence[Any], most: int = 3) -> str:
    """Return a few values for a message."""
    return ", ".join(map(repr, values[:most])) + (", ..." if len(values) > most else "")
