"""The options of audit about what came next: successors, thresholds, renewal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from changeproof.commands.audit_options import MODEL, option
from changeproof.commands.console import say
from changeproof.errors import InputError
from changeproof.files import plain_name, safe_name

if TYPE_CHECKING:
    from changeproof.workflow import Results

NEXT = "What came next"
ThresholdValue = Annotated[
    str | None,
    option(
        MODEL,
        "From where on a score is favourable: 0.6, 620 (higher scores are better) or "
        '"<=0.2" (lower ones are).',
        "0.5",
        metavar="SCORE",
    ),
]
SuccessorNames = Annotated[
    list[str] | None,
    option(
        NEXT,
        "A model that came after today's: pickle:FILE, python:module:name, onnx:FILE, or "
        "scores:FILE with its scores of the letters. With @SCORE behind it if its threshold is "
        "another. Repeat for several. Fitted models, today's too, are then used as they are.",
        metavar="[NAME=]MODEL",
    ),
]
Renew = Annotated[
    str | None,
    option(
        NEXT,
        "Renew letters that a successor breaks: a method looks for the further change from where "
        "the letter would have brought the person.",
        metavar="METHOD",
    ),
]


def model_of(reference: str, unpickle: bool, successors: bool = False) -> Any:
    """Return a reference unchanged; a pickle is loaded here, once, if that is allowed."""
    if not reference.startswith("pickle:"):
        return reference
    if successors:
        from changeproof.models.find import find_shipped

        return find_shipped(reference, unpickle=unpickle)
    from changeproof.models.find import find_learner

    return find_learner(reference, unpickle=unpickle)


def successors_of(given: list[str] | None, unpickle: bool) -> dict[str, Any] | None:
    """Return what repeated options name, by name; pickles are loaded, if that is allowed."""
    from changeproof.changes.successors import split_threshold

    found: dict[str, Any] = {}
    for text in given or ():
        before, sign, after = text.partition("=")
        named = bool(sign) and ":" not in before
        reference, threshold = split_threshold(after if named else text)
        name = safe_name(before.strip(), "a successor") if named else _name(reference)
        if name in found:
            raise InputError(f"two successors are called {name!r}; name them with NAME=MODEL")
        found[name] = (model_of(reference, unpickle, successors=True), threshold)
    return found or None


def _name(reference: str) -> str:
    kind, _, rest = reference.partition(":")
    return plain_name(rest.rpartition(":")[2] if kind == "python" else Path(rest).stem, "next")


def say_what_came_next(results: Results) -> None:
    """Print what successors do to letters, in sentences."""

    from changeproof.report.letters import letter_lines

    for sentence in letter_lines(results.tables()):
        say(sentence)
