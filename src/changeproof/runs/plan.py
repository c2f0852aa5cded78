"""A plan: what to run, checked before any work starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from changeproof import changes, methods
from changeproof.changes import HASH_SIGN, beyond_family_names, published_family_names
from changeproof.datasets import FILE_ENDINGS, dataset_names, paper_datasets
from changeproof.datasets.grouping import SMALLEST_GROUP, Grouping
from changeproof.errors import InputError, unknown
from changeproof.files import read_toml, safe_name, validated
from changeproof.methods import published_method_names, usual_method_names
from changeproof.models.references import is_elsewhere, names_file
from changeproof.plugins import Registry, as_text, parsed

BASE_SEEDS = (2026, 2027, 2028, 2029, 2030)
TUNING_SEED = 2026
DEFAULT_MODEL = "mlp"
FACTUALS = 250
LARGEST_SEED = 2**31
# The context of a plan that is only read: people's own methods need not be there.
RECORD = {"record": True}

# The keys that say what to run.
NAMING = ("datasets", "methods", "families", "counterfactuals", "successors", "model")

Preset = Literal["quick", "paper", "recourse", "beyond", "time"]
Seed = Annotated[int, Field(ge=0, lt=LARGEST_SEED)]


def _refuse_twice(what: str, given: Iterable[object]) -> None:
    value, count = next(iter(Counter(given).most_common(1)), (None, 0))
    if count > 1:
        raise InputError(f"{what} {value!r} is given more than once")


# So many pieces of advice per person and method.
MOST_CHOICES = 5


class Option(NamedTuple):
    """What a field of a plan is, once for all commands and for the docstring of `Plan`.

    `default` is what happens without the option, unless a preset or a plan file says otherwise.
    """

    help: str
    metavar: str | None = None
    default: str = ""
    panel: str = "The run"
    flags: str = ""
    commands: tuple[str, ...] = ("run", "audit")


EVERYWHERE = ("run", "audit", "explain")
YOUR_MODEL = ("audit", "explain")


class Plan(BaseModel):
    """What to run: every method on every dataset and base seed, under every family.

    Built-in names are kept in the order of the registries, before people's own in the given
    order, and seeds in ascending order, so two plans that ask for the same are the same. By
    default a plan is the paper's. In a plan file, settings of methods and families may also be
    written as ``{name = "robx-balanced", quantile = 0.7}``.

    Parameters
    ----------
    rows
        The row ids of the people to explain, in place of a sample.
    counterfactuals
        Tables of counterfactuals from elsewhere, by the name that they get as a method.
    successors
        Models that came after today's, by name: "python:module:name", "onnx:FILE", or "scores:FILE"
        with their scores of the letters. A run records where each is from and the hash of it.
    left_out
        Methods and families that the model cannot support, with the reason.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    datasets: Annotated[
        tuple[str, ...],
        Option(
            "Datasets: names ('changeproof list datasets') or dataset files.",
            "NAME,…",
            commands=("run",),
        ),
    ] = Field(default_factory=paper_datasets, min_length=1)
    methods: Annotated[
        tuple[str, ...],
        Option(
            "Methods: names ('changeproof list methods') or import paths, with or without "
            "settings: robx-balanced(quantile=0.7).",
            "NAME,…",
            "all that fit the model",
            flags="--methods --method",
            commands=EVERYWHERE,
        ),
    ] = Field(default_factory=published_method_names)
    families: Annotated[
        tuple[str, ...],
        Option(
            "Families of change: names ('changeproof list families') or import paths, with or "
            "without settings: bootstrap(replicates=50).",
            "NAME,…",
            "the paper's, as far as they fit",
            commands=EVERYWHERE,
        ),
    ] = Field(default_factory=published_family_names)
    base_seeds: Annotated[
        tuple[Seed, ...], Option("Seeds of the base models.", "SEED,…", "2026")
    ] = Field(default=BASE_SEEDS, min_length=1)
    factuals: Annotated[
        int, Option("The most people to explain, per base model.", "N", str(FACTUALS))
    ] = Field(default=FACTUALS, ge=1)
    rows: tuple[int, ...] | None = None
    model: Annotated[
        str,
        Option(
            "mlp, mlp:64,32, sklearn:ClassName, sklearn:ClassName(parameter=value), the same of "
            "xgboost:, lightgbm: and catboost:, "
            "python:module:name, function:module:name, http://HOST:PORT/PATH, or a file: "
            "pickle:FILE, joblib:FILE, onnx:FILE, xgboost:FILE.json, lightgbm:FILE.txt, "
            "catboost:FILE.cbm, mlflow:FOLDER or mlflow:models:/NAME/VERSION. A "
            "model that is fitted is used as it is.",
            "MODEL",
            DEFAULT_MODEL,
            "Your model",
            commands=YOUR_MODEL,
        ),
    ] = DEFAULT_MODEL
    refit: Annotated[
        str | None,
        Option(
            "What trains the changed models in place of a fitted model that cannot be fitted "
            "again: mlp, sklearn:ClassName, xgboost:ClassName, python:module:name.",
            "MODEL",
            "your model, fitted again",
            panel="Your model",
            commands=YOUR_MODEL,
        ),
    ] = None
    grid: Annotated[
        dict[str, tuple[Any, ...]] | None,
        Option(
            "Values of a scikit-learn parameter for the family training-configuration. "
            "Repeat for several.",
            "PARAMETER=VALUE,VALUE",
            panel="Your model",
            commands=YOUR_MODEL,
        ),
    ] = None
    replacements: Annotated[
        tuple[str, ...] | None,
        Option(
            "A model that may replace yours, for the family architecture. Repeat for several.",
            "MODEL",
            panel="Your model",
            commands=YOUR_MODEL,
        ),
    ] = None
    feasible: Annotated[
        bool,
        Option(
            "Tell people only what they can do (one category, whole steps, what may change), or "
            "test answers just as the methods give them.",
            default="feasible",
            panel="What may change",
            flags="--feasible/--as-published",
            commands=EVERYWHERE,
        ),
    ] = False
    limit: Annotated[
        bool,
        Option(
            "Also look for the limit: the shortest change that the changed models accept, found "
            "by a search that knows them. It shows how much further every method goes. Models "
            "other than our networks are trained again for it.",
            flags="--limit/--no-limit",
        ),
    ] = False
    imprecise: Annotated[
        bool,
        Option(
            "Also test advice that is followed imprecisely: 5, 10 or 20 % short, or with noise.",
            default="on your own data",
            flags="--imprecise/--no-imprecise",
            commands=EVERYWHERE,
        ),
    ] = False
    reasons: Annotated[
        bool,
        Option(
            "Also look for the principal reasons for decisions: the features without whose change "
            "no accepted row was found near.",
            default="on your own data",
            flags="--reasons/--no-reasons",
            commands=EVERYWHERE,
        ),
    ] = False
    alternatives: Annotated[
        int,
        Option(
            "Up to so many pieces of advice per person and method that differ in what they ask "
            "for: each further one leaves the main feature of those before alone.",
            "N",
            "1",
            commands=EVERYWHERE,
        ),
    ] = Field(default=1, ge=1, le=MOST_CHOICES)
    over_time: Annotated[
        bool,
        Option(
            "Train the base models on the earlier half of the rows. The later half, in the order "
            "of time, is the update pool. Datasets need a column with times.",
            panel="Time",
            flags="--over-time/--not-over-time",
            commands=EVERYWHERE,
        ),
    ] = False
    by: Annotated[
        tuple[str, ...],
        Option(
            "Columns to group people by, to see who is let down; of numbers, with the width of "
            "bands: sex,age:10. The model need not see them.",
            "COLUMN[:WIDTH],…",
        ),
    ] = ()
    smallest_group: Annotated[
        int, Option("The fewest people in a group that is shown.", "N", str(SMALLEST_GROUP))
    ] = Field(default=SMALLEST_GROUP, ge=1)
    counterfactuals: dict[str, str] = Field(default_factory=dict)
    threshold: Annotated[
        str | None,
        Option(
            'The score from which on a decision is favourable: 0.6, 620, or "<=0.2" where lower '
            "scores are better.",
            "SCORE",
            "0.5",
            "Your model",
            commands=YOUR_MODEL,
        ),
    ] = None
    successors: dict[str, str] = Field(default_factory=dict)
    renew: Annotated[
        str | None,
        Option(
            "The method that renews letters that a successor breaks: what else to change, for "
            "somebody who has done what the letter says.",
            "METHOD",
            panel="What came next",
            commands=("audit",),
        ),
    ] = None
    left_out: dict[str, str] = Field(default_factory=dict)

    @field_validator("datasets")
    @classmethod
    def _known_datasets(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        own = tuple(name for name in given if name.endswith(FILE_ENDINGS))
        for name in given:
            if name not in (*own, *dataset_names()):
                raise unknown("dataset", name, dataset_names())
        _refuse_twice("dataset", given)
        return (*(name for name in dataset_names() if name in given), *own)

    @field_validator("methods", "families")
    @classmethod
    def _known(cls, given: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        registry: Registry[Any] = (methods if info.field_name == "methods" else changes).REGISTRY
        # What a plan asks for has to be there; of a record of what was run it need not.
        return registry.check(given, resolve=info.context is not RECORD)

    @field_validator("renew")
    @classmethod
    def _known_renewer(cls, given: str | None, info: ValidationInfo) -> str | None:
        if given is None:
            return None
        return methods.REGISTRY.check([given], resolve=info.context is not RECORD)[0]

    @field_validator("base_seeds")
    @classmethod
    def _each_seed_once(cls, given: tuple[int, ...]) -> tuple[int, ...]:
        _refuse_twice("base seed", given)
        return tuple(sorted(given))

    @field_validator("rows")
    @classmethod
    def _each_row_once(cls, given: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if given is not None and not given:
            raise InputError("expected at least 1 row id, or no rows to have a sample of them")
        _refuse_twice("row", given or ())
        return given

    @field_validator("by")
    @classmethod
    def _each_grouping_once(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        groupings = tuple(Grouping.of(text).text for text in given)
        _refuse_twice("groups", groupings)
        return groupings

    @field_validator("counterfactuals")
    @classmethod
    def _safe_tables(cls, given: dict[str, str]) -> dict[str, str]:
        _refuse_twice("counterfactuals", [safe_name(n, "counterfactuals").lower() for n in given])
        return given

    @field_validator("successors")
    @classmethod
    def _safe_successors(cls, given: dict[str, str]) -> dict[str, str]:
        return {safe_name(name, "a successor"): record for name, record in given.items()}

    @field_validator("threshold")
    @classmethod
    def _a_threshold(cls, given: str | None) -> str | None:
        if given is None:
            return None
        from changeproof.datasets.threshold import Threshold  # NumPy, when it is needed

        return str(Threshold.of(given))

    @model_validator(mode="before")
    @classmethod
    def _is_no_plan_of_before(cls, given: Any) -> Any:
        if isinstance(given, dict) and "realisable" in given:
            raise InputError(
                "the key 'realisable' of version 0.2.0 is called 'feasible' now; what 0.2.0 has "
                "run has to be run again, in another directory"
            )
        return given

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if not self.families and not self.successors:
            raise InputError("families: expected at least 1 family, or successors")
        if self.renew is not None and not self.successors:
            raise InputError("renew: letters are renewed under a successor, and there is none")
        if not self.methods and not self.counterfactuals:
            raise InputError("methods: expected at least 1 method, or counterfactuals")
        if self.alternatives > 1 and not self.feasible:
            raise InputError(
                f"alternatives: {self.alternatives} differ in what people leave alone, which "
                "answers as published do not know; expected feasible answers, or 1"
            )
        return self

    def without(self, names: Collection[str], reasons: Mapping[str, str]) -> Self:
        """Return the plan without some methods and families; reasons join those of `left_out`."""
        tables = {name: path for name, path in self.counterfactuals.items() if name not in names}
        return self.model_copy(
            update={
                "methods": tuple(name for name in self.methods if name not in names),
                "families": tuple(name for name in self.families if name not in names),
                "counterfactuals": tables,
                "successors": {} if changes.SUCCESSOR in names else self.successors,
                "left_out": self.left_out | dict(reasons),
            }
        )

    @classmethod
    def checked(
        cls, values: Mapping[str, Any], where: str = "plan", *, record: bool = False
    ) -> Self:
        """Build a plan from plain values; what does not fit is named in one line.

        Of a `record` of what was run, people's own methods and families need not be there.
        """
        plain = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
        for key in ("methods", "families"):
            if isinstance(plain.get(key), tuple):
                try:
                    plain[key] = tuple(map(as_text, plain[key]))
                except InputError as error:
                    raise InputError(f"{where}: {key}: {error}") from None
        if isinstance(plain.get("threshold"), int | float):
            plain["threshold"] = str(plain["threshold"])
        if isinstance(grid := plain.get("grid"), dict):
            plain["grid"] = {k: tuple(v) if isinstance(v, list) else v for k, v in grid.items()}
        return validated(cls, plain, where, RECORD if record else None)

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """Return the plan of a preset, with some values changed.

        >>> Plan.preset("paper", methods=["kdtree"], base_seeds=[2026])
        """
        if name not in PRESETS:
            raise unknown("preset", name, PRESETS)
        return cls.checked({**PRESETS[name](), **changes})

    @classmethod
    def from_toml(cls, path: Path, **changes: Any) -> Self:
        """Read a plan file, with some values changed.

        Files that it names are looked for from its own folder on, wherever it is read.
        """
        values = read_toml(path, "plan file")
        plan = cls.checked(values, where=f"plan file {path}")
        check_names_something(f"plan file {path}", values, changes)
        found = {
            key: _each(partial(find, path.parent), getattr(plan, key))
            for key, find in FILES.items()
            if key in values
        }
        return cls.checked({**values, **found, **changes}, where=f"plan file {path}")


OPTIONS = {
    name: option
    for name, field in Plan.model_fields.items()
    for option in field.metadata
    if isinstance(option, Option)
}
Plan.__doc__ = f"{Plan.__doc__}" + "".join(
    f"{name}\n        {option.help}\n    " for name, option in OPTIONS.items()
)


def check_names_something(where: str, *values: Mapping[str, Any]) -> None:
    """Refuse a plan that names nothing: it would be the whole paper, which takes hours."""
    if not values[0] or not any(key in given for given in values for key in NAMING):
        raise InputError(
            f"{where} names nothing to run; expected at least one of {', '.join(NAMING)}. "
            "For the whole paper there is a preset"
        )


PRESETS: dict[str, Callable[[], dict[str, Any]]] = {
    "quick": lambda: {
        "datasets": ("breast-cancer", "diabetes"),
        "methods": usual_method_names(),
        "base_seeds": (2026,),
        "factuals": 25,
        "limit": True,
    },
    "paper": lambda: {"limit": True},
    "recourse": lambda: {
        "datasets": tuple(name for name in dataset_names() if name not in paper_datasets()),
        "factuals": 100,
        "feasible": True,
        "limit": True,
    },
    "beyond": lambda: {
        "methods": usual_method_names(),
        "families": beyond_family_names(),
    },
    "time": lambda: {
        "datasets": ("car-loans", "employment"),
        "families": ("later-data", "later-data(window='rolling')", "updates"),
        "factuals": 100,
        "feasible": True,
        "over_time": True,
    },
}


def _dataset_in(folder: Path, name: str) -> str:
    return str(folder / name) if name.endswith(FILE_ENDINGS) else name


def _file_in(folder: Path, name: str) -> str:
    return str(folder / name)


def _model_in(folder: Path, reference: str) -> str:
    """Return a model whose file, if it is one, is in a folder; a record of one stays as it is."""
    kind, sign, file = reference.partition(":")
    named = names_file(reference) and HASH_SIGN not in reference
    return kind + sign + str(folder / file) if named else reference


# The fields of a plan file that name files, and how these are found from its folder on.
FILES: dict[str, Callable[[Path, str], str]] = {
    "datasets": _dataset_in,
    "counterfactuals": _file_in,
    "model": _model_in,
    "replacements": _model_in,
    "successors": _model_in,
}


def _each(find: Callable[[str], str], given: Any) -> Any:
    """Return a field of a plan with every reference in it replaced."""
    if isinstance(given, Mapping):
        return {name: find(each) for name, each in given.items()}
    if given is None or isinstance(given, str):
        return given and find(given)
    return tuple(map(find, given))


def _imports(registry: Registry[Any], name: str) -> bool:
    path = parsed(name)[0]
    return ":" in path and path not in registry.names


# The fields of a plan that can name code or models, and which references would be imported or
# opened. Of a successor that was recorded only the record is read.
FROM_ELSEWHERE: dict[str, Callable[[str], bool]] = {
    "methods": partial(_imports, methods.REGISTRY),
    "families": partial(_imports, changes.REGISTRY),
    "renew": partial(_imports, methods.REGISTRY),
    "model": is_elsewhere,
    "refit": is_elsewhere,
    "replacements": is_elsewhere,
    "successors": lambda reference: is_elsewhere(reference) and HASH_SIGN not in reference,
}


def from_elsewhere(plan: Plan) -> dict[str, list[str]]:
    """Return what running a plan would import or open, by the field that names it."""
    found: dict[str, list[str]] = {}
    for field, counts in FROM_ELSEWHERE.items():
        given: Any = getattr(plan, field)
        several = given.values() if isinstance(given, Mapping) else given
        references = [given] if isinstance(given, str) else several or ()
        found[field] = [reference for reference in references if counts(reference)]
    return found
