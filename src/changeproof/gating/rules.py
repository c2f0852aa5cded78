"""Rules that a run has to keep, as people write them down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from changeproof.errors import InputError, unknown
from changeproof.evaluation.advice import QUALITIES
from changeproof.evaluation.metrics import METRICS, RATES
from changeproof.files import read_toml, validated
from changeproof.tables.life import LIFE

ANY, ALL, EACH = "any", "all", "each"
VALUE = "value"
KNOWN = (*METRICS, *QUALITIES, *LIFE)
RULES = "rule"


class Rule(BaseModel):
    """A rule: a metric of some methods has to be at least, or at most, so much.

    Parameters
    ----------
    name
        What the rule is called.
    method
        A method or several, each of which has to keep the rule; "all" methods of the run (the
        default); or "any": one of them has to keep it, wherever it applies.
    family
        A family of change or several; "each" family of the run; or "all", the mean over families
        (the default).
    dataset
        A dataset or several; every one of the run by default.
    by
        A column that people are grouped by: the rule is about the largest difference between
        groups.
    metric
        What is looked at; rates are in percent.
    at_least, at_most
        The limit, one of the two.
    decided_by
        "interval": the rule is kept if the whole interval is on the right side of the limit,
        broken if the whole interval is on the wrong side, and not decided otherwise. "value": the
        value alone decides.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = ""
    method: str | tuple[str, ...] = ALL
    family: str | tuple[str, ...] | None = None
    dataset: str | tuple[str, ...] | None = None
    by: str | None = None
    metric: str
    at_least: float | None = Field(default=None, allow_inf_nan=False)
    at_most: float | None = Field(default=None, allow_inf_nan=False)
    decided_by: Literal["interval", "value"] = "interval"

    @field_validator("metric")
    @classmethod
    def _known_metric(cls, given: str) -> str:
        if given not in KNOWN:
            raise unknown("metric", given, KNOWN)
        return given

    @model_validator(mode="after")
    def _one_limit_that_can_be_kept(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            both = "neither" if self.at_least is None else "both"
            raise InputError(f"expected one of at_least and at_most; got {both}")
        if self.metric in RATES and not 0.0 <= self.limit <= 100.0:
            raise InputError(f"{self.metric} is in percent, 0 to 100; got {self.limit:g}")
        if self.metric in RATES and self.at_least and self.at_least <= 1.0:
            raise InputError(
                f"{self.metric} is in percent; at_least = {self.at_least:g} is next to nothing. "
                f"For {100 * self.at_least:g} %, write {100 * self.at_least:g}"
            )
        if self.by is not None and self.family is not None:
            raise InputError("differences between groups are over all families; leave out family")
        if self.by is not None and self.metric not in METRICS:
            raise InputError(
                f"{self.metric} is not known by group; expected one of: {', '.join(METRICS)}"
            )
        if self.metric in QUALITIES and self.family is not None:
            raise InputError(f"{self.metric} does not depend on a family; leave out family")
        return self

    @property
    def limit(self) -> float:
        limit = self.at_least if self.at_least is not None else self.at_most
        assert limit is not None
        return limit

    @property
    def required(self) -> str:
        return f"at {'least' if self.at_least is not None else 'most'} {self.limit:g}"

    def keeps(self, value: float) -> bool:
        """Return whether a value is on the right side of the limit, or at it."""
        return value >= self.limit if self.at_least is not None else value <= self.limit


def read_rules(given: Path | str | Mapping[str, Any] | Sequence[Any]) -> list[tuple[str, Rule]]:
    """Return rules and what errors call them, from a TOML file or plain values."""
    where = "rules"
    if isinstance(given, (str, Path)):
        where = f"rule file {given}"
        given = read_toml(Path(given), "rule file")
    if isinstance(given, Mapping):
        for key in given:
            if key != RULES:
                raise InputError(f"{where}: unknown key {key!r}; expected [[{RULES}]] tables")
        given = given.get(RULES, ())
    if not isinstance(given, Sequence) or not given:
        raise InputError(f"{where}: there is no rule; expected [[{RULES}]] tables")
    return [_rule(f"{where}: rule {number}", item) for number, item in enumerate(given, start=1)]


def _rule(where: str, item: Any) -> tuple[str, Rule]:
    if isinstance(item, Rule):
        return where, item
    if not isinstance(item, Mapping):
        raise InputError(f"{where}: expected keys with values; got {item!r}")
    if isinstance(name := item.get("name"), str) and name:
        where += f" ({name})"
    plain = {key: tuple(v) if isinstance(v, list) else v for key, v in item.items()}
    for key in ("method", "family", "dataset"):
        if plain.get(key) == ():
            raise InputError(f"{where}: {key} is an empty list")
    return where, validated(Rule, plain, where)
