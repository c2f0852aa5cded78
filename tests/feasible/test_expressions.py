"""The language of rules: beside a slow and obvious evaluator, and against those who attack it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from changeproof import InputError
from changeproof.feasible.expressions import Node
from changeproof.feasible.feature import Feature
from changeproof.feasible.parser import Parser
from changeproof.model import Booleans, Floats

FEATURES = [
    Feature("age", "integer", (0,)),
    Feature("income", "numeric", (1,)),
    Feature("net income", "numeric", (2,)),
    Feature("home", "categorical", (3, 4, 5), ("owner", "rent", "with parents")),
    Feature("education", "categorical", (6, 7, 8), ("master", "school", "bachelor")),
    Feature("owner", "binary", (9,), ("no", "yes")),
]
RANKS: list[Sequence[int] | None] = [None, None, None, None, [2, 0, 1], None]
NUMBERS = ["age", "income", "net income"]


class Table:
    """Rows as expressions read them, from plain lists."""

    def __init__(self, now: Mapping[str, list[Any]], was: Mapping[str, list[Any]]) -> None:
        self.values, self.own = self._ranked(now), self._ranked(was)

    def _ranked(self, given: Mapping[str, list[Any]]) -> list[Floats]:
        found = []
        for feature, order in zip(FEATURES, RANKS, strict=True):
            values = given[feature.name]
            if feature.categories:
                codes = [feature.code_of(value) for value in values]
                values = codes if order is None else [order[code] for code in codes]
            found.append(np.array(values, dtype=np.float64))
        return found

    def now(self, place: int) -> Floats:
        return self.values[place]

    def was(self, place: int) -> Floats:
        return self.own[place]

    def changed(self, place: int) -> Booleans:
        return np.asarray(self.values[place] != self.own[place])

    def edge(self, place: int, side: int) -> Floats:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.values[0])


def parsed(text: str) -> Node:
    parser = Parser(text, FEATURES, RANKS)
    node = parser.expression()
    parser.finish()
    return node


def row(**given: Any) -> dict[str, Any]:
    usual = {
        "age": 40,
        "income": 2000.0,
        "net_income": 1500.0,
        "home": "rent",
        "education": "bachelor",
        "owner": "no",
    }
    return {name.replace("net_income", "net income"): v for name, v in (usual | given).items()}


def value(text: str, now: dict[str, Any] | None = None, was: dict[str, Any] | None = None) -> float:
    table = Table(*({name: [v] for name, v in (each or row()).items()} for each in (now, was)))
    return float(parsed(text).of(table).value[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 + 3 * 4 - 6 / 3", 12),
        ("(2 + 3) * 4", 20),
        ("8 / 2 / 2", 2),
        ("8 - 2 - 2", 4),
        ("-age + 1", -39),
        ("- -2", 2),
        ("2 * -3", -6),
        ("income / 3", 2000 / 3),
        ("`net income` + 1", 1501),
        ("1.5e2", 150),
        (".5", 0.5),
        ("min(3, age, 7)", 3),
        ("max(3, age)", 40),
        ("abs(-3)", 3),
        ("round(2.346, 2)", 2.35),
        ("round(income / 3)", 667),
        ("if age > 30 then 1 else 2", 1),
        ("if age > 50 then 1 else if age > 45 then 2 else 3", 3),
        ("1 + (if home == rent then 1 else 0)", 2),
        ("home == rent", True),
        ("home == 'with parents'", False),
        ('home != "with parents"', True),
        ("rent == home", True),
        ("education >= bachelor", True),
        ("education > school", True),
        ("education >= master", False),
        ("owner == no", True),
        ("not owner == yes", True),
        ("not not owner == yes", False),
        ("age > 30 and income > 3000 or age == 40", True),
        ("age > 30 and (income > 3000 or age == 41)", False),
        ("age < 30 => income > 9999", True),
        ("age > 30 => income > 9999", False),
        ("if age > 30 then income > 9999", False),
        ("0.1 + 0.2 == 0.3", True),
        ("0.1 + 0.2 - 0.3 == 0", True),
        ("0.1 + 0.2 > 0.3", False),
        ("age >= 1 / 0", math.nan),
        ("age < 0 and age > 1 / 0", False),
        ("age > 0 or age > 1 / 0", True),
        ("age < 0 => age > 1 / 0", True),
        ("1e308 * 10", math.nan),
        ("income / (age - 40)", math.nan),
    ],
)
def test_expressions_mean_what_they_say(text: str, expected: float) -> None:
    assert value(text) == pytest.approx(float(expected), nan_ok=True)


def test_what_was_and_what_changed() -> None:
    now, was = row(age=42, education="master"), row(age=40)
    assert value("age - was(age)", now, was) == 2
    assert value("age up", now, was) == 1 == value("education up", now, was)
    assert value("age down", now, was) == 0 == value("income changes", now, was)
    assert value("changed(education) and not changed(home)", now, was) == 1
    assert value("education up => age at least + 2", now, was) == 1
    assert value("education up => age at least + 3", now, was) == 0
    assert value("age at most + 2 and age at least 18", now, was) == 1
    assert value("education at least bachelor", now, was) == 1
    assert value("was(education) == bachelor", now, was) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agee <= 3", r"unknown name 'agee' at character 1; did you mean 'age'"),
        ("age <= zzz", r"unknown name 'zzz' at character 8; the features are age, income"),
        ("age <= `zzz`", r"unknown name 'zzz' at character 8"),
        ("age ** 2 > 3", r"unexpected '\*\*' at character 5; there are no powers"),
        ("age ^ 2 > 3", r"unexpected '\^' at character 5; there are no powers"),
        ("age.real > 3", r"unexpected '.' at character 4; .* stands in backticks"),
        ("age[0] > 3", r"unexpected '\['"),
        ("__import__('os') == 1", r"there is no function '__import__' at character 1"),
        ("eval('1') > 0", r"there is no function 'eval' at character 1; there are abs"),
        ("exec(age)", "there is no function 'exec'"),
        ("lambda: 1", "unexpected ':' at character 7"),
        ("age; income", "unexpected ';' at character 4"),
        ("age = 3", "unexpected '=' at character 5; to compare, write =="),
        ("age == 3 == 3", "a second comparison at character 10; join two by 'and'"),
        ("age > 1 => age > 2 => age > 3", r"a second => at character 20"),
        ("age + home", "'home' holds categories at character 7; compare it with one of: owner"),
        ("home > rent", "'home' has categories without an order at character 1; use =="),
        ("home == rnt", "'home' has no category 'rnt' at character 9; did you mean 'rent'"),
        ("home == age + 1", "'home' holds categories at character 9"),
        ("home == education", "features with different categories are compared"),
        ("age and income", "expected a comparison at character 1"),
        ("(age > 3) + 1", "expected a number, not something true or false at character 1"),
        ("age > ", "something is missing at its end"),
        ("(age > 3", r"something is missing at its end; expected '\)'"),
        ("age > 3)", r"unexpected '\)' at character 8"),
        ("", "something is missing"),
        ("age > 1e999", "the number 1e999 is too large at character 7"),
        ("2x > 3", "unexpected 'x' at character 2"),
        ("min(age) > 3", "min needs two numbers or more"),
        ("abs(age, 2) > 3", "abs takes one number"),
        ("round(age, 99) > 1", "expected how many digits at character 12"),
        ("round(age, income) > 1", "expected how many digits"),
        ("was(3) > 1", "expected the name of a feature"),
        ("changed(zzz)", "unknown name 'zzz'"),
        ("if age > 3", r"expected 'then'"),
        ("'home == rent", 'unexpected "\'" at character 1; a quotation mark is missing'),
        ("age > 3 & income > 3", "unexpected '&' at character 9; write 'and'"),
        ("age at 3", "expected 'at least' or 'at most'"),
        ("home at least + 1", "'home' holds categories"),
        ("\u202eage > 3", "unexpected"),
        ("(" * 60 + "age" + ")" * 60 + " > 3", "too deep at character 51; expected at most 50"),
        ("if age > 1 then " * 60 + "age > 2", "too deep"),
        ("age + " * 300 + "1 > 0", "has 1805 characters; expected at most 1000"),
    ],
)
def test_what_is_not_in_the_language_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as told:
        parsed(text)
    assert "\n" not in str(told.value)


@settings(max_examples=500)
@given(st.text(max_size=60) | st.text("age income<=>()+-*/,.`'\"andorif0123456789 ", max_size=80))
@example("`")
@example("was(")
def test_any_text_is_understood_or_refused(text: str) -> None:
    try:
        parsed(text)
    except InputError as error:
        assert len(str(error)) < 500


# The slow evaluator: nested tuples, one row, plain Python; None is "no value".


def slowly(tree: Any, now: dict[str, Any], was: dict[str, Any]) -> Any:
    match tree:
        case float():
            return tree
        case ("read", name):
            return float(now[name])
        case ("was", name):
            return float(was[name])
        case ("changed", name):
            return now[name] != was[name]
        case ("is", name, category):
            return now[name] == category
        case ("if", test, then, other):
            decided = slowly(test, now, was)
            if decided is None:
                return None
            return slowly(then if decided else other, now, was)
        case ("not", part):
            decided = slowly(part, now, was)
            return None if decided is None else not decided
        case ("and" | "or" | "=>" as word, left, right):
            first = slowly(left, now, was)
            if first is None:
                return None
            if word == "and":
                return slowly(right, now, was) if first else False
            if word == "or":
                return True if first else slowly(right, now, was)
            return slowly(right, now, was) if first else True
        case (sign, left, right):
            a, b = slowly(left, now, was), slowly(right, now, was)
            if a is None or b is None:
                return None
            return _computed(sign, a, b)
    raise AssertionError(tree)


def _computed(sign: str, a: float, b: float) -> Any:
    comparisons = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}
    if sign in comparisons:
        return comparisons[sign]
    if sign == "/" and b == 0:
        return None
    sums = {"+": a + b, "-": a - b, "*": a * b, "min": min(a, b), "max": max(a, b)}
    result = a / b if sign == "/" else sums[sign]
    return result if math.isfinite(result) else None


def written_out(tree: Any) -> str:
    match tree:
        case float():
            return repr(tree)
        case ("read", name):
            return f"`{name}`"
        case ("was" | "changed" as word, name):
            return f"{word}(`{name}`)"
        case ("is", name, category):
            return f"`{name}` == '{category}'"
        case ("if", test, then, other):
            parts = map(written_out, (test, then, other))
            return "(if {} then {} else {})".format(*parts)
        case ("not", part):
            return f"not ({written_out(part)})"
        case ("min" | "max" as word, left, right):
            return f"{word}({written_out(left)}, {written_out(right)})"
        case (sign, left, right):
            return f"({written_out(left)}) {sign} ({written_out(right)})"
    raise AssertionError(tree)


# Quarters and small numbers, so that sums and products are exact.
quarters = st.integers(-40, 40).map(lambda number: number / 4)
leaves = quarters | st.tuples(st.sampled_from(["read", "was"]), st.sampled_from(NUMBERS))
truths_of = st.tuples(st.just("changed"), st.sampled_from([f.name for f in FEATURES])) | st.tuples(
    st.just("is"), st.just("home"), st.sampled_from(FEATURES[3].categories)
)


def sums(parts: Any) -> Any:
    return st.tuples(st.sampled_from(["+", "-", "*", "/", "min", "max"]), parts, parts)


numbers = st.recursive(leaves, sums, max_leaves=6)
compared = st.tuples(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), numbers, numbers)
conditions = st.recursive(
    compared | truths_of,
    lambda parts: (
        st.tuples(st.sampled_from(["and", "or", "=>"]), parts, parts)
        | st.tuples(st.just("not"), parts)
        | st.tuples(st.just("if"), parts, parts, parts)
    ),
    max_leaves=5,
)
rows = st.fixed_dictionaries(
    {
        **dict.fromkeys(NUMBERS, st.integers(-8, 8).map(lambda number: number / 4)),
        "home": st.sampled_from(FEATURES[3].categories),
        "education": st.sampled_from(FEATURES[4].categories),
        "owner": st.sampled_from(FEATURES[5].categories),
    }
)


@settings(max_examples=1000, deadline=None)
@given(conditions | numbers, st.lists(st.tuples(rows, rows), min_size=1, max_size=4))
def test_evaluation_agrees_with_a_slow_and_obvious_one(
    tree: Any, people: list[tuple[dict[str, Any], dict[str, Any]]]
) -> None:
    text = written_out(tree)
    if len(text) > 1000:
        return
    columns = [
        {name: [pair[side][name] for pair in people] for name in people[0][0]} for side in (0, 1)
    ]
    found = parsed(text).of(Table(*columns)).value
    for got, (now, was) in zip(found, people, strict=True):
        expected = slowly(tree, now, was)
        if expected is None:
            assert math.isnan(got), text
        elif isinstance(expected, bool) or expected == 0.0:
            assert got == pytest.approx(float(expected), abs=1e-9), text
        else:
            assert got == pytest.approx(expected, rel=1e-9), text
