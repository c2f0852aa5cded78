"""What there is to say of a whole folder of letters, in a sentence each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from changeproof.datasets.oddities import declared_by_name
from changeproof.datasets.task import Task
from changeproof.errors import setting
from changeproof.report.recommendation import LEAST_PERCENT
from changeproof.tables.display import listed

Letter = Mapping[str, Any]


def by_method(letters: Sequence[Letter]) -> dict[str, int]:
    """Return how many letters have advice by each method, the most first."""
    return dict(Counter(method for letter in letters for method in letter["methods"]).most_common())


def notes(letters: Sequence[Letter], task: Task) -> Iterator[str]:
    """Yield what whoever sends letters should know of them."""
    yield from _not_recommended(letters)
    yield from _unruled(letters, task)


def _not_recommended(letters: Sequence[Letter]) -> Iterator[str]:
    """Say for how many people no advice is recommended, and how often theirs holds."""
    ways = [each["ways"][0] for each in letters if each["recommended"] is False and each["ways"]]
    shares = [100 * way["held"] // way["models"] for way in ways if way["models"]]
    if not shares:
        return
    low, high = min(shares), max(shares)
    holds = f"{low} %" if low == high else f"{low} to {high} %"
    tell, who = ("tells", "this person") if len(ways) == 1 else ("tell", "these people")
    yield (
        f"{_count(len(ways), 'letter')} {tell} advice that is not recommended: none for {who} is "
        f"sure to hold in at least {LEAST_PERCENT} % of the changed models. It holds in {holds}, "
        "and nothing holds more often."
    )


def _unruled(letters: Sequence[Letter], task: Task) -> Iterator[str]:
    """Say how many letters change what people can hardly change and no rule is about."""
    names = (f.name for f in task.features if f.name not in task.declared)
    asked = Counter(name for each in letters for name in _changed(each))
    found = {name: how for name, how in declared_by_name(names).items() if asked[name]}
    if not found:
        return
    who = listed(
        [f"{asked[name]} ask{'s' * (asked[name] == 1)} to change {name!r}" for name in found]
    )
    rules = setting(actions={name: {"change": change} for name, change in found.items()})
    yield (
        f"Of {_count(len(letters), 'letter')}, {who}, which no rule is about; if people cannot, "
        f"audit again with {rules}."
    )


def _changed(letter: Letter) -> set[str]:
    return {change["feature"] for way in letter["ways"] for change in way["changes"]}


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
