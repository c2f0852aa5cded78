"""Rules between features: what follows from what, and which values go together.

A person does something, and the rest follows: a derived feature is computed from others, a caused
one moves with its causes. A row as told has all of that; a row as done differs from the person's
own only in what the person does. `follow` leads from the one to the other, `doing` back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from changeproof.errors import InputError
from changeproof.feasible.expressions import (
    Changed,
    Comparison,
    Edge,
    Logic,
    Node,
    Not,
    Reading,
    either,
    names_in,
    truth,
)
from changeproof.feasible.feature import Feature
from changeproof.feasible.parser import Parser
from changeproof.feasible.rules import BINARY, CATEGORIES, Rules
from changeproof.model import Booleans, Floats, Integers

# A number within this share of its size (and of its deviation) of another is that number.
SAME = 1e-9
# So much more than half a step is still rounding.
ROUNDING = 0.5 + 1e-6
Ranks = Sequence[Sequence[int] | None]


@dataclass(frozen=True)
class Follower:
    """A feature that follows from others: derived from them, or else caused by them."""

    place: int
    node: Node
    text: str
    derived: bool

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """The features that it follows from."""
        return tuple(sorted(self.node.features))


@dataclass(frozen=True)
class Condition:
    """What has to be true of a row if a feature that it names differs from the person's own."""

    node: Node
    text: str

    @cached_property
    def features(self) -> frozenset[int]:
        return self.node.features

    def broken(self, here: Situation) -> Booleans:
        concerned = here.any_changed(self.features)
        if not concerned.any():
            return concerned
        return np.asarray(concerned & ~truth(self.node.of(here).value))

    @cached_property
    def atoms(self) -> list[tuple[Node, bool]]:
        """The comparisons in it, and which of their values makes it true; what follows first."""
        return list(_atoms(self.node, True))


def _atoms(node: Node, wanted: bool) -> Iterator[tuple[Node, bool]]:
    match node:
        case Logic("=>", (test, then)):
            yield from _atoms(then, wanted)
            yield from _atoms(test, not wanted)
        case Not(part):
            yield from _atoms(part, not wanted)
        case Comparison() | Changed():
            yield node, wanted
        case _:
            for part in node.parts:
                if part.kind == "truth":
                    yield from _atoms(part, wanted)


class Relations:
    """The rules between the features of a task.

    Parameters
    ----------
    features, ranks
        The features, and the ranks of their categories; None where these have no order.
    rules
        Rules as people write them.
    causes
        What causes a feature, by its name: an expression.
    """

    def __init__(
        self,
        features: Sequence[Feature],
        ranks: Ranks,
        rules: Sequence[str] = (),
        causes: Mapping[str, str] | None = None,
    ) -> None:
        self.features, self.ranks = tuple(features), list(ranks)
        self.conditions: list[Condition] = []
        # By feature, which of its categories [codes] may become which [codes].
        self.transitions: dict[int, Booleans] = {}
        # Every rule, and the features that it names.
        self.named: list[tuple[str, frozenset[int]]] = []
        found: dict[int, Follower] = {}
        for text in rules:
            self.named.append((text, self._read(text, found)))
        for name, text in (causes or {}).items():
            self._read_cause(name, text, found)
        self.followers = _in_order(found, self.features)

    def __bool__(self) -> bool:
        return bool(self.followers or self.conditions or self.transitions)

    @property
    def places(self) -> list[int]:
        """The features that rules or causes name."""
        followed = [{each.place, *each.node.features} for each in self.followers]
        return sorted(set().union(*followed, *(places for _, places in self.named)))

    @cached_property
    def derived(self) -> frozenset[int]:
        """The features that nobody can change but by what they are derived from."""
        return frozenset(each.place for each in self.followers if each.derived)

    @cached_property
    def checked(self) -> list[Condition]:
        """All conditions; of what follows, that it stays in its range."""
        edges = []
        for each in self.followers:
            name = self.features[each.place].name
            value = Reading(each.place, name, categorical=False)
            for sign, side in ((">=", 0), ("<=", 1)):
                inside = Comparison(sign, value, Edge(each.place, side))
                edges.append(Condition(inside, f"{name} leaves its range"))
        return [*self.conditions, *edges]

    @cached_property
    def _levers(self) -> dict[int, tuple[int, ...]]:
        """By feature, what people can do about it: change it, or what it follows from."""
        found = {place: {place} - self.derived for place in range(len(self.features))}
        for each in self.followers:
            for place in each.node.features:
                found[each.place] |= found[place]
        return {place: tuple(sorted(levers)) for place, levers in found.items()}

    def levers(self, node: Node) -> list[int]:
        """Return what people can change to make something else true."""
        return sorted({lever for place in node.features for lever in self._levers[place]})

    @cached_property
    def needed(self) -> list[list[Follower]]:
        """Of every condition that is checked: what has to be known before it can be."""
        return [self._before(condition.features) for condition in self.checked]

    def _before(self, places: Iterable[int]) -> list[Follower]:
        counted = set(places)
        for each in reversed(self.followers):
            if each.place in counted:
                counted |= each.node.features
        return [each for each in self.followers if each.place in counted]

    @cached_property
    def used(self) -> tuple[int, ...]:
        """The features whose values count."""
        nodes = [each.node for each in self.followers] + [each.node for each in self.checked]
        places = {place for node in nodes for place in node.features}
        return tuple(sorted(places | {each.place for each in self.followers}))

    @cached_property
    def repairs(self) -> list[list[tuple[Node, bool, list[int]]]]:
        """Of every condition that is checked: its comparisons, what they should be, and levers."""
        return [
            [(atom, wanted, self.levers(atom)) for atom, wanted in condition.atoms]
            for condition in self.checked
        ]

    def _read(self, text: str, followers: dict[int, Follower]) -> frozenset[int]:
        """Read a rule; return which features it names."""
        parser = Parser(text, self.features, self.ranks)
        named = parser.token.kind in ("name", "odd")
        if named and parser.ahead(1).text == ":":
            self._read_transitions(parser)
        elif named and parser.ahead(1).text == "=":
            place = parser.place(parser.take())
            parser.take()
            node = parser.number_of()
            parser.finish()
            self._add(Follower(place, node, text, derived=True), followers, parser)
        elif [token.text for token in parser.tokens[-3:-1]] == ["change", "together"]:
            self._read_together(parser)
        else:
            node = parser.truth_of()
            parser.finish()
            self._add_conditions(node, text)
        words = {parser.name(token) for token in parser.tokens if token.kind in ("name", "odd")}
        return frozenset(place for name, place in parser.places.items() if name in words)

    def _add_conditions(self, node: Node, text: str) -> None:
        """Add a condition; of what is joined by "and", each part for itself."""
        match node:
            case Logic("and", truths):
                for part in truths:
                    self._add_conditions(part, text)
            case Logic("=>", (test, Logic("and", truths))):
                for part in truths:
                    self._add_conditions(Logic("=>", (test, part)), text)
            case _:
                if not node.features:
                    raise InputError(f"rule {text!r} names no feature that may change")
                self.conditions.append(Condition(node, text))

    def _read_cause(self, name: str, text: str, followers: dict[int, Follower]) -> None:
        parser = Parser(text, self.features, self.ranks, f"cause of {name!r}:", most=10**6)
        if name not in parser.places:
            parser.unknown(name, 0)
        node = parser.number_of()
        parser.finish()
        self._add(Follower(parser.places[name], node, text, derived=False), followers, parser)

    def _add(self, each: Follower, followers: dict[int, Follower], parser: Parser) -> None:
        feature = self.features[each.place]
        if feature.categories:
            parser.refuse(f"{feature.name!r} holds categories", 0, "only numbers can follow")
        if each.place in followers:
            parser.refuse(f"{feature.name!r} is said to follow twice", 0)
        if not each.node.features:
            parser.refuse(f"{feature.name!r} would follow from nothing", 0, "name a feature")
        followers[each.place] = each

    def _read_together(self, parser: Parser) -> None:
        places = [parser.place(parser.take())]
        while parser.took(",", "and"):
            places.append(parser.place(parser.take()))
        if len(set(places)) != len(places) or len(places) < 2:
            parser.refuse("expected two features or more, each once", 0)
        parser.expect("change")
        parser.expect("together")
        parser.finish()
        for one, other in zip(places, [*places[1:], places[0]], strict=True):
            node = either(Not(Changed(one)), Changed(other))
            self.conditions.append(Condition(node, parser.text))

    def _read_transitions(self, parser: Parser) -> None:
        token = parser.take()
        place = parser.place(token)
        feature = self.features[place]
        if not feature.categories:
            parser.refuse(f"{feature.name!r} holds numbers", token.at, "-> is for categories")
        parser.take()
        forbidden, pairs = parser.took("not"), []
        while True:
            before = self._code(parser, place)
            parser.expect("->")
            pairs.append((before, self._code(parser, place)))
            if not parser.took(","):
                break
        parser.finish()
        allowed = np.full((len(feature.categories),) * 2, forbidden)
        for before, after in pairs:
            allowed[before, after] = not forbidden
        np.fill_diagonal(allowed, True)
        known = self.transitions.get(place)
        self.transitions[place] = allowed if known is None else known & allowed

    def _code(self, parser: Parser, place: int) -> int:
        token = parser.take()
        if token.kind not in ("name", "odd", "text", "number"):
            parser.refuse("expected a category", token.at)
        parser.rank(place, parser.name(token), token.at)
        return self.features[place].code_of(parser.name(token))

    def follow(self, rules: Rules, factuals: Floats, done: Floats) -> Floats:
        """Return rows as told, given what people do, one row per person; NaN without a value."""
        return self.situation(rules, factuals, done).rows

    def situation(
        self,
        rules: Rules,
        factuals: Floats,
        done: Floats,
        edges: tuple[Floats, Floats] | None = None,
        own: Mapping[int, Floats] | None = None,
        followers: Sequence[Follower] | None = None,
    ) -> Situation:
        """Return what follows from what people do; `own` are people's values, as far as known.

        Where only some `followers` count, the others are left as they are.
        """
        followers = self.followers if followers is None else followers
        if not followers:
            return Situation(self, rules, factuals, done, edges, own)
        told = done.copy()
        here = Situation(self, rules, factuals, told, edges, own)
        for each in followers:
            column = self.features[each.place].columns[0]
            before = factuals[:, column]
            start = before if each.derived else told[:, column]
            moved = here.any_changed(each.inputs) & ~here.missing(each.place)
            if not moved.any():
                told[:, column] = start
                continue
            some = here.of(moved)
            value = each.node.of(some).value
            if not each.derived:
                value = some.now(each.place) + _effect(each, some, rules, value)
            value = _on_grid(rules, each.place, value)
            was = some.was(each.place)
            stays = np.abs(value - was) <= SAME * (np.abs(was) + rules.scale[column])
            new = (value - rules.mean[column]) / rules.scale[column]
            told[:, column] = start
            told[moved, column] = np.where(stays, before[moved], new)
            here.forget(each.place)
        return here

    def doing(self, rules: Rules, factuals: Floats, told: Floats) -> Floats:
        """Return what people do, given rows as told, one per person."""
        if not self.followers:
            return told
        done = told.copy()
        here = Situation(self, rules, factuals, told)
        for each in self.followers:
            column = self.features[each.place].columns[0]
            if each.derived:
                done[:, column] = factuals[:, column]
                continue
            moved = here.any_changed(each.inputs) & ~here.missing(each.place)
            if not moved.any():
                continue
            some = here.of(moved)
            effect = _effect(each, some, rules, each.node.of(some).value)
            value = _on_grid(rules, each.place, some.now(each.place) - effect)
            nothing = np.abs(value - some.was(each.place)) <= ROUNDING * rules.step[each.place]
            new = (value - rules.mean[column]) / rules.scale[column]
            done[moved, column] = np.where(nothing, factuals[moved, column], new)
        return done

    def broken(
        self, rules: Rules, factuals: Floats, told: Floats
    ) -> Iterator[tuple[str, Booleans]]:
        """Yield in words what rows as told break, and which of them do."""
        here = Situation(self, rules, factuals, told)
        for each in self.followers:
            name = self.features[each.place].name
            if each.derived:
                words = f"{name} does not follow from {_listed(each, self.features)}: {each.text}"
                yield words, self._does_not_follow(each, here, rules)
        for condition in self.conditions:
            yield f"it breaks the rule {condition.text}", condition.broken(here)
        for place, allowed in self.transitions.items():
            name = self.features[place].name
            before, after = here.codes(here.factuals, place), here.codes(here.rows, place)
            yield f"{name} may not change in this way", ~allowed[before, after]

    def _does_not_follow(self, each: Follower, here: Situation, rules: Rules) -> Booleans:
        moved = here.any_changed(each.inputs) & ~here.missing(each.place)
        value = _on_grid(rules, each.place, each.node.of(here).value)
        now, column = here.now(each.place), self.features[each.place].columns[0]
        slack = ROUNDING * rules.step[each.place] + SAME * (np.abs(now) + rules.scale[column])
        near = np.abs(now - value) <= slack
        return np.asarray(np.where(moved, ~near, here.changed(each.place)))


def _effect(each: Follower, here: Situation, rules: Rules, value: Floats) -> Floats:
    """Return by how much a caused feature moves with its causes, in whole steps."""
    before = each.node.of(here.before).value
    step = rules.step[each.place]
    return np.asarray(np.rint((value - before) / step) * step)


def _on_grid(rules: Rules, place: int, value: Floats) -> Floats:
    """Return numbers rounded as a feature is written."""
    base, step, power = rules.base[place], rules.step[place], rules.power[place]
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.rint((base + np.rint((value - base) / step) * step) * power) / power
    return np.asarray(np.where(np.isfinite(found), found, np.nan))


def _listed(each: Follower, features: Sequence[Feature]) -> str:
    *names, last = names_in([each.node], features)
    return f"{', '.join(names)} and {last}" if names else last


def _in_order(found: Mapping[int, Follower], features: Sequence[Feature]) -> list[Follower]:
    """Return followers so that each comes after what it follows from."""
    order: list[Follower] = []
    waiting = dict(found)
    while waiting:
        ready = [each for each in waiting.values() if not each.node.features & waiting.keys()]
        if not ready:
            names = ", ".join(repr(features[place].name) for place in waiting)
            raise InputError(f"{names} follow from each other in a circle; expected none")
        for each in sorted(ready, key=lambda each: each.place):
            order.append(each)
            del waiting[each.place]
    return order


class Situation:
    """Rows as told, one per person, and the people's own, as expressions read them."""

    def __init__(
        self,
        relations: Relations,
        rules: Rules,
        factuals: Floats,
        rows: Floats,
        edges: tuple[Floats, Floats] | None = None,
        own: Mapping[int, Floats] | None = None,
    ) -> None:
        self.relations, self.rules = relations, rules
        self.factuals, self.rows, self.edges = factuals, rows, edges
        self._now: dict[int, Floats] = {}
        self._was: dict[int, Floats] = dict(own or {})
        self._changed: dict[int, Booleans] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, which: Booleans) -> Situation:
        if which.all():
            return self
        some = Situation(self.relations, self.rules, self.factuals[which], self.rows[which])
        some._was = {place: values[which] for place, values in self._was.items()}
        some._now = {place: values[which] for place, values in self._now.items()}
        return some

    @property
    def before(self) -> Situation:
        """The people's own rows, as if they were told them."""
        own = Situation(self.relations, self.rules, self.factuals, self.factuals)
        own._now = own._was = self._was
        return own

    def now(self, place: int) -> Floats:
        if place not in self._now:
            self._now[place] = self._values(self.rows, place)
        return self._now[place]

    def was(self, place: int) -> Floats:
        if place not in self._was:
            self._was[place] = self._values(self.factuals, place)
        return self._was[place]

    def edge(self, place: int, side: int) -> Floats:
        assert self.edges is not None
        return self.edges[side][:, place]

    def forget(self, place: int) -> None:
        self._now.pop(place, None)
        self._changed.pop(place, None)

    def changed(self, place: int) -> Booleans:
        if place not in self._changed:
            self._changed[place] = self._differs(place)
        return self._changed[place]

    def _differs(self, place: int) -> Booleans:
        own, scale = self.was(place), self.rules.scale[self.rules.features[place, 0]]
        slack = SAME * (np.abs(own) + scale)
        same = np.abs(self.now(place) - own) <= slack
        return ~same if self._never_missing(place) else np.asarray(~same & ~self.missing(place))

    def any_changed(self, places: Iterable[int]) -> Booleans:
        return reduce(np.logical_or, map(self.changed, places))

    def _never_missing(self, place: int) -> bool:
        return self.relations.features[place].missing is None

    def missing(self, place: int) -> Booleans:
        """Return whose own value is missing; nobody changes that."""
        column = self.relations.features[place].missing
        if column is None:
            return np.zeros(len(self), dtype=np.bool_)
        rules = self.rules
        return np.asarray(
            self.factuals[:, column] * rules.scale[column] + rules.mean[column] >= 0.5
        )

    def codes(self, rows: Floats, place: int) -> Integers:
        columns = list(self.relations.features[place].columns)
        raw = rows[:, columns] * self.rules.scale[columns] + self.rules.mean[columns]
        if self.rules.features[place, 2] == BINARY:
            return (raw[:, 0] >= 0.5).astype(np.int64)
        return np.asarray(raw.argmax(axis=1))

    def _values(self, rows: Floats, place: int) -> Floats:
        feature, rules = self.relations.features[place], self.rules
        if rules.features[place, 2] in (BINARY, CATEGORIES):
            codes, order = self.codes(rows, place), self.relations.ranks[place]
            found = (codes if order is None else np.asarray(order)[codes]).astype(np.float64)
        else:
            column = feature.columns[0]
            raw = rows[:, column] * rules.scale[column] + rules.mean[column]
            # The number that people read, without the noise of standardising it.
            rounded = np.rint(raw * rules.power[place]) / rules.power[place]
            near = np.abs(rounded - raw) <= SAME * (np.abs(raw) + rules.scale[column])
            found = np.where(near, rounded, raw)
        if feature.missing is not None:
            found = np.where(self.missing(place), np.nan, found)
        return found
