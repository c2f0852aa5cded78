"""The options of run, audit and explain: each is declared once, with its help.

What a plan says comes from the fields of `Plan`; the rest is declared here. A command takes options
by group (`takes`) and is given those that were used as one dictionary.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from changeproof.commands import parsing
from changeproof.errors import InputError
from changeproof.runs.plan import Option, Plan

DATA, TIME, MODEL, MAY = "Your data", "Time", "Your model", "What may change"
RUN, NEXT, CLUSTER = "The run", "What came next", "A cluster"
# In the order in which --help has them.
PANELS = (DATA, TIME, MODEL, MAY, RUN, NEXT, CLUSTER)
Options = dict[str, tuple[Any, Option]]
Given = dict[str, Any]


def ask(
    text: str,
    metavar: str | None = None,
    *,
    default: str = "",
    panel: str | None = None,
    flags: str | Sequence[str] = (),
) -> Any:
    """Return an option as typer has it; `default` is what --help says of it."""
    return typer.Option(
        *([flags] if isinstance(flags, str) else flags),
        help=text,
        metavar=metavar,
        show_default=default or False,
        rich_help_panel=panel,
    )


RunDirectory = Annotated[
    Path, typer.Argument(help="The run directory: what --out was.", metavar="DIR")
]
ImportItsCode = Annotated[
    bool,
    ask(
        "Import methods, families and models that the run directory names and that are not "
        "installed. This runs their code.",
        flags="--import-its-code",
    ),
]
AsJson = Annotated[
    bool,
    ask(
        "Print everything as one JSON document: plan, verdict, what was left out, tables.",
        flags="--json",
    ),
]
DataFile = ask(
    "A CSV or Parquet file; or a dataset file (.toml), which says all that follows here and what "
    "may change.",
    "FILE",
    panel=DATA,
)


class Table:
    """What a table means; a dataset file says it itself."""

    target: Annotated[str, Option("The column to predict.", "COLUMN", panel=DATA)]
    favourable: Annotated[
        list[str], Option("The value that people want. Repeat for several.", "VALUE", panel=DATA)
    ]
    name: Annotated[str, Option("A name for the data.", "NAME", "name of the file", DATA)]
    id_column: Annotated[
        str, Option("A column that identifies people.", "COLUMN", "row numbers from 0", DATA)
    ]
    categorical: Annotated[
        list[str], Option("Columns to treat as categories.", "COLUMN,…", panel=DATA)
    ]
    drop: Annotated[list[str], Option("Columns to ignore.", "COLUMN,…", panel=DATA)]
    allow_leak: Annotated[
        list[str],
        Option(
            "Columns that may predict the target without a mistake. Others that do are refused.",
            "COLUMN,…",
            panel=DATA,
        ),
    ]
    missing: Annotated[
        Literal["refuse", "impute", "impute-and-keep"],
        Option(
            "Missing values: refuse them, impute them (fill them in), or impute-and-keep: nobody "
            "is told to change what was filled in.",
            "WAY",
            "refuse",
            DATA,
        ),
    ]
    encoding: Annotated[
        str, Option("The encoding of a CSV file: latin-1, utf-16, …", "NAME", "utf-8", DATA)
    ]
    split: Annotated[
        str,
        Option(
            "A column that says train, update, validation or test.",
            "COLUMN",
            "stratified 50/10/10/30",
            DATA,
        ),
    ]
    time: Annotated[
        str,
        Option(
            "A column that says when: a date or a number. The model is trained on the earlier "
            "half of the rows; later ones are for updates, as of the families later-data and "
            "updates.",
            "COLUMN",
            panel=TIME,
        ),
    ]
    immutable: Annotated[list[str], Option("Features that may not change.", "FEATURE,…", panel=MAY)]
    only_increase: Annotated[
        list[str], Option("Features that may only increase.", "FEATURE,…", panel=MAY)
    ]
    only_decrease: Annotated[
        list[str], Option("Features that may only decrease.", "FEATURE,…", panel=MAY)
    ]
    ranges: Annotated[
        list[str],
        Option(
            "The range of a feature in advice, with one or both ends: income=0:90000, age=18:. "
            "Repeat for several.",
            "FEATURE=LOW:HIGH",
            "range of the data",
            MAY,
            "--range",
        ),
    ]
    most_changes: Annotated[
        int, Option("The most features that may change at once.", "N", "any number", MAY)
    ]


class Brought:
    """What somebody brings beside data and model."""

    counterfactuals: Annotated[
        list[str],
        Option("A table of counterfactuals from another tool. Repeat for several.", "[NAME=]FILE"),
    ]
    successor: Annotated[
        list[str],
        Option(
            "A model that came after today's: pickle:FILE, python:module:name, onnx:FILE, or "
            "scores:FILE with its scores of the letters. Append @SCORE for a different threshold. "
            "Repeat for several. Fitted models, today's too, are then used as they are.",
            "[NAME=]MODEL",
            panel=NEXT,
        ),
    ]


class Pickles:
    """Whether models may be unpickled."""

    unpickle: Annotated[
        bool,
        Option(
            "Allow pickle:FILE. Loading a pickle runs any code in it: use this only if you trust "
            "its author.",
            panel=MODEL,
            flags="--unpickle-and-run-its-code",
        ),
    ]


class Jobs:
    """Who does the work, here."""

    jobs: Annotated[int, Option("Worker processes.", "N", "one per core")]


class Workers(Jobs):
    """Who does the work, here or elsewhere."""

    cluster: Annotated[
        str,
        Option(
            "Have the work done by a Dask cluster (extra: cluster): tcp://HOST:8786, the file of "
            "its scheduler (scheduler.json), or local for one that is started here with --jobs "
            "workers.",
            "ADDRESS",
            panel=CLUSTER,
        ),
    ]
    tls_ca_file: Annotated[
        Path,
        Option(
            "TLS: the certificate of the authority that the cluster trusts.", "FILE", panel=CLUSTER
        ),
    ]
    tls_cert: Annotated[Path, Option("TLS: your own certificate.", "FILE", panel=CLUSTER)]
    tls_key: Annotated[Path, Option("TLS: the key of your certificate.", "FILE", panel=CLUSTER)]


def options_of(group: type, command: str = "") -> Options:
    """Return the options that are annotations of a class; of a plan, those of a command."""
    found = {}
    for name, annotation in get_type_hints(group, include_extras=True).items():
        kind, *extras = get_args(annotation) if get_origin(annotation) is Annotated else [None]
        for option in (each for each in extras if isinstance(each, Option)):
            if group is not Plan:
                found[name] = (kind, option)
            elif command in option.commands:
                # A preset or a plan file has values of its own.
                shown = option._replace(default="") if command == "run" else option
                found[name] = (_read_as(kind), shown)
    return found


def _read_as(field: Any) -> Any:
    """Return how the command line reads a field of a plan: several values as texts."""
    kinds = {get_origin(kind) or kind for kind in (field, *get_args(field))}
    if kinds & {tuple, dict}:
        return list[str]
    return next((kind for kind in (bool, int) if kind in kinds), str)


def takes(command: str, *groups: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command more options than it spells out; it finds those that were used in `given`."""
    options = {name: each for group in groups for name, each in options_of(group, command).items()}
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                kind | None,
                ask(
                    option.help,
                    option.metavar,
                    default=option.default,
                    panel=option.panel,
                    flags=option.flags.split(),
                ),
            ],
        )
        for name, (kind, option) in options.items()
    ]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function, eval_str=True)
        own = [each for each in signature.parameters.values() if each.name != "given"]

        def called(**values: Any) -> None:
            given = {name: values.pop(name) for name in options}
            function(**values, given={k: v for k, v in given.items() if v is not None})

        called.__name__, called.__doc__ = function.__name__, function.__doc__
        called.__signature__ = signature.replace(parameters=[*own, *parameters])  # type: ignore[attr-defined]
        return called

    return decorate


def flags_of(names: Iterable[str]) -> str:
    """Return how options of audit and explain are written, for a message."""
    known = options_of(Table) | options_of(Plan, "audit")
    flags = {name: option.flags.split("/")[0].split()[:1] for name, (_, option) in known.items()}
    return ", ".join(
        "".join(flags.get(name, ())) or f"--{name.replace('_', '-')}" for name in names
    )


def plan_values(given: Given) -> dict[str, Any]:
    """Return what options say of the fields of a plan, as `Plan` takes it."""
    values = {name: given[name] for name in Plan.model_fields if name in given}
    for name, value in values.items():
        if name == "grid":
            values[name] = parsing.grid_of(value)
        elif isinstance(value, list) and name != "replacements":
            values[name] = parsing.split(value)
    if "base_seeds" in values:
        values["base_seeds"] = parsing.whole_numbers("base seed", values["base_seeds"])
    values.pop("counterfactuals", None)
    return values


def data_of(data: Path, given: Given) -> tuple[Any, dict[str, Any]]:
    """Return a table with what it means, or the task of a dataset file, which says it itself.

    The task of a dataset file also remembers the columns to group people by.
    """
    used = [name for name in options_of(Table) if name in given]
    if data.suffix == ".toml":
        if used:
            raise InputError(f"dataset file {data} says that itself; leave out {flags_of(used)}")
        from changeproof.datasets.dataset_file import load_dataset
        from changeproof.datasets.grouping import columns_of

        return load_dataset(data, columns_of(parsing.split(given.get("by")) or ())), {}
    for name in ("target", "favourable"):
        if not given.get(name):
            raise InputError(f"--{name} is missing; a table does not say it, a dataset file can")
    rules = ("immutable", "only_increase", "only_decrease", "ranges")
    described = {name: given[name] for name in used if name not in rules}
    for name in ("categorical", "drop", "allow_leak"):
        if name in described:
            described[name] = parsing.split(described[name])
    described["actions"] = parsing.constraints(**{name: given.get(name) for name in rules})
    return data, described


@contextmanager
def workers_of(given: Given) -> Iterator[dict[str, Any]]:
    """Give what `run` and `audit` take: a number of workers here, or the client of a cluster."""
    tls = [given.get(name) for name in ("tls_ca_file", "tls_cert", "tls_key")]
    cluster, jobs = given.get("cluster"), given.get("jobs")
    if cluster is None:
        if any(tls):
            raise InputError("--tls-ca-file, --tls-cert and --tls-key belong to --cluster")
        yield {"jobs": jobs}
        return
    from changeproof.commands.progress import patience
    from changeproof.workers.cluster import Certificates, connected

    with ExitStack() as open_until_done:
        with patience(f"reaching the cluster: {cluster}"):
            client = open_until_done.enter_context(
                connected(cluster, jobs=jobs, certificates=Certificates(*tls))
            )
        yield {"client": client}
