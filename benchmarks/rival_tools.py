"""Other libraries' methods, asked in an environment of their own.

    PYTHON rival_tools.py TOOL METHOD WORK.npz ANSWERS.npz SECONDS

asks METHOD of TOOL about the people in WORK.npz, one by one, until SECONDS of processor time are
used up, and writes ANSWERS.npz. This file runs where changeproof is not installed: it imports
nothing but NumPy at the top, and each library where it is asked. Every library is used as its own
documentation shows, with its own defaults; what differs is said in `settings`.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

OUTCOME = "favourable"
# Their search behind our contract.
ELLICE = "changeproof.adapters.ellice:ElliCE"
DICE = "changeproof.adapters.dice_method:DiCE"
Ask = Callable[[np.ndarray, int], np.ndarray | None]


@dataclass(frozen=True)
class Work:
    """What a library is told: training rows, their labels, the base model, and who asks.

    The base model is a ReLU network with one sigmoid output, or without hidden layers a logistic
    regression. Rows are standardised, but for the originals: what the table says.
    """

    train: np.ndarray
    labels: np.ndarray
    people: np.ndarray
    original_train: np.ndarray
    original_people: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    weights: list[np.ndarray]
    biases: list[np.ndarray]
    seed: int

    @classmethod
    def read(cls, path: str) -> Work:
        with np.load(path) as stored:
            layers = range(int(stored["layers"]))
            names = ("train", "labels", "people", "original_train", "original_people")
            return cls(
                **{name: stored[name] for name in (*names, "mean", "scale")},
                weights=[stored[f"weight_{layer}"] for layer in layers],
                biases=[stored[f"bias_{layer}"] for layer in layers],
                seed=int(stored["seed"]),
            )

    @property
    def columns(self) -> list[str]:
        return [f"x{place}" for place in range(self.train.shape[1])]

    def logits(self, rows: Any) -> np.ndarray:
        values = np.asarray(rows, dtype=np.float64)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            values = np.maximum(values @ weight.T + bias, 0.0)
        return (values @ self.weights[-1].T + self.biases[-1])[:, 0]

    def probabilities(self, rows: Any) -> np.ndarray:
        """Return the probabilities of both classes [rows, 2]."""
        favourable = 1.0 / (1.0 + np.exp(-self.logits(rows)))
        return np.column_stack([1.0 - favourable, favourable])

    def classes(self, rows: Any) -> np.ndarray:
        return (self.logits(rows) >= 0.0).astype(int)

    def table(self) -> Any:
        import pandas as pd

        return pd.DataFrame(self.train, columns=self.columns).assign(**{OUTCOME: self.labels})

    def torch_network(self, sigmoid: bool = True) -> Any:
        import torch

        modules: list[Any] = []
        for weight, bias in zip(self.weights, self.biases, strict=True):
            layer = torch.nn.Linear(weight.shape[1], weight.shape[0])
            layer.weight.data = torch.from_numpy(weight.astype(np.float32))
            layer.bias.data = torch.from_numpy(bias.astype(np.float32))
            modules += [layer, torch.nn.ReLU()]
        return torch.nn.Sequential(*modules[:-1], *[torch.nn.Sigmoid()] * sigmoid)


@dataclass(frozen=True)
class Rival:
    """A method of a library.

    Attributes
    ----------
    package, version
        What it is called in the package registry, and the version that is known to run.
    ours
        The method of ours that has the same name or does the same; it is measured beside it once
        it is registered.
    settings
        What is not its default, and why.
    linear
        Whether it takes linear models only.
    """

    tool: str
    method: str
    package: str
    ours: str | None
    settings: str
    linear: bool
    prepare: Callable[[Work], Ask]


RIVALS: dict[tuple[str, str], Rival] = {}


def rival(
    tool: str,
    method: str,
    package: str,
    ours: str | None = None,
    settings: str = "",
    linear: bool = False,
) -> Callable[[Callable[[Work], Ask]], Callable[[Work], Ask]]:
    def listed(prepare: Callable[[Work], Ask]) -> Callable[[Work], Ask]:
        RIVALS[tool, method] = Rival(tool, method, package, ours, settings, linear, prepare)
        return prepare

    return listed


# RobustX under the name that it has in the package registry.


def _rocelib_task(work: Work) -> Any:
    from rocelib.datasets.DatasetLoader import DatasetLoader
    from rocelib.models.imported_models.PytorchModel import PytorchModel
    from rocelib.tasks.Task import Task

    class Rows(DatasetLoader):
        @property
        def X(self) -> Any:  # noqa: N802
            return self.data.drop(columns=["target"])

        @property
        def y(self) -> Any:
            return self.data["target"]

    class OneTask(Task):
        def get_random_positive_instance(self, neg_value: int, column_name: str = "target") -> Any:
            while True:
                drawn = self.dataset.get_random_positive_instance()
                if work.classes(drawn)[0] != neg_value:
                    return drawn

    rows = Rows("target", 0)
    rows.data = work.table().rename(columns={OUTCOME: "target"})
    return OneTask(PytorchModel.from_model(work.torch_network()), rows)


def _rocelib(work: Work, name: str, **settings: Any) -> Ask:
    from importlib import import_module

    import pandas as pd

    task = _rocelib_task(work)
    generator = getattr(import_module(f"rocelib.recourse_methods.{name}"), name)(task)

    def ask(person: np.ndarray, place: int) -> np.ndarray | None:
        instance = pd.Series(person, index=work.columns)
        found = generator.generate_for_instance(instance, **settings)
        return np.asarray(found, dtype=np.float64).ravel()[: len(person)]

    return ask


@rival("rocelib", "KDTreeNNCE", "rocelib", "kdtree")
def rocelib_kdtree(work: Work) -> Ask:
    return _rocelib(work, "KDTreeNNCE")


@rival("rocelib", "NNCE", "rocelib", "kdtree")
def rocelib_nearest(work: Work) -> Ask:
    return _rocelib(work, "NNCE")


@rival("rocelib", "Wachter", "rocelib", "wachter")
def rocelib_wachter(work: Work) -> Ask:
    return _rocelib(work, "Wachter")


@rival("rocelib", "BinaryLinearSearch", "rocelib")
def rocelib_segment(work: Work) -> Ask:
    return _rocelib(work, "BinaryLinearSearch")


@rival(
    "rocelib",
    "APAS",
    "rocelib",
    "apds",
    "desired_outcome=1, delta_max=0.005 (defaults 0 and 0.5), maximum_iterations=1 of 1,000: the "
    "same row would be tried again",
)
def rocelib_apas(work: Work) -> Ask:
    import pandas as pd
    from rocelib.recourse_methods.APAS import APAS

    generator = APAS(_rocelib_task(work))

    def ask(person: np.ndarray, place: int) -> np.ndarray | None:
        instance = pd.Series(person, index=work.columns)
        found = generator._generation_method(
            instance, desired_outcome=1, delta_max=0.005, maximum_iterations=1
        )
        return np.asarray(found, dtype=np.float64).ravel()

    return ask


@rival("rocelib", "DiverseRobustCE", "rocelib", None, "the first of its rows")
def rocelib_diverse(work: Work) -> Ask:
    return _rocelib(work, "DiverseRobustCE")


@rival("rocelib", "ROAR", "rocelib", "roar", "", linear=True)
def rocelib_roar(work: Work) -> Ask:
    import pandas as pd
    from rocelib.recourse_methods.ROAR import ROAR
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression()
    fitted.coef_ = work.weights[0].astype(np.float64)
    fitted.intercept_ = work.biases[0].astype(np.float64)
    task = _rocelib_task(work)
    task.model.model = fitted
    generator = ROAR(task)

    def ask(person: np.ndarray, place: int) -> np.ndarray | None:
        found = generator.generate_for_instance(pd.Series(person, index=work.columns))
        return np.asarray(found, dtype=np.float64).ravel()

    return ask


for needs_gurobi, beside in {
    "MCE": "nearest-point",
    "MCER": "mce-r(radius=0.005)",
    "PROPLACE": "proplace(radius=0.005)",
    "RNCE": "rnce(radius=0.005)",
    "STCE": "trex-nearest",
    "RoCourseNet": None,
}.items():

    @rival("rocelib", needs_gurobi, "rocelib", beside, "delta=0.005")
    def rocelib_with_gurobi(work: Work, name: str = needs_gurobi) -> Ask:
        return _rocelib(work, name, delta=0.005)


# DiCE


class _Fitted:
    """The base model as scikit-learn would have it, on original units.

    DiCE rounds to the decimals that it finds in the table, and walks by such steps: standardised
    numbers, with all their decimals, are no table that it is meant for.
    """

    classes_ = np.array([0, 1])

    def __init__(self, work: Work) -> None:
        self.work = work

    def predict(self, rows: Any) -> np.ndarray:
        return self.work.classes(self.standardised(rows))

    def predict_proba(self, rows: Any) -> np.ndarray:
        return self.work.probabilities(self.standardised(rows))

    def standardised(self, rows: Any) -> np.ndarray:
        return (np.asarray(rows, dtype=np.float64) - self.work.mean) / self.work.scale


def _dice(work: Work, method: str, **settings: Any) -> Ask:
    import dice_ml
    import pandas as pd
    from raiutils.exceptions import UserConfigValidationException

    table = pd.DataFrame(work.original_train, columns=work.columns)
    data = dice_ml.Data(
        dataframe=table.assign(**{OUTCOME: work.labels}),
        continuous_features=work.columns,
        outcome_name=OUTCOME,
    )
    fitted = _Fitted(work)
    model = dice_ml.Model(model=fitted, backend="sklearn")
    explainer = dice_ml.Dice(data, model, method=method)

    def ask(person: np.ndarray, place: int) -> np.ndarray | None:
        query = pd.DataFrame([work.original_people[place]], columns=work.columns)
        try:
            found = explainer.generate_counterfactuals(
                query, total_CFs=1, desired_class=1, verbose=False, **settings
            )
        except UserConfigValidationException:  # how DiCE says that it found none
            return None
        answers = found.cf_examples_list[0].final_cfs_df
        if answers is None or answers.empty:
            return None
        return fitted.standardised(answers[work.columns].astype(float))[0]

    return ask


@rival("dice", "random", "dice-ml", DICE, "random_seed=2026")
def dice_random(work: Work) -> Ask:
    return _dice(work, "random", random_seed=work.seed)


@rival("dice", "genetic", "dice-ml", f"{DICE}(search='genetic')")
def dice_genetic(work: Work) -> Ask:
    return _dice(work, "genetic")


@rival("dice", "kdtree", "dice-ml", f"{DICE}(search='kdtree')")
def dice_kdtree(work: Work) -> Ask:
    return _dice(work, "kdtree")


# ElliCE


def _ellice(work: Work, method: str) -> Ask:
    import ellice
    import pandas as pd

    data = ellice.Data(
        dataframe=work.table(), target_column=OUTCOME, continuous_features=work.columns
    )
    explainer = ellice.Explainer(work.torch_network(sigmoid=False), data, backend="pytorch")

    def ask(person: np.ndarray, place: int) -> np.ndarray | None:
        query = pd.DataFrame([person], columns=work.columns)
        found = explainer.generate_counterfactuals(
            query, method=method, target_class=1, progress_bar=False
        )
        return None if found.empty else found[work.columns].to_numpy(dtype=np.float64)[0]

    return ask


@rival("ellice", "continuous", "ellice", ELLICE)
def ellice_continuous(work: Work) -> Ask:
    return _ellice(work, "continuous")


@rival(
    "ellice",
    "data_supported",
    "ellice",
    f"{ELLICE}(method='data_supported')",
)
def ellice_supported(work: Work) -> Ask:
    return _ellice(work, "data_supported")


# NICE


def _nice(work: Work, optimization: str) -> Ask:
    from nice import NICE

    explainer = NICE(
        predict_fn=work.probabilities,
        X_train=work.train,
        cat_feat=[],
        num_feat=list(range(work.train.shape[1])),
        y_train=work.labels,
        optimization=optimization,
    )
    return lambda person, place: np.asarray(explainer.explain(person[None]), dtype=np.float64)[0]


@rival("nice", "none", "NICEx", "kdtree")
def nice_none(work: Work) -> Ask:
    return _nice(work, "none")


@rival("nice", "sparsity", "NICEx")
def nice_sparsity(work: Work) -> Ask:
    return _nice(work, "sparsity")


@rival("nice", "proximity", "NICEx")
def nice_proximity(work: Work) -> Ask:
    return _nice(work, "proximity")


# ReLax


def _relax(work: Work, name: str) -> Ask:
    import os

    os.environ["KERAS_BACKEND"] = "jax"
    import jax
    import jax.numpy as jnp
    from relax import methods

    weights = [jnp.asarray(each, dtype=jnp.float32) for each in work.weights]
    biases = [jnp.asarray(each, dtype=jnp.float32) for each in work.biases]

    def predicted(rows: Any) -> Any:
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            rows = jax.nn.relu(rows @ weight.T + bias)
        favourable = jax.nn.sigmoid(rows @ weights[-1].T + biases[-1])
        return jnp.concatenate([1.0 - favourable, favourable], axis=-1)

    module = getattr(methods, name)()
    module.before_generate_cf()
    wanted, key = jnp.array([0.0, 1.0]), jax.random.PRNGKey(work.seed)

    def ask(person: np.ndarray, place: int) -> np.ndarray | None:
        found = module.generate_cf(
            jnp.asarray(person, dtype=jnp.float32),
            pred_fn=predicted,
            y_target=wanted,
            rng_key=jax.random.fold_in(key, place),
        )
        return np.asarray(found, dtype=np.float64).ravel()

    return ask


@rival("relax", "GrowingSphere", "jax-relax", "growing-spheres")
def relax_spheres(work: Work) -> Ask:
    return _relax(work, "GrowingSphere")


@rival("relax", "VanillaCF", "jax-relax", "wachter")
def relax_vanilla(work: Work) -> Ask:
    return _relax(work, "VanillaCF")


# CFNOW


def _cfnow(work: Work, strategy: str) -> Ask:
    import pandas as pd
    from cfnow import find_tabular

    kinds = dict.fromkeys(work.columns, "num")

    def ask(person: np.ndarray, place: int) -> np.ndarray | None:
        np.random.seed(work.seed + place)  # noqa: NPY002
        found = find_tabular(
            factual=pd.Series(person, index=work.columns),
            model_predict_proba=lambda rows: work.probabilities(rows)[:, 1:],
            feat_types=kinds,
            cf_strategy=strategy,
        )
        return np.asarray(found.cfs[0], dtype=np.float64) if len(found.cfs) else None

    return ask


@rival("cfnow", "greedy", "cfnow", None, "greedy: its default, random, took 43 s for a person")
def cfnow_greedy(work: Work) -> Ask:
    return _cfnow(work, "greedy")


def seed_everything(seed: int) -> None:
    """Seed the global generators, from which some libraries draw."""
    import random

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


def answer(asked: Rival, work: Work, most_seconds: float) -> dict[str, Any]:
    """Ask about one person after the other; the first is asked once before, untimed."""
    started = time.process_time()
    ask = asked.prepare(work)
    prepared = time.process_time() - started
    seed_everything(work.seed)
    started = time.process_time()
    ask(work.people[0], 0)
    first = time.process_time() - started
    rows, seconds = np.full(work.people.shape, np.nan), np.full(len(work.people), np.nan)
    failures = []
    seed_everything(work.seed)
    for place, person in enumerate(work.people):
        if np.nansum(seconds) > most_seconds:
            break
        started, found = time.process_time(), None
        try:
            found = ask(person.copy(), place)
        except Exception as error:  # this person gets no answer, and the table says why
            failures.append(f"{type(error).__name__}: {error}")
        seconds[place] = time.process_time() - started
        if found is not None:
            rows[place] = found
    return {
        "rows": rows,
        "seconds": seconds,
        "prepared": prepared,
        "first": first,
        "failures": np.array(failures),
        "version": version(asked.package),
        "python": ".".join(map(str, sys.version_info[:3])),
    }


def main() -> None:
    tool, method, given, out, most_seconds = sys.argv[1:]
    warnings.simplefilter("ignore")
    answers = answer(RIVALS[tool, method], Work.read(given), float(most_seconds))
    np.savez(out, **answers)
    print(json.dumps({"asked": int(np.isfinite(answers["seconds"]).sum()), "out": Path(out).name}))


if __name__ == "__main__":
    main()
