"""The front door: data, model and methods that people have at hand, evaluated in one call."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pandas as pd

from changeproof.adapters.letters import is_folder
from changeproof.adapters.tables import ID_COLUMNS, read_choices
from changeproof.changes import REGISTRY as FAMILIES
from changeproof.changes import SUCCESSOR, published_family_names
from changeproof.datasets import dataset_names, paper_datasets
from changeproof.datasets.custom import own_task
from changeproof.datasets.find import find_task, taken_by
from changeproof.datasets.grouping import SMALLEST_GROUP, columns_of
from changeproof.datasets.table_file import UTF8, read_table
from changeproof.datasets.task import Task
from changeproof.datasets.threshold import Threshold
from changeproof.errors import InputError
from changeproof.methods import REGISTRY as METHODS
from changeproof.methods import default_method_names, method_names
from changeproof.methods.given import GivenCounterfactuals
from changeproof.models.find import advised_by, load_model, object_reference, taken_columns
from changeproof.models.learner import Learner
from changeproof.models.shipped import ShippedModel
from changeproof.runs.directory import check_free
from changeproof.runs.execute import Observer
from changeproof.runs.manifest import table_file, task_file
from changeproof.runs.plan import FACTUALS, Plan
from changeproof.runs.resolve import TRAINED_HERE, Given, given_successors, learner_of, resolve
from changeproof.workers.processes import engine_for
from changeproof.workflow import Results, run_resolved

BASE_SEEDS = (2026,)
# What may be given beside the arguments, by the names of the plan's fields.
PLAN_FIELDS = Plan.model_fields.keys() - {"datasets", "left_out"}

Table = pd.DataFrame | str | Path


def evaluate(
    task: Task | Table,
    model: Any = "mlp",
    methods: Sequence[Any] | None = None,
    families: Sequence[Any] | None = None,
    *,
    out: str | Path | None = None,
    counterfactuals: Table | Mapping[str, Table] | None = None,
    grid: Mapping[str, Sequence[Any]] | None = None,
    replacements: Sequence[str] | None = None,
    refit: str | None = None,
    base_seeds: Sequence[int] = BASE_SEEDS,
    factuals: int = FACTUALS,
    rows: Sequence[int] | None = None,
    feasible: bool | None = None,
    limit: bool = False,
    imprecise: bool | None = None,
    reasons: bool | None = None,
    alternatives: int = 1,
    over_time: bool = False,
    threshold: float | str | None = None,
    successors: Mapping[str, Any] | None = None,
    renew: Any = None,
    by: Sequence[str] = (),
    smallest_group: int = SMALLEST_GROUP,
    jobs: int | None = None,
    client: Any = None,
    observer: Observer | None = None,
    publish: bool | None = None,
    same_plan: bool = False,
    **data: Any,
) -> Results:
    """Test counterfactual explanations: do they still hold after the model has changed?

    Parameters
    ----------
    task
        A task, the name of an embedded dataset, a dataset file, or a table (DataFrame, CSV or
        Parquet file) with `target` and `favourable` and whatever else `own_task` takes.
    model
        A fitted model, which is used as it is: a scikit-learn classifier or pipeline, a function
        from a DataFrame of original columns to scores, "onnx:FILE", "python:module:name". Or what
        is to be trained here: "mlp", "sklearn:RandomForestClassifier(max_depth=8)", a classifier
        that is not fitted, a function ``fit(X, y, sample_weight, seed)`` that returns a function
        from rows to probabilities, a learner such as `ModuleLearner`.
    methods
        Names ("kdtree", "robx-balanced(quantile=0.7)"), method objects, classes or functions of
        (context, factuals). By default all that fit the model. None where given counterfactuals
        are tested on successors.
    families
        Names ("bootstrap(replicates=50)"), family objects, classes or functions of (task, base).
        By default the paper's, as far as they fit the model.
    out
        A run directory for everything, with tables, report and a copy of the data. An interrupted
        call continues there. By default a temporary one, which is removed with the results.
    counterfactuals
        A table of counterfactuals from another tool, or several by name. The people are then
        those in the tables.
    grid, replacements
        Training configurations of a scikit-learn model, and models that may replace yours.
    refit
        What trains the changed models, for a fitted model that cannot be fitted again: "mlp",
        "sklearn:LogisticRegression". By default a fitted model is cloned and fitted on other rows.
    base_seeds, factuals, rows
        Seeds of the base models, the most people to explain per base model, or their row ids.
    feasible
        Whether people are only told what they can do (see `Action`), or answers are tested as
        published. By default they are feasible, except on the paper's datasets: the numbers of a
        method are then those of the nearest rows found that people can be told and that pass its
        own test, and often hold less and are nearer than what it proposes. To test its own
        proposals, say False.
    limit
        Whether to look for the limit as well: how far people would have to go at least for a
        change that the changed models accept.
    imprecise
        Whether to test advice that is followed imprecisely as well: 5, 10 or 20 % short, or with
        noise. By default on your own data.
    reasons
        Whether to look for the principal reasons for decisions as well: the features without
        whose change no accepted row was found near. By default on your own data, where people
        are told only what they can do.
    alternatives
        Up to so many pieces of advice per person and method. Each further one leaves the main
        feature of those before alone. Needs feasible answers.
    over_time
        Whether the base model is trained on the earlier rows, and the later ones are the update
        pool (see `Task.over_time`). A table then needs `time`, the column that says when.
    threshold
        The score at which a decision becomes favourable, if not 0.5: 0.6, 620 (higher scores are
        better) or "<=0.2" (lower ones are).
    successors
        Models that came after today's, by name, each used as it is: a fitted classifier, a function
        from a DataFrame of features to scores, "python:module:name", "onnx:FILE", or its scores of
        the letters ("scores:FILE" or a DataFrame). For a different threshold: ``(model, 0.55)``.
    renew
        The method that renews letters which a successor breaks.
    by
        Columns to group people by, to see who is let down: ``["sex", "age:10"]``, where age:10 are
        bands of ten years. Of a table, also columns that the model does not see (`drop`).
    smallest_group
        The fewest people of a group that is shown.
    jobs, client, observer
        See `run`.
    publish
        Whether to write tables and report; by default if `out` is given.
    same_plan
        Whether to refuse a directory that holds a run of another plan.
    **data
        What a table needs beside: `target`, the column with the outcome, `favourable`, the value of
        it that people want, and whatever else `own_task` takes (`id_column`, `split`, `actions`).

    Returns
    -------
    Results
        With `table()`, `survival()` and `report()`.

    Examples
    --------
    >>> import changeproof as cp
    >>> results = cp.evaluate("diabetes", LogisticRegression(), ["kdtree", "robx-robust"])
    >>> results.table()
    """
    if isinstance(by, str):
        raise InputError(f"expected a list of columns to group people by; got {by!r}")
    if over_time and data.get("split") is not None:
        raise InputError("rows are split by a column or over time, not both; leave out one")
    more = {name: data.pop(name) for name in sorted(data.keys() & PLAN_FIELDS)}
    loaded = load_model(model)
    own = task_for(loaded, task, data, columns_of(by))
    own = advised_by(loaded, own.over_time() if over_time else own)
    threshold = None if threshold is None else str(Threshold.of(threshold))
    learner = learner_of(
        loaded,
        [own],
        grid=grid,
        replacements=replacements,
        threshold=threshold,
        refit=refit,
    )
    if methods is None:
        given_only = successors and counterfactuals is not None
        methods = () if given_only else default_method_names()
    chosen = _by_name(METHODS, methods)
    renewer = _by_name(METHODS, [] if renew is None else [renew])
    changing = _by_name(FAMILIES, published_family_names() if families is None else families)
    given = _given(counterfactuals, own, data, observer)
    if rows is None and given:
        rows = pd.concat([each.table["row_id"] for each in given.values()]).unique().tolist()
    next_models = given_successors(successors, [own], given, threshold, data.get("id_column"))
    told = own.name not in paper_datasets() if feasible is None else feasible
    values = more | {
        "datasets": (own.name if own.name in dataset_names() else task_file(own.name),),
        "methods": tuple(chosen),
        "families": tuple(changing),
        "base_seeds": tuple(base_seeds),
        "factuals": factuals,
        "rows": None if rows is None else tuple(rows),
        "model": model if isinstance(model, str) else object_reference(learner),
        "threshold": threshold,
        "successors": next_models.records,
        "renew": next(iter(renewer), None),
        "grid": None if grid is None else dict(grid),
        "replacements": None if replacements is None else list(replacements),
        "refit": refit,
        "feasible": told,
        "limit": limit,
        "imprecise": own.name not in dataset_names() if imprecise is None else imprecise,
        "reasons": told and own.name not in dataset_names() if reasons is None else reasons,
        "alternatives": alternatives,
        "over_time": over_time,
        "by": tuple(by),
        "smallest_group": smallest_group,
        "counterfactuals": {name: table_file(name) for name in given},
    }
    plan = Plan.checked(values, where="evaluate", record=True)
    changing |= {SUCCESSOR: next_models}
    run = resolve(plan, given=Given({own.name: own}, learner, renewer | chosen | given, changing))
    if successors and learner.traits.only_seed is None:
        (observer or Observer()).note(TRAINED_HERE.format(learner.name))
    engine = engine_for(jobs, client)
    folder = Path(mkdtemp(prefix="changeproof-") if out is None else out)
    check_free(folder)
    publish = out is not None if publish is None else publish
    results = run_resolved(run, folder, engine, observer, publish=publish, same_plan=same_plan)
    if out is None:
        weakref.finalize(results, shutil.rmtree, folder, ignore_errors=True)
    return results


def audit(data: Task | Table, out: str | Path, *, model: Any = "mlp", **more: Any) -> Results:
    """Test counterfactual explanations on one's own data and model; keep all in a directory.

    The same as `evaluate`, but a directory with an audit of another plan is refused.

    Parameters
    ----------
    data
        A CSV or Parquet file, or a DataFrame; with `target` and `favourable`.
    out
        The run directory. It keeps a copy of the data, so that it can be read anywhere.
    model, **more
        See `evaluate` and, for the data, `own_task`.
    """
    more = {"same_plan": True} | {key: value for key, value in more.items() if value is not None}
    return evaluate(data, model, out=out, **more)


def task_for(
    model: Learner | ShippedModel,
    given: Task | Table,
    data: Mapping[str, Any],
    beside: Sequence[str] = (),
) -> Task:
    """Return the task that is given or described, with the columns that a model takes."""
    taken = taken_columns(model)
    described = isinstance(given, str) and (not data or given in dataset_names())
    if isinstance(given, Task):
        task = taken_by(given, taken)
    elif described:
        task = find_task(str(given), beside, taken)
    elif "target" in data and "favourable" in data:
        kept = {**data, "beside": [*data.get("beside", ()), *beside]}
        return own_task(given, taken=taken, **kept)
    else:
        raise InputError(
            "a table needs target (a column) and favourable (the value of it that people want)"
        )
    if data:
        raise InputError(f"{', '.join(data)} describe a table; {task!r} is a task already")
    return task


def _by_name(registry: Any, given: Sequence[Any]) -> dict[str, Any]:
    """Return methods or families by the names that tables show."""
    if isinstance(given, str):
        raise InputError(f"expected a list of {registry.kind} names or objects; got {given!r}")
    found: dict[str, Any] = {}
    for thing in given:
        each = registry.of(thing)
        if each.name in found:
            raise InputError(f"{registry.kind} {each.name!r} is given more than once")
        found[each.name] = each
    return found


def _given(
    tables: Table | Mapping[str, Table] | None,
    task: Task,
    data: Mapping[str, Any],
    observer: Observer | None,
) -> dict[str, GivenCounterfactuals]:
    """Return counterfactuals from another tool as methods; pass on notes about them.

    They are read as the table of the data is: by its id column, in its encoding.
    """
    if tables is None:
        return {}
    encoding, id_column = data.get("encoding", UTF8) if data else None, data.get("id_column")
    found = {}
    named = tables if isinstance(tables, Mapping) else {"given": tables}
    for name, table in named.items():
        if name in method_names():
            raise InputError(f"counterfactuals cannot be called {name!r}: a method has that name")
        if id_column is not None and not is_folder(table):
            frame = read_table(table, text_columns=[id_column], encoding=encoding)
            if id_column in frame.columns:
                table = frame.rename(columns={id_column: ID_COLUMNS[0]})
        for called, answers in read_choices(name, table, task, encoding=encoding).items():
            if called in found or (called != name and called in named):
                raise InputError(f"two tables are called {called!r}; give one another name")
            for remark in answers.attrs.get("notes", ()):
                (observer or Observer()).note(f"{called}: {remark}")
            found[called] = GivenCounterfactuals.named(called, {"table": answers})
    return found
