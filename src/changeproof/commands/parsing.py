"""From the texts of options to the values that they mean."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from changeproof.errors import RULES, InputError
from changeproof.files import plain_name, safe_name
from changeproof.models.references import name_of, runs_code

# The options that say how features may change.
CHANGES = {"immutable": "none", "only_increase": "increase", "only_decrease": "decrease"}
CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
# Quoted text, a bracket, a comma or an equals sign; the apostrophe in a word quotes nothing.
SIGN = re.compile(r"""(?<![^\s(\[{,=:])(?:"[^"]*"|'[^']*')|[(\[{)\]},=]""")


def split(values: list[str]) -> list[str]:
    """Return the names in repeated options with commas.

    Commas in brackets or quotes do not separate: ``rbr(samples=5, delta=0.1),kdtree`` is two names.
    """
    names = [name.strip() for value in values for name in _parts(value, ",") if name.strip()]
    if values and not names:
        given = " ".join(map(repr, values))
        raise InputError(f"expected at least one name; got {given}, which has none")
    return names


def _parts(text: str, separator: str) -> list[str]:
    """Return what stands between separators that are in no brackets and no quotes."""
    parts, start = [], 0
    awaited: list[str] = []
    for found in SIGN.finditer(text):
        sign = found.group()
        if sign in CLOSED_BY:
            awaited.append(CLOSED_BY[sign])
        elif sign in CLOSED_BY.values():
            if not awaited or awaited.pop() != sign:
                raise InputError(f"{text!r} has a {sign!r} that closes nothing")
        elif sign == separator and not awaited:
            parts.append(text[start : found.start()])
            start = found.end()
    if awaited:
        raise InputError(f"{text!r} is missing a {awaited[-1]!r}")
    return [*parts, text[start:]]


def whole_numbers(what: str, values: list[str]) -> list[int]:
    """Return texts as whole numbers; `what` names them in an error."""
    for value in values:
        if not value.isdecimal():
            raise InputError(f"{what} {value!r}; expected a whole number of 0 or more")
    return [int(value) for value in values]


def matches(given: list[str]) -> dict[str, str]:
    """Return pairs of methods, OLD=NEW; an equals sign in brackets belongs to a setting."""
    found: dict[str, str] = {}
    for text in given:
        old, *rest = _parts(text, "=")
        old, new = old.strip(), "=".join(rest).strip()
        if not old or not new:
            raise InputError(f"--match {text!r}; expected OLD=NEW")
        if old in found or new in found.values():
            raise InputError(f"--match {text!r}: a method is matched more than once")
        found[old] = new
    return found


def grid_of(given: list[str]) -> dict[str, list[Any]]:
    """Return parameters and their values from repeated options, PARAMETER=VALUE,VALUE."""
    grid = {}
    for text in given:
        key, sign, values = text.partition("=")
        if not sign or not values:
            raise InputError(f"--grid {text!r}; expected PARAMETER=VALUE,VALUE")
        grid[key.strip()] = [_literal(value.strip()) for value in values.split(",")]
    return grid


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def constraints(given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what may change by feature, as `own_task` takes it, from the options about that."""
    found: dict[str, dict[str, Any]] = {}
    for option, change in CHANGES.items():
        for feature in given.get(option, ()):
            if feature in found:
                before, flag = RULES[found[feature]["change"]], RULES[change]
                again = "more than once" if before == flag else f"and to {flag}; expected one"
                raise InputError(f"feature {feature!r} is given to {before} {again}")
            found[feature] = {"change": change}
    for text in given.get("range", ()):
        feature, limits = _range(text)
        if {"low", "high"} & found.get(feature, {}).keys():
            raise InputError(f"feature {feature!r} is given to --range more than once")
        found[feature] = found.get(feature, {}) | limits
    return found


def _range(text: str) -> tuple[str, dict[str, float]]:
    feature, sign, limits = text.rpartition("=")
    low, colon, high = limits.partition(":")
    ends = {"low": low.strip(), "high": high.strip()}
    try:
        numbers = {name: float(end) for name, end in ends.items() if end}
    except ValueError:
        numbers = {}
    if not sign or not feature.strip() or not colon or not numbers:
        raise InputError(f"--range {text!r}; expected FEATURE=LOW:HIGH, such as income=0:90000")
    return feature.strip(), numbers


def tables_of(given: list[str]) -> dict[str, Path]:
    """Return tables of counterfactuals from repeated options, [NAME=]FILE."""
    tables: dict[str, Path] = {}
    for text in given:
        before, sign, after = text.partition("=")
        path = Path(after if sign else text)
        name = safe_name(before, "counterfactuals") if sign else plain_name(path.stem, "given")
        if name in tables:
            raise InputError(f"two tables are called {name!r}; name them with NAME=FILE")
        tables[name] = path
    return tables


def successors_of(given: list[str], unpickle: bool) -> dict[str, Any]:
    """Return successors from repeated options, [NAME=]MODEL; what runs code, only if allowed."""
    from changeproof.changes.successors import split_threshold

    found = {}
    for text in given:
        before, sign, after = text.partition("=")
        named = bool(sign) and ":" not in before
        reference, threshold = split_threshold(after if named else text)
        own = name_of(reference)
        name = safe_name(before.strip(), "a successor") if named else plain_name(own, "next")
        if name in found:
            raise InputError(f"two successors are called {name!r}; name them with NAME=MODEL")
        found[name] = (model_of(reference, unpickle, successor=True), threshold)
    return found


def model_of(reference: str, unpickle: bool, successor: bool = False) -> Any:
    """Return a reference unchanged; what runs code is loaded here, once, if that is allowed."""
    if not runs_code(reference):
        return reference
    from changeproof.models.find import find_shipped, load_model

    return (find_shipped if successor else load_model)(reference, unpickle=unpickle)
