"""The errors that people are meant to read."""

from __future__ import annotations

from collections.abc import Iterable


class InputError(ValueError):
    """Something that was given does not fit; the message names it and what is allowed.

    The command line prints the message on one line and exits with code 2.
    """


class BusyError(InputError):
    """Another run is at work in the same directory."""


def unknown(what: str, given: str, allowed: Iterable[str]) -> InputError:
    """Return the error for a name that is not one of the allowed ones."""
    return InputError(f"unknown {what} {given!r}; expected one of: {', '.join(allowed)}")
