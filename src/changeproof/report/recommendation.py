"""Which of several pieces of advice to follow, by one rule, and why.

The shortest advice that today's model accepts, that the person can follow, and that is known to
hold in at least 95 of 100 changed models: the interval over changed models says so. Where it
cannot, the choice is undecided, as that of the gate.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor
from typing import NamedTuple

from changeproof.evaluation.bar import LEAST_PERCENT as LEAST_PERCENT
from changeproof.evaluation.bar import Standing, interval, models_needed, standing

SHORTEST, ONLY, UNDECIDED, NONE_HOLDS = "shortest", "only", "undecided", "none holds"
NOTHING, FAVOURABLE, TOO_FEW, BUT = "nothing", "favourable", "too few", "but"
# The only place where the words are.
TEMPLATES = {
    SHORTEST: "{method}, the shortest of {holding} pieces of advice that hold in at least "
    f"{LEAST_PERCENT} % of the {{models}} changed models (95 % interval: {{low}} to {{high}} %).",
    ONLY: f"{{method}}, the only advice that surely holds in at least {LEAST_PERCENT} % of the "
    "{models} changed models (95 % interval: {low} to {high} %).",
    UNDECIDED: "Undecided: {method} holds most often, in {held} of {models} changed models, and "
    f"the 95 % interval, {{low}} to {{high}} %, does not tell whether that is {LEAST_PERCENT} % "
    "or more of such models.",
    NONE_HOLDS: f"No advice holds in at least {LEAST_PERCENT} % of the {{models}} changed models. "
    "{method} holds most often, in {percent} % (95 % interval: {low} to {high} %).",
    NOTHING: "There is no advice that today's model accepts and that this person can follow.",
    FAVOURABLE: "Today's model already decides in this person's favour.",
    TOO_FEW: f" It takes at least {models_needed()} changed models to tell: ask for more, for "
    "example with bootstrap(replicates=100).",
    BUT: " {other} is shorter ({other_distance} against {distance}) but holds in "
    "{other_percent} %.",
}


class Option(NamedTuple):
    """A method's advice to one person, as far as the choice depends on it."""

    method: str
    # There is advice, today's model accepts it, and the person can follow it.
    usable: bool
    # Any number where there is no advice.
    distance: float
    # In how many of how many changed models it holds.
    held: int
    models: int
    # How many of those models are independent; None where all are.
    trials: int | None = None

    @property
    def percent(self) -> int:
        """The share of changed models it holds in, never rounded up."""
        return 100 * self.held // max(1, self.models)

    @property
    def standing(self) -> Standing:
        """Whether it holds often enough, as far as the interval tells."""
        return standing(self.held, self.models, self.trials)

    @property
    def ends(self) -> tuple[str, str]:
        """Both ends of the interval in percent, each rounded away from the share."""
        low, high = interval(self.held, self.models, self.trials)
        return f"{floor(1000 * low) / 10:.1f}", f"{ceil(1000 * high) / 10:.1f}"

    @property
    def words(self) -> dict[str, str | int]:
        """What templates say of it."""
        low, high = self.ends
        shown: dict[str, str | int] = {"method": self.method, "low": low, "high": high}
        return shown | {"models": self.models, "held": self.held, "percent": self.percent}


class Recommendation(NamedTuple):
    """The advice to follow.

    Attributes
    ----------
    method
        Whose; None where no advice is known to hold often enough.
    most_often
        Whose advice holds most often; None where nobody has advice that can be followed.
    holding
        How many pieces of advice are known to hold often enough.
    shorter
        The shortest of all, where it is shorter than what is recommended.
    kind
        Which of the templates says it.
    reason
        Why, in words.
    """

    method: str | None
    most_often: str | None
    holding: int
    shorter: str | None
    kind: str
    reason: str

    @property
    def sentence(self) -> str:
        """The reason, after what is recommended, if anything is."""
        return self.reason if self.method is None else f"Recommended: {self.reason}"


def choose(options: Sequence[Option], favourable: bool = False) -> Recommendation:
    """Return the advice to follow, of everybody's advice to one person.

    Of two that are equally short, the one that holds more often; then the first. `favourable`:
    whether the model already decides in the person's favour.
    """
    usable = [option for option in options if option.usable]
    if not usable:
        kind = FAVOURABLE if favourable else NOTHING
        return Recommendation(None, None, 0, None, kind, TEMPLATES[kind])
    often = max(usable, key=lambda option: (option.held, -option.distance))
    firm = [option for option in usable if option.standing is Standing.ABOVE]
    if not firm:
        open_ones = [option for option in usable if option.standing is Standing.UNDECIDED]
        kind = UNDECIDED if open_ones else NONE_HOLDS
        words = TEMPLATES[kind].format(**often.words)
        if open_ones and too_few(often.models, often.trials):
            words += TEMPLATES[TOO_FEW]
        return Recommendation(None, often.method, 0, None, kind, words)
    best, nearest = (
        min(some, key=lambda each: (each.distance, -each.held)) for some in (firm, usable)
    )
    kind = ONLY if len(firm) == 1 else SHORTEST
    words = TEMPLATES[kind].format(holding=len(firm), **best.words)
    shorter = nearest.method if nearest.distance < best.distance else None
    if shorter is not None:
        near, far = different(nearest.distance, best.distance)
        words += TEMPLATES[BUT].format(
            other=shorter, other_distance=near, distance=far, other_percent=nearest.percent
        )
    return Recommendation(best.method, often.method, len(firm), shorter, kind, words)


def too_few(models: int, trials: int | None = None) -> bool:
    """Say whether so few changed models cannot show that any advice holds often enough."""
    return (models if trials is None else trials) < models_needed()


def different(near: float, far: float) -> tuple[str, str]:
    """Return two different distances with as many digits as it takes to tell them apart."""
    for digits in range(2, 17):
        texts = f"{near:.{digits}f}", f"{far:.{digits}f}"
        if texts[0] != texts[1]:
            break
    return texts
