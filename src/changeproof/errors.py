"""The errors that people are meant to read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


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

    The command line and dataset files say it in their own way: see `spelling.py`.

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
