"""Fill results/board: hand in every method of the package, verify the entries, write the board.

    python tools/fill_board.py --store DIR [ENTRY ...] [--tracks published feasible ...]

An entry is asked on all of the given tracks whose models offer what its method needs, and keeps the
tracks that it has. Entries and records are in results/board, as for any keeper of a board; DIR
keeps what was computed, so that entries and tracks can be added later.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path
from typing import Any

import board_pages  # beside this file
from changeproof.board.entry import ENTRY, read_entry
from changeproof.board.leaderboard import leaderboard
from changeproof.board.publishing import write_board
from changeproof.board.running import Setting
from changeproof.board.submit import asking, submit
from changeproof.board.tracks import TRACKS, VERSION, Track, find_track
from changeproof.board.verify import judge_together, verify
from changeproof.errors import InputError
from changeproof.runs.resolve import NothingFitsError

HERE = Path(__file__).parent
BOARD = HERE.parent / "results" / "board"
# What is handed in: the reference that makes the method, what tables call it, and its reference.
ENTRIES = tomllib.loads((HERE / "board_entries.toml").read_text(encoding="utf-8"))
_CITED = re.compile(r"^@\w+\{(\w+),.*$", re.MULTILINE)
_BIB = (HERE / "board_references.bib").read_text(encoding="utf-8")
REFERENCES = {found[1]: found[0] for found in _CITED.finditer(_BIB)}
REAL = tuple(name for name in TRACKS if name != "trial")


USUAL = {"method": "", "tracks": REAL, "cite": None}


def authors_of(bibtex: str) -> tuple[str, ...]:
    """Return the authors of a reference, as one would say their names."""
    (names,) = re.findall(r"author = \{(.*?)\}, title", bibtex)
    plain = re.sub(r"\\k\{(\w)\}|[{}]", lambda found: "ę" if found[1] else "", names)
    return tuple(" ".join(reversed(name.split(", "))) for name in plain.split(" and "))


def fits(method: str, track: Track, setting: Setting) -> bool:
    """Say whether some models of a track offer what a method needs."""
    for number, part in enumerate(track.parts):
        try:
            asking(part, number, method, setting)
        except NothingFitsError:
            continue
        return True
    return False


def hand_in(name: str, tracks: list[str], folder: Path, setting: Setting) -> None:
    """Hand in an entry, for the tracks that it has and those given that it fits."""
    about: dict[str, Any] = dict(ENTRIES[name])
    method, only, cite = (about.pop(key, usual) for key, usual in USUAL.items())
    had = read_entry(folder).entry.tracks if (folder / ENTRY).exists() else ()
    wanted = [t for t in REAL if t in had or (t in tracks and t in only)]
    wanted = [t for t in wanted if fits(method, find_track(t), setting)]
    if not wanted:
        return
    if cite is not None:
        bibtex = REFERENCES[cite]
        about["bibtex"], about["authors"] = bibtex, authors_of(bibtex)
    submit(method, wanted, folder, about, setting)
    print(f"{name}: {', '.join(wanted)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("entries", nargs="*", default=list(ENTRIES))
    parser.add_argument("--tracks", nargs="+", choices=REAL, default=list(REAL))
    parser.add_argument("--rerun", action="store_true", help="run every method again, and compare")
    parser.add_argument("--store", type=Path, required=True, help="where everything is kept")
    parser.add_argument("--jobs", type=int, help="worker processes")
    given = parser.parse_args()
    setting = Setting(store=given.store, jobs=given.jobs)
    entries, records = BOARD / "entries", BOARD / "records"
    failed = {}
    for name in given.entries:
        try:
            hand_in(name, given.tracks, entries / name, setting)
        except InputError as error:
            failed[name] = str(error)
            print(f"{name}: {error}", flush=True)
    there = {name: entries / name for name in given.entries if (entries / name / ENTRY).exists()}
    for track in given.tracks:
        those = [each for each in there.values() if track in read_entry(each).entry.tracks]
        if those:
            judge_together(those, track, setting)
            print(f"{track}: {len(those)} entries put to its changed models", flush=True)
    for name, folder in there.items():
        if name not in failed:
            found = verify(folder, rerun=given.rerun, records=records, setting=setting)
            state = found.record.state
            print(f"{name}: {state}", flush=True)
    board = leaderboard(entries, records, VERSION)
    print(write_board(board, BOARD))
    board_pages.main()
    if failed:
        raise SystemExit(f"{len(failed)} entries failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
