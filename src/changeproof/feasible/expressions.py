"""Expressions about features: arithmetic, comparisons, and, or, not, if.

`parser.py` reads them from texts. They are evaluated for many rows at once. A value that does not
exist (a division by nought, an overflow, something missing) is NaN, and so is a truth value that
depends on it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from changeproof.feasible.feature import Feature
from changeproof.model import Booleans, Floats

# Numbers this near, as a share of what they were computed from, are equal.
EQUAL = 1e-12
TURNED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
Kind = Literal["number", "truth", "category"]


class Rows(Protocol):
    """What expressions are about: rows, one per person, and the people's own rows."""

    def now(self, place: int) -> Floats:
        """Return a feature's values: numbers, or ranks of categories; NaN where it is missing."""

    def was(self, place: int) -> Floats:
        """Return the people's own."""

    def changed(self, place: int) -> Booleans:
        """Return where the two differ."""

    def edge(self, place: int, side: int) -> Floats:
        """Return the least (side 0) or the most (side 1) that a feature may be."""

    def __len__(self) -> int: ...


class Result(NamedTuple):
    """Values, and how large the numbers were that they were computed from."""

    value: Floats
    size: Floats


@dataclass(frozen=True)
class Node(ABC):
    """A part of an expression."""

    @property
    def kind(self) -> Kind:
        return "number"

    @property
    def parts(self) -> tuple[Node, ...]:
        return ()

    @abstractmethod
    def of(self, rows: Rows) -> Result:
        """Return its value, or its truth, for every row."""

    def nodes(self) -> Iterator[Node]:
        yield self
        for part in self.parts:
            yield from part.nodes()

    @property
    def features(self) -> frozenset[int]:
        """The places of the features whose present values count."""
        read = (node for node in self.nodes() if isinstance(node, Reading | Changed))
        return frozenset(
            node.place for node in read if not (isinstance(node, Reading) and node.own)
        )


@dataclass(frozen=True)
class Number(Node):
    number: float
    text: str

    def of(self, rows: Rows) -> Result:
        value = np.full(len(rows), self.number)
        return Result(value, np.abs(value))


@dataclass(frozen=True)
class Word(Node):
    """A name that is no feature; a category, if it is compared with a feature that has it."""

    text: str
    at: int

    def of(self, rows: Rows) -> Result:
        raise AssertionError("the parser makes a category of a bare word, or refuses it")


@dataclass(frozen=True)
class Category(Node):
    rank: float

    @property
    def kind(self) -> Kind:
        return "category"

    def of(self, rows: Rows) -> Result:
        return _exact(np.full(len(rows), self.rank))


@dataclass(frozen=True)
class Reading(Node):
    """The value of a feature, or what it was."""

    place: int
    text: str
    categorical: bool
    own: bool = False

    @property
    def kind(self) -> Kind:
        return "category" if self.categorical else "number"

    def of(self, rows: Rows) -> Result:
        value = rows.was(self.place) if self.own else rows.now(self.place)
        return Result(value, np.abs(value))


@dataclass(frozen=True)
class Changed(Node):
    place: int

    @property
    def kind(self) -> Kind:
        return "truth"

    def of(self, rows: Rows) -> Result:
        return _exact(rows.changed(self.place).astype(np.float64))


@dataclass(frozen=True)
class Edge(Node):
    """The least (side 0) or the most (side 1) that a feature may be."""

    place: int
    side: int

    def of(self, rows: Rows) -> Result:
        value = rows.edge(self.place, self.side)
        return Result(value, np.abs(value))


@dataclass(frozen=True)
class Chain(Node):
    """Sums, or products: a first part, and signs with further parts, from left to right."""

    first: Node
    further: tuple[tuple[str, Node], ...]

    @property
    def parts(self) -> tuple[Node, ...]:
        return self.first, *(part for _, part in self.further)

    def of(self, rows: Rows) -> Result:
        value, size = self.first.of(rows)
        with np.errstate(all="ignore"):
            for sign, part in self.further:
                other, its_size = part.of(rows)
                if sign in "+-":
                    value = value + other if sign == "+" else value - other
                    size = size + its_size
                elif sign == "*":
                    value, size = value * other, size * its_size
                else:
                    value, size = value / other, size / np.abs(other)
                value = np.where(np.isfinite(value), value, np.nan)
        return Result(value, size)


@dataclass(frozen=True)
class Function(Node):
    name: str
    arguments: tuple[Node, ...]
    digits: int = 0

    @property
    def parts(self) -> tuple[Node, ...]:
        return self.arguments

    def of(self, rows: Rows) -> Result:
        found = [each.of(rows) for each in self.arguments]
        value, size = found[0]
        for other, its_size in found[1:]:
            value = np.minimum(value, other) if self.name == "min" else np.maximum(value, other)
            size = np.maximum(size, its_size)
        if self.name == "abs":
            value = np.abs(value)
        if self.name == "round":
            power = 10.0**self.digits
            with np.errstate(all="ignore"):
                value = np.rint(value * power) / power
            value = np.where(np.isfinite(value), value, np.nan)
        return Result(value, size)


@dataclass(frozen=True)
class Choice(Node):
    """If a test is true one thing, else another."""

    test: Node
    then: Node
    otherwise: Node

    @property
    def kind(self) -> Kind:
        return self.then.kind

    @property
    def parts(self) -> tuple[Node, ...]:
        return self.test, self.then, self.otherwise

    def of(self, rows: Rows) -> Result:
        test, (then, size), (other, its_size) = (part.of(rows) for part in self.parts)
        value = np.where(test.value == 1.0, then, np.where(test.value == 0.0, other, np.nan))
        return Result(value, np.where(test.value == 1.0, size, its_size))


@dataclass(frozen=True)
class Comparison(Node):
    sign: str
    left: Node
    right: Node

    @property
    def kind(self) -> Kind:
        return "truth"

    @property
    def parts(self) -> tuple[Node, ...]:
        return self.left, self.right

    def gap(self, rows: Rows) -> tuple[Floats, Floats]:
        """Return how much the left side is more than the right, and what counts as nothing."""
        (left, size), (right, its_size) = self.left.of(rows), self.right.of(rows)
        with np.errstate(all="ignore"):
            return left - right, EQUAL * (size + its_size)

    def of(self, rows: Rows) -> Result:
        return _exact(self.holds(*self.gap(rows)))

    def holds(self, gap: Floats, nothing: Floats) -> Floats:
        if self.sign in ("==", "!="):
            true = (np.abs(gap) <= nothing) == (self.sign == "==")
        elif self.sign in ("<=", ">"):
            true = (gap <= nothing) == (self.sign == "<=")
        else:
            true = (gap >= -nothing) == (self.sign == ">=")
        return np.where(np.isfinite(gap), true, np.nan)


@dataclass(frozen=True)
class Not(Node):
    part: Node

    @property
    def kind(self) -> Kind:
        return "truth"

    @property
    def parts(self) -> tuple[Node, ...]:
        return (self.part,)

    def of(self, rows: Rows) -> Result:
        return _exact(1.0 - self.part.of(rows).value)


@dataclass(frozen=True)
class Logic(Node):
    """Several truths with "and" or "or", or two with "=>", from left to right.

    What is decided by the first needs no value of the others.
    """

    sign: str
    truths: tuple[Node, ...]

    @property
    def kind(self) -> Kind:
        return "truth"

    @property
    def parts(self) -> tuple[Node, ...]:
        return self.truths

    def of(self, rows: Rows) -> Result:
        first, *others = (part.of(rows).value for part in self.truths)
        if self.sign == "=>":
            return _exact(np.where(first == 0.0, 1.0, np.where(first == 1.0, others[0], np.nan)))
        going_on = 1.0 if self.sign == "and" else 0.0
        for other in others:
            first = np.where(first == going_on, other, first)
        return _exact(first)


def _exact(value: Floats) -> Result:
    return Result(value, np.zeros(len(value)))


def every(*truths: Node) -> Node:
    return truths[0] if len(truths) == 1 else Logic("and", truths)


def either(*truths: Node) -> Node:
    return truths[0] if len(truths) == 1 else Logic("or", truths)


def names_in(nodes: Iterable[Node], features: Sequence[Feature]) -> list[str]:
    """Return the names of the features that nodes read, in the order of the task."""
    places = sorted({place for node in nodes for place in node.features})
    return [features[place].name for place in places]


def truth(value: Any) -> Booleans:
    """Return where a truth value is true; what has none is not."""
    return np.asarray(value == 1.0)
