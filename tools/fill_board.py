"""Fill results/board: hand in every method of the package, verify the entries, write the board.

    python tools/fill_board.py --store DIR [ENTRY ...] [--tracks published feasible ...]

An entry is asked on those of the given tracks that it does not have and whose models offer what its
method needs. Its answers to the tracks that it has stay, and what its record says of them; to ask
all again, delete the entry. Entries and records are in results/board, as for any keeper of a board.
DIR keeps what was computed, and entries until they are verified: a call that is cut short goes on.
"""

from __future__ import annotations

import argparse
import re
import shutil
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
from changeproof.board.verify import judge_together, known_of, record_about, verify
from changeproof.errors import InputError
from changeproof.runs.resolve import NothingFitsError

HERE = Path(__file__).parent
BOARD = HERE.parent / "results" / "board"
ON_BOARD, RECORDS = BOARD / "entries", BOARD / "records"
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


def tracks_of(folder: Path) -> tuple[str, ...]:
    """Return the tracks of an entry; none where there is no entry yet."""
    return read_entry(folder).entry.tracks if (folder / ENTRY).exists() else ()


def hand_in(name: str, tracks: list[str], folder: Path, setting: Setting) -> None:
    """Hand in an entry, for the tracks that it has on the board and those given that it fits."""
    about: dict[str, Any] = dict(ENTRIES[name])
    method, only, cite = (about.pop(key, usual) for key, usual in USUAL.items())
    had = tracks_of(ON_BOARD / name)
    wanted = [t for t in REAL if t in had or (t in tracks and t in only)]
    wanted = [t for t in wanted if fits(method, find_track(t), setting)]
    if not wanted:
        return
    if cite is not None:
        bibtex = REFERENCES[cite]
        about["bibtex"], about["authors"] = bibtex, authors_of(bibtex)
    submit(method, wanted, folder, about, setting, keep=ON_BOARD / name if had else None)
    print(f"{name}: {', '.join(wanted)}", flush=True)


def put_on_board(folder: Path, rerun: bool, setting: Setting) -> str:
    """Verify an entry, unless that is done, put it on the board, and return its state."""
    there = ON_BOARD / folder.name
    record = None if rerun else record_about(read_entry(folder), RECORDS)
    if record is None:
        known = known_of(there, RECORDS) if there.exists() else None
        found = verify(folder, rerun=rerun, known=known, records=RECORDS, setting=setting)
        record = found.record
    shutil.copytree(folder, there, dirs_exist_ok=True)
    return record.state


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("entries", nargs="*", default=list(ENTRIES))
    parser.add_argument("--tracks", nargs="+", choices=REAL, default=list(REAL))
    parser.add_argument("--rerun", action="store_true", help="run every method again, and compare")
    parser.add_argument("--store", type=Path, required=True, help="where everything is kept")
    parser.add_argument("--jobs", type=int, help="worker processes")
    given = parser.parse_args()
    setting = Setting(store=given.store, jobs=given.jobs)
    entries = given.store / "entries"
    failed = {}
    for name in given.entries:
        try:
            hand_in(name, given.tracks, entries / name, setting)
        except InputError as error:
            failed[name] = str(error)
            print(f"{name}: {error}", flush=True)
    there = [name for name in given.entries if name not in failed and tracks_of(entries / name)]
    for track in given.tracks:
        asked = [name for name in there if track in tracks_of(entries / name)]
        if those := [entries / n for n in asked if track not in tracks_of(ON_BOARD / n)]:
            judge_together(those, track, setting)
            print(f"{track}: {len(those)} entries put to its changed models", flush=True)
    for name in there:
        print(f"{name}: {put_on_board(entries / name, given.rerun, setting)}", flush=True)
    board = leaderboard(ON_BOARD, RECORDS, VERSION)
    print(write_board(board, BOARD))
    board_pages.main()
    if failed:
        raise SystemExit(f"{len(failed)} entries failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
