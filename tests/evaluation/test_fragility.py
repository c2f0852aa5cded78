from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from changeproof import Candidates, Context, Factuals, Method, tune
from changeproof.evaluation.fragility import fragile_picks


class Partly(Method):
    """Answers some people rightly, at a distance of its own, and the others not at all."""

    name, summary = "partly", "answers as many as it is told"

    def __init__(self, *, answered: int, share: float = 1.0, step_size: float = 0.1) -> None:
        self.answered, self.share, self.step_size = answered, share, step_size

    def _search(self, factuals: Factuals) -> Candidates:
        train = self.context.task.rows("train")
        goal = train[np.argmax(self.context.model.probabilities(train))]
        rows = factuals.rows + self.share * (goal - factuals.rows)
        rows[self.answered :] = np.nan
        return Candidates(rows)


def tuned(context: Context, people: Factuals, *candidates: Method) -> pd.DataFrame:
    return tune(candidates, context, people).assign(dataset="loans", method="partly")


def test_candidates_say_how_far_they_are_behind(
    small_context: Context, small_factuals: Factuals
) -> None:
    candidates = [Partly(answered=4), Partly(answered=6), Partly(answered=6, share=1.5)]
    candidates += [Partly(answered=5), Partly(answered=0)]
    table = tuned(small_context, small_factuals[:8], *candidates)
    assert table["validation_rows"].tolist() == [8] * 5
    assert table["valid_rows"].tolist() == [4, 6, 6, 5, 0]
    assert table["base_validity"].tolist() == [0.5, 0.75, 0.75, 0.625, 0.0]
    assert table["chosen"].tolist() == [False, True, False, False, False]
    assert table["rows_behind"].tolist() == [2, 0, 0, 1, 6]
    farther = table["distance"][2] - table["distance"][1]
    assert farther > 0
    np.testing.assert_array_equal(table["distance_behind"], [np.nan, 0, farther, np.nan, np.nan])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ([{"answered": 8}, {"answered": 6}], None),
        ([{"answered": 8}], None),
        ([{"answered": 8}, {"answered": 8}], None),
        (
            [{"answered": 6}, {"answered": 7}, {"answered": 8}],
            "answered 8 wins by 1 of 8 validation rows over 7",
        ),
        # Of two that are one row behind, the nearer is the runner-up.
        (
            [{"answered": 7, "share": 1.2}, {"answered": 7, "share": 0.9}, {"answered": 8}],
            "answered 8, share 1 wins by 1 of 8 validation rows over answered 7, share 0.9",
        ),
        (
            [{"answered": 8, "step_size": 0.1}, {"answered": 8, "step_size": 0.25}],
            "step size 0.1 ties with 0.25 (8 of 8 validation rows each) and in distance, "
            "and comes first",
        ),
        # With one more valid row another would be picked, too.
        (
            [
                {"answered": 7, "share": 0.95},
                {"answered": 8},
                {"answered": 7, "share": 0.9},
                {"answered": 7, "share": 1.1},
                {"answered": 6, "share": 0.8},
            ],
            "answered 8, share 1 wins by 1 of 8 validation rows over answered 7, share 0.9"
            "; one row behind and nearer: answered 7, share 0.95",
        ),
        (
            [{"answered": 0, "share": 0.5}, {"answered": 0}],
            "share 0.5 only comes first: no candidate is valid on any of 8 validation rows",
        ),
    ],
)
def test_picks_that_hang_on_little_are_put_into_words(
    settings: list[dict[str, float]],
    expected: str | None,
    small_context: Context,
    small_factuals: Factuals,
) -> None:
    candidates = [Partly(**each) for each in settings]  # type: ignore[arg-type]
    found = fragile_picks(tuned(small_context, small_factuals[:8], *candidates))
    assert found == ([] if expected is None else [f"partly on loans: {expected}"])


def test_a_tie_is_decided_by_distance(small_context: Context, small_factuals: Factuals) -> None:
    candidates = [Partly(answered=8, share=1.01), Partly(answered=8)]
    (found,) = fragile_picks(tuned(small_context, small_factuals[:8], *candidates))
    start = "partly on loans: share 1 ties with 1.01 (8 of 8 validation rows each) and wins by "
    assert found.startswith(f"{start}a distance of 0.0")
    assert found.endswith(" (1 %)")


def test_a_table_that_does_not_say_gives_nothing() -> None:
    assert fragile_picks(pd.DataFrame()) == []
    old = {"dataset": ["d"], "method": ["m"], "settings": ["{}"], "chosen": [True]}
    assert fragile_picks(pd.DataFrame(old)) == []
