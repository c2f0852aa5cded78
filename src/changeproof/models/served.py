"""Models behind an address: they are asked over HTTP, and judge rows of original features.

A batch is one POST of {"columns": [...], "rows": [[...], ...]}. Missing values are null, dates are
ISO text to the second. The answer is {"scores": [...]}, one number per row, or
{"probabilities": [[...], ...], "classes": [...]}, one share per row and class.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from functools import cache, cached_property, partial
from http.client import HTTPException, HTTPResponse
from ipaddress import ip_address
from time import monotonic
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPRedirectHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

import numpy as np
import pandas as pd

from changeproof.datasets.task import Task
from changeproof.errors import InputError, visible
from changeproof.feasible.feature import text_of
from changeproof.model import Floats
from changeproof.models.asked import Answers, asked_model
from changeproof.models.learner import FittedModel
from changeproof.models.references import SERVED, name_of
from changeproof.models.shipped import ShippedModel

TIMEOUT = 60.0
BATCH = 1000
LARGEST_ANSWER = 16 * 2**20
PIECE = 2**16
# How many training rows are asked again, to see that the same model still answers.
ASKED_AGAIN = 100
FORM = '{"scores": [...]} or {"probabilities": [[...], ...], "classes": [...]}'
HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}


class OfTraining(NamedTuple):
    """What was answered for the training rows of the first task."""

    task: str
    answers: Answers


class ServedModel(ShippedModel):
    """A model that is asked over HTTP.

    What is at an address can change. So its hash is that of its answers for the training rows, and
    some of these rows are asked again whenever the model is needed.

    Parameters
    ----------
    address
        Where rows are posted to, http://HOST:PORT/PATH or https://HOST/PATH. Reports show it.
    name
        Its name in tables; by default the last part of the address.
    timeout
        The most seconds that a batch may take.
    batch
        The most rows of a request.
    """

    kind = "served model"

    def __init__(
        self,
        address: str,
        name: str | None = None,
        *,
        timeout: float = TIMEOUT,
        batch: int = BATCH,
    ) -> None:
        self.address = self.reference = _checked(address)
        self.name = name_of(address) if name is None else name
        self.timeout, self.batch = timeout, batch
        self.digest = hashlib.sha256(address.encode()).hexdigest()
        self.of_training: OfTraining | None = None

    def fitted(self, task: Task) -> FittedModel:
        found = super().fitted(task)
        known = self._answers[task.fingerprint]
        self._check_the_same(task, task.rows("train")[:ASKED_AGAIN], known)
        if self.of_training is None:
            self.of_training = OfTraining(task.fingerprint, known)
            self.digest = self._digest(known)
        return found

    def _fitted(self, task: Task) -> FittedModel:
        rows, first = task.rows("train"), self.of_training
        is_first = first is not None and first.task == task.fingerprint
        known = first.answers if first is not None and is_first else self._ask(task, rows)
        self._answers[task.fingerprint] = known
        ask = partial(self._known_or_asked, task, rows, known)
        return asked_model(self.name, ask, known.classes, task)

    @cached_property
    def _answers(self) -> dict[str, Answers]:
        """What was answered for the training rows, by task."""
        return {}

    def _known_or_asked(
        self, task: Task, trained_on: Floats, known: Answers, rows: Floats
    ) -> Answers:
        if np.array_equal(rows, trained_on):
            return known
        return self._like(known, self._ask(task, rows))

    def _check_the_same(self, task: Task, rows: Floats, known: Answers) -> None:
        before = known.numbers[: len(rows)]
        now = self._like(known, self._ask(task, rows)).numbers
        differ = ~np.isclose(now, before, rtol=1e-6, atol=1e-9)
        if differ.any():
            place = tuple(np.argwhere(differ)[0])
            raise InputError(
                f"{self._where} answered {before[place]:g} for a row and then {now[place]:g} for "
                "the same row; expected a model that does not change meanwhile"
            )

    def _like(self, known: Answers, now: Answers) -> Answers:
        if now.classes != known.classes:
            kinds = [
                "scores" if each.classes is None else f"classes {', '.join(map(str, each.classes))}"
                for each in (known, now)
            ]
            raise InputError(f"{self._where} answered with {kinds[0]}, and then with {kinds[1]}")
        return now

    def _digest(self, answers: Answers) -> str:
        # Nine digits: a server may add up in another order when it is started again.
        numbers = ",".join(f"{number:.9g}" for number in answers.numbers.ravel())
        content = json.dumps([self.address, repr(answers.classes), numbers])
        return hashlib.sha256(content.encode()).hexdigest()

    @property
    def _where(self) -> str:
        return f"the model at {self.address}"

    def _ask(self, task: Task, rows: Floats) -> Answers:
        """Return what is answered for rows; those that are equal are asked once."""
        places: dict[bytes, int] = {}
        inverse = [places.setdefault(row.tobytes(), len(places)) for row in rows]
        _, first = np.unique(inverse, return_index=True)
        frame = task.table_rows(rows[first])
        parts = [
            read_answers(self._where, self._post(batch, count), count)
            for batch, count in _batches(frame, self.batch)
        ]
        for part in parts[1:]:
            self._like(parts[0], part)
        numbers = np.concatenate([part.numbers for part in parts])
        return Answers(numbers[inverse], parts[0].classes)

    def _post(self, body: bytes, rows: int) -> bytes:
        request = Request(self.address, data=body, headers=HEADERS, method="POST")
        opener = _opener(_is_local(self.address))
        end = monotonic() + self.timeout
        try:
            with opener.open(request, timeout=self.timeout) as response:
                return self._content(response, end)
        except HTTPError as error:
            with error:
                raise InputError(self._status(error, rows)) from None
        except (OSError, HTTPException) as error:
            cause = error.reason if isinstance(error, URLError) else error
            if isinstance(cause, TimeoutError):
                raise InputError(
                    f"{self._where} did not answer {rows} rows within {self.timeout:g} seconds"
                ) from None
            why = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
            raise InputError(f"{self._where} cannot be asked: {shown(why)}") from None

    def _content(self, response: HTTPResponse, end: float) -> bytes:
        content = bytearray()
        while piece := response.read1(PIECE):
            content += piece
            if len(content) > LARGEST_ANSWER:
                most = f"{LARGEST_ANSWER // 2**20} MiB"
                raise InputError(f"{self._where} answers more than {most}; expected {FORM}")
            if monotonic() > end:
                raise TimeoutError
        return bytes(content)

    def _status(self, error: HTTPError, rows: int) -> str:
        if 300 <= error.code < 400:
            to = shown(error.headers.get("Location") or "nowhere")
            return f"{self._where} redirects to {to}; pass the address itself, if you trust it"
        try:
            said = shown(error.read1(PIECE).decode("utf-8", "replace"))
        except (OSError, HTTPException):
            said = ""
        status = shown(f"HTTP {error.code} {error.reason}{': ' if said else ''}{said}")
        return f"{self._where} answered {rows} rows with {status}"


def read_answers(where: str, content: bytes, rows: int) -> Answers:
    """Return what a server answered for as many rows, or refuse anything else in one line."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        text = shown(content.decode("utf-8", "replace"))
        raise InputError(f"{where} answers no JSON: {text or 'nothing'}; expected {FORM}") from None
    if not isinstance(found, dict) or len(found.keys() & {"scores", "probabilities"}) != 1:
        raise InputError(f"{where} answers {shown(json.dumps(found))}; expected {FORM}")
    if "scores" in found:
        scores = _list(where, "scores", found["scores"], rows)
        return Answers(np.array([_number(where, "score", each) for each in scores]))
    classes: Any = found.get("classes")
    if not _are_names(classes):
        given = "no classes" if classes is None else f"the classes {shown(json.dumps(classes))}"
        raise InputError(
            f'{where} answers probabilities and {given}; expected "classes", a name for each column'
        )
    table = _list(where, "probabilities", found["probabilities"], rows)
    shares = np.array([_shares(where, row, len(classes)) for row in table])
    return Answers(shares, tuple(classes))


def _are_names(classes: Any) -> bool:
    if not isinstance(classes, list) or not all(isinstance(c, str | int | float) for c in classes):
        return False
    return len({text_of(each) for each in classes}) == len(classes) > 1


def _list(where: str, what: str, found: Any, length: int) -> list[Any]:
    if not isinstance(found, list):
        raise InputError(f"{where} answers {what} {shown(json.dumps(found))}; expected a list")
    if len(found) != length:
        raise InputError(f"{where} answers {len(found)} {what} for {length} rows")
    return found


def _number(where: str, what: str, found: Any) -> float:
    number = None
    if isinstance(found, int | float) and not isinstance(found, bool):
        try:
            number = float(found)
        except OverflowError:
            number = np.inf
    if number is None or not np.isfinite(number):
        raise InputError(
            f"{where} answers {shown(json.dumps(found))} as a {what}; expected a finite number"
        )
    return number


def _shares(where: str, found: Any, classes: int) -> list[float]:
    if not isinstance(found, list) or len(found) != classes:
        raise InputError(
            f"{where} answers the probabilities {shown(json.dumps(found))} for a row; expected one "
            f"for each of {classes} classes"
        )
    shares = [_number(where, "probability", each) for each in found]
    if min(shares) < 0.0 or abs(sum(shares) - 1.0) > 0.01:
        raise InputError(
            f"{where} answers the probabilities {shown(json.dumps(found))} for a row; expected "
            "shares that add up to 1"
        )
    return shares


def _batches(frame: pd.DataFrame, size: int) -> Iterator[tuple[bytes, int]]:
    """Yield the bodies of requests for the rows of a table, and how many rows each has."""
    columns = [_plain(frame[name]) for name in frame.columns]
    rows = list(zip(*columns, strict=True))
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        body = json.dumps({"columns": list(frame.columns), "rows": part}, allow_nan=False)
        yield body.encode(), len(part)


def _plain(column: pd.Series[Any]) -> Sequence[Any]:
    """Return values as JSON has them."""
    missing = column.isna()
    return [
        None if absent else _json_value(value)
        for value, absent in zip(column.astype(object), missing, strict=True)
    ]


def _json_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")  # of one form, also between the table's values
    if isinstance(value, date):
        return value.isoformat()
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, bool | int | float | str) else str(value)


def shown(text: str, most: int = 100) -> str:
    """Return what a stranger wrote on one short line."""
    line = visible(" ".join(text.split()))
    return line if len(line) <= most else f"{line[:most]}…"


def _checked(address: str) -> str:
    try:
        parts = urlsplit(address)
        fits = parts.scheme in SERVED and parts.hostname and parts.port != 0
    except ValueError:
        fits = False
    if not fits or not address.isascii() or not address.isprintable() or " " in address:
        raise InputError(
            f"model {visible(address)!r} is no address; expected http://HOST:PORT/PATH or "
            "https://HOST/PATH"
        )
    if "@" in parts.netloc or parts.fragment:
        raise InputError(
            f"model {parts.scheme}://{parts.hostname}: expected an address without user, password "
            "and fragment, since reports show it"
        )
    return address


def _is_local(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


@cache
def _opener(direct: bool) -> OpenerDirector:
    """Return what opens addresses: redirects are refused, and direct is without any proxy."""
    return build_opener(_NoRedirects, *([ProxyHandler({})] if direct else []))
