"""What all families beyond the paper's that train have in common."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from changeproof import (
    BaseModel,
    EstimatorLearner,
    InputError,
    Learner,
    Network,
    NetworkLearner,
    Plan,
    Task,
    TrainingRecipe,
    Variant,
    build_bank,
    get_family,
    run,
)
from changeproof.changes.bank import (
    checked_variants,
    models_of,
    reason_against,
    reserved_recipes,
)
from changeproof.models.private import PrivateLearner

FAMILIES = (
    "distillation",
    "fine-tuning",
    "influential-deletion",
    "group-reweighting",
    "feature-change",
    "covariate-shift",
    "followed-advice",
)
FEW = [f"{name}(replicates=3)" for name in FAMILIES]
STRANGERS = [
    EstimatorLearner(LogisticRegression()),
    EstimatorLearner(KNeighborsClassifier()),
    EstimatorLearner(RandomForestClassifier(n_estimators=5)),
]


def base_of(learner: Learner, task: Task) -> BaseModel:
    recipe = TrainingRecipe(initialisation_seed=2026)
    return BaseModel(2026, learner.train([recipe], task)[0])


@pytest.mark.parametrize("learner", STRANGERS, ids=repr)
def test_models_of_other_people_change_as_well(learner: Learner, small_task: Task) -> None:
    base = base_of(learner, small_task)
    rows = small_task.rows("test")
    before = base.model.probabilities(rows)
    for name in FEW:
        family = get_family(name)
        if name.startswith("fine-tuning"):
            assert family.left_out(learner, [small_task]) == (
                "needs training that goes on from a model, as networks and PyTorch modules have; "
                f"this is {learner.name}"
            )
            continue
        assert not family.left_out(learner, [small_task])
        bank = build_bank(small_task, base, [family], learner)
        assert len(bank) == (9 if name.startswith("followed-advice") else 3)
        after = bank.stack.probabilities(rows)
        assert (after != before).any(), name
        # Of so few rows, one that goes need not be seen in the test rows.
        assert len({model.tobytes() for model in after}) >= 2, name


def bytes_of(networks: list[Network]) -> list[bytes]:
    return [network.parameters.tobytes() for network in networks]


@pytest.mark.parametrize("name", [n for n in FEW if not n.startswith("feature")])
def test_networks_do_not_depend_on_who_is_trained_beside_them(
    name: str, small_task: Task, small_network: Network
) -> None:
    base, learner = BaseModel(2026, small_network), NetworkLearner()
    variants = checked_variants(get_family(name), small_task, base, learner)
    together = models_of(variants, small_task, learner)
    backwards = models_of(variants[::-1], small_task, learner)[::-1]
    alone = [models_of([variant], small_task, learner)[0] for variant in variants]
    assert bytes_of(together) == bytes_of(backwards) == bytes_of(alone)  # type: ignore[arg-type]
    assert len(set(bytes_of(together))) == 3  # type: ignore[arg-type]


@pytest.mark.usefixtures("always_workers")
def test_pieces_do_not_depend_on_workers(tmp_path: Path) -> None:
    def kept(folder: str, names: list[str], jobs: int) -> set[str]:
        plan = Plan.preset(
            "quick", datasets=["diabetes"], methods=["kdtree"], families=names, limit=False
        )
        results = run(plan, tmp_path / folder, jobs=jobs, publish=False)
        with pytest.raises(InputError, match="not all changed models of family"):
            results.bank("diabetes", 2026)
        return {path.name for path in (tmp_path / folder).rglob("*.safetensors")}

    alone = kept("one", FEW, 1)
    assert len([name for name in alone if name.startswith("survival")]) == 7
    assert kept("two", FEW[::-1], 2) == alone


def test_methods_cannot_train_these_models(small_task: Task, small_network: Network) -> None:
    base, learner = BaseModel(2026, small_network), NetworkLearner()
    families = [get_family(name) for name in FAMILIES]
    reserved = frozenset(reserved_recipes(small_task, base, learner, families))
    # Fine-tuning for longer, and otherwise the same, is refused as one.
    assert len(reserved) == 6 * 25 + 8 - 4
    private = PrivateLearner(learner, lambda: reserved)
    for family in families:
        for variant in family.variants(small_task, base, learner)[:3]:
            assert isinstance(variant.change, TrainingRecipe)
            with pytest.raises(InputError, match="is that of a changed model of the evaluation"):
                private.train([variant.change], variant.task or small_task)
    # On the task as it is, the base model's recipe is nobody's.
    plain = TrainingRecipe(initialisation_seed=2026, max_epochs=1)
    assert len(private.train([plain], small_task)) == 1


def test_seeds_keep_away_from_those_of_others(small_task: Task, small_network: Network) -> None:
    base, learner = BaseModel(2026, small_network), NetworkLearner()
    for name in FAMILIES:
        for variant in get_family(name).variants(small_task, base, learner):
            assert isinstance(variant.change, TrainingRecipe)
            away = variant.change.initialisation_seed - 2026
            assert away == 0 or 300_000 <= away < 2**20


def test_what_a_kind_of_model_cannot_use_is_refused(small_task: Task) -> None:
    rows = len(small_task.split.train) + len(small_task.split.update)
    halves = np.full(rows, 0.5)
    soft = Variant("a", 0, TrainingRecipe(initialisation_seed=1, labels=halves))
    parts = Variant("a", 0, TrainingRecipe(initialisation_seed=1, row_weights=halves))
    logistic, nearest, _ = STRANGERS
    assert reason_against(soft, small_task, NetworkLearner()) is None
    assert reason_against(soft, small_task, logistic) == (
        "has labels between 0 and 1, which LogisticRegression cannot use"
    )
    assert reason_against(parts, small_task, logistic) is None
    assert reason_against(parts, small_task, nearest) == (
        "has row_weights that are not whole numbers, which KNeighborsClassifier does not take"
    )
    start = Variant("a", 0, TrainingRecipe(initialisation_seed=1, start=soft))  # type: ignore[arg-type]
    assert reason_against(start, small_task, logistic) == (
        "sets 'start' of the recipe, which LogisticRegression does not follow"
    )


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("distillation(students=((),))", "at least 1 item"),
        ("fine-tuning(epochs=())", "epochs: value should have at least 1 item"),
        ("fine-tuning(rates=(0.0,))", "rates\\[0\\] should be greater than 0"),
        ("influential-deletion(shares=(1.5,))", "shares\\[0\\] should be less than 1"),
        ("feature-change(kinds=('changed',))", "kinds should be 'dropped' or 'added'"),
        ("covariate-shift(shifts=(-1.0,))", "shifts\\[0\\] should be greater than 0"),
        ("followed-advice(updates=0)", "updates should be greater than 0"),
    ],
)
def test_wrong_settings_are_refused(reference: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        get_family(reference)


def test_summaries_follow_the_settings() -> None:
    assert "the 1, 5 or 10 % most" in get_family("influential-deletion").summary
    assert "the 2 % most" in get_family("influential-deletion(shares=[0.02])").summary
    assert "by 0.25, 0.5 or 1 standard" in get_family("covariate-shift").summary
    assert "by 2 standard" in get_family("covariate-shift(shifts=[2])").summary
