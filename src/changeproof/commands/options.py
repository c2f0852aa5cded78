"""The options of run, audit and explain: each is declared once, with its help.

What a plan says comes from the fields of `Plan`; the rest is declared here. A command takes options
by group (`takes`) and is given those that were used as one dictionary.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from changeproof.commands import parsing
from changeproof.errors import InputError
from changeproof.runs.plan import OPTIONS, Option, Plan

DATA, TIME, MODEL, MAY_CHANGE = "Your data", "Time", "Your model", "What may change"
RUN, NEXT, CLUSTER = "The run", "What came next", "A cluster"
ENTRY = "The entry"
# In the order in which --help has them.
PANELS = (DATA, TIME, MODEL, MAY_CHANGE, ENTRY, RUN, NEXT, CLUSTER)
Options = dict[str, tuple[Any, Option]]
Given = dict[str, Any]


def ask(
    text: str,
    metavar: str | None = None,
    default: str = "",
    panel: str | None = None,
    flags: str = "",
) -> Any:
    """Return an option as typer has it; `default` is what --help says of it."""
    return typer.Option(
        *flags.split(),
        help=text,
        metavar=metavar,
        show_default=default or False,
        rich_help_panel=panel,
    )


RunDirectory = Annotated[
    Path, typer.Argument(help="The run directory, as given to --out.", metavar="DIR")
]
AsJson = Annotated[
    bool,
    ask(
        "Print everything as one JSON document: plan, verdict, what was left out, tables.",
        flags="--json",
    ),
]
DataFile = ask(
    "A CSV or Parquet file; or a dataset file (.toml), which also describes the columns and what "
    "may change; or, to try it, the name of an embedded dataset: german-credit.",
    "FILE",
    panel=DATA,
)


def _in_panel(panel: str, **options: tuple[Any, ...]) -> Options:
    """Return options by name, from: type, help, metavar, what --help says of the default."""
    return {
        name: (kind, Option(*words)._replace(panel=panel))
        for name, (kind, *words) in options.items()
    }


# What the columns of a table mean; a dataset file says so itself.
TABLE = {
    **_in_panel(
        DATA,
        target=(str, "The column to predict.", "COLUMN"),
        favourable=(
            list[str],
            "The value that people want, or a range: '>=620', '200:300'. Repeat for several.",
            "VALUE",
        ),
        name=(str, "A name for the data.", "NAME", "name of the file"),
        id_column=(str, "The column that identifies people.", "COLUMN", "row numbers from 0"),
        categorical=(list[str], "Columns to treat as categories.", "COLUMN,…"),
        drop=(list[str], "Columns to ignore.", "COLUMN,…"),
        allow_leak=(
            list[str],
            "Columns that may predict the target without a mistake. Others that do are refused.",
            "COLUMN,…",
        ),
        missing=(
            Literal["refuse", "impute", "impute-and-keep", "as-is"],
            "Missing values: refuse them, impute them (fill them in), impute-and-keep (nobody is "
            "told to change what was filled in), or as-is: your model sees them as missing, and "
            "advice leaves them alone.",
            "WAY",
            "refuse; as-is for a fitted model",
        ),
        encoding=(str, "The encoding of a CSV file: latin-1, utf-16, …", "NAME", "utf-8"),
        split=(
            str,
            "The column that says train, update, validation or test; or train and test only, and "
            "the test rows are shared out.",
            "COLUMN",
            "stratified 50/10/10/30",
        ),
    ),
    **_in_panel(
        TIME,
        time=(
            str,
            "The column that says when: a date or a number. The model is trained on the earlier "
            "half of the rows. The later half is for updates, such as those of the families "
            "later-data and updates.",
            "COLUMN",
        ),
    ),
    **_in_panel(
        MAY_CHANGE,
        immutable=(list[str], "Features that may not change.", "FEATURE,…"),
        only_increase=(list[str], "Features that may only increase.", "FEATURE,…"),
        only_decrease=(list[str], "Features that may only decrease.", "FEATURE,…"),
        range=(
            list[str],
            "The range of a feature in advice, with one or both ends: income=0:90000, age=18:. "
            "Repeat for several.",
            "FEATURE=LOW:HIGH",
            "range of the data",
        ),
        most_changes=(int, "The most features that may change at once.", "N", "any number"),
        rule=(
            list[str],
            'A rule between features: "charge = 0.17 * minutes", "seniority <= age - 16", '
            '"education up => age at least + 2". Repeat for several.',
            "RULE",
        ),
        person_limits=(
            Path,
            "A table of people's own limits: an id and columns such as low:income, high:income and "
            "fixed:income.",
            "FILE",
        ),
    ),
}
OTHER_TOOLS = _in_panel(
    RUN,
    counterfactuals=(
        list[str],
        "A table of counterfactuals from another tool, or a folder of letters that 'changeproof "
        "letters' wrote. Repeat for several.",
        "[NAME=]FILE",
    ),
)
SUCCESSORS = _in_panel(
    NEXT,
    successor=(
        list[str],
        "A model that came after today's: a fitted one, as in --model, or scores:FILE with its "
        "scores of the letters. Append @SCORE for a different threshold. "
        "Repeat for several. Fitted models, including today's, are then used as they are.",
        "[NAME=]MODEL",
    ),
)
UNPICKLE = _in_panel(
    MODEL,
    unpickle_and_run_its_code=(
        bool,
        "Allow pickle:FILE, joblib:FILE and mlflow:…. Loading one runs any code in it: use this "
        "only if you trust its author.",
    ),
)
JOBS = _in_panel(RUN, jobs=(int, "Worker processes.", "N", "one per core"))
WORKERS = JOBS | _in_panel(
    CLUSTER,
    cluster=(
        str,
        "Have a Dask cluster do the work (extra: cluster): tcp://HOST:8786, the file of its "
        "scheduler (scheduler.json), or local to start one here with --jobs workers.",
        "ADDRESS",
    ),
    tls_ca_file=(
        Path,
        "TLS: the certificate of the authority that the cluster trusts.",
        "FILE",
    ),
    tls_cert=(Path, "TLS: your own certificate.", "FILE"),
    tls_key=(Path, "TLS: the key of your certificate.", "FILE"),
)


def plan_options(command: str) -> Options:
    """Return the fields of a plan that a command has as options."""
    return {
        name: (
            _read_as(Plan.model_fields[name].annotation),
            # A preset or a plan file has values of its own.
            option._replace(default="") if command == "run" else option,
        )
        for name, option in OPTIONS.items()
        if command in option.commands
    }


def _read_as(field: Any) -> Any:
    """Return how the command line reads a field of a plan: several values as texts."""
    kinds = {get_origin(kind) or kind for kind in (field, *get_args(field))}
    if kinds & {tuple, dict}:
        return list[str]
    return next((kind for kind in (bool, int) if kind in kinds), str)


def takes(*groups: Options) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command more options than it spells out; it finds those that were used in `given`.

    An option whose metavar ends in a comma and an ellipsis is a list of names.
    """
    options = {name: each for group in groups for name, each in group.items()}
    parameters = []
    for name, (kind, option) in options.items():
        flags = option.flags or _flag(name)
        asked = ask(option.help, option.metavar, option.default, option.panel, flags)
        parameters.append(
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[kind | None, asked],
            )
        )

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function, eval_str=True)
        own = [each for each in signature.parameters.values() if each.name != "given"]

        def called(**values: Any) -> None:
            given = {name: values.pop(name) for name in options}
            given = {name: value for name, value in given.items() if value is not None}
            for name in given:
                if (options[name][1].metavar or "").endswith(",…"):
                    given[name] = parsing.split(given[name])
            function(**values, given=given)

        called.__name__, called.__doc__ = function.__name__, function.__doc__
        called.__signature__ = signature.replace(parameters=[*own, *parameters])  # type: ignore[attr-defined]
        return called

    return decorate


def flags_of(names: Iterable[str]) -> str:
    """Return how options are written, for a message."""
    flags = {name: option.flags for name, (_, option) in plan_options("audit").items()}
    return ", ".join(re.split("[ /]", flags.get(name) or _flag(name))[0] for name in names)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def may_unpickle(given: Given) -> bool:
    return "unpickle_and_run_its_code" in given


def plan_values(given: Given) -> dict[str, Any]:
    """Return what options say of the fields of a plan, as `Plan` takes it; pickles are loaded."""
    values = {name: given[name] for name in Plan.model_fields if name in given}
    values.pop("counterfactuals", None)
    if "grid" in values:
        values["grid"] = parsing.grid_of(values["grid"])
    if "base_seeds" in values:
        values["base_seeds"] = parsing.whole_numbers("base seed", values["base_seeds"])
    if "model" in values:
        values["model"] = parsing.model_of(values["model"], may_unpickle(given))
    if "time" in given:
        values["over_time"] = True
    return values


def data_of(data: Path, given: Given) -> tuple[Any, dict[str, Any]]:
    """Return a table with what it means, or what says it itself: a dataset file, embedded data."""
    from changeproof.datasets import dataset_names

    used = [name for name in TABLE if name in given]
    embedded = str(data) in dataset_names() and not data.exists()
    if data.suffix == ".toml" or embedded:
        if used:
            kind = "embedded dataset" if embedded else "dataset file"
            raise InputError(f"{kind} {data} says that itself; leave out {flags_of(used)}")
        return str(data), {}
    for name in ("target", "favourable"):
        if not given.get(name):
            raise InputError(
                f"--{name} is missing; only dataset files (.toml) and embedded data can do "
                "without it"
            )
    apart = (*parsing.CHANGES, "range", "rule")
    described = {name: given[name] for name in used if name not in apart}
    if "rule" in given:
        described["rules"] = given["rule"]
    return data, described | {"actions": parsing.constraints(given)}


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
    from changeproof.commands.progress import announce_if_slow
    from changeproof.workers.cluster import Certificates, connected

    with ExitStack() as open_until_done:
        with announce_if_slow(f"reaching the cluster: {cluster}"):
            client = open_until_done.enter_context(
                connected(cluster, jobs=jobs, certificates=Certificates(*tls))
            )
        yield {"client": client}
