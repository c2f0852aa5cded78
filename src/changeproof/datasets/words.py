"""The words that people are told: of features and categories, and the sentences of a language.

A catalogue file holds a language: how numbers are written, and every sentence. A dataset file says
what its features are called. No template is executed: `{name}` is replaced, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator

from changeproof.errors import InputError, unknown
from changeproof.feasible.feature import Feature
from changeproof.files import read_toml, validated

CATALOGUES = Path(__file__).parent / "catalogues"
ENGLISH = "en"
BLANK = re.compile(r"\{(\w*)\}")
FORMAT = re.compile(r"(?P<grouped>,?)(?:\.(?P<decimals>[0-9]))?(?P<percent>%?)")
# What sentences about a feature may name.
OF_CHANGE = ("feature", "Feature", "before", "after")
OF_REASON = ("feature", "Feature", "value")
# What a dataset file may say in letters besides the sentences of a catalogue.
SENDER = "sender"
# The sentences of letters begin with this one.
FIRST_OF_LETTERS = "title"


def fill(template: str, values: Mapping[str, Any]) -> str:
    """Put values into a template, each as it is."""
    return BLANK.sub(lambda found: str(values[found[1]]), template)


def capital(text: str) -> str:
    """Begin a sentence with a text; names of columns stay as they are."""
    return text if "_" in text else text[:1].upper() + text[1:]


def _check_blanks(what: str, template: str, allowed: Sequence[str]) -> None:
    for name in BLANK.findall(template):
        if name not in allowed:
            expected = ", ".join(f"{{{each}}}" for each in allowed) or "no such places"
            raise InputError(f"{what}: {template!r} has the place {{{name}}}; expected {expected}")


class ReasonWords(BaseModel):
    """How a feature is named as a reason for a decision.

    Parameters
    ----------
    code
        A code for it; by default the name of the feature.
    sentence
        What people are told: "Too many inquiries ({value})".
    low, high
        The same where the nearest accepted row has more of it, so that the person's value is too
        low, or less, so that it is too high.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    code: str | None = None
    sentence: str | None = None
    low: str | None = None
    high: str | None = None

    @field_validator("sentence", "low", "high")
    @classmethod
    def _blanks(cls, template: str | None) -> str | None:
        if template is not None:
            _check_blanks("reason", template, OF_REASON)
        return template


class FeatureWords(BaseModel):
    """What a feature is called, and how its values and changes are told.

    Parameters
    ----------
    label
        What people call it, as in the middle of a sentence; by default its name.
    unit
        What stands behind a number ("months"), a pair for one and for several ("month", "months"),
        or a text with {} where the number goes ("€{}").
    format
        How a number is written: "," groups its thousands, ".2" writes two decimals, "%" writes
        shares as percentages; also together, ",.2". Numbers with a unit are grouped. A number that
        was tested with more decimals is written with them.
    raise, lower, change
        Sentences in place of the usual ones, with {feature}, {before} and {after}.
    categories
        What categories are called.
    to
        Sentences about becoming a category: {"none" = "Pay off your other instalment plans"}.
    reason
        How it is named as a reason: a sentence, or `ReasonWords`.

    Examples
    --------
    >>> FeatureWords(label="monthly income", unit="EUR")
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)

    label: str | None = Field(default=None, min_length=1)
    unit: str | tuple[str, str] | None = None
    format: str | None = None
    raised: str | None = Field(default=None, alias="raise")
    lowered: str | None = Field(default=None, alias="lower")
    changed: str | None = Field(default=None, alias="change")
    categories: dict[str, str] = {}
    to: dict[str, str] = {}
    reason: ReasonWords = ReasonWords()

    @field_validator("unit", mode="before")
    @classmethod
    def _pair(cls, given: Any) -> Any:
        return tuple(given) if isinstance(given, list) else given

    @field_validator("reason", mode="before")
    @classmethod
    def _sentence(cls, given: Any) -> Any:
        return {"sentence": given} if isinstance(given, str) else given

    @field_validator("format")
    @classmethod
    def _known_format(cls, given: str | None) -> str | None:
        if given is not None and not FORMAT.fullmatch(given):
            raise InputError(f'{given!r} is no format; expected ",", ".2", "%" or both as in ",.2"')
        return given

    @field_validator("raised", "lowered", "changed")
    @classmethod
    def _blanks(cls, template: str | None) -> str | None:
        if template is not None:
            _check_blanks("a sentence", template, OF_CHANGE)
        return template

    @field_validator("to")
    @classmethod
    def _to_blanks(cls, given: dict[str, str]) -> dict[str, str]:
        for template in given.values():
            _check_blanks("to", template, OF_CHANGE)
        return given

    def over(self, other: FeatureWords) -> FeatureWords:
        """Return these words and, where they say nothing, those of another."""
        mine = self.model_dump(by_alias=True, exclude_unset=True)
        theirs = other.model_dump(by_alias=True, exclude_unset=True)
        for name in ("categories", "to", "reason"):
            if name in mine and name in theirs:
                mine[name] = {**theirs[name], **mine[name]}
        return FeatureWords.model_validate({**theirs, **mine})

    def without_sentences(self) -> FeatureWords:
        """Return names, units and formats only: what is no sentence of a language."""
        kept = {"label", "unit", "format", "categories"} & self.model_fields_set
        found = self.model_dump(include=kept)
        if self.reason.code is not None:
            found["reason"] = {"code": self.reason.code}
        return FeatureWords.model_validate(found)


class Catalogue(BaseModel):
    """A language: how it writes numbers, and its sentences; words of features in it, if any."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    language: str = Field(min_length=1)
    decimal: str = Field(min_length=1, max_length=1)
    thousands: str = Field(max_length=1)
    quotes: tuple[str, str]
    percent: str
    sentences: dict[str, str]
    words: dict[str, FeatureWords] = {}
    letter: dict[str, str] = {}

    @field_validator("quotes", mode="before")
    @classmethod
    def _pair(cls, given: Any) -> Any:
        return tuple(given) if isinstance(given, list) else given

    def say(self, sentence: str, **values: Any) -> str:
        """Return a sentence with its values."""
        return fill(self.sentences[sentence], values)

    def number(self, text: str, words: FeatureWords | None = None) -> str:
        """Write a number that is given as plain text: 1234.5 as 1,234.5 or 1.234,5."""
        if words is None or (words.format is None and words.unit is None):
            return text.replace(".", self.decimal)
        given = "," if words.format is None and words.unit is not None else words.format or ""
        form = FORMAT.fullmatch(given)
        assert form is not None
        if form["percent"]:
            whole, _, decimals = text.partition(".")
            text = f"{Decimal(text) * 100:.{max(0, len(decimals) - 2)}f}"
        sign, whole, decimals = _parts(text)
        if form["decimals"] is not None:
            decimals = decimals.rstrip("0").ljust(int(form["decimals"]), "0")
        if form["grouped"]:
            whole = f"{int(whole):,}".replace(",", self.thousands)
        shown = f"{sign}{whole}{self.decimal}{decimals}" if decimals else f"{sign}{whole}"
        return fill(self.percent, {"number": shown}) if form["percent"] else shown

    def measured(self, text: str, words: FeatureWords) -> str:
        """Write a number with its unit."""
        shown, unit = self.number(text, words), words.unit
        if unit is None:
            return shown
        if isinstance(unit, tuple):
            unit = unit[0] if Decimal(text) == 1 else unit[1]
        return unit.replace("{}", shown) if "{}" in unit else f"{shown} {unit}"

    def unmeasured(self, text: str, words: FeatureWords) -> str:
        """Write a number whose unit follows with another number, as in "from 1 to 2 months"."""
        in_front = isinstance(words.unit, str) and "{}" in words.unit
        return self.measured(text, words) if in_front else self.number(text, words)

    def quoted(self, template: str) -> str:
        """Return a template whose values, of several words, stand in quotes."""
        before, after = self.quotes
        for name in ("before", "after"):
            template = template.replace(f"{{{name}}}", f"{before}{{{name}}}{after}")
        return template


def _parts(text: str) -> tuple[str, str, str]:
    sign = "-" if text.startswith("-") else ""
    whole, _, decimals = text.removeprefix("-").partition(".")
    return sign, whole, decimals


class CatalogueFile(BaseModel):
    """The keys of a catalogue file. What is not said is taken from the language of `base`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    language: str = Field(min_length=1)
    base: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    quotes: list[str] | None = None
    percent: str | None = None
    sentences: dict[str, str] = {}
    words: dict[str, dict[str, Any]] = {}
    letter: dict[str, str] = {}


def languages() -> list[str]:
    """Return the languages that are shipped."""
    return sorted(path.stem for path in CATALOGUES.glob("*.toml"))


def find_catalogue(reference: str | Path, folder: Path | None = None) -> Catalogue:
    """Return a language by its code, or by the path of a catalogue file."""
    name = str(reference)
    if name in languages():
        return _shipped(name)
    if not name.endswith(".toml"):
        raise InputError(
            f"unknown language {name!r}; expected one of: {', '.join(languages())}, or the path of "
            "a catalogue file that ends in .toml"
        )
    return read_catalogue((folder / name) if folder is not None else Path(name))


@cache
def _shipped(language: str) -> Catalogue:
    return _as_catalogue(CATALOGUES / f"{language}.toml", None)


def english() -> Catalogue:
    return _shipped(ENGLISH)


def read_catalogue(path: Path) -> Catalogue:
    """Read a catalogue file."""
    return _as_catalogue(path, english())


def _as_catalogue(path: Path, model: Catalogue | None) -> Catalogue:
    where = f"catalogue file {path}"
    given = validated(CatalogueFile, read_toml(path, "catalogue file"), where)
    if given.base is not None and given.base not in languages():
        raise InputError(f"{where}: {unknown('language', given.base, languages())}")
    # A file that only has the words of features is about a language that is shipped.
    base = given.base or (given.language if model and given.language in languages() else None)
    values = given.model_dump(exclude={"base"}, exclude_none=True)
    values["words"] = {
        name: validated(FeatureWords, each, f"{where}: words of {name!r}")
        for name, each in given.words.items()
    }
    if base is not None:
        known = _shipped(base).model_dump(exclude={"words", "letter"})
        values = {**known, **values, "sentences": known["sentences"] | given.sentences}
    found = validated(Catalogue, values, where)
    if model is not None:
        _check_sentences(where, found.sentences, model.sentences)
        check_letter(where, found.letter)
    return found


def _check_sentences(where: str, given: Mapping[str, str], known: Mapping[str, str]) -> None:
    for name, sentence in given.items():
        if name not in known:
            raise InputError(f"{where}: {unknown('sentence', name, known)}")
        _check_blanks(f"{where}: {name}", sentence, _blanks_of(known[name]))
    if lacking := [name for name in known if name not in given]:
        raise InputError(
            f"{where} lacks the sentences {', '.join(lacking)}; say them, or name the language "
            'that they are taken from, such as base = "en"'
        )


def _blanks_of(sentence: str) -> list[str]:
    names = dict.fromkeys(BLANK.findall(sentence))
    if names.keys() & {"feature", "Feature"}:
        names |= dict.fromkeys(("feature", "Feature"))
    return list(names)


def letter_sentences() -> list[str]:
    """Return the names of the sentences of letters."""
    names = list(english().sentences)
    return names[names.index(FIRST_OF_LETTERS) :]


def check_letter(where: str, given: Mapping[str, str]) -> None:
    """Refuse words for letters that no letter has."""
    known = english().sentences
    for name, text in given.items():
        if name not in (SENDER, *letter_sentences()):
            raise InputError(f"{where}: {unknown('word', name, [SENDER, *letter_sentences()])}")
        _check_blanks(f"{where}: {name}", text, _blanks_of(known.get(name, "")))


@dataclass(frozen=True)
class Words:
    """The words of a task: of its features, for letters, and the language that they are in."""

    features: Mapping[str, FeatureWords] = field(default_factory=dict)
    letter: Mapping[str, str] = field(default_factory=dict)
    own: Catalogue | None = None  # None is English

    @property
    def catalogue(self) -> Catalogue:
        return english() if self.own is None else self.own

    @classmethod
    def checked(
        cls,
        features: Sequence[Feature],
        given: Mapping[str, FeatureWords | Mapping[str, Any]] | None,
        letter: Mapping[str, str] | None = None,
        language: str | Path | Catalogue | None = None,
    ) -> Self:
        """Return the words of features, in their order; refuse what does not fit them."""
        spoken = (
            find_catalogue(language or ENGLISH) if not isinstance(language, Catalogue) else language
        )
        own = None if spoken == english() else spoken
        check_letter("letter", letter or {})
        return cls(checked_words(features, given), dict(letter or {}), own)

    def label(self, name: str) -> str:
        """Return what people call a feature."""
        words = self.features.get(name)
        return name if words is None or words.label is None else words.label

    def among(self, names: Sequence[str]) -> Words:
        """Return the same about some features only."""
        kept = {name: each for name, each in self.features.items() if name in names}
        return Words(kept, self.letter, self.own)

    def of(self, features: Sequence[Feature], language: Catalogue | None) -> list[FeatureWords]:
        """Return the words of features in order, in the task's own language or in another.

        Sentences of another language are left out.
        """
        spoken = self.catalogue if language is None else language
        same = spoken.language == self.catalogue.language
        found = []
        for each in features:
            mine = self.features.get(each.name, FeatureWords())
            mine = mine if same else mine.without_sentences()
            theirs = spoken.words.get(each.name)
            found.append(mine if theirs is None else theirs.over(mine))
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, without what nobody said."""

        def plain(words: Mapping[str, FeatureWords]) -> dict[str, Any]:
            return {
                name: each.model_dump(mode="json", by_alias=True, exclude_unset=True)
                for name, each in words.items()
            }

        own = None
        if self.own is not None:
            own = self.own.model_dump(mode="json") | {"words": plain(self.own.words)}
        given = {"features": plain(self.features), "letter": dict(self.letter), "catalogue": own}
        return {name: value for name, value in given.items() if value}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        features = {
            str(name): FeatureWords.model_validate(each)
            for name, each in given.get("features", {}).items()
        }
        own = given.get("catalogue")
        letter = {str(name): str(text) for name, text in given.get("letter", {}).items()}
        return cls(features, letter, None if own is None else Catalogue.model_validate(own))


def checked_words(
    features: Sequence[Feature], given: Mapping[str, FeatureWords | Mapping[str, Any]] | None
) -> dict[str, FeatureWords]:
    known = {feature.name: feature for feature in features}
    for name in given or {}:
        if name not in known:
            raise unknown("feature", name, known)
    found = {}
    for name, feature in known.items():
        if given is None or name not in given:
            continue
        each, what = given[name], f"words of {name!r}"
        words = each if isinstance(each, FeatureWords) else validated(FeatureWords, each, what)
        _check_fits(feature, words)
        found[name] = words
    return found


def _check_fits(feature: Feature, words: FeatureWords) -> None:
    what = f"words of {feature.name!r}"
    if not feature.categories:
        if words.categories or words.to:
            raise InputError(f"{what}: it holds numbers; categories and to are for categories")
        return
    if words.unit is not None or words.format is not None:
        raise InputError(f"{what}: it holds categories; unit and format are for numbers")
    for category in (*words.categories, *words.to):
        if feature.code_of(category) < 0:
            raise InputError(
                f"{what}: it has no category {category!r}; expected one of: "
                f"{', '.join(map(str, feature.categories))}"
            )


class Told(NamedTuple):
    """One change as people read it: what they call the feature, both values, and the sentences."""

    label: str
    before: str
    after: str
    template: str
    short: str

    @property
    def values(self) -> dict[str, str]:
        names = {"feature": self.label, "Feature": capital(self.label)}
        return names | {"before": self.before, "after": self.after}
