"""One page from all that the benchmarks left in results/: nothing on it is typed by hand.

    python -m benchmarks.report

writes benchmarks/results/README.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import expected_changes
from benchmarks.cluster import LEAST_SHARE, MOST_OVERHEAD
from benchmarks.faithful import NUMBERS
from benchmarks.machine import LIBRARIES, RESULTS
from benchmarks.methods import MOST_LATENCY_MS, misses
from benchmarks.published import MACHINE
from benchmarks.quorum_calibration import summary
from benchmarks.rivals import ABSENT, OURS

PUBLISHED = ["published s, other machine", "ratio to that machine"]


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table, its first column to the left and the others to the right."""
    lines = [" | ".join(header), " | ".join(["---"] + ["---:"] * (len(header) - 1))]
    return "\n".join(f"| {line} |" for line in [*lines, *(" | ".join(row) for row in rows)])


def number(value: float) -> str:
    """Return three significant digits, without an exponent; a dash for none."""
    if np.isnan(value):
        return "-"
    decimals = 0 if value == 0 else max(0, 2 - int(np.floor(np.log10(abs(value)))))
    return f"{value:,.{min(decimals, 6)}f}"


def methods_section(table: pd.DataFrame) -> str:
    header = ["method", "fit s", "request ms", "plain fit s", "plain request ms"]
    header += ["ratio to plain", "agreement", *PUBLISHED, "target"]
    parts = []
    for dataset, mine in table.groupby("dataset"):
        rows = [
            [
                row.method,
                number(row.fit_seconds),
                number(row.request_ms),
                number(row.plain_fit_seconds) + ("°" if row.rows_checked else ""),
                ("> " if row.plain_timeouts else "") + number(row.plain_request_ms),
                ("> " if row.plain_timeouts else "") + number(row.plain_ratio),
                agreement(row),
                number(row.published_seconds) + ("*" if row.published_what != "request" else ""),
                number(row.published_ratio),
                "-" if row.speed == "no target" else f"{row.target_ratio:.0f} {row.speed}",
            ]
            for row in mine.itertuples()
        ]
        parts.append(f"### {dataset}, {mine['people'].iloc[0]} people\n\n{markdown(header, rows)}")
    return "\n\n".join(parts)


def agreement(row: object) -> str:
    """Say how the plain answers compare with the package's."""
    words = []
    if row.rows_checked:
        words.append(f"{row.rows_same} of {row.rows_checked} certificates the same")
    if row.compared:
        words.append(f"{row.same} of {row.compared} the same")
        if row.same < row.compared:
            words.append(f"{row.same_validity} equally valid, distance x {row.distance_ratio:.3f}")
    if row.plain_timeouts:
        words.append(f"{row.plain_timeouts} of {row.plain_people} out of time")
    return "; ".join(words) + ("" if row.agreement == "yes" else " **no agreement**")


def latency_section(table: pd.DataFrame) -> str:
    datasets = list(dict.fromkeys(table["dataset"]))
    rows = []
    for method, mine in table.groupby("method"):
        cells = mine.set_index("dataset")
        rows.append([str(method)])
        for dataset in datasets:
            if dataset not in cells.index:
                rows[-1].append("-")
                continue
            cell = cells.loc[dataset]
            text = " / ".join(
                number(cell[f"latency_{which}_ms"]) for which in ("median", "p90", "most")
            )
            rows[-1].append(text if cell["latency"] == "met" else f"**{text}**")
    return markdown(["method", *datasets], rows)


def tuning_section(table: pd.DataFrame) -> str:
    rows = [
        [
            f"{row.method}, {row.dataset}",
            number(row.tuning_seconds),
            number(row.published_seconds),
            number(row.published_ratio),
        ]
        for row in table.itertuples()
    ]
    return markdown(["tuning of", "seconds", *PUBLISHED], rows)


def training_section(table: pd.DataFrame) -> str:
    rows = [
        [
            row.dataset,
            str(row.networks),
            number(row.bank_seconds),
            f"{row.gflops:.0f} ({row.share_of_peak:.0%})",
            f"{number(row.plain_seconds)} : {number(row.seconds)}",
            number(row.plain_ratio),
            f"{row.same_best_epoch_share:.0%}",
            number(row.published_seconds),
            number(row.published_ratio),
        ]
        for row in table.itertuples()
    ]
    header = ["dataset", "networks", "bank s", "GFLOP/s (of peak)", "plain : ours, s"]
    header += ["ratio to plain", "same best epoch ±2", *PUBLISHED]
    return markdown(header, rows)


def growth_section(table: pd.DataFrame) -> str:
    wide = table.pivot_table("exponent", ["subject", "work"], "dimension", sort=False)
    order = ["people", "rows", "features", "width", "variants"]
    wide = wide.reindex(columns=[name for name in order if name in wide.columns])
    rows = [
        [f"{subject}: {work}", *("-" if np.isnan(v) else f"{v:.2f}" for v in values)]
        for (subject, work), values in zip(wide.index, wide.to_numpy(), strict=True)
    ]
    return markdown(["time ~ size to the power of", *wide.columns], rows)


def plain_section(table: pd.DataFrame) -> str:
    table = table.drop(columns="date")
    rows = [
        [number(v) if isinstance(v, float) else str(v) for v in line] for line in table.to_numpy()
    ]
    return markdown([str(name).replace("_", " ") for name in table.columns], rows)


def calibration_section(table: pd.DataFrame) -> str:
    header = ["dataset", "target", "base networks", "without a promise", "promised %"]
    header += ["failures %", "least to most"]
    header += ["allowed %", "a binomial's 95 %", "kept", "refused by witnesses %"]
    header += ["answers below their bound %", "distance"]
    rows = [
        [
            *(row.dataset, f"{row.target:g}", str(row.base_networks), str(row.without_promise)),
            f"{row.promised:.2f}",
            *(f"{row.failures:.2f}", f"{row.least:.2f} to {row.most:.2f}", f"{row.allowed:.2f}"),
            *(row.band, row.kept, f"{row.refused_by_witnesses:.2f}", f"{row.below_bound:.2f}"),
            f"{row.distance:.3f}",
        ]
        for row in summary(table).itertuples()
    ]
    return markdown(header, rows)


def expected_section(table: pd.DataFrame) -> str:
    found = expected_changes.summary(table)
    rows = [
        [str(family), *("-" if np.isnan(value) else f"{value:.2f}" for value in values)]
        for family, values in zip(found.columns, found.to_numpy().T, strict=True)
    ]
    return markdown(["tested on; quorum built for", *map(str, found.index)], rows)


def large_section(table: pd.DataFrame) -> str:
    """Return time and memory, and below them the processor seconds of every stage by rows."""
    names = {
        "rows": "rows",
        "seconds": "s",
        "processor_seconds": "processor s",
        "peak_gib": "peak GiB, all processes",
        "silence_seconds": "longest silence s",
        "table_mib": "table MiB",
        "kept_mib": "run directory MiB",
        "page_mib": "page MiB",
    }
    lines = [[f"{row.rows:,}", *map(number, row[2:])] for row in table[list(names)].itertuples()]
    stages = pd.read_csv(RESULTS / "large_stages.csv", keep_default_na=False)
    spent = stages["processor_seconds"].where(stages["processor_seconds"] != "", stages["seconds"])
    wide = stages.assign(spent=spent.astype(float)).pivot_table(
        "spent", ["stage", "subject"], "rows", sort=False
    )
    parts = [[": ".join(filter(None, key)), *map(number, row[1:])] for key, row in _rows(wide)]
    header = [f"{rows:,} rows" for rows in wide.columns]
    return "\n\n".join(
        [
            markdown(list(names.values()), lines),
            "Where the time goes: processor seconds of pieces, wall seconds of what stands around "
            "them.",
            markdown(["stage", *header], parts),
        ]
    )


def _rows(table: pd.DataFrame) -> Iterator[tuple[tuple[str, str], tuple[float, ...]]]:
    for row in table.itertuples():
        yield row.Index, tuple(row)


def rivals_section(table: pd.DataFrame) -> str:
    """Put every library's methods beside ours of the same name, and then all of ours."""
    parts = []
    for (dataset, model), mine in table.groupby(["dataset", "model"]):
        others = mine[(mine["tool"] != OURS) & mine["why_not"].isna()]
        own = mine[mine["tool"] == OURS]
        parts.append(f"### {dataset}, {model}")
        if len(others):
            parts.append(markdown(RIVAL_HEADER, [_rival_row(row) for row in others.itertuples()]))
        header = ["ours", "people", "fit s", "request ms", "in a batch ms", *JUDGED]
        lines = [
            [
                row.method,
                f"{row.people:.0f}",
                number(row.prepared_seconds),
                number(1e3 * row.seconds_per_person),
                number(1e3 * row.batch_seconds_per_person),
                *_judged(row),
            ]
            for row in own.itertuples()
        ]
        parts.append(markdown(header, lines))
    failed = table[table["why_not"].notna()].drop_duplicates(["tool", "method"])
    lines = [f"- {row.tool} {row.method}: {row.why_not}" for row in failed.itertuples()]
    lines += [f"- {name}: {reason}" for name, reason in ABSENT.items()]
    broken = table[table["failures"] > 0]
    lines += [
        f"- {row.tool} {row.method}, {row.failures:.0f} of {row.people:.0f} people ({row.dataset}, "
        f"{row.model}): {row.failure}"
        for row in broken.itertuples()
    ]
    settings = table[table["settings"].notna()].drop_duplicates(["tool", "method"])
    said = [f"- {row.tool} {row.method}: {row.settings}" for row in settings.itertuples()]
    parts += ["Not on their defaults:", "\n".join(said), "Not measured, and why:", "\n".join(lines)]
    return "\n\n".join(parts)


UNITS = ("distance", "lof")
JUDGED = ["coverage", "base valid", "robust %", "end to end %", "distance"]
RIVAL_HEADER = ["theirs", "version", "people", "set-up s", "request ms", *JUDGED]
RIVAL_HEADER += ["ours", "request ms", "robust %", "distance", "times faster", "same answers"]


def _judged(row: Any) -> list[str]:
    rates = (row.coverage, row.base_validity, row.robustness, row.end_to_end_robustness)
    return [*(f"{rate:.1f}" for rate in rates), f"{row.distance:.3f}"]


def _rival_row(row: Any) -> list[str]:
    cells = [f"{row.tool} {row.method}", str(row.version), f"{row.people:.0f}"]
    cells += [number(row.prepared_seconds), number(1e3 * row.seconds_per_person), *_judged(row)]
    if pd.isna(row.ours):
        return [*cells, *["-"] * 6]
    return [
        *cells,
        str(row.ours).rpartition(":")[2],
        number(1e3 * row.our_seconds_per_person),
        f"{row.our_robustness:.1f}",
        f"{row.our_distance:.3f}",
        number(row.seconds_per_person / row.our_seconds_per_person),
        f"{row.same_answers:.0f} of {row.answered_by_both:.0f}",
    ]


def faithful_section(table: pd.DataFrame) -> str:
    """Put every number that others published beside ours, in their unit."""
    parts = []
    for setting, mine in table.groupby("setting", sort=False):
        people, networks = mine["people"].iloc[0], mine["networks"].iloc[0]
        parts.append(
            f"### {setting}: {people} people, {networks} changed networks\n\n"
            f"Theirs: {mine['source'].iloc[0]}"
        )
        parts.append(compared_table(mine))
    return "\n\n".join(parts)


def compared_table(table: pd.DataFrame) -> str:
    """Return published / ours; of several base networks the mean, the least and the most."""
    known = [name for name in NUMBERS if table[f"published_{name}"].notna().any()]
    lines = []
    for (method, ours), mine in table.groupby(["method", "ours"], sort=False):
        cells = [str(method), f"`{ours}`", str(len(mine))]
        for name in known:
            theirs, digits = mine[f"published_{name}"].iloc[0], 3 if name in UNITS else 1
            said = "-" if np.isnan(theirs) else f"{theirs:.{digits}f}"
            said += f" / {mine[name].mean():.{digits}f}"
            if len(mine) > 1:
                said += f" ({mine[name].min():.{digits}f} to {mine[name].max():.{digits}f})"
            cells.append(said)
        lines.append(cells)
    header = ["theirs", "ours", "base networks", *(name.replace("_", " ") for name in known)]
    return markdown(header, lines)


OTHER_MACHINE = (
    f"Published: what the published code takes on another machine ({MACHINE}); ratios to it are "
    "ratios to that machine, and would be others on this one."
)
SECTIONS: dict[str, tuple[str, str, Callable[[pd.DataFrame], str]]] = {
    "methods": (
        "Methods",
        "Processor time of one thread. A request's time is its share of the full batch, without "
        "fitting. Ratio to plain: how many times longer the plain version of `benchmarks/plain` "
        f"takes, in the same run. {OTHER_MACHINE} "
        "\\* first request of a base network, fitting included, on both sides. "
        "° extrapolated from a sample of the training rows. > a search of the plain version ran "
        "out of time.",
        methods_section,
    ),
    "tuning": (
        "Tuning",
        f"All candidates on up to 25 people, one thread. {OTHER_MACHINE}",
        tuning_section,
    ),
    "training": (
        "Training",
        "What one base network needs: its bank and BetaRCE's ensemble; processor time of one "
        "core. Every fourth network was trained by an ordinary PyTorch loop as well, in the same "
        f"run. {OTHER_MACHINE}",
        training_section,
    ),
    "quorum_speed": (
        "Quorum",
        "Fitting (private networks and calibration) beside training the bank of the same base "
        "network, and the search beside a plain one that asks every network about everything and "
        "has to find the same points. Processor time of one thread.",
        plain_section,
    ),
    "exponents": (
        "Growth",
        "Processor time of one thread on generated tasks; exponents of power laws over the upper "
        "half of each grid. All points: `growth.csv`.\n\n![Time by size, log-log](growth.png)",
        growth_section,
    ),
    "certificates": (
        "Certificates",
        "Attacks on rnce's certificates, five base networks per dataset. None may break.",
        plain_section,
    ),
    "certified_rivals": (
        "Certified methods on ionosphere",
        "The example of RobustX's README: 34 features, a network of 8 hidden neurons, radius "
        "0.005, everybody whom it refuses; their network and their machine are others. Their table "
        "says of MCER 0.65 certified in 138 s at a mean l2 of 5.14, of PROPLACE 1.0 in 12.9 s at "
        "5.97, of RNCE 1.0 in 3.98 s at 6.03, of MCE none in 3.44 s at 3.27, for 128 people. Here: "
        "processor seconds of one thread for all people; distances of standardised rows.",
        plain_section,
    ),
    "overhead": (
        "A local cluster beside worker processes",
        "The same run twice, by two worker processes and by a local Dask cluster of two workers; "
        "processor time of all processes that come of it, the client and the scheduler included. "
        "Of these, what was measured within the pieces. The target is at most "
        f"{MOST_OVERHEAD:g} times the processor time. The load is that of the whole machine, one "
        "minute's mean.",
        plain_section,
    ),
    "simulation": (
        "Many workers",
        "The paper preset with more base seeds, its pieces replaced by the processor time that "
        "they took (`pieces.csv`; five seeds, repeated in turn). Jobs are handed out by urgency, "
        "which is built from guesses and not from these times. Ideal: the work divided by the "
        "workers, or the critical path if that is longer. In Dask all workers are in one process "
        "and sleep; its makespan is divided by how many times slower time passed. The target is "
        f"{LEAST_SHARE:.0%} of the ideal speed-up.",
        plain_section,
    ),
    "planted_certificates": (
        "Planted certificates",
        "Small networks by the size of their largest weight, boxes with radii from 10^-8 to 1, and "
        "the last rows that are certified, to the last bit: by bounds alone and by the solver. "
        "All are attacked; none may be false.",
        plain_section,
    ),
    "ordinary_certificates": (
        "Certificates of ordinary networks",
        "Networks as initialised, at random rows. What stays unknown is power lost.",
        plain_section,
    ),
    "reliability": (
        "What a run survives",
        "Trials of `make torture`: what was done, and what became of it. After kills, deaths at "
        'file operations, faults and tampering the same command is given again; "same bytes" '
        'means that it ended with the pieces of a run that nothing had happened to. "Refused" '
        "means one line that says why, an exit code that says so, and nothing half-written.",
        plain_section,
    ),
    "minimal": (
        "The minimum-l1 search",
        "The fast engine of AP-Delta-S against a mixed-integer programme on HiGHS.",
        plain_section,
    ),
    "feasible_rows": (
        "The search among feasible rows",
        "How much farther it goes than the nearest row there is, for pools of eight small models "
        "and a base model on generated tables with rules. The nearest is proven by HiGHS, or all "
        "rows are tried. By the score that guides the search, and by how often, and of how many "
        "rows, changes are exchanged.",
        plain_section,
    ),
    "quorum_calibration": (
        "What quorum promises, and what happens",
        "One fit for each base network; everybody in the test part whom it rejects is advised, and "
        "200 changed networks judge. Promised: what conformal risk control proves of quorum's own "
        "judges, in the mean over base networks. Failures: what the changed networks refuse, in "
        "the mean. The band is that of a binomial with as many draws as there are changed "
        "networks. An answer is below its bound if fewer changed networks accept it than "
        "`at_least` says; 5 % may be.",
        calibration_section,
    ),
    "credit": (
        "Credit tables with rules, and models that lenders have",
        "40 people of one base model, told only what they can do; the paper's families, as far as "
        "they fit the model, and the limit. Seconds are processor time, fitting included.",
        plain_section,
    ),
    "lasting": (
        "Advice that is to last through twelve updates",
        "quorum(lasts=12) on base networks that nothing was chosen by. Held to the end: the share "
        "of advice and of 25 futures, in percent, with all updates and with those that a lender "
        "would deploy. The limit is the shortest change that lasts through all futures but one.",
        plain_section,
    ),
    "expected_changes": (
        "Which change do you expect?",
        "quorum built for one kind of change, for all kinds, and for all kinds but the one that is "
        "tested; what share of the changed networks of each family accepts its advice, in "
        "percent, in the mean over the paper's tables, two base seeds each, up to 60 people each. "
        "The last line is the distance, relative to quorum built for all kinds.\n\n"
        "![What quorum was built for, and what it was tested on]"
        "(../../docs/expected-changes.png)",
        expected_section,
    ),
    "large": (
        "Large tables",
        "`changeproof audit` on generated tables of 20 features: our network, 100 people, kdtree, "
        "wachter and robx-balanced, two families of five changed models, two worker processes. "
        "Others worked on the machine, so wall time says little; the processor time of all "
        "processes together says how it grows.",
        large_section,
    ),
    "boosted": (
        "A fitted LightGBM model",
        "`changeproof audit` of a LightGBM model, as it is, on a generated table with categories "
        "and gaps: all methods that fit, the paper's families, two worker processes.",
        plain_section,
    ),
    "rivals": (
        "Other libraries' methods beside ours",
        "Each library in an environment of its own, asked about the same people, base model (base "
        "seed 2026) and changed models as ours, one person after the other. Processor time of one "
        "thread, after a first request that does not count. Where ours of the same name is there, "
        "it is beside it, on the people whom the library had the time to answer; same answers: "
        "rows that differ by at most 0.00001 in every feature. The rows of 2026-11-18 come from "
        "several processes on a machine with others at work (load 10 to 18); times of one row "
        "may be twice those of another day.",
        rivals_section,
    ),
    "faithful": (
        "In other papers' units",
        "Our methods in the settings of others, as far as these are stated "
        "(`benchmarks/faithful.py` says what they are); their number / ours. What the page "
        "[Faithful by evidence](../../docs/faithful.md) is about.",
        faithful_section,
    ),
    "batches": (
        "Training on long tables",
        "One network of each generated table: with steps of 20,000 rows at most, and with all "
        "rows in every step; at most 300 passes over the rows. Processor time of one thread.",
        plain_section,
    ),
}


def measured(table: pd.DataFrame, run: dict[str, str]) -> str:
    dates = " and ".join(sorted(set(table["date"])))
    versions = ", ".join(f"{name} {run[name]}" for name in ("python", *LIBRARIES))
    return (
        f"Measured on {dates}: {run['processor']}, {run['cores']} cores, {run['memory']}, "
        f"{run['system']} (load at the end {run['load at the end']}); {versions}."
    )


def page() -> str:
    """Return all that the tables show."""
    runs = json.loads((RESULTS / "runs.json").read_text(encoding="utf-8"))
    parts = [
        "# What the benchmarks showed",
        "Written by `python -m benchmarks.report` from the tables in this folder; "
        "`make bench` measures everything but the clusters anew.",
    ]
    for name, (title, words, section) in SECTIONS.items():
        if name not in runs:
            continue
        table = pd.read_csv(RESULTS / f"{name}.csv")
        parts += [f"## {title}", words, measured(table, runs[name]), section(table)]
        if name == "methods":
            missed = misses(table)
            verdict = ["Targets missed:", ""] + [f"- {line}" for line in missed]
            parts.append("\n".join(verdict) if missed else "All targets met.")
            parts += [
                "### A single request",
                f"Milliseconds of a batch of one on a fitted method: median / p90 / most over "
                f"different people. The target is a p90 below {MOST_LATENCY_MS:.0f} ms.",
                latency_section(table),
            ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    (RESULTS / "README.md").write_text(page(), encoding="utf-8")
    print(f"written: {RESULTS.name}/README.md")


if __name__ == "__main__":
    main()
