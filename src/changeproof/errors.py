"""The errors that people are meant to read, and text on its way to them.

Messages name a setting as Python has it, in backticks: `missing='impute'` (see `setting`). Where
somebody used the command line or a dataset file, its message is respelled once, on the way out:
--missing impute, or missing = "impute".
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Callable, Iterable
from typing import Any

# Escape sequences, marks that turn the direction of writing, halves of characters.
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
SETTINGS = re.compile(r"`([a-z_]+=[^`]*)`")
# Keys of a dataset file that have another name in Python.
KEYS = {"id_column": "id", "actions": "features"}


class InputError(ValueError):
    """Something that was given does not fit; the message names it and what is allowed.

    The command line prints the message on one line and exits with code 2.
    """


class BusyError(InputError):
    """Another run is at work in the same directory."""


def unknown(what: str, given: str, allowed: Iterable[str]) -> InputError:
    """Return the error for a name that is not one of the allowed ones."""
    return InputError(f"unknown {what} {given!r}; expected one of: {', '.join(allowed)}")


def setting(**named: Any) -> str:
    """Name a setting in a message, as Python has it.

    >>> setting(missing="impute")
    "`missing='impute'`"
    """
    return "`" + ", ".join(f"{name}={value!r}" for name, value in named.items()) + "`"


def described(thing: Any) -> str:
    """Say in a message what somebody gave."""
    if isinstance(thing, type):
        return f"the class {thing.__name__}"
    return "None" if thing is None else f"an object of type {type(thing).__name__}"


def one_line(error: BaseException) -> str:
    """Return an error in one line: the message of one of ours, else with its type."""
    text = str(error).strip().splitlines()
    if text and isinstance(error, InputError):
        return text[0]
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__


def visible(text: str, *, lines: bool = False) -> str:
    """Return text that a terminal shows and does not obey: control characters as they are written.

    Without `lines`, also on one line.

    >>> print(visible("a\x1b[31mb"))
    a\\x1b[31mb
    """
    shown = HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
    return shown if lines else shown.replace("\n", "\\n")


def as_options(text: str) -> str:
    """Return a message with settings as options of the command line.

    >>> as_options("ask for `missing='impute'`")
    'ask for --missing impute'
    """
    return _respelled(text, _option, " ")


def as_keys(text: str) -> str:
    """Return a message with settings as keys of a dataset file.

    >>> as_keys("ask for `id_column='applicant'`")
    'ask for id = "applicant"'
    """
    return _respelled(text, _key, ", ")


def keywords(text: str) -> dict[str, Any] | None:
    """Return settings that are written as in a call, with plain values; None if they are not.

    >>> keywords("quantile=0.7, samples=5")
    {'quantile': 0.7, 'samples': 5}
    """
    try:
        call = ast.parse(f"_({text})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Name):
            return None
        if any(word.arg is None for word in call.keywords):
            return None
        return {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


def _respelled(text: str, spell: Callable[[str, Any], str], between: str) -> str:
    def respell(found: re.Match[str]) -> str:
        named = keywords(found[1])
        if named is None:
            return found[0]
        return between.join(spell(name, value) for name, value in named.items())

    return SETTINGS.sub(respell, text)


# How the command line says what may change.
RULES = {"none": "--immutable", "increase": "--only-increase", "decrease": "--only-decrease"}


def _option(name: str, value: Any) -> str:
    if name == "actions":
        flags: dict[str, list[str]] = {}
        for feature, rule in value.items():
            flags.setdefault(RULES[rule["change"]], []).append(feature)
        return " ".join(f"{flag} {shlex.quote(','.join(names))}" for flag, names in flags.items())
    if name == "rules":
        return " ".join(f"--rule {shlex.quote(each)}" for each in value)
    flag = f"--{name.replace('_', '-')}"
    if value is True:
        return flag
    several = isinstance(value, list | tuple)
    return f"{flag} {shlex.quote(','.join(map(str, value)) if several else str(value))}"


def _key(name: str, value: Any) -> str:
    if name == "actions":
        rules = ((json.dumps(each, ensure_ascii=False), how) for each, how in value.items())
        return ", ".join(f'[features.{each}] change = "{how["change"]}"' for each, how in rules)
    return f"{KEYS.get(name, name)} = {json.dumps(value, ensure_ascii=False)}"
