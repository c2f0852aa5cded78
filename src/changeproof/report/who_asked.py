"""Who asked for advice, where that is not who was expected to; and what a spread is over."""

from __future__ import annotations

from collections.abc import Iterator

from changeproof.methods.method import Counterfactuals
from changeproof.report.names import dataset_name
from changeproof.report.words import listed
from changeproof.runs.results import StoredResults


def who_asked(results: StoredResults) -> Iterator[str]:
    """Yield what has to be said of the people of a run, and of its base models, in words."""
    datasets = results.shown.datasets
    fewer = []
    for dataset in datasets:
        on = f" on {dataset_name(dataset)}" if len(datasets) > 1 else ""
        answers = _answers(results, dataset)
        people = sum(map(len, answers))
        needless = people - sum(int(each.asking.sum()) for each in answers)
        if needless:
            yield (
                f"{needless} of {people} people{on} are decided in their favour as they are. They "
                "need no advice, and are not counted."
            )
        if answers and min(map(len, answers)) < results.plan.factuals:
            fewer.append(f"{_span(answers)} people{on}")
        if results.one_base(dataset):
            yield (
                f"All base models{on} are the same: the seed changes nothing about them. What is "
                "said over base models is over draws of people and changed models."
            )
    if fewer and results.plan.rows is None:
        whom = "today's model rejects" if len(results.plan.base_seeds) == 1 else "a model rejects"
        yield (
            f"Only {listed(fewer)} ask, as {whom} no more of the test rows; up to "
            f"{results.plan.factuals} may."
        )


def _answers(results: StoredResults, dataset: str) -> list[Counterfactuals]:
    """Return a method's answers by base model: every method is asked by the same people."""
    answered = [key for key in results.answered if key.dataset == dataset]
    return [results.counterfactuals(*key) for key in answered if key.method == answered[0].method]


def _span(answers: list[Counterfactuals]) -> str:
    least, most = min(map(len, answers)), max(map(len, answers))
    return str(least) if least == most else f"{least} to {most}"
