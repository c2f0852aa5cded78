from __future__ import annotations

from changeproof.changes import get_family
from changeproof.evaluation.metrics import METRICS
from changeproof.report.scores import Score, Spread, after, sentence
from changeproof.tables.display import listed


def score(**values: float | None) -> Score:
    """A score with an interval of one point to either side."""
    every = {"coverage": 100.0, "base_validity": 100.0, **values}
    every.setdefault("end_to_end_robustness", every.get("empirical_robustness"))
    return {
        metric: Spread(v, 1.0, v - 1.0, v + 1.0)
        if (v := every.get(metric)) is not None
        else Spread()
        for metric in METRICS
    }


def test_sentence_in_plain_words() -> None:
    text = sentence(
        after(get_family("bootstrap").summary),
        "rnce",
        score(empirical_robustness=97.2, distance=1.91),
        "base models",
    )
    assert text == (
        "After retraining on a bootstrap sample of the training rows, 97.2 % of the CFEs by RNCE "
        "still hold (95 % interval over base models: 96.2 to 98.2). They ask people to move 1.91 "
        "typical deviations per feature."
    )


def test_sentence_says_who_is_left_out_and_what_is_undefined() -> None:
    values = score(
        coverage=80.0, empirical_robustness=90.0, end_to_end_robustness=72.0, distance=0.5
    )
    text = sentence(after(get_family("architecture").summary), "rbr", values, "people")
    assert text.startswith("After a change of the model (another model on the same data")
    assert "But only 80.0 % of people get a CFE" in text
    assert text.endswith("In all, 72.0 % get one that still holds.")
    nothing = score(coverage=0.0, base_validity=None, end_to_end_robustness=0.0)
    assert "gave nobody a CFE" in sentence(after(None, 8), "rbr", nothing, "people")


def test_one_base_network_has_no_interval() -> None:
    whole = score(empirical_robustness=50.0, distance=1)
    alone = {metric: Spread(each.mean) for metric, each in whole.items()}
    assert "interval" not in sentence(after(None, 8), "rbr", alone, "people")


def test_settings_are_said_behind_the_name() -> None:
    values = score(empirical_robustness=97.2, distance=1.91)
    text = sentence(after(None, 8), "robx-balanced(quantile=0.7)", values, "people")
    assert "CFEs by RobX balanced (quantile=0.7) still hold" in text


def test_lists_end_with_and() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
