"""How long it takes to do what people are told, and the updates until then."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import changeproof as cp
from changeproof import InputError
from changeproof.evaluation.life import Lives
from changeproof.explanation import explanation_lines
from changeproof.feasible.durations import durations
from changeproof.feasible.takes import Takes
from changeproof.report.page.life import Lasting, updates_within

LEVELS = ["none", "school", "degree"]


def table(n: int = 300) -> pd.DataFrame:
    draw = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "savings": draw.integers(0, 60, n) * 100,
            "education": draw.choice(LEVELS, n),
            "town": draw.choice(["A", "B"], n),
        }
    )
    score = frame["savings"] + 1500 * frame["education"].map(LEVELS.index)
    return frame.assign(ok=np.where(score + draw.normal(0, 300, n) > 3600, "yes", "no"))


ACTIONS = {
    "savings": {"change": "increase", "takes": "1 month per 200"},
    "education": {"change": "increase", "order": LEVELS, "takes": "a year per level"},
    "town": {"change": "none"},
}


@pytest.mark.parametrize(
    ("text", "months", "per"),
    [
        ("6 months per level", 6.0, 1.0),
        ("About 2  Weeks", 14 * 12 / 365.25, None),
        ("1.5 years per 10", 18.0, 10.0),
        ("a year", 12.0, None),
    ],
)
def test_durations_are_read_as_people_write_them(
    text: str, months: float, per: float | None
) -> None:
    assert Takes.parsed(text) == (pytest.approx(months), per)


@pytest.mark.parametrize("text", ["", "soon", "6", "6 months per", "6 months per 0", "-1 month"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"feature 'savings'.*takes is"):
        cp.own_task(table(), target="ok", favourable="yes", actions={"savings": {"takes": text}})


def test_changes_are_made_at_the_same_time() -> None:
    task = cp.own_task(table(), target="ok", favourable="yes", actions=ACTIONS)
    own = pd.DataFrame({"savings": [500] * 4, "education": ["none"] * 4, "town": ["A"] * 4})
    new = own.assign(
        savings=[500, 1500, 5300, 500], education=["degree", "school", "school", "none"]
    )
    encoded = [task.encoded(each) for each in (own, new)]
    found = durations(task.actions, *encoded)
    np.testing.assert_allclose(found, [24.0, 12.0, 24.0, np.nan])


def test_advice_is_read_at_the_update_by_which_it_is_done() -> None:
    assert [updates_within(months, 3.0) for months in (2.9, 3.0, 8.9, 0.0)] == [0, 1, 2, 0]
    holds = np.ones((1, 4, 3), np.bool_)
    holds[0, 0, 0] = holds[0, 1, 1] = False
    lives = Lives(holds, np.full(4, 3))
    half = Lasting.of("updates", lives, 3.0, 7.0)
    assert (half.done_by, half.held_until_done) == (2, 2)
    assert half.sentence.endswith("Through the 2 updates until it is done, it held in 2 of 4.")
    assert Lasting.of("updates", lives, 3.0, 2.0).sentence.endswith("before the first update.")
    late = Lasting.of("updates", lives, 3.0, 30.0)
    assert (late.done_by, late.held_until_done) == (10, None)
    assert "more than the 3 that were simulated" in late.sentence
    plain = Lasting.of("updates", lives)
    assert plain.done_by is None
    assert "until it is done" not in plain.sentence


def test_people_are_told_how_long_it_takes_and_what_held_until_then() -> None:
    task = cp.own_task(table(), target="ok", favourable="yes", actions=ACTIONS)
    families = ["bootstrap(replicates=2)", "updates(length=4, replicates=3, months=6)"]
    results = cp.evaluate(task, "mlp", ["kdtree"], families, factuals=12)
    people = results.table("people")
    changed = people[people["outcome"] == "found"]
    assert changed["months"].gt(0).all()
    for row in changed.to_dict("records"):
        answer = cp.explain(results, row["id"], "kdtree")
        assert answer.months == pytest.approx(row["months"])
        own, told = answer.factual, answer.counterfactual
        levels = [LEVELS.index(each["education"]) for each in (own, told)]
        by_hand = max((told["savings"] - own["savings"]) / 200, 12 * (levels[1] - levels[0]))
        assert answer.months == pytest.approx(by_hand)
        (lasting,) = answer.lasting
        assert lasting.done_by == int(by_hand / 6 + 1e-9)
        lines = list(explanation_lines(answer, results.task("data")))
        assert any(line.startswith("  Takes ") for line in lines)
