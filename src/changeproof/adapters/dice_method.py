"""DiCE (the dice-ml package) as a method: its search, our contract.

Mothilal, Sharma, Tan: Explaining Machine Learning Classifiers through Diverse Counterfactual
Explanations (FAT* 2020). The search is theirs; this is what the contract of a method asks.
"""

from __future__ import annotations

import io
import random
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from changeproof.adapters.dice import from_dice
from changeproof.datasets.task import Task
from changeproof.errors import InputError
from changeproof.fingerprints.things import package_version
from changeproof.methods.method import Candidates, Cost, Factuals, Method
from changeproof.model import Floats, Integers, Model
from changeproof.randomness import stream

HAS_DICE = find_spec("dice_ml") is not None
if HAS_DICE or TYPE_CHECKING:
    import dice_ml
    from raiutils.exceptions import UserConfigValidationException

OUTCOME = "favourable"
NOTHING = "DiCE found no counterfactual"
UNSEEN = "DiCE refuses a category that no training row has"
FIXED = "DiCE may change no feature of this person"
# What DiCE says where it has none for anybody who asked.
NONE_FOUND = "No counterfactuals found"


@dataclass(kw_only=True, eq=False, repr=False)
class DiCE(Method):
    """Ask DiCE for one counterfactual, with a seed for every person.

    DiCE sees the original features: numbers in the units of the data, with as many decimals as
    these have, and categories. The counterfactual is the one after its step that puts changes back
    ("post-hoc sparsity"), where it makes that. DiCE's settings have its names and defaults. Where
    not everything may change, DiCE is told which features may and in which range; other rules are
    left to the mending of the base class.

    DiCE is asked for one counterfactual; it was made for several that differ. It draws from the
    global generators of Python and NumPy, which are seeded per person and put back afterwards. Its
    arithmetic is its own, so that its last digits may differ by processor.

    Parameters
    ----------
    search
        "random" (changes features at random), "genetic" or "kdtree" (training rows).
    posthoc_sparsity_param
        How far changes of numbers are put back: a share of their deviations; 0 for not at all.
    sample_size
        Of the random search: rows that are drawn at a time.
    maxiterations
        Of the genetic search: generations at most.
    proximity_weight, sparsity_weight
        Of the genetic search: what distance and the number of changes weigh.
    """

    name = "dice"
    label = "DiCE"
    cost = Cost(per_person=0.15, feasible=0.2, own_model=0.3)
    summary = "one counterfactual of the dice-ml package, by random or genetic search"
    source = (
        "Mothilal, Sharma, Tan: Explaining Machine Learning Classifiers through Diverse "
        "Counterfactual Explanations, FAT* 2020 (https://arxiv.org/abs/1905.07697)"
    )

    search: Literal["random", "genetic", "kdtree"] = "random"
    posthoc_sparsity_param: Annotated[float, Field(ge=0, le=1)] = 0.1
    sample_size: Annotated[int, Field(ge=1)] = 1_000
    maxiterations: Annotated[int, Field(ge=1)] = 500
    proximity_weight: Annotated[float, Field(ge=0)] = 0.2
    sparsity_weight: Annotated[float, Field(ge=0)] = 0.2

    def __post_init__(self) -> None:
        if not HAS_DICE:
            raise InputError(
                "DiCE needs the dice-ml package, which is not installed (extra: dice); "
                "pip install 'changeproof[dice]'"
            )

    @property
    def fingerprint(self) -> str:
        """Hash of the code and of the settings, with the versions of what does the work."""
        names = ("dice-ml", "numpy", "pandas", "scikit-learn")
        return " ".join([super().fingerprint, *(f"{n} {package_version(n)}" for n in names)])

    def _prepare(self) -> None:
        task = self.context.task
        self._columns = Columns(task, task.rows("train"))
        self._judge = Judge(self.context.model, task, self._columns)
        frame = self._columns.frame(task.rows("train"))
        with quiet_and_seeded(0):
            data = dice_ml.Data(
                dataframe=frame.assign(**{OUTCOME: task.labels_of("train")}),
                continuous_features=self._columns.numbers,
                outcome_name=OUTCOME,
            )
            self._model = dice_ml.Model(model=self._judge, backend="sklearn")
            self._data = data

    def _search(self, factuals: Factuals) -> Candidates:
        rows = np.full(factuals.rows.shape, np.nan)
        reasons = [""] * len(factuals)
        task, frame = self.context.task, self._columns.frame(factuals.rows)
        unseen = self._columns.unseen(frame)
        permitted = self._permitted(factuals)
        for i, row_id in enumerate(factuals.row_ids.tolist()):
            if unseen[i] or not permitted[i]:
                reasons[i] = UNSEEN if unseen[i] else FIXED
                continue
            address = task.name, self.context.base_seed, "dice", row_id
            seed = int(stream(*address).integers(2**32))
            found = self._answer(frame.iloc[[i]], permitted[i], factuals.rows[i], seed)
            if found is None:
                reasons[i] = NOTHING
            else:
                rows[i] = self._columns.rows(found, factuals.rows[[i]])[0]
        return Candidates(rows, reasons)

    def _answer(
        self, person: pd.DataFrame, permitted: Mapping[str, Any], row: Floats, seed: int
    ) -> pd.DataFrame | None:
        """Return DiCE's answer to a person, or nothing."""
        varied = list(permitted)
        everything = len(varied) == len(self._columns.names)
        settings: dict[str, dict[str, Any]] = {
            "random": {"sample_size": self.sample_size, "random_seed": seed},
            "genetic": {
                "maxiterations": self.maxiterations,
                "proximity_weight": self.proximity_weight,
                "sparsity_weight": self.sparsity_weight,
            },
            "kdtree": {},
        }
        self._judge.person = row
        with quiet_and_seeded(seed):
            # A new one each time: it keeps what it was told of the person before.
            explainer = dice_ml.Dice(self._data, self._model, method=self.search)
            try:
                explanation = explainer.generate_counterfactuals(
                    person.reset_index(drop=True),
                    total_CFs=1,
                    desired_class=1,
                    features_to_vary="all" if everything else varied,
                    permitted_range=None if self.context.actions is None else dict(permitted),
                    posthoc_sparsity_param=self.posthoc_sparsity_param,
                    verbose=False,
                    **settings[self.search],
                )
            except UserConfigValidationException as error:
                if not str(error).startswith(NONE_FOUND):
                    raise
                return None
        table = from_dice(explanation, ids=[0], features=self._columns.names).iloc[:1]
        return None if table[self._columns.names].isna().to_numpy().any() else table

    def _permitted(self, factuals: Factuals) -> list[dict[str, Any]]:
        """Return for every person what the features that may change may be."""
        actions = self.context.actions
        if actions is None:
            return [dict.fromkeys(self._columns.names)] * len(factuals)
        actions = actions.for_people(self.context.task.personal_of(factuals.row_ids))
        _, low, high = actions.limits(factuals.rows)
        changeable = actions.changeable
        return [
            self._columns.permitted(low[i], high[i], changeable, factuals.rows[i])
            for i in range(len(factuals))
        ]


class Columns:
    """The features of a task as DiCE sees them: numbers as people read them, codes as text."""

    def __init__(self, task: Task, train: Floats) -> None:
        self._task = task
        self.names = [f"x{place}" for place in range(len(task.features))]
        kinds = zip(self.names, task.features, strict=True)
        self.numbers = [name for name, feature in kinds if not feature.categories]
        known = self._values(train)
        # Whole numbers are told in whole numbers.
        self._whole = {name for name in self.numbers if (known[name] == np.rint(known[name])).all()}
        self._known = {name: set(known[name]) for name in self.names if name not in self.numbers}

    def _values(self, rows: Floats) -> pd.DataFrame:
        readable, raw = self._task.readable(rows), self._task.actions.raw(rows)
        found: dict[str, Any] = {}
        for name, feature in zip(self.names, self._task.features, strict=True):
            if not feature.categories:
                found[name] = raw[:, feature.columns[0]]
                if feature.name not in self._task.raw:
                    found[name] = readable[feature.name].to_numpy(dtype=np.float64)
            else:
                found[name] = np.char.add(
                    "c", self._codes(raw[:, list(feature.columns)]).astype(str)
                )
        return pd.DataFrame(found)

    def _codes(self, block: Floats) -> Integers:
        whole = np.rint(block[:, 0]) if block.shape[1] == 1 else block.argmax(axis=1)
        return whole.astype(np.int64)

    def frame(self, rows: Floats) -> pd.DataFrame:
        """Return rows as DiCE takes them."""
        found = self._values(rows)
        for name in self._whole:
            if (found[name] == np.rint(found[name])).all():
                found[name] = found[name].astype(np.int64)
        return found

    def rows(self, frame: pd.DataFrame, people: Floats) -> Floats:
        """Return what DiCE says as encoded rows; unchanged values are the people's own."""
        own, found = self._values(people), people.copy()
        task = self._task
        for name, feature in zip(self.names, task.features, strict=True):
            columns = list(feature.columns)
            if feature.categories:
                changed = frame[name].astype(str).to_numpy() != own[name].to_numpy()
                codes = frame[name].astype(str).str[1:].astype(np.int64).to_numpy()
                raw = codes[:, None] if len(columns) == 1 else np.eye(len(columns))[codes]
            else:
                raw = frame[[name]].to_numpy(dtype=np.float64)
                changed = raw[:, 0] != own[name].to_numpy()
            scaled = (raw - task.mean[columns]) / task.scale[columns]
            found[np.ix_(changed, columns)] = scaled[changed]
        return found

    def unseen(self, frame: pd.DataFrame) -> list[bool]:
        """Return who has a category that no training row has."""
        seen = [frame[name].isin(values).to_numpy() for name, values in self._known.items()]
        return [not bool(each) for each in np.all([np.ones(len(frame), bool), *seen], axis=0)]

    def permitted(self, low: Floats, high: Floats, may: Any, person: Floats) -> dict[str, Any]:
        """Return what the features may be that may change, from limits in the data's units."""
        found: dict[str, Any] = {}
        for place, (name, feature) in enumerate(zip(self.names, self._task.features, strict=True)):
            columns = list(feature.columns)
            if not may[place]:
                continue
            if feature.kind == "categorical":
                codes = np.flatnonzero(high[columns] > 0.0)
            elif feature.kind == "binary":
                codes = np.arange(int(low[columns[0]]), int(high[columns[0]]) + 1)
            else:
                least, most = float(low[columns[0]]), float(high[columns[0]])
                if name in self._whole:
                    least, most = int(np.ceil(least)), int(np.floor(most))
                if least < most:
                    found[name] = [least, most]
                continue
            values = [f"c{code}" for code in codes if f"c{code}" in self._known[name]]
            if len(values) > 1:
                found[name] = values
        return found


class Judge:
    """The base model as DiCE asks it, about rows that are like a person's where DiCE sees nothing.

    That is whether values are missing.
    """

    def __init__(self, model: Model, task: Task, columns: Columns) -> None:
        self._model, self._columns = model, columns
        self.person: Floats = task.rows("train")[0]

    def predict_proba(self, frame: pd.DataFrame) -> Floats:
        people = np.repeat(self.person[None], len(frame), axis=0)
        likely = self._model.probabilities(self._columns.rows(frame, people))
        return np.column_stack([1.0 - likely, likely])

    def predict(self, frame: pd.DataFrame) -> Integers:
        return (self.predict_proba(frame)[:, 1] >= 0.5).astype(np.int64)


@contextmanager
def quiet_and_seeded(seed: int) -> Iterator[None]:
    """Silence DiCE, and seed the generators that it draws from for a while."""
    numpys, pythons = np.random.get_state(), random.getstate()  # noqa: NPY002
    silence = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(silence), redirect_stderr(silence):
        warnings.simplefilter("ignore")
        np.random.seed(seed)  # noqa: NPY002
        random.seed(seed)
        try:
            yield
        finally:
            np.random.set_state(numpys)  # noqa: NPY002
            random.setstate(pythons)
