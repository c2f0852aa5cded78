"""What methods use to generate never serves to evaluate them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from changeproof import (
    BaseModel,
    Context,
    Factuals,
    InputError,
    Network,
    NetworkLearner,
    Plan,
    Task,
    TrainingRecipe,
    evaluation_factuals,
    get_family,
    method,
    methods,
    published_family_names,
    run,
)
from changeproof.evaluation.factuals import tuning_factuals
from changeproof.methods.apds.method import CERTIFICATE_OFFSET
from changeproof.methods.betarce import ensemble_recipes
from changeproof.methods.shared.calibrated_radius import CALIBRATION_OFFSET
from changeproof.models.private import PrivateLearner
from changeproof.networks.training import bootstrap_weights

SEEDS = range(2026, 2031)


def identity(recipe: TrainingRecipe) -> tuple[object, ...]:
    """All that makes a trained network what it is."""
    arrays = (recipe.row_weights, recipe.labels)
    data = [None if a is None else np.asarray(a, np.float32).tobytes() for a in arrays]
    settings = (recipe.optimiser, recipe.learning_rate, recipe.weight_decay)
    return (recipe.initialisation_seed, recipe.hidden, *settings, *data)


def test_the_ensemble_and_the_bank_have_no_network_in_common(
    cancer: Task, cancer_network: Network
) -> None:
    for seed in SEEDS:
        bank = [
            variant.change
            for family in published_family_names()
            for variant in get_family(family).variants(
                cancer, BaseModel(seed, cancer_network), NetworkLearner()
            )
        ]
        evaluated = {identity(r) for r in bank if isinstance(r, TrainingRecipe)}
        ensemble = {identity(r) for r in ensemble_recipes(cancer, seed, 32)}
        assert len(evaluated) == 175
        assert len(ensemble) == 32
        assert not evaluated & ensemble
        base = identity(TrainingRecipe(initialisation_seed=seed))
        assert base not in evaluated | ensemble


def test_bootstrap_samples_of_ensembles_and_evaluation_differ_across_all_base_seeds(
    cancer: Task, cancer_network: Network
) -> None:
    evaluated = {
        np.asarray(variant.change.row_weights).tobytes()
        for seed in SEEDS
        for variant in get_family("bootstrap").variants(
            cancer, BaseModel(seed, cancer_network), NetworkLearner()
        )
        if isinstance(variant.change, TrainingRecipe)
    }
    generated = {
        np.asarray(recipe.row_weights, np.float32).tobytes()
        for seed in SEEDS
        for recipe in ensemble_recipes(cancer, seed, 32)
    }
    assert not evaluated & generated


def test_seeds_of_calibration_and_certificates_are_nobody_elses() -> None:
    """Offsets leave room for all seeds, replicas and row ids of the embedded datasets."""
    calibration = {b + CALIBRATION_OFFSET + r for b in SEEDS for r in range(10)}
    ensemble = {b + 100_000 + member for b in SEEDS for member in range(32)}
    families = {
        b + offset + more
        for b in SEEDS
        for offset in (10_000, 20_000, 30_000, 40_000)
        for more in range(1_100)
    }
    searching = set(SEEDS)
    certificates = {b + CERTIFICATE_OFFSET + row for b in SEEDS for row in range(10_459)}
    pools = [calibration, ensemble, families, searching, certificates]
    for i, one in enumerate(pools):
        for other in pools[i + 1 :]:
            assert not one & other


def test_people_who_tune_are_not_people_who_are_evaluated(
    cancer: Task, cancer_network: Network
) -> None:
    tuning = tuning_factuals(cancer, cancer_network, 2026).row_ids
    evaluated = evaluation_factuals(cancer, cancer_network, 2026, 250).row_ids
    assert not set(tuning) & set(evaluated)
    assert not set(tuning) & set(cancer.row_ids("train"))


def test_a_method_cannot_train_a_changed_model_of_the_evaluation(tmp_path: Path) -> None:
    """The learner that methods see refuses the bank's recipes, and trains others."""
    seen: list[str] = []

    @method("copycat")
    def copycat(context: Context, factuals: Factuals) -> Any:
        weights = np.pad(
            bootstrap_weights(len(context.task.split.train), context.base_seed + 10_003),
            (0, len(context.task.split.update)),
        )
        theirs = TrainingRecipe(initialisation_seed=context.base_seed, row_weights=weights)
        mine = ensemble_recipes(context.task, context.base_seed, 1)
        assert len(context.learner.train(mine, context.task)) == 1
        # Whatever it leads to is private, too; see tests/models/test_private.py for `perturbed`.
        assert isinstance(context.learner, PrivateLearner)
        others = [*context.learner.configurations(), *context.learner.replacements()]
        assert all(isinstance(other, PrivateLearner) for other in others)
        assert not hasattr(context.learner, "replacement_learners")
        try:
            context.learner.train([*mine, theirs], context.task)
        except InputError as error:
            seen.append(str(error))
        return factuals.rows + 1

    families = ["new-initialization", "bootstrap"]
    asked = {"datasets": ["diabetes"], "factuals": 2, "families": families}
    try:
        plan = Plan.preset("quick", methods=["copycat"], **asked)
        run(plan, tmp_path, jobs=1, publish=False)
    finally:
        del methods.REGISTRY._registered["copycat"]
    assert len(seen) == 1
    assert "recipe 1 is that of a changed model of the evaluation" in seen[0]
