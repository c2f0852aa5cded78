"""Whoever wrote a method: what is found can be told, and what is told is what was tested."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from changeproof.datasets.task import Task
from changeproof.feasible.rules import WAYS
from changeproof.methods import make_method
from changeproof.methods.answers import FOUND, NOTHING_FEASIBLE, Counterfactuals
from changeproof.methods.given import GivenCounterfactuals
from changeproof.methods.method import Candidates, Context, Factuals, Method
from changeproof.model import Access, Booleans, Floats
from changeproof.models.network import NetworkLearner
from changeproof.networks.training import TrainingRecipe
from mixed_tasks import may_be_told, random_task

TASKS, PEOPLE, ANSWERS = 250, 740, 100_000


class Tilted:
    """A model that likes rows along a direction, about half of them."""

    offers = Access.PREDICTIONS

    def __init__(self, task: Task, seed: int) -> None:
        self.direction = np.random.default_rng(seed).normal(size=task.n_features)
        self.middle = np.median((task.rows("train") * self.direction).sum(axis=1))

    def probabilities(self, rows: Floats) -> Floats:
        return np.clip(0.5 + 0.1 * ((rows * self.direction).sum(axis=1) - self.middle), 0, 1)

    def favourable(self, rows: Floats) -> Booleans:
        return self.probabilities(rows) >= 0.5


class Careless(Method):
    """Returns anything: rows of others, parts of categories, far away, the person, nothing."""

    name = "careless"
    summary = "anything"

    def _search(self, factuals: Factuals) -> Candidates:
        generator = np.random.default_rng(7)
        rows = factuals.rows + generator.normal(scale=2.0, size=factuals.rows.shape)
        train = self.context.task.rows("train")
        how = generator.integers(0, 6, len(rows))
        rows[how == 1] = train[generator.integers(0, len(train), int((how == 1).sum()))]
        rows[how == 2] *= 100.0
        rows[how == 3] = factuals.rows[how == 3]
        rows[how == 4] = np.nan
        keep = generator.random(rows.shape) < 0.6
        some = (how == 5)[:, None] & keep
        rows[some] = factuals.rows[some]
        certified = np.ones(len(rows), dtype=bool)
        return Candidates(rows, diagnostics={"certified": certified})


def people_of(task: Task, seed: int) -> Factuals:
    generator = np.random.default_rng(seed)
    chosen = generator.integers(0, len(task.frame), PEOPLE)
    return Factuals(np.arange(PEOPLE), task.standardise(task.frame.iloc[chosen]))


def stored(task: Task, answers: Counterfactuals) -> Counterfactuals:
    buffer = io.BytesIO()
    answers.to_frame(task.feature_names).to_parquet(buffer, index=False)
    return Counterfactuals.from_frame(pd.read_parquet(buffer), task.feature_names)


@pytest.mark.parametrize("part", range(5))
def test_of_100000_answers_none_that_breaks_a_rule_is_found(part: int) -> None:
    """250 random tasks with random rules, 740 people each, from a method and from a table."""
    seen = 0
    for seed in range(part, TASKS, 5):
        task = random_task(seed)
        people, model = people_of(task, seed), Tilted(task, seed)
        context = Context(task, model, 2026, actions=task.actions)
        careless = Careless().fit(Context(task, model, 2026))
        asked = ~model.favourable(people.rows)
        table = pd.DataFrame(
            careless._search(people[asked]).rows,
            columns=[f"counterfactual:{name}" for name in task.feature_names],
        )
        table.insert(0, "row_id", people.row_ids[asked])
        table.insert(1, "reason", "")
        for method in (Careless(), GivenCounterfactuals(table=table)):
            answers = method.fit(context).generate(people)
            assert answers.realisation is not None
            seen += int(np.isfinite(answers.realisation.raw_distance).sum())
            back = stored(task, answers)
            assert back.rows.tobytes() == answers.rows.tobytes()
            found = back.found
            before = task.readable(back.factuals[found]).to_dict("records")
            frame = task.readable(back.rows[found])
            assert all(map(may_be_told, [task] * len(before), before, frame.to_dict("records")))
            if found.any() and method.searches_feasible:
                assert task.encoded(frame).tobytes() == back.rows[found].tobytes()
            assert np.array_equal(back.base_valid[found], model.favourable(back.rows[found]))
            changed = task.actions.changed(back.factuals[found], back.rows[found])
            assert changed.any(axis=1).all()
            check_proposals(answers)
    assert seen >= ANSWERS // 5, seen


def check_proposals(answers: Counterfactuals) -> None:
    raw = answers.realisation
    assert raw is not None
    given = np.isfinite(raw.raw_distance)
    assert not answers.found[~given].any()
    assert set(raw.raw_breach) <= {"", *WAYS}
    certified = answers.diagnostics.get("certified")
    if certified is not None:
        # What is told instead of a proposal is not what was certified.
        assert not np.asarray(certified == True)[raw.raw_breach != ""].any()  # noqa: E712


def test_counterfactuals_from_elsewhere_are_tested_as_told_or_refused_with_the_rule() -> None:
    task = random_task(3)
    people, model = people_of(task, 3), Tilted(task, 3)
    people = people[~model.favourable(people.rows)]
    rows = people.rows + 0.37
    table = pd.DataFrame(rows, columns=[f"counterfactual:{n}" for n in task.feature_names])
    table.insert(0, "row_id", people.row_ids)
    table.insert(1, "reason", "")
    context = Context(task, model, 2026, actions=task.actions)
    answers = GivenCounterfactuals(table=table).fit(context).generate(people)
    ranged = np.array([not reason for reason in task.actions.refusals(people.rows)])
    words = np.array(task.actions.breaches(people.rows, rows).words, dtype=object)
    expected = np.where(words == "", FOUND, words)
    assert np.array_equal(answers.outcomes[ranged], expected[ranged])
    assert np.array_equal(answers.rows[answers.found], rows[answers.found])


def test_a_proposal_that_rounding_spoils_is_moved_until_the_model_accepts() -> None:
    """One whole number; the boundary lies between the nearest step and the next."""
    frame = pd.DataFrame({"n": np.arange(100) % 50, "y": np.arange(100) % 2})
    from changeproof.datasets.custom import own_task

    task = own_task(frame, target="y", favourable=1)

    class From(Tilted):
        def probabilities(self, rows: Floats) -> Floats:
            raw = rows[:, 0] * task.scale[0] + task.mean[0]
            return np.clip(0.5 + (raw - 20.3) / 100, 0, 1)

    class JustOver(Method):
        name = "just-over"
        summary = "the boundary"

        def _search(self, factuals: Factuals) -> Candidates:
            return Candidates(np.full_like(factuals.rows, (20.35 - task.mean[0]) / task.scale[0]))

    context = Context(task, From(task, 0), 1, actions=task.actions)
    people = Factuals(np.arange(3), task.encoded(pd.DataFrame({"n": [3, 10, 19]})))
    answers = JustOver().fit(context).generate(people)
    assert task.readable(answers.rows)["n"].tolist() == [21, 21, 21]
    assert answers.base_valid.all()


def test_where_nothing_that_may_change_is_accepted_nothing_is_found() -> None:
    from changeproof.datasets.custom import own_task
    from loans import loans

    names = [name for name in loans().columns if name not in ("applicant", "approved", "owner")]
    task = own_task(
        loans(),
        target="approved",
        favourable="yes",
        id_column="applicant",
        actions={name: {"change": "none"} for name in names},
    )

    class ChangesAll(Method):
        name = "changes-all"
        summary = "changes what may not change"

        def _search(self, factuals: Factuals) -> Candidates:
            return Candidates(factuals.rows + 10.0 * self.context.model.direction)

    class NotOfOwners(Tilted):
        def __init__(self, task: Task, seed: int) -> None:
            super().__init__(task, seed)
            owner = next(feature for feature in task.features if feature.name == "owner")
            self.direction[list(owner.columns)] = 0.0
            self.middle = np.median((task.rows("train") * self.direction).sum(axis=1))

    context = Context(task, NotOfOwners(task, 1), 1, actions=task.actions)
    answers = ChangesAll().fit(context).generate(Factuals(task.row_ids("test"), task.rows("test")))
    assert set(answers.outcomes) == {NOTHING_FEASIBLE, "factual is already favourable"}


SMALL = (
    "face(neighbours=8,probability=0.5)",
    "growing-spheres(samples=100,max_rings=60)",
    "kdtree",
    "nearest-row",
    "wachter(max_steps=300)",
    "rbr(n_rows=20,n_steps=10,n_samples=20,max_iterations=20)",
    "roar-lime(n_samples=300,max_steps=300)",
    "robx-balanced(samples=50,shell_samples=50,max_shells=40,max_steps=40)",
    "betarce(ensemble_size=32,samples=20,first_shells=30,second_shells=20)",
    "rnce",
    "apds(last_margin=2.0,replicas=2)",
    "entropic-risk(theta=30,ensemble_size=4)",
    "probe",
    "sns(steps=40)",
    "trex-nearest(samples=50)",
    "trex(samples=50,max_steps=40)",
)


@pytest.mark.parametrize("name", SMALL, ids=lambda name: name.partition("(")[0])
def test_built_in_methods_keep_to_random_rules(name: str) -> None:
    answered = 0
    for seed in range(6):
        task = random_task(seed, rows=120)
        recipe = TrainingRecipe(initialisation_seed=seed, hidden=(8,), max_epochs=30)
        network = NetworkLearner().train([recipe], task)[0]
        people = people_of(task, seed)[:12]
        context = Context(task, network, 2026, actions=task.actions)
        answers = make_method(name).fit(context).generate(people)
        found = answers.found
        answered += int(found.sum())
        before, after = (task.readable(e[found]) for e in (answers.factuals, answers.rows))
        rows = zip(before.to_dict("records"), after.to_dict("records"), strict=True)
        assert all(may_be_told(task, *pair) for pair in rows)
        assert task.encoded(after).tobytes() == answers.rows[found].tobytes()
    assert answered > 5
