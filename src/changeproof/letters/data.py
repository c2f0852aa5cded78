"""What a letter says: decision, reasons, ways, how sure they are; plain values for templates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from changeproof import __version__
from changeproof.adapters.letters import FORMAT
from changeproof.datasets.recourse import FOLLOW, Wording
from changeproof.datasets.words import SENDER, Catalogue, capital, fill, letter_sentences
from changeproof.errors import InputError
from changeproof.explanation import (
    Explanation,
    duration,
    explain_all,
    recommendation,
    spoken,
)
from changeproof.methods.answers import ALREADY_FAVOURABLE
from changeproof.runs.results import StoredResults

REFUSED, ACCEPTED = "refused", "accepted"
# A letter names at most so many ways.
MOST_WAYS = 3
DERIVED = "derived from this model and these rules"


class Voice:
    """The sentences of letters, in a language and with the words of a dataset."""

    def __init__(self, results: StoredResults, dataset: str, language: str | None) -> None:
        words, other = results.task(dataset).words, spoken(language)
        self.language: Catalogue = words.catalogue if other is None else other
        own = words.letter if self.language.language == words.catalogue.language else {}
        texts = {**own, **self.language.letter}
        if SENDER in words.letter:
            texts.setdefault(SENDER, words.letter[SENDER])
        self.sender = texts.pop(SENDER, "")
        self.sentences = {**self.language.sentences, **texts}

    def say(self, sentence: str, **values: Any) -> str:
        """Return a sentence of the catalogue with its values."""
        if sentence not in letter_sentences():
            raise InputError(f"no sentence is called {sentence!r}")
        return fill(self.sentences[sentence], values)

    def number(self, value: float) -> str:
        return self.language.number(f"{value:g}")

    def percent(self, number: str) -> str:
        return fill(self.language.percent, {"number": self.language.number(number)})


def recommended_advice(
    results: StoredResults, person: Any, dataset: str, voice: Voice
) -> tuple[list[Explanation], bool]:
    """Return the advice that is recommended to a person, or else what comes nearest to that.

    Also whether it is recommended. What comes nearest holds most often and, of that, is shortest.
    """
    answers = explain_all(results, person, None, dataset, voice.language)
    choice = recommendation(answers)
    method = choice.method or choice.most_often
    told = [each for each in answers if each.method == method] or answers[:1]
    return told, choice.method is not None


def check_methods(results: StoredResults, methods: Sequence[str]) -> None:
    known = results.shown.methods
    for name in methods:
        if name not in known:
            raise InputError(f"no method {name!r} in this run; expected {', '.join(known)}")
    if len(set(methods)) != len(methods) or len(methods) > MOST_WAYS:
        raise InputError(
            f"{len(methods)} methods; expected at most {MOST_WAYS} different ones, a way each"
        )


def letter_data(
    results: StoredResults, answers: Sequence[Explanation], dataset: str, voice: Voice
) -> dict[str, Any]:
    """Return all that there is to say to one person, given answers to tell, as plain values."""
    first, ways = answers[0], _ways(answers, voice)
    wording = Wording(results.task(dataset), feasible=True, language=voice.language)
    accepted = all(answer.outcome == ALREADY_FAVOURABLE for answer in answers)
    return {
        "format": FORMAT,
        "changeproof": __version__,
        "dataset": dataset,
        "language": voice.language.language,
        "person": getattr(first.person, "item", lambda: first.person)(),
        "decision": ACCEPTED if accepted else REFUSED,
        "reasons": [each.as_dict() for each in first.reasons],
        "reasons_are": DERIVED,
        "unknown": [
            {"feature": name, "label": wording.label(name), "value": value}
            for name, value in first.filled_in.items()
        ],
        "methods": _methods(answers, ways),
        "ways": ways,
    }


def _methods(answers: Sequence[Explanation], ways: Sequence[dict[str, Any]]) -> list[str]:
    """Return whose advice the ways are; a further choice is by the method that made it."""
    told = {way["method"] for way in ways}
    return [
        each.method
        for each in answers
        if told & {each.method, *(other.method for other in each.alternatives)}
    ]


def _ways(answers: Sequence[Explanation], voice: Voice) -> list[dict[str, Any]]:
    """Return what the person can do, each way once: methods' first choices, then the others."""
    further = [other for each in answers for other in each.alternatives]
    usable = [each for each in (*answers, *further) if each.option.usable and each.changes]
    different: list[Explanation] = []
    for each in usable:
        if all(each.counterfactual != other.counterfactual for other in different):
            different.append(each)
    del different[MOST_WAYS:]
    several = len(different) > 1
    return [
        {
            "number": number,
            "method": each.method,
            "changes": [c.as_dict() for c in each.changes if c.direction != FOLLOW],
            "follows": [f"{capital(str(c))}." for c in each.changes if c.direction == FOLLOW],
            "row": each.counterfactual,
            "distance": each.distance,
            "held": each.overall.held,
            "models": each.overall.models,
            "low": _known(each.overall.low),
            "high": _known(each.overall.high),
            "months": each.months,
            "takes": _takes(each, voice),
            "tested": list(_tested(each, number if several else None, voice)),
        }
        for number, each in enumerate(different, start=1)
    ]


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _takes(answer: Explanation, voice: Voice) -> str:
    if answer.months is None:
        return ""
    count, unit = duration(answer.months)
    if unit == "day":
        return voice.say("takes_days")
    one = "_one" if count == 1 else ""
    return voice.say(f"takes_{unit}s{one}", count=voice.number(count))


def _tested(answer: Explanation, number: int | None, voice: Voice) -> Iterator[str]:
    """Yield how sure advice is, with the numbers of the tables."""
    option, models = answer.option, answer.overall.models
    share = voice.percent(str(option.percent))
    if models:
        counts = {"held": option.held, "models": models}
        low, high = map(voice.percent, option.ends)
        if number is not None:
            yield voice.say("tested_way", number=number, low=low, high=high, **counts)
        elif option.held == models:
            yield voice.say("tested_in_all", models=models)
        else:
            yield voice.say("tested", share=share, **counts)
        if number is None:
            yield voice.say("interval", low=low, high=high)
    for each in answer.lasting:
        if not each.futures:
            continue
        if each.held_until_done is not None and each.done_by:
            counts = {"held": each.held_until_done, "futures": each.futures}
            yield voice.say("lasts_until_done", **counts)
        else:
            counts = {
                "held": each.held_through[-1],
                "futures": each.futures,
                "updates": each.updates,
            }
            yield voice.say("lasts", **counts)
