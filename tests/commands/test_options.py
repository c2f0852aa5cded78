from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from changeproof.commands.parsing import split, whole_numbers
from changeproof.errors import InputError
from command_line import call
from loans import loans


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], []),
        (["a"], ["a"]),
        (["a,b", "c"], ["a", "b", "c"]),
        ([" a , ,b,"], ["a", "b"]),
        (
            ["robx-balanced(quantile=0.7, samples=5),kdtree", "rbr"],
            ["robx-balanced(quantile=0.7, samples=5)", "kdtree", "rbr"],
        ),
        (["a(x=[1, 2], y={1: (2, 3)}),b()"], ["a(x=[1, 2], y={1: (2, 3)})", "b()"]),
        (["a(x='),', y=\"],\"),b"], ["a(x='),', y=\"],\")", "b"]),
        (["'a,b',\"c,d\", 'e'"], ["'a,b'", '"c,d"', "'e'"]),
        (["'it,s', \"'\",b"], ["'it,s'", '"\'"', "b"]),
        # Columns of people's tables: the apostrophes in these quote nothing.
        (["owner's age,owner's job"], ["owner's age", "owner's job"]),
        (['12" pipes,6" pipes'], ['12" pipes', '6" pipes']),
        (["income (EUR),debts [EUR]"], ["income (EUR)", "debts [EUR]"]),
        (["'tis,was"], ["'tis", "was"]),
        (["a(x='),b"], ["a(x=')", "b"]),
    ],
)
def test_commas_separate_names(values: list[str], expected: list[str]) -> None:
    assert split(values) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rbr(samples=5,kdtree", r"'rbr\(samples=5,kdtree' is missing a '\)'"),
        ("rbr(samples=[5),kdtree", r"'rbr\(samples=\[5\),kdtree' has a '\)' that closes nothing"),
        ("rbr),kdtree", r"'rbr\),kdtree' has a '\)' that closes nothing"),
        ("a,b[{}", r"'a,b\[{}' is missing a '\]'"),
    ],
)
def test_brackets_that_do_not_match_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        split([text])


plain = st.text(st.sampled_from("abc=1.- "), min_size=1, max_size=6).map(str.strip).filter(bool)
nested = st.recursive(
    plain | st.sampled_from(["'),('", '"],["', "{}"]),
    lambda inner: st.builds(
        lambda name, parts, pair: f"{name}{pair[0]}{', '.join(parts)}{pair[1]}",
        plain,
        st.lists(inner, max_size=3),
        st.sampled_from(["()", "[]", "{}"]),
    ),
    max_leaves=6,
)


@given(
    st.lists(st.lists(nested, min_size=1, max_size=4), max_size=3), st.sampled_from([",", " , "])
)
def test_joined_names_come_apart_again(groups: list[list[str]], comma: str) -> None:
    expected = [name for group in groups for name in group]
    assert split([comma.join(group) for group in groups]) == expected


def test_whole_numbers_are_read_or_refused() -> None:
    assert whole_numbers("base seed", ["7", "0"]) == [7, 0]
    for text in ("x", "-1", "1.5", ""):
        with pytest.raises(InputError, match=f"base seed '{text}'; expected a whole number"):
            whole_numbers("base seed", [text])


@pytest.mark.parametrize("command", ["audit", "explain"])
def test_no_workers_are_refused_before_anything_is_written(tmp_path: Path, command: str) -> None:
    loans().to_csv(tmp_path / "loans.csv", index=False)
    named = ("--data", "loans.csv", "--target", "approved", "--favourable", "yes")
    whose = ("--id-column", "applicant", "--out", "out", "--jobs", "0")
    row = ("--row", "A003") if command == "explain" else ()
    done = call(command, *named, *whose, *row, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "changeproof: jobs must be at least 1; got 0\n"
    assert [path.name for path in tmp_path.iterdir()] == ["loans.csv"]
