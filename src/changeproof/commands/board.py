"""Hand in a method, verify an entry, and contest it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from changeproof.commands.console import failures_reported, say
from changeproof.commands.options import ENTRY, RUN, ask
from changeproof.commands.parsing import split
from changeproof.errors import InputError

if TYPE_CHECKING:
    from changeproof.board.running import Setting

EntryFolder = Annotated[
    Path, typer.Argument(help="The folder of the entry, as given to --out.", metavar="ENTRY")
]
Jobs = Annotated[
    int | None, ask("Worker processes.", "N", default="one per core", flags="--jobs", panel=RUN)
]
StoreFolder = Annotated[
    Path | None,
    ask(
        "Where base models, changed models and answers are kept between calls.",
        "DIR",
        default="the user's cache",
        flags="--store",
        panel=RUN,
    ),
]
Records = Annotated[
    Path | None,
    ask(
        "The keeper's folder of records.",
        "DIR",
        default="records, beside the folder of entries",
        flags="--records",
    ),
]


def submit(
    method: Annotated[
        str,
        typer.Argument(
            help="The method: a name ('changeproof list methods') or an import path, with or "
            "without settings.",
            metavar="METHOD",
        ),
    ],
    out: Annotated[Path, ask("The folder of the entry; its name is the entry's.", "DIR")],
    track: Annotated[
        list[str] | None, ask("A track to hand in for. Repeat for several.", "NAME", "published")
    ] = None,
    label: Annotated[
        str | None,
        ask("What tables call it.", "TEXT", default="the method's label", panel=ENTRY),
    ] = None,
    author: Annotated[
        list[str] | None, ask("An author. Repeat for several.", "NAME", panel=ENTRY)
    ] = None,
    paper: Annotated[
        str | None,
        ask("The reference, in words.", "TEXT", default="the method's source", panel=ENTRY),
    ] = None,
    bibtex: Annotated[
        Path | None, ask("A file with the reference for BibTeX.", "FILE", panel=ENTRY)
    ] = None,
    code: Annotated[str | None, ask("Where the method's code is.", "URL", panel=ENTRY)] = None,
    commit: Annotated[str | None, ask("Which version of the code.", "COMMIT", panel=ENTRY)] = None,
    licence: Annotated[str | None, ask("The licence of the code.", "NAME", panel=ENTRY)] = None,
    tolerance: Annotated[
        float | None,
        ask(
            "How far apart answers of another run may be, in deviations of a feature, where a "
            "library is not exact.",
            "X",
            default="0",
            panel=ENTRY,
        ),
    ] = None,
    claim: Annotated[
        list[str] | None,
        ask(
            "What you claim of a track: published:robustness=97.5. Also coverage, validity, "
            "end_to_end and distance. Repeat for several.",
            "TRACK:METRIC=VALUE",
            panel=ENTRY,
        ),
    ] = None,
    jobs: Jobs = None,
    store: StoreFolder = None,
) -> None:
    """Ask a method what a track of the benchmark asks, and write an entry.

    An entry is a folder with two files: entry.toml says what the method is, and
    answers.parquet what it answered. It has no scores; whoever verifies it computes
    them. It is written whole or not at all. A call that was cut short goes on.

    changeproof submit my_module:Method --track trial --out entries/mine

    changeproof submit my_module:Method --track published --track feasible --out
    entries/mine --author "A. Author" --code https://example.org/mine --licence MIT
    """
    from changeproof.board.submit import submit as submit_entry

    given: dict[str, Any] = {
        "label": label,
        "authors": tuple(author) if author else None,
        "paper": paper,
        "bibtex": None if bibtex is None else _text(bibtex),
        "code": code,
        "commit": commit,
        "licence": licence,
        "tolerance": tolerance,
        "claims": _claims(claim) if claim else None,
    }
    about = {name: value for name, value in given.items() if value is not None}
    tracks = split(track or ["published"])
    with failures_reported(out):
        handed = submit_entry(method, tracks, out, about, _setting(jobs, store))
    for name, seconds in handed.entry.seconds.items():
        say(f"{name}: {seconds:.3g} processor seconds a person")
    say(f"Entry: {out / 'entry.toml'}")
    say(f"Its numbers: changeproof verify {out}")


def verify(
    entry: EntryFolder,
    rerun: Annotated[
        bool,
        ask(
            "Run the method again and compare its answers. This imports and runs the code that "
            "the entry names: look at it first.",
            flags="--rerun",
        ),
    ] = False,
    python: Annotated[
        str | None,
        ask(
            "With --rerun: the interpreter of an environment that has the method.",
            "FILE",
            default="this one",
        ),
    ] = None,
    bank: Annotated[
        str | None,
        ask(
            "Also test the answers on the keeper's secret bank: secret:FILE, with the file of its "
            "key.",
            "secret:FILE",
        ),
    ] = None,
    records: Records = None,
    jobs: Jobs = None,
    store: StoreFolder = None,
) -> None:
    """Compute every number of an entry from its answers, and write a record of it.

    An entry is refused, in one line, where answers were edited after it was written,
    people are missing or foreign, rows break rules, claims do not come out, or this
    machine's data and models are not those of the benchmark version. Nothing of an
    entry is imported or run, unless you pass --rerun.

    changeproof verify entries/mine

    changeproof verify entries/mine --rerun --bank secret:keeper.key
    """
    import sys

    from changeproof.board.records import RECORD
    from changeproof.board.secret import read_key
    from changeproof.board.verify import track_mean
    from changeproof.board.verify import verify as verify_entry

    key = None if bank is None else read_key(bank)
    with failures_reported(entry):
        found = verify_entry(
            entry,
            rerun=rerun,
            python=python or sys.executable,
            key=key,
            records=records,
            setting=_setting(jobs, store),
        )
    record = found.record
    for track in record.tracks:
        words = []
        for metric, form in SHOWN.items():
            value = track_mean(record.scores, track, metric)
            words.append(f"{metric.replace('_', ' ')} {_shown(value, form)}")
        say(f"{track}: {', '.join(words)}")
    for finding in record.findings:
        say(finding)
    say(f"{record.name} is {record.state}.")
    say(f"Record: {found.folder / RECORD}")


def contest(
    entry: EntryFolder,
    models: Annotated[
        Path,
        ask("A folder with changed networks (.safetensors) or ONNX models (.onnx).", "DIR"),
    ],
    track: Annotated[str, ask("The track.", "NAME")],
    dataset: Annotated[str, ask("The dataset that the models are trained on.", "NAME")],
    seed: Annotated[int, ask("The seed of the base model that they are changes of.", "SEED")],
    model: Annotated[
        str | None, ask("The kind of base model, where a track has several.", "MODEL")
    ] = None,
    by: Annotated[
        str | None, ask("Who hands the models in.", "NAME", default="name of the folder")
    ] = None,
    records: Records = None,
    jobs: Jobs = None,
    store: StoreFolder = None,
) -> None:
    """Hand in changed models that break what a verified entry claims.

    A model counts if somebody would deploy it: if its balanced accuracy on the test
    rows is at most 5 points below the base model's. Of the attacks on the answers to
    the people of one base model, the record keeps the one under which the fewest
    answers hold. An entry is contested if these are fewer than it claims, or than
    its worst family less 5 points where it claims nothing.

    changeproof contest entries/mine --models attack --track published --dataset
    diabetes --seed 2026
    """
    from changeproof.board.contest import contest as contest_entry
    from changeproof.board.records import RECORD

    with failures_reported(entry):
        outcome = contest_entry(
            entry,
            models,
            track=track,
            dataset=dataset,
            base_seed=seed,
            model=model,
            by=by or "",
            records=records,
            setting=_setting(jobs, store),
        )
    found = outcome.contest
    for reason in found.left_out:
        say(f"Left out: {reason}")
    held, claimed = 100.0 * found.held, 100.0 * found.claimed
    say(
        f"Answers hold in {held:.1f} % under {found.admissible} admissible models; the entry is "
        f"held to {claimed:.1f} %."
    )
    if not outcome.kept:
        say("A stronger attack is known already; the record keeps that one.")
    say(f"{outcome.record.name} is {outcome.record.state}.")
    say(f"Record: {outcome.folder / RECORD}")


# What is printed of a track, and how.
SHOWN = {
    "coverage": "{:.1f} %",
    "validity": "{:.1f} %",
    "robustness": "{:.1f} %",
    "end_to_end": "{:.1f} %",
    "distance": "{:.3f}",
    "price": "{:.2f}",
}


def _shown(value: float | None, form: str) -> str:
    return "undefined" if value is None else form.format(value)


def _setting(jobs: int | None, store: Path | None) -> Setting:
    from changeproof.board.running import Setting
    from changeproof.commands.progress import ConsoleObserver

    return Setting(store=store, jobs=jobs, watching=ConsoleObserver)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from None


def _claims(given: list[str]) -> dict[str, dict[str, float]]:
    from changeproof.board.entry import check_claims

    found: dict[str, dict[str, float]] = {}
    for text in given:
        track, colon, rest = text.partition(":")
        metric, equals, value = rest.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not (colon and equals) or number != number:
            raise InputError(f"claim {text!r}: expected TRACK:METRIC=VALUE, with a number")
        found.setdefault(track, {})[metric] = number
    check_claims(found, "claim")
    return found
