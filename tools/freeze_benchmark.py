"""Freeze a benchmark version: write the hashes of what its tracks are judged by.

    python tools/freeze_benchmark.py trial published --store ~/frozen
    python tools/freeze_benchmark.py --key keeper.key

A version is frozen once. Another hash on another machine is a finding and no reason to freeze
again; a change on purpose is a new version. With a key, the hash of it is published, and who has
the key can test entries on the secret bank. A key is made by: head -c 32 /dev/urandom > keeper.key
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from changeproof import __version__
from changeproof.board.frozen import ABOUT, FOLDER, FrozenCell, FrozenTrack, Version, plain_plans
from changeproof.board.running import Setting
from changeproof.board.secret import SECRET, key_hash, read_key
from changeproof.board.submit import unasked
from changeproof.board.tracks import TRACKS, VERSION, Track, find_track
from changeproof.commands.progress import ConsoleObserver
from changeproof.files import write_whole
from changeproof.runs.pieces import Kind


def frozen(track: Track, setting: Setting) -> FrozenTrack:
    """Make all models of a track, and return their hashes."""
    cells = []
    for number, part in enumerate(track.parts):
        run = unasked(part, number, setting)
        run.compute((Kind.BASE, Kind.BANK) if run.run.learner.stores_models else (Kind.BASE,))
        for cell in run.cells:
            began = time.process_time()
            values = cell._asdict() | run.basis(cell) | {"families": run.changed(cell)}
            del values["track"]
            cells.append(FrozenCell(**values))
            print(f"{cell}: {time.process_time() - began:.1f} s", flush=True)
    return FrozenTrack(
        benchmark=VERSION, track=track.name, plans=plain_plans(track), cells=tuple(cells)
    )


def freeze(track: Track, setting: Setting, folder: Path) -> None:
    """Write the file of a track into the folder of a version; refuse other hashes than before."""
    path, content = folder / f"{track.name}.json", frozen(track, setting).to_bytes()
    if path.exists() and path.read_bytes() != content:
        raise SystemExit(f"{path} says otherwise; a change on purpose is a new version")
    write_whole(path, content)
    print(f"frozen: {track.name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tracks", nargs="*", help=f"of {', '.join(TRACKS)}")
    parser.add_argument("--store", type=Path, help="where models are kept")
    parser.add_argument("--jobs", type=int, help="worker processes")
    parser.add_argument("--key", type=Path, help="the file of the key of the secret bank")
    given = parser.parse_args()
    setting = Setting(store=given.store, jobs=given.jobs, watching=ConsoleObserver)
    place = FOLDER / VERSION
    for track in map(find_track, given.tracks):
        freeze(track, setting, place)
    if given.key is not None or not (place / ABOUT).exists():
        key = None if given.key is None else key_hash(read_key(f"{SECRET}{given.key}"))
        about = Version(benchmark=VERSION, changeproof=__version__, secret_bank_sha256=key)
        write_whole(place / ABOUT, about.to_bytes())


if __name__ == "__main__":
    main()
