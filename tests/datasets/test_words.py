"""Words of features and languages: labels, units, formats, sentences; nothing is executed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from advised import applicants
from changeproof import InputError, Task, load_dataset, own_task
from changeproof.datasets.kept import task_from_bytes, task_to_bytes
from changeproof.datasets.recourse import Wording
from changeproof.datasets.words import FeatureWords, english, find_catalogue, languages

WORDS: dict[str, dict[str, Any]] = {
    "income": {"label": "monthly income", "unit": "EUR", "format": ",.0"},
    "age": {"unit": ["year", "years"]},
    "purpose": {"categories": {"car": "a car", "study": "your studies"}},
    "owner": {"label": "home", "to": {"yes": "Buy the home that you live in"}},
}


def table() -> pd.DataFrame:
    return applicants(200)


def task_with(words: dict[str, dict[str, Any]], **more: Any) -> Task:
    return own_task(
        table(), target="approved", favourable="yes", id_column="applicant", words=words, **more
    )


def told(task: Task, language: str | None = None, **after: Any) -> list[str]:
    """Return the sentences about the changes of one person."""
    person = task.readable(task.rows("test")[:1]).iloc[0].to_dict()
    person |= {"income": 2000, "age": 30, "purpose": "house", "owner": "no"}
    rows = task.encoded(pd.DataFrame([person, person | after]))
    catalogue = None if language is None else find_catalogue(language)
    return [str(c) for c in Wording(task, True, catalogue).changes(rows[0], rows[1])]


@pytest.mark.parametrize(
    ("after", "english_words", "german_words"),
    [
        ({"income": 2500}, "Raise monthly income from 2,000 to 2,500 EUR",
         "Monthly income von 2.000 auf 2.500 EUR erhöhen"),
        ({"age": 31}, "Raise age from 30 to 31 years", "Age von 30 auf 31 years erhöhen"),
        ({"age": 1}, "Lower age from 30 to 1 year", "Age von 30 auf 1 year senken"),
        ({"purpose": "car"}, "Change purpose from “house” to “a car”",
         "Purpose von „house“ zu „a car“ ändern"),
        # A sentence of another language is left out; names and units are not.
        ({"owner": "yes"}, "Buy the home that you live in", "Home von no zu yes ändern"),
    ],
)  # fmt: skip
def test_two_languages(after: dict[str, Any], english_words: str, german_words: str) -> None:
    task = task_with(WORDS)
    assert told(task, **after) == [english_words]
    assert told(task, "de", **after) == [german_words]


@pytest.mark.parametrize(
    ("words", "text", "expected", "german"),
    [
        ({}, "1234.5", "1234.5", "1234,5"),
        ({"format": ","}, "1234.5", "1,234.5", "1.234,5"),
        ({"format": ",.2"}, "-1234567.5", "-1,234,567.50", "-1.234.567,50"),
        # No format hides a digit that was tested.
        ({"format": ".1"}, "0.125", "0.125", "0,125"),
        ({"format": ".0"}, "12.50", "12.5", "12,5"),
        ({"format": ".0"}, "12.00", "12", "12"),
        ({"format": "%"}, "0.125", "12.5%", "12,5 %"),
        ({"format": ".1%"}, "0.4", "40.0%", "40,0 %"),
        ({"unit": "€{}"}, "1200", "€1,200", "€1.200"),
        ({"unit": "km", "format": ""}, "1200", "1200 km", "1200 km"),
    ],
)
def test_numbers_are_written_as_in_the_language(
    words: dict[str, Any], text: str, expected: str, german: str
) -> None:
    given = FeatureWords.model_validate(words)
    assert english().measured(text, given) == expected
    assert find_catalogue("de").measured(text, given) == german


def test_words_are_kept_with_the_task_and_change_no_result() -> None:
    task, plain = task_with(WORDS, letter={"sender": "The Bank"}, language="de"), task_with({})
    again = task_from_bytes(task_to_bytes(task))
    assert again.words == task.words
    assert told(again, income=2500) == ["Monthly income von 2.000 auf 2.500 EUR erhöhen"]
    assert task.fingerprint == plain.fingerprint
    fewer = task.with_features(["income", "age"])
    assert set(fewer.words.features) == {"income", "age"}


def test_a_dataset_file_has_words_and_names_its_language(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "loans.csv", index=False)
    (tmp_path / "ours.toml").write_text(
        'language = "x-ours"\nbase = "de"\n[sentences]\nraise = "Mehr {feature}: {after}"\n'
        '[words.income]\nlabel = "Einkommen"\nunit = "Euro"\nformat = ",.0"\n'
    )
    head = 'data = "loans.csv"\ntarget = "approved"\nfavourable = "yes"\nid = "applicant"\n'
    tail = '[words.income]\nlabel = "income"\nraise = "Earn {after} instead of {before}"\n'
    (tmp_path / "loans.toml").write_text(head + tail)
    task = load_dataset(tmp_path / "loans.toml")
    assert told(task, income=2500) == ["Earn 2500.0 instead of 2000.0"]
    ours = str(tmp_path / "ours.toml")
    assert told(task, ours, income=2500) == ["Mehr Einkommen: 2.500 Euro"]
    assert told(task, ours, age=29) == ["Age von 30 auf 29 senken"]
    (tmp_path / "loans.toml").write_text(f'language = "ours.toml"\n{head}')
    assert told(load_dataset(tmp_path / "loans.toml"), income=2500) == [
        "Mehr Einkommen: 2.500 Euro"
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"incme": {}}, "unknown feature 'incme'"),
        ({"income": {"labl": "x"}}, "unknown key 'labl'; expected one of: label, unit, format, "),
        ({"income": {"format": "d"}}, "'d' is no format"),
        ({"income": {"categories": {"a": "b"}}}, "it holds numbers"),
        ({"purpose": {"unit": "EUR"}}, "it holds categories"),
        ({"purpose": {"to": {"boat": "Sail"}}}, "no category 'boat'"),
        ({"income": {"raise": "{before.__class__}"}}, None),
        ({"income": {"raise": "{person}"}}, "has the place {person}; expected {feature}"),
        ({"income": {"reason": {"low": "{after}"}}}, "has the place {after}; expected {feature}"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(
    words: dict[str, dict[str, Any]], message: str | None
) -> None:
    if message is None:
        # What is no name in braces stands as it is; nothing is looked up.
        assert told(task_with(words), income=2500) == ["{before.__class__}"]
        return
    with pytest.raises(InputError) as caught:
        task_with(words)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_catalogue_has_every_sentence(tmp_path: Path) -> None:
    assert languages() == ["de", "en"]
    assert find_catalogue("de").sentences.keys() == english().sentences.keys()
    path = tmp_path / "fr.toml"
    path.write_text('language = "fr"\n[sentences]\nraise = "Augmenter {feature}"\n')
    with pytest.raises(InputError, match="decimal"):
        find_catalogue(str(path))
    path.write_text('language = "fr"\nbase = "en"\n[sentences]\nrise = "x"\n')
    with pytest.raises(InputError, match="unknown sentence 'rise'"):
        find_catalogue(str(path))
    path.write_text('language = "fr"\nbase = "en"\n[sentences]\nraise = "{row}"\n')
    with pytest.raises(InputError, match=r"has the place \{row\}"):
        find_catalogue(str(path))
    with pytest.raises(InputError, match="unknown language 'fr'; expected one of: de, en"):
        find_catalogue("fr")
