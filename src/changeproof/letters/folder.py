"""A folder of letters: a document per person in several forms, and an index with checksums.

The folder appears whole or not at all. One that is there already is left as it is if it holds the
same letters, and refused if not.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from changeproof.adapters.letters import COPY, INDEX, INDEX_COLUMNS
from changeproof.errors import InputError
from changeproof.explanation import explain_all
from changeproof.files import TEMPORARY, plain_name
from changeproof.letters.data import Voice, check_methods, letter_data, recommended_advice
from changeproof.letters.pdf import as_pdf, find_browser
from changeproof.letters.render import load_template, page
from changeproof.letters.summary import by_method, notes
from changeproof.runs.results import StoredResults
from changeproof.tables.spreadsheets import csv_bytes

MARKDOWN, HTML, PDF = "md", "html", "pdf"
# Longer names of files are cut; the number in front tells them apart.
LONGEST = 40
Progress = Callable[[int, int], None]


class Written(NamedTuple):
    """What was written.

    `methods` has how many letters tell the advice of each, `notes` what to know before they are
    sent. `new` is False where the folder held the same letters already. `why_no_pdf` says why there
    are no PDFs, if they were asked for.
    """

    folder: Path
    letters: int
    with_advice: int
    methods: dict[str, int]
    new: bool
    why_no_pdf: str
    notes: tuple[str, ...] = ()


def write_letters(
    results: StoredResults,
    out: str | Path,
    *,
    template: str | Path | None = None,
    methods: Sequence[str] | None = None,
    people: Sequence[Any] | None = None,
    dataset: str | None = None,
    language: str | None = None,
    date: str = "",
    until: str = "",
    pdf: bool = True,
    progress: Progress = lambda done, every: None,
) -> Written:
    """Write a letter to every person of a finished audit.

    Parameters
    ----------
    results
        The audit. Its answers have to be such that people can be told.
    out
        The folder. It gets Markdown, HTML, PDF (where a browser is there) and JSON for everybody,
        and `letters.csv`, the index with the checksum of every document.
    template
        A template, a Markdown file of jinja2; the default one if none is named.
    methods
        Whose advice, up to three methods: a way each. By default everybody gets what is
        recommended to them (see `recommend`); where nothing is, the advice that holds most often
        and, of that, the shortest.
    people
        Their ids; all by default.
    dataset
        One of the run; its first by default.
    language
        "en", "de", or the path of a catalogue file; by default the language of the dataset.
    date, until
        What letters say of when they were written, and until when the advice is meant.
    pdf
        Whether to print PDFs, too.
    progress
        Is told how many documents of how many are done.
    """
    folder = Path(out)
    dataset = results.shown.datasets[0] if dataset is None else dataset
    if not results.plan.feasible:
        raise InputError(
            f"the answers of {results.folder} are as published, which people cannot be told; "
            "letters need a run with answers that are feasible"
        )
    if methods is not None:
        check_methods(results, methods)
    rendered = load_template(None if template is None else Path(template))
    voice = Voice(results, dataset, language)
    first = results.shown.methods[0] if methods is None else methods[0]
    answers = results.counterfactuals(dataset, results.shown.base_seeds[0], first)
    everybody = results.task(dataset).ids.loc[answers.row_ids.tolist()].tolist()
    asked = everybody if people is None else list(people)
    browser = find_browser() if pdf else None
    steps = len(asked) * (1 if browser is None else 2)
    files: dict[str, bytes] = {}
    index: list[tuple[Any, ...]] = []
    letters = []
    for number, person in enumerate(asked, start=1):
        recommended = None
        if methods is None:
            told, recommended = recommended_advice(results, person, dataset, voice)
        else:
            told = explain_all(results, person, methods, dataset, voice.language)
        data = letter_data(results, told, dataset, voice) | {"recommended": recommended}
        data |= {"date": date, "until": until, "sender": voice.sender}
        letters.append(data)
        own = plain_name(str(data["person"])[:LONGEST], "person")
        stem = f"{number:0{len(str(len(asked)))}d}-{own}"
        markdown = rendered({**data, "say": voice.say})
        title = voice.say("title")
        made = {
            MARKDOWN: markdown.encode(),
            HTML: page(markdown, title, voice.language.language).encode(),
            COPY: _as_json(data),
        }
        files |= {f"{stem}.{form}": content for form, content in made.items()}
        whose = ", ".join(data["methods"])
        index += [(data["person"], form, f"{stem}.{form}", whose) for form in (*made, PDF)]
        progress(number, steps)
    with_advice = sum(bool(each["ways"]) for each in letters)
    said = tuple(notes(letters, results.task(dataset)))
    written = Written(folder, len(asked), with_advice, by_method(letters), True, "", said)
    if pdf and browser is None:
        written = written._replace(why_no_pdf="no browser was found; Chromium would print PDFs")
    if browser is None:
        index = [row for row in index if row[1] != PDF]
    if _is_there(folder):
        _check_same(folder, files, index)
        return written._replace(new=False)
    why_not = _write(folder, files, index, browser, lambda done: progress(len(asked) + done, steps))
    return written._replace(why_no_pdf=why_not or written.why_no_pdf)


def _as_json(data: Mapping[str, Any]) -> bytes:
    return (json.dumps(data, indent=2, ensure_ascii=False, default=str) + "\n").encode()


def _is_there(folder: Path) -> bool:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"cannot write letters to {folder}: it is a file")
    return folder.is_dir() and any(folder.iterdir())


def _check_same(folder: Path, files: Mapping[str, bytes], index: list[tuple[Any, ...]]) -> None:
    """Refuse a folder that holds anything but these letters; PDFs follow from the pages."""
    expected = {INDEX, *(str(row[2]) for row in index)}
    there = {path.name for path in folder.iterdir()}
    known = {name for name in there | expected if not name.endswith(f".{PDF}")}
    same = known == files.keys() | {INDEX} and all(
        (folder / name).is_file() and (folder / name).read_bytes() == content
        for name, content in files.items()
    )
    if not same:
        raise InputError(
            f"{folder} holds other letters, or something else; letters that went out are not "
            "replaced: name another folder"
        )


def _write(
    folder: Path,
    files: Mapping[str, bytes],
    index: list[tuple[Any, ...]],
    browser: str | None,
    progress: Callable[[int], None],
) -> str:
    """Write a folder, and return why it has no PDFs, if a browser could not print one."""
    made, why_not = dict(files), ""
    unfinished = folder.absolute().parent / f"{TEMPORARY}{secrets.token_hex(8)}"
    try:
        unfinished.mkdir(parents=True)
        for name, content in files.items():
            (unfinished / name).write_bytes(content)
        pages = [str(row[2]) for row in index if row[1] == PDF]
        for number, name in enumerate(pages, start=1):
            assert browser is not None
            try:
                made[name] = as_pdf(browser, unfinished / Path(name).with_suffix(f".{HTML}"))
            except InputError as error:
                why_not, index = str(error), [row for row in index if row[1] != PDF]
                for path in unfinished.glob(f"*.{PDF}"):
                    path.unlink()
                break
            (unfinished / name).write_bytes(made[name])
            progress(number)
        rows = [(*row, hashlib.sha256(made[str(row[2])]).hexdigest()) for row in index]
        table = pd.DataFrame(rows, columns=INDEX_COLUMNS)
        (unfinished / INDEX).write_bytes(csv_bytes(table))
        unfinished.replace(folder)
    except OSError as error:
        raise InputError(f"cannot write {folder}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return why_not
