"""Models of every kind, asked outside of changeproof: what they reject, and what they accept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

import changeproof as cp
from changeproof.models.find import load_model
from models_people_have import COLUMNS, DATA, check_on_the_model, pipeline, table
from serving import probabilities, served

BOOSTED = ["income", "debt", "age", "home", "state", "employed"]
CATEGORIES = ["home", "state"]


class Kind(NamedTuple):
    """A model by its reference or as an object, and how it is asked without us."""

    model: Any
    accepts: Callable[[pd.DataFrame], Any]
    families: tuple[str, ...] = ("decision-threshold",)


def needed(library: str) -> Any:
    return pytest.importorskip(library, reason=f"{library} is not installed (extra: {library})")


def fitted(frame: pd.DataFrame) -> Pipeline:
    return pipeline(LogisticRegression(max_iter=2000)).fit(frame[COLUMNS], frame["outcome"])


def paid_by(model: Pipeline) -> Callable[[pd.DataFrame], Any]:
    return lambda people: model.predict(people[COLUMNS]) == "paid"


@contextmanager
def xgboost_file(frame: pd.DataFrame, folder: Path) -> Iterator[Kind]:
    xgboost = needed("xgboost")
    typed = frame[BOOSTED].astype(dict.fromkeys(CATEGORIES, "category"))
    data = xgboost.DMatrix(typed, frame["outcome"] == "paid", enable_categorical=True)
    model = xgboost.train({"objective": "binary:logistic", "max_depth": 4, "nthread": 1}, data, 20)
    model.save_model(folder / "today.json")

    def accepts(people: pd.DataFrame) -> Any:
        rows = people[BOOSTED].astype(typed.dtypes)
        return model.predict(xgboost.DMatrix(rows, enable_categorical=True)) >= 0.5

    yield Kind(f"xgboost:{folder / 'today.json'}", accepts)


@contextmanager
def lightgbm_file(frame: pd.DataFrame, folder: Path) -> Iterator[Kind]:
    lightgbm = needed("lightgbm")
    typed = frame[BOOSTED].astype(dict.fromkeys(CATEGORIES, "category"))
    data = lightgbm.Dataset(typed, frame["outcome"] == "paid")
    model = lightgbm.train({"objective": "binary", "verbose": -1, "num_threads": 1}, data, 20)
    model.save_model(folder / "today.txt")

    def accepts(people: pd.DataFrame) -> Any:
        return model.predict(people[BOOSTED].astype(typed.dtypes)) >= 0.5

    yield Kind(f"lightgbm:{folder / 'today.txt'}", accepts)


@contextmanager
def catboost_file(frame: pd.DataFrame, folder: Path) -> Iterator[Kind]:
    catboost = needed("catboost")
    frame["home"] = frame["home"].fillna(" unknown")  # of categories, it takes no gaps
    model = catboost.CatBoostClassifier(
        iterations=30, verbose=0, allow_writing_files=False, thread_count=1
    )
    model.fit(frame[BOOSTED], frame["outcome"], cat_features=CATEGORIES)
    model.save_model(folder / "today.cbm")
    yield Kind(
        f"catboost:{folder / 'today.cbm'}", lambda people: model.predict(people[BOOSTED]) == "paid"
    )


@contextmanager
def booster_object(frame: pd.DataFrame, folder: Path) -> Iterator[Kind]:
    with xgboost_file(frame, folder) as kind:
        booster = needed("xgboost").Booster(model_file=folder / "today.json")
        yield kind._replace(model=booster)


@contextmanager
def address(frame: pd.DataFrame, folder: Path) -> Iterator[Kind]:
    model = fitted(frame)

    def answer(people: pd.DataFrame) -> Any:
        read = people.assign(applied=pd.to_datetime(people["applied"]))
        return probabilities(model, read.astype(frame[COLUMNS].dtypes))

    with served(answer) as asked:
        yield Kind(asked.address, paid_by(model))


@contextmanager
def function(frame: pd.DataFrame, folder: Path) -> Iterator[Kind]:
    model = fitted(frame)
    joblib.dump(model, folder / "kept.joblib")
    (folder / "scoring_of_kinds.py").write_text(
        "from pathlib import Path\n"
        "import joblib\n"
        "model = joblib.load(Path(__file__).with_name('kept.joblib'))\n"
        "def paid(people):\n"
        "    return model.predict_proba(people[list(model.feature_names_in_)])[:, 1]\n"
    )
    yield Kind("function:scoring_of_kinds:paid", paid_by(model))


@contextmanager
def scorecard(frame: pd.DataFrame, folder: Path) -> Iterator[Kind]:
    """A GLM of statsmodels, which knows nothing of our ways, behind a function."""
    formulas = pytest.importorskip("statsmodels.formula.api")
    from statsmodels.genmod.families import Binomial

    def ready(people: pd.DataFrame) -> pd.DataFrame:
        return people.fillna({"income": 25_000.0, "home": " rent"})

    data = ready(frame).assign(paid=(frame["outcome"] == "paid").astype(float))
    formula = "paid ~ np.log(income) + debt + age + C(home) + employed"
    glm = formulas.glm(formula, data, family=Binomial()).fit()

    def scorecard_of_a_glm(people: pd.DataFrame) -> Any:
        return glm.predict(ready(people))

    yield Kind(scorecard_of_a_glm, lambda people: glm.predict(ready(people)) >= 0.5)


@contextmanager
def mlflow_folder(frame: pd.DataFrame, folder: Path) -> Iterator[Kind]:
    needed("mlflow")
    import mlflow.sklearn

    model = fitted(frame)
    mlflow.sklearn.save_model(
        model,
        folder / "kept",
        serialization_format="cloudpickle",
        pip_requirements=["scikit-learn"],
    )
    loaded = load_model(f"mlflow:{folder / 'kept'}", unpickle=True)
    yield Kind(loaded, paid_by(model), ("bootstrap(replicates=2)",))


@contextmanager
def joblib_file(frame: pd.DataFrame, folder: Path) -> Iterator[Kind]:
    model = fitted(frame)
    joblib.dump(model, folder / "kept.joblib", compress=3)
    loaded = load_model(f"joblib:{folder / 'kept.joblib'}", unpickle=True)
    yield Kind(loaded, paid_by(model), ("bootstrap(replicates=2)",))


KINDS = (
    xgboost_file,
    lightgbm_file,
    catboost_file,
    booster_object,
    address,
    function,
    scorecard,
    mlflow_folder,
    joblib_file,
)


@pytest.mark.filterwarnings("ignore::UserWarning:mlflow")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_model_itself_rejects_who_asks_and_accepts_what_is_valid(
    kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    frame = table(600)
    with kind(frame, tmp_path) as given:
        results = cp.evaluate(
            frame,
            given.model,
            ["kdtree"],
            given.families,
            factuals=15,
            jobs=1,
            reasons=False,
            **DATA,
        )
        checked = check_on_the_model(results, frame, given.accepts, [True])
    assert checked >= 10
    missing = frame.loc[results.counterfactuals("data", 2026, "kdtree").row_ids, "income"].isna()
    assert np.count_nonzero(missing) >= 1
