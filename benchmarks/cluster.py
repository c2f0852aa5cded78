"""What a cluster costs, and what it gains.

    python -m benchmarks.cluster overhead [--preset quick|paper]

runs a preset on two worker processes and on a local Dask cluster of two workers, one after the
other, and compares the processor time of all processes of each, and every file of the stores.

    python -m benchmarks.cluster record RUN
    python -m benchmarks.cluster simulate [--workers 64] [--base-seeds 20] [--dask [--slower 4]]

keeps what the pieces of a finished run of the paper preset took (benchmarks/results/pieces.csv);
and has that time pass again on many workers: in a replay of how jobs are handed out, and with
--dask in a real scheduler too, whose workers sleep as long as pieces take. All of them are in one
process here; for it to keep up, time can be made to pass more slowly.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from benchmarks.machine import RESULTS, save
from benchmarks.process_tree import spent_by
from benchmarks.processors import differences
from benchmarks.replay import Simulated, makespan, record, simulated
from changeproof.runs.timings import piece_efforts

MOST_OVERHEAD = 1.1  # times the processor time of worker processes
LEAST_SHARE = 0.8  # of the ideal speed-up
BETWEEN = 0.05  # seconds that a job may take beside its pieces
PRESET = "paper"  # what is simulated
PIECES = RESULTS / "pieces.csv"
# Many workers in one process are not to keep it busy with looking at the clock and at themselves.
QUIET = {
    "distributed.admin.tick.interval": "2s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.profile.enabled": False,
}
ENGINES: dict[str, tuple[str, ...]] = {"processes": (), "dask": ("--cluster", "local")}


def overhead(preset: str, folder: Path) -> list[dict[str, Any]]:
    """Run a preset with either engine; return what each took."""
    command = (sys.executable, "-m", "changeproof", "run", "--jobs", "2", "--preset")
    # What is compiled by now is not compiled while somebody looks at the clock.
    spent_by([*command, "quick", "--out", str(folder / "warm-up")])
    rows: list[dict[str, Any]] = []
    for engine, options in ENGINES.items():
        out = folder / engine
        load = os.getloadavg()[0]
        spent = spent_by([*command, preset, *options, "--out", str(out)])
        efforts = piece_efforts(out).values()
        rows.append(
            {
                "preset": preset,
                "engine": engine,
                "pieces": len(efforts),
                "pieces_that_differ": len(differences(folder / "processes", out)),
                "processor_seconds": spent.processor_seconds,
                "of_pieces": sum(effort.processor_seconds for effort in efforts),
                "seconds": spent.seconds,
                "load_before": load,
                "load_after": os.getloadavg()[0],
            }
        )
        rows[-1]["ratio"] = spent.processor_seconds / rows[0]["processor_seconds"]
        print(rows[-1], flush=True)
    return rows


def simulate(
    recorded: pd.DataFrame, workers: int, base_seeds: int, slower: float | None = None
) -> pd.DataFrame:
    """Return makespans beside what no way of handing out jobs could do better.

    With a real scheduler, too, if it is said how many times slower time passes there.
    """
    naps = simulated(recorded, PRESET, base_seeds)
    found = {
        "replay": makespan(naps.jobs, naps.seconds, workers),
        f"replay, {1000 * BETWEEN:.0f} ms between jobs": makespan(
            naps.jobs, naps.seconds, workers, BETWEEN
        ),
    }
    if slower is not None:
        name = "dask" if slower == 1 else f"dask, {slower:g} times slower"
        found[name] = in_dask(naps.slower(slower), workers) / slower
    ideal = max(naps.work / workers, naps.critical_path)
    rows = [
        {
            "workers": workers,
            "base_seeds": base_seeds,
            "scheduler": scheduler,
            "jobs": len(naps.jobs),
            "work_seconds": naps.work,
            "work_per_worker": naps.work / workers,
            "critical_path": naps.critical_path,
            "makespan": seconds,
            "speed_up": naps.work / seconds,
            "ideal_speed_up": naps.work / ideal,
            "share_of_ideal": ideal / seconds,
        }
        for scheduler, seconds in found.items()
    ]
    return pd.DataFrame(rows)


def in_dask(naps: Simulated, workers: int) -> float:
    """Have a real scheduler hand out naps to so many workers, all of them in this process."""
    from dask import config
    from distributed import Client, LocalCluster

    from changeproof.runs.execute import Observer
    from changeproof.workers.cluster import LOCAL_SETTINGS, Cluster
    from changeproof.workers.jobs import Needs

    with (
        config.set({**LOCAL_SETTINGS, **QUIET}),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=False,
            memory_limit=0,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        engine = Cluster(client)
        engine.start(Needs(), Observer())
        began = time.perf_counter()
        done = list(engine.run(naps.jobs, naps.payloads.get))
        seconds = time.perf_counter() - began
        engine.close()
    assert not any(result.error for _, result in done) and len(done) == len(naps.jobs)
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parts = parser.add_subparsers(dest="part", required=True)
    part = parts.add_parser("overhead", help="processor time beside that of worker processes")
    part.add_argument("--preset", choices=("quick", "paper"), default="quick")
    part.add_argument("--out", type=Path, help="where to keep the runs; nowhere by default")
    part = parts.add_parser("record", help="keep what the pieces of a run took")
    part.add_argument("run", type=Path)
    part = parts.add_parser("simulate", help="recorded pieces on many workers")
    part.add_argument("--workers", type=int, default=64)
    part.add_argument("--base-seeds", type=int, default=20)
    part.add_argument("--dask", action="store_true", help="in a real scheduler, too")
    part.add_argument("--slower", type=float, default=4.0, help="how many times, with --dask")
    options = parser.parse_args()
    if options.part == "record":
        record(options.run).to_csv(PIECES, index=False)
        return 0
    if options.part == "simulate":
        slower = options.slower if options.dask else None
        table = simulate(pd.read_csv(PIECES), options.workers, options.base_seeds, slower)
        keys = ["workers", "base_seeds", "scheduler"]
        save("simulation", table.to_dict("records"), keys)
        print(table.T.to_string())
        return int((table["share_of_ideal"] < LEAST_SHARE).any())
    with TemporaryDirectory() as folder:
        rows = overhead(options.preset, options.out or Path(folder))
    save("overhead", rows, ["preset", "engine"])
    return int(any(row["ratio"] > MOST_OVERHEAD or row["pieces_that_differ"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
