"""A small language for rules between features, read by a parser of its own.

Texts become the nodes of `expressions.py`; nothing is ever run as Python. What is not part of the
language is refused in one line, which says where.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from changeproof.errors import InputError
from changeproof.feasible.expressions import (
    TURNED,
    Category,
    Chain,
    Changed,
    Choice,
    Comparison,
    Function,
    Logic,
    Node,
    Not,
    Number,
    Reading,
    Word,
)
from changeproof.feasible.feature import Feature

MOST_CHARACTERS, MOST_DEPTH, MOST_DIGITS = 1_000, 50, 12
TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<name>[^\W\d]\w*)
  | (?P<odd>`[^`]*`)
  | (?P<text>'[^']*'|"[^"]*")
  | (?P<sign>=>|->|<=|>=|==|!=|\*\*|[-+*/<>=(),:])
    )""",
    re.VERBOSE,
)
KEYWORDS = {"and", "or", "not", "if", "then", "else"}
FUNCTIONS = ("abs", "changed", "max", "min", "round", "was")
# What means something after a feature, or between several.
AFTER = ("up", "down", "changes", "change", "together", "at", "least", "most")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
HINTS = {
    "**": "there are no powers",
    "^": "there are no powers",
    "%": "there is no remainder",
    ".": "a name with other characters than letters, digits and _ stands in backticks",
    "[": "there are no brackets of this kind",
    "&": "write 'and'",
    "|": "write 'or'",
    "!": "write 'not' or !=",
    "`": "a backtick is missing",
    "'": "a quotation mark is missing",
    '"': "a quotation mark is missing",
    "=": "to compare, write ==",
}


def written_name(name: str) -> str:
    """Return a feature as rules name it: odd names stand between backticks.

    >>> written_name("income"), written_name("monthly charge")
    ('income', '`monthly charge`')
    """
    means_something = name.lower() in (*KEYWORDS, *FUNCTIONS, *AFTER)
    return name if _PLAIN.fullmatch(name) and not means_something else f"`{name}`"


def written_category(value: Any) -> str:
    """Return a category as it stands in a rule, between quotation marks that it does not have."""
    text = str(value)
    return f'"{text}"' if "'" in text else f"'{text}'"


class Token(NamedTuple):
    kind: str
    text: str
    at: int


class Parser:
    """Reads one text about the features of a task.

    Parameters
    ----------
    text
        What somebody wrote.
    features
        The features of the task.
    ranks
        The ranks of every feature's categories; None where they have no order.
    what
        What the text is, for messages.
    """

    def __init__(
        self,
        text: str,
        features: Sequence[Feature],
        ranks: Sequence[Sequence[int] | None],
        what: str = "rule",
        most: int = MOST_CHARACTERS,
    ) -> None:
        self.text, self.features, self.ranks, self.what = text, features, ranks, what
        self.places = {feature.name: place for place, feature in enumerate(features)}
        if not isinstance(text, str):
            raise InputError(f"{what} {text!r}: expected a text")
        if len(text) > most:
            raise InputError(
                f"{what} '{text[:40]}…' has {len(text)} characters; expected at most {most}"
            )
        self.tokens = list(self._tokens())
        self.next, self.depth = 0, 0

    def _tokens(self) -> Iterator[Token]:
        at, text = 0, self.text.rstrip()
        while at < len(text):
            found = TOKEN.match(text, at)
            if found is None:
                at += len(text[at:]) - len(text[at:].lstrip())
                hint = HINTS.get(text[at], "expected a name, a number or a sign")
                self.refuse(f"unexpected {text[at]!r}", at, hint)
            kind = str(found.lastgroup)
            yield Token(kind, found[kind], found.start(kind))
            at = found.end()
        yield Token("end", "", len(text))

    def refuse(self, problem: str, at: int, hint: str = "") -> NoReturn:
        where = f" at character {at + 1}" if at < len(self.text.rstrip()) else " at its end"
        raise InputError(
            f"{self.what} {self.text!r}: {problem}{where}{f'; {hint}' if hint else ''}"
        )

    @property
    def token(self) -> Token:
        return self.tokens[self.next]

    def ahead(self, number: int) -> Token:
        return self.tokens[min(self.next + number, len(self.tokens) - 1)]

    def take(self) -> Token:
        token = self.token
        self.next += token.kind != "end"
        return token

    def sees(self, *texts: str) -> bool:
        """Whether the next token is one of these signs or words."""
        return self.token.kind in ("sign", "name") and self.token.text in texts

    def took(self, *texts: str) -> bool:
        seen = self.sees(*texts)
        self.next += seen
        return seen

    def expect(self, text: str) -> None:
        if not self.took(text):
            self.unexpected(f"expected {text!r}")

    def unexpected(self, expected: str = "") -> NoReturn:
        token = self.token
        if token.kind == "end":
            self.refuse("something is missing", token.at, expected)
        self.refuse(f"unexpected {token.text!r}", token.at, HINTS.get(token.text, expected))

    def finish(self) -> None:
        if self.token.kind != "end":
            self.unexpected("expected an operator, or nothing more")

    def name(self, token: Token) -> str:
        return token.text[1:-1] if token.kind in ("odd", "text") else token.text

    def place(self, token: Token) -> int:
        """Return the place of the feature that a token names."""
        if token.kind not in ("name", "odd"):
            self.refuse("expected the name of a feature", token.at)
        name = self.name(token)
        if name not in self.places:
            self.unknown(name, token.at)
        return self.places[name]

    def unknown(self, name: str, at: int) -> NoReturn:
        known = list(self.places)
        near = difflib.get_close_matches(name, known, 1)
        some = ", ".join(known[:10]) + (", …" if len(known) > 10 else "")
        hint = f"did you mean {near[0]!r}?" if near else f"the features are {some}"
        self.refuse(f"unknown name {name!r}", at, hint)

    def number_of(self) -> Node:
        """Read an expression that is a number."""
        at = self.token.at
        return self._as_number(self.expression(), at)

    def truth_of(self) -> Node:
        """Read an expression that is true or false."""
        at = self.token.at
        return self._as_truth(self.expression(), at)

    def expression(self) -> Node:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            self.refuse("too deep", self.token.at, f"expected at most {MOST_DEPTH} levels")
        at, node = self.token.at, self._either()
        if self.took("=>"):
            then_at = self.token.at
            then = self._as_truth(self._either(), then_at)
            node = Logic("=>", (self._as_truth(node, at), then))
            if self.sees("=>"):
                self.refuse("a second =>", self.token.at, "use brackets, or 'and'")
        self.depth -= 1
        return node

    def _either(self) -> Node:
        return self._joined("or", lambda: self._joined("and", self._negation))

    def _joined(self, word: str, part: Callable[[], Node]) -> Node:
        at, node = self.token.at, part()
        if not self.sees(word):
            return node
        truths = [self._as_truth(node, at)]
        while self.took(word):
            at = self.token.at
            truths.append(self._as_truth(part(), at))
        return Logic(word, tuple(truths))

    def _negation(self) -> Node:
        negations = 0
        while self.took("not"):
            negations += 1
        at = self.token.at
        node = self._comparison()
        if negations:
            node = self._as_truth(node, at)
        return Not(node) if negations % 2 else node

    def _comparison(self) -> Node:
        at, left = self.token.at, self._sum()
        if isinstance(left, Reading) and not left.own:
            told = self._sugar(left)
            if told is not None:
                return told
        if not self.sees(*TURNED):
            return left
        sign = self.take()
        right_at = self.token.at
        right = self._sum()
        if self.sees(*TURNED):
            self.refuse("a second comparison", self.token.at, "join two by 'and'")
        return self._compared(sign.text, left, right, at, right_at)

    def _sugar(self, feature: Reading) -> Node | None:
        """Read what may stand after a feature: up, down, changes, at least + 2."""
        if self.token.kind != "name":
            return None
        own = Reading(feature.place, feature.text, feature.categorical, own=True)
        at = self.token.at
        if self.took("up"):
            return self._compared(">", feature, own, at, at)
        if self.took("down"):
            return self._compared("<", feature, own, at, at)
        if self.took("changes"):
            return Changed(feature.place)
        if not self.sees("at"):
            return None
        self.take()
        if not self.sees("least", "most"):
            self.unexpected("expected 'at least' or 'at most'")
        sign = ">=" if self.take().text == "least" else "<="
        at = self.token.at
        if not self.sees("+", "-"):
            return self._compared(sign, feature, self._sum(), at, at)
        way = self.take().text
        amount = self._as_number(self._product(), at)
        if feature.categorical:
            self._as_number(feature, at)
        return Comparison(sign, feature, Chain(own, ((way, amount),)))

    def _compared(self, sign: str, left: Node, right: Node, at: int, right_at: int) -> Node:
        for one, other, its_at in ((left, right, right_at), (right, left, at)):
            if isinstance(one, Reading) and one.categorical:
                feature = self.features[one.place]
                if sign not in ("==", "!=") and self.ranks[one.place] is None:
                    self.refuse(
                        f"{feature.name!r} has categories without an order", at, "use == or !="
                    )
                if isinstance(other, Reading) and other.categorical:
                    if self.features[other.place].categories != feature.categories:
                        self.refuse("features with different categories are compared", at)
                    return Comparison(sign, left, right)
                category = self._category(one.place, other, its_at)
                return Comparison(sign, *((one, category) if one is left else (category, one)))
        left, right = self._as_number(left, at), self._as_number(right, right_at)
        return Comparison(sign, left, right)

    def _category(self, place: int, node: Node, at: int) -> Category:
        feature = self.features[place]
        if not isinstance(node, Word | Number | Reading):
            self.refuse(f"{feature.name!r} holds categories", at, "compare it with one of them")
        return Category(self.rank(place, node.text, at))

    def rank(self, place: int, text: str, at: int) -> float:
        """Return the rank of a category, or its place among the categories without an order."""
        feature = self.features[place]
        code = feature.code_of(text)
        if code < 0:
            known = [str(category) for category in feature.categories]
            near = difflib.get_close_matches(text, known, 1)
            some = ", ".join(known[:10]) + (", …" if len(known) > 10 else "")
            hint = f"did you mean {near[0]!r}?" if near else f"its categories are {some}"
            self.refuse(f"{feature.name!r} has no category {text!r}", at, hint)
        order = self.ranks[place]
        return float(code if order is None else order[code])

    def _sum(self) -> Node:
        return self._chain(("+", "-"), self._product)

    def _product(self) -> Node:
        return self._chain(("*", "/"), self._signed)

    def _chain(self, signs: tuple[str, ...], part: Callable[[], Node]) -> Node:
        at, first = self.token.at, part()
        further: list[tuple[str, Node]] = []
        while self.sees(*signs):
            sign, its_at = self.take().text, self.token.at
            further.append((sign, self._as_number(part(), its_at)))
        return Chain(self._as_number(first, at), tuple(further)) if further else first

    def _signed(self) -> Node:
        negative = False
        at = self.token.at
        while self.sees("-", "+"):
            negative ^= self.take().text == "-"
        node = self._primary()
        if self.token.text == "**":
            self.unexpected()
        if not negative:
            return node
        node = self._as_number(node, at)
        if isinstance(node, Number):
            return Number(-node.number, f"-{node.text}")
        return Chain(Number(0.0, "0"), (("-", node),))

    def _primary(self) -> Node:
        token = self.token
        if self.took("("):
            node = self.expression()
            self.expect(")")
            return node
        if token.kind == "number":
            self.take()
            if not np.isfinite(float(token.text)):
                self.refuse(f"the number {token.text} is too large", token.at)
            return Number(float(token.text), token.text)
        if token.kind == "name" and token.text == "if":
            return self._choice()
        if token.kind == "text":
            self.take()
            return Word(self.name(token), token.at)
        if token.kind not in ("name", "odd") or token.text in KEYWORDS:
            self.unexpected("expected a feature, a number or '('")
        self.take()
        if self.sees("(") and token.kind == "name":
            return self._call(token)
        name = self.name(token)
        if name in self.places:
            place = self.places[name]
            return Reading(place, name, bool(self.features[place].categories))
        if token.kind == "odd":
            self.unknown(name, token.at)
        return Word(name, token.at)

    def _choice(self) -> Node:
        self.take()
        test = self.truth_of()
        self.expect("then")
        at, then = self.token.at, self.expression()
        if not self.took("else"):
            return Logic("=>", (test, self._as_truth(then, at)))
        other_at, other = self.token.at, self.expression()
        if then.kind == "truth":
            return Choice(test, then, self._as_truth(other, other_at))
        return Choice(test, self._as_number(then, at), self._as_number(other, other_at))

    def _call(self, token: Token) -> Node:
        if token.text not in FUNCTIONS:
            known = ", ".join(FUNCTIONS)
            self.refuse(f"there is no function {token.text!r}", token.at, f"there are {known}")
        self.expect("(")
        if token.text in ("was", "changed"):
            place = self.place(self.take())
            self.expect(")")
            if token.text == "changed":
                return Changed(place)
            feature = self.features[place]
            return Reading(place, feature.name, bool(feature.categories), own=True)
        arguments, digits = [self.number_of()], 0
        while self.took(","):
            at = self.token.at
            arguments.append(self.number_of())
            if token.text == "round":
                digits = self._digits(arguments.pop(), at)
                break
        self.expect(")")
        if token.text in ("min", "max") and len(arguments) < 2:
            self.refuse(f"{token.text} needs two numbers or more", token.at)
        if token.text in ("abs", "round") and len(arguments) > 1:
            self.refuse(f"{token.text} takes one number", token.at)
        return Function(token.text, tuple(arguments), digits)

    def _digits(self, node: Node, at: int) -> int:
        if not isinstance(node, Number) or node.number not in range(MOST_DIGITS + 1):
            self.refuse("expected how many digits", at, f"a whole number from 0 to {MOST_DIGITS}")
        return int(node.number)

    def _as_number(self, node: Node, at: int) -> Node:
        if isinstance(node, Word):
            self.unknown(node.text, node.at)
        if isinstance(node, Reading) and node.categorical:
            known = ", ".join(map(str, self.features[node.place].categories[:10]))
            self.refuse(f"{node.text!r} holds categories", at, f"compare it with one of: {known}")
        if node.kind != "number":
            self.refuse("expected a number, not something true or false", at)
        return node

    def _as_truth(self, node: Node, at: int) -> Node:
        if isinstance(node, Word):
            self.unknown(node.text, node.at)
        if node.kind != "truth":
            self.refuse("expected a comparison", at, "such as income >= 1000")
        return node
