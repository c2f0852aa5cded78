"""The options of audit and explain: one's own data and model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from changeproof.errors import InputError

DATA = "Your data"
MODEL = "Your model"
RUN = "The run"
FLAGS = {"actions": "--immutable, --only-increase, --only-decrease or --range"}


def option(panel: str, text: str, default: str | bool = False, **more: Any) -> Any:
    """Return an option of a panel; `default` is what the help says of it."""
    return typer.Option(help=text, show_default=default, rich_help_panel=panel, **more)


DATA_FILE = option(
    DATA,
    "A CSV or Parquet file; or a dataset file (.toml), which says all that follows here "
    "and what may change.",
    metavar="FILE",
)
Data = Annotated[Path, DATA_FILE]
Target = Annotated[str | None, option(DATA, "The column to predict.", metavar="COLUMN")]
Favourable = Annotated[
    list[str] | None,
    option(DATA, "The value that people want. Repeat for several.", metavar="VALUE"),
]
Name = Annotated[
    str | None, option(DATA, "A name for the data.", "name of the file", metavar="NAME")
]
IdColumn = Annotated[
    str | None,
    option(DATA, "A column that identifies people.", "row numbers from 0", metavar="COLUMN"),
]
Categorical = Annotated[
    list[str] | None, option(DATA, "Columns to treat as categories.", metavar="COLUMN,…")
]
Drop = Annotated[list[str] | None, option(DATA, "Columns to ignore.", metavar="COLUMN,…")]
AllowLeak = Annotated[
    list[str] | None,
    option(
        DATA,
        "Columns that may predict the target without a mistake. Others that do are refused.",
        metavar="COLUMN,…",
    ),
]
Missing = Annotated[
    Literal["refuse", "impute", "impute-and-keep"],
    option(
        DATA,
        "Refuse missing values, or fill them in; with impute-and-keep, nobody is told to change "
        "what was filled in.",
        default=True,
    ),
]
Encoding = Annotated[
    str | None,
    option(DATA, "The encoding of a CSV file: latin-1, utf-16, …", "utf-8", metavar="NAME"),
]
SplitColumn = Annotated[
    str | None,
    option(
        DATA,
        "A column that says train, update, validation or test.",
        "stratified 50/10/10/30",
        metavar="COLUMN",
    ),
]
Time = Annotated[
    str | None,
    option(
        DATA,
        "A column that says when: a date or a number. The model is trained on the earlier half "
        "of the rows; later ones are for updates, as of the families later-data and updates.",
        metavar="COLUMN",
    ),
]
OverTime = Annotated[
    bool,
    typer.Option(
        "--over-time",
        help="The same, by the time that a dataset file names.",
        rich_help_panel=DATA,
    ),
]
ModelName = Annotated[
    str,
    option(
        MODEL,
        "mlp, mlp:64,32, sklearn:ClassName, sklearn:ClassName(parameter=value), "
        "python:module:name, pickle:FILE, or onnx:FILE.",
        default=True,
        metavar="MODEL",
    ),
]
Grid = Annotated[
    list[str] | None,
    option(
        MODEL,
        "Values of a scikit-learn parameter for the family training-configuration. "
        "Repeat for several.",
        metavar="PARAMETER=VALUE,…",
    ),
]
Replacements = Annotated[
    list[str] | None,
    option(
        MODEL,
        "A model that may replace yours, for the family architecture. Repeat for several.",
        metavar="MODEL",
    ),
]
Unpickle = Annotated[
    bool,
    typer.Option(
        "--unpickle-and-run-its-code",
        help="Allow pickle:FILE. Loading a pickle runs any code in it: use this only "
        "if you trust its author.",
        rich_help_panel=MODEL,
    ),
]
Jobs = Annotated[int | None, option(RUN, "Worker processes.", "one per core", metavar="N")]
Families = Annotated[
    list[str] | None,
    option(
        RUN,
        "Families of change, with or without settings: bootstrap(replicates=50).",
        "the paper's, as far as they fit",
        metavar="NAME,…",
    ),
]


def data_of(
    data: Path, options: dict[str, Any], by: Sequence[str] = ()
) -> tuple[Any, dict[str, Any]]:
    """Return a table with what it means, or the task of a dataset file, which says it itself.

    The task of a dataset file also remembers the columns to group people by.
    """
    if data.suffix != ".toml":
        for name in ("target", "favourable"):
            if not options[name]:
                raise InputError(
                    f"--{name} is missing; a table does not say it, a dataset file can"
                )
        return data, {name: value for name, value in options.items() if value is not None}
    given = [name for name, value in options.items() if value not in (None, (), {}, "refuse")]
    if given:
        names = ", ".join(FLAGS.get(name, f"--{name.replace('_', '-')}") for name in given)
        raise InputError(f"dataset file {data} says itself what {names} would say; leave them out")
    from changeproof.datasets.dataset_file import load_dataset
    from changeproof.datasets.grouping import columns_of

    return load_dataset(data, columns_of(by)), {}
