"""DiCE as a method: their answers, our contract."""

from __future__ import annotations

import inspect
import random
from typing import Any

import numpy as np
import pandas as pd
import pytest

import changeproof as cp
from changeproof import Context, Factuals, InputError, Task
from changeproof.adapters import dice_method as adapter
from changeproof.adapters.dice_method import UNSEEN, Columns, DiCE, quiet_and_seeded
from changeproof.methods.answers import FOUND
from changeproof.randomness import stream
from mixed_tasks import random_task

PATH = "changeproof.adapters.dice_method:DiCE"
needs_dice = pytest.mark.skipif(
    not adapter.HAS_DICE, reason="dice-ml is not installed (extra: dice)"
)


class Tilted:
    """A model that likes rows along a direction, about half of them."""

    offers = cp.Access.PREDICTIONS

    def __init__(self, task: Task) -> None:
        self.direction = np.random.default_rng(1).normal(size=task.n_features)
        self.middle = np.median((task.rows("train") * self.direction).sum(axis=1))

    def probabilities(self, rows: Any) -> Any:
        return np.clip(0.5 + 0.1 * ((rows * self.direction).sum(axis=1) - self.middle), 0, 1)

    def favourable(self, rows: Any) -> Any:
        return self.probabilities(rows) >= 0.5


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "HAS_DICE", False)
    with pytest.raises(InputError, match=r"pip install 'changeproof\[dice\]'"):
        cp.make_method(PATH)


@needs_dice
def test_defaults_are_theirs() -> None:
    from dice_ml.explainer_interfaces.dice_genetic import DiceGenetic
    from dice_ml.explainer_interfaces.dice_random import DiceRandom

    mine = DiCE().settings()
    assert mine.pop("search") == "random"
    calls = [
        inspect.signature(kind._generate_counterfactuals).parameters
        for kind in (DiceRandom, DiceGenetic)
    ]
    for name, value in mine.items():
        theirs = [call[name].default for call in calls if name in call]
        assert theirs, name
        assert set(theirs) == {value}, name


@needs_dice
def test_settings_are_checked() -> None:
    with pytest.raises(InputError, match="'random', 'genetic' or 'kdtree'; got 'gradient'"):
        cp.make_method(f"{PATH}(search='gradient')")


@needs_dice
@pytest.mark.parametrize("search", ["random", "genetic"])
def test_rows_are_those_of_their_library(
    search: Any, small_context: Context, small_factuals: Factuals
) -> None:
    import dice_ml

    few, task, model = small_factuals[:3], small_context.task, small_context.model
    answers = DiCE(search=search).fit(small_context).generate(few)
    assert answers.outcomes.tolist() == [FOUND] * 3
    assert answers.base_valid.all()

    class Plain:
        def predict_proba(self, frame: pd.DataFrame) -> Any:
            yes = model.probabilities(task.standardise(frame.to_numpy(dtype=float)))
            return np.column_stack([1 - yes, yes])

        def predict(self, frame: pd.DataFrame) -> Any:
            return (self.predict_proba(frame)[:, 1] >= 0.5).astype(int)

    columns = list("vwxyz")
    labelled = task.frame.iloc[task.split.train].set_axis(columns, axis=1)
    labelled = labelled.assign(approved=task.labels_of("train"))
    for row_id, answer in zip(few.row_ids.tolist(), answers.rows, strict=True):
        address = task.name, 2026, "dice", row_id
        seed = int(stream(*address).integers(2**32))
        with quiet_and_seeded(seed):
            data = dice_ml.Data(
                dataframe=labelled, continuous_features=columns, outcome_name="approved"
            )
            plain = dice_ml.Dice(data, dice_ml.Model(model=Plain(), backend="sklearn"), search)
            person = task.frame.loc[[row_id]].set_axis(columns, axis=1).reset_index(drop=True)
            own = {"random_seed": seed} if search == "random" else {}
            found = plain.generate_counterfactuals(person, 1, desired_class=1, **own)
        theirs = found.cf_examples_list[0].final_cfs_df_sparse[columns].to_numpy(dtype=float)
        np.testing.assert_allclose(answer, task.standardise(theirs)[0], atol=1e-9)


@needs_dice
def test_answers_depend_on_the_person_alone_and_leave_the_generators_alone(
    small_context: Context, small_factuals: Factuals
) -> None:
    method = DiCE(sample_size=200).fit(small_context)
    numpys, pythons = np.random.get_state()[1].copy(), random.getstate()  # type: ignore[union-attr] # noqa: NPY002
    together = method.generate(small_factuals[:5]).rows
    assert np.array_equal(np.random.get_state()[1], numpys)  # noqa: NPY002
    assert random.getstate() == pythons
    backwards = method.generate(small_factuals[np.arange(5)[::-1]]).rows
    np.testing.assert_array_equal(backwards[::-1], together)
    alone = DiCE(sample_size=200).fit(small_context).generate(small_factuals[[3]]).rows
    np.testing.assert_array_equal(alone[0], together[3])


@pytest.mark.parametrize("seed", range(6))
def test_rows_come_back_from_what_dice_sees_to_the_byte(seed: int) -> None:
    task = random_task(seed, rows=120)
    columns, rows = Columns(task, task.rows("train")), task.rows("test")
    assert columns.rows(columns.frame(rows), rows).tobytes() == rows.tobytes()
    others = np.roll(rows, 1, axis=0)
    back = columns.rows(columns.frame(others), rows)
    known = [c for feature in task.features for c in feature.columns]
    np.testing.assert_allclose(back[:, known], others[:, known], atol=1e-9)


@needs_dice
def test_what_may_not_change_stays_and_ranges_are_kept() -> None:
    answered = 0
    for seed in (1, 4):
        task = random_task(seed, rows=120)
        model, test = Tilted(task), task.rows("test")
        adverse = np.flatnonzero(~model.favourable(test))[:4]
        people = Factuals(task.row_ids("test")[adverse], test[adverse])
        context = Context(task, model, 2026, actions=task.actions)
        answers = DiCE(sample_size=200).fit(context).generate(people)
        answered += int(answers.found.sum())
        assert answers.realisation is not None
        # DiCE knows which features may change and how far; more rules it does not know.
        fixed = ~task.actions.changeable
        proposed = DiCE(sample_size=200).fit(context)._search(people).rows
        there = np.isfinite(proposed).all(axis=1)
        changed = task.actions.changed(people.rows[there], proposed[there])
        assert there.any()
        assert not changed[:, fixed].any()
        assert not {"direction", "fixed"} & set(answers.realisation.raw_breach)
    assert answered > 2


@needs_dice
def test_a_category_that_dice_does_not_know_is_a_reason() -> None:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"n": generator.integers(0, 90, 90), "kind": np.arange(90) % 3, "y": np.arange(90) % 2}
    )
    frame["kind"] = np.array(["a", "b", "c"])[frame["kind"]]
    task = cp.own_task(frame, target="y", favourable=1)
    columns = Columns(task, task.rows("train")[:1])
    rows = task.rows("train")
    unseen = columns.unseen(columns.frame(rows))
    first = task.readable(rows)["kind"]
    assert unseen == (first != first[0]).tolist()
    assert UNSEEN.startswith("DiCE refuses")
