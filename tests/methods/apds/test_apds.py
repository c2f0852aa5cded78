from __future__ import annotations

import numpy as np
import pytest

from changeproof import (
    Context,
    Factuals,
    InputError,
    Network,
    TrainingData,
    TrainingRecipe,
    load_task,
    train,
)
from changeproof.certificates.box import ParameterBox
from changeproof.certificates.sampled import ParameterSample
from changeproof.methods.apds.method import APDS, CERTIFICATE_OFFSET


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("breast-cancer", 0.007494, 0.007743), ("diabetes", 0.009563, 0.009802)],
)
def test_radii_of_the_papers_appendix(name: str, low: float, high: float) -> None:
    task = load_task(name)
    recipes = [TrainingRecipe(initialisation_seed=seed) for seed in range(2026, 2031)]
    stack = train(recipes, TrainingData.of(task)).stack
    radii = []
    for i in range(5):
        method = APDS()
        method.context = Context(task, stack[i], 2026 + i)
        radii.append(method._calibrate(task, stack[i]))
    assert min(radii) == pytest.approx(low, abs=5e-6)
    assert max(radii) == pytest.approx(high, abs=5e-6)


def test_answers_hold_under_the_sample_and_have_the_margin(
    small_context: Context, small_factuals: Factuals
) -> None:
    network = small_context.model
    assert isinstance(network, Network)
    method = APDS().fit(small_context)
    answers = method.generate(small_factuals)
    assert answers.base_valid.all()
    assert method._samples == 1379
    assert method._sample.all_favourable(answers.rows).all()
    margins = answers.diagnostics["margin"]
    assert (network.logits(answers.rows) >= margins + 1e-4 - 1e-6).all()
    steps = (margins - 0.01) / 0.2
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    low, high = small_context.task.training_range
    assert (answers.rows >= low - 1e-12).all()
    assert (answers.rows <= high + 1e-12).all()
    assert set(answers.diagnostics) == {"certified", "margin", "margins_tried", "radius"}


def test_the_margin_before_was_rejected(small_context: Context, small_factuals: Factuals) -> None:
    method = APDS(radius=0.02).fit(small_context)
    answers = method.generate(small_factuals[:10])
    for i in range(10):
        previous = None
        for number in range(int(answers.diagnostics["margins_tried"][i]) - 1):
            target = 0.01 + 0.2 * number + 1e-4
            found = method._minimal.search(small_factuals.rows[[i]], target, previous)
            assert not method._sample.all_favourable(found)[0]
            previous = found


def test_a_larger_radius_asks_for_a_larger_margin(
    small_context: Context, small_factuals: Factuals
) -> None:
    margins = [
        APDS(radius=radius).fit(small_context).generate(small_factuals[:10]).diagnostics["margin"]
        for radius in (0.001, 0.03)
    ]
    assert (margins[0] <= margins[1]).all()
    assert margins[0].mean() < margins[1].mean()


def test_no_margin_suffices_for_an_absurd_radius(
    small_context: Context, small_factuals: Factuals
) -> None:
    method = APDS(radius=2.0, last_margin=1.0).fit(small_context)
    answers = method.generate(small_factuals[:3])
    assert set(answers.outcomes) == {"work budget used up"}
    assert not answers.diagnostics["certified"].any()


def certified(method: APDS, people: Factuals) -> list[bool]:
    return method.generate(people).diagnostics["certified"].tolist()


def test_whether_an_answer_is_certified_does_not_depend_on_the_batch(
    small_context: Context, small_factuals: Factuals
) -> None:
    # So few samples that the draw decides about many.
    method = APDS(radius=0.03, confidence=0.9, robustness=0.9).fit(small_context)
    named = Factuals(small_factuals.row_ids, small_factuals.rows)
    for people in (small_factuals, named):
        together = certified(method, people)
        assert 0 < sum(together) < len(people)
        assert certified(method, people[::-1])[::-1] == together
        alone = [certified(method, people[[i]])[0] for i in range(len(people))]
        assert alone == together
    newly = [Factuals(named.row_ids[[i]], named.rows[[i]]) for i in range(len(named))]
    assert [certified(method, person)[0] for person in newly] == certified(method, named)


def test_people_who_are_drawn_are_certified_by_their_place(
    small_context: Context, small_factuals: Factuals
) -> None:
    """The protocol's seed: that of the base model, an offset, and the place."""
    method = APDS(radius=0.03).fit(small_context)
    assert small_factuals.places is not None
    assert small_factuals.places.tolist() == list(range(len(small_factuals)))
    batch = small_factuals[[7, 2]]
    seeds = [method._certificate_seed(batch, i) for i in range(2)]
    assert seeds == [2026 + CERTIFICATE_OFFSET + 7, 2026 + CERTIFICATE_OFFSET + 2]


def test_all_bits_of_a_long_row_id_count_in_the_seed_of_its_certificate(
    small_context: Context, small_factuals: Factuals
) -> None:
    method = APDS(radius=0.03).fit(small_context)
    ids = np.array([17 + high * 2**32 for high in range(200)])
    people = Factuals(ids, np.repeat(small_factuals.rows[:1], 200, axis=0))
    seeds = {method._certificate_seed(people, i) for i in range(200)}
    assert len(seeds) == 200
    assert max(seeds) < 2**32


def test_more_draws_than_can_be_held_are_refused(cancer_network: Network) -> None:
    with pytest.raises(
        InputError, match=r"ask for 6,907,\d+,\d+,\d+ sampled networks; expected at"
    ):
        APDS(robustness=0.999999999999)
    with pytest.raises(InputError, match=r"parameters do not fit into memory; expected at most"):
        ParameterSample.draw(ParameterBox(cancer_network, 0.1), 10**9, 1)
