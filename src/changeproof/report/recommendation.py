"""Which of several pieces of advice to follow, by one rule, and why.

The shortest advice that today's model accepts, that the person can follow, and that holds in at
least 95 of 100 changed models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LEAST_PERCENT = 95
SHORTEST, ONLY, NONE_HOLDS, NOTHING, FAVOURABLE, BUT = (
    "shortest",
    "only",
    "none holds",
    "nothing",
    "favourable",
    "but",
)
# The only place where the words are: the page fills the same templates.
TEMPLATES = {
    SHORTEST: "{method}, the shortest of {holding} pieces of advice that hold in at least "
    f"{LEAST_PERCENT} % of the {{models}} changed models.",
    ONLY: f"{{method}}, the only advice that holds in at least {LEAST_PERCENT} % of the "
    "{models} changed models.",
    NONE_HOLDS: f"No advice holds in at least {LEAST_PERCENT} % of the {{models}} changed models. "
    "{method} holds most often, in {percent} %.",
    NOTHING: "There is no advice that today's model accepts and that this person can follow.",
    FAVOURABLE: "Today's model already decides in this person's favour.",
    BUT: " {other} is shorter ({other_distance} against {distance}) but holds in "
    "{other_percent} %.",
}


class Option(NamedTuple):
    """A method's advice to one person, as far as the choice depends on it.

    Attributes
    ----------
    method
        Its name.
    usable
        Whether there is advice, today's model accepts it, and the person can follow it.
    distance
        How far it is; any number where there is none.
    held, models
        In how many of how many changed models it holds.
    """

    method: str
    usable: bool
    distance: float
    held: int
    models: int

    @property
    def percent(self) -> int:
        """The share of changed models it holds in, never rounded up."""
        return 100 * self.held // max(1, self.models)

    @property
    def holds(self) -> bool:
        """Whether it holds often enough."""
        return 100 * self.held >= LEAST_PERCENT * self.models > 0


class Recommendation(NamedTuple):
    """The advice to follow.

    Attributes
    ----------
    method
        Whose; None where no advice holds often enough.
    most_often
        Whose advice holds most often; None where nobody has advice that can be followed.
    holding
        How many pieces of advice hold often enough.
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


def choose(options: Sequence[Option], favourable: bool = False) -> Recommendation:
    """Return the advice to follow.

    Of two that are equally short, the one that holds more often; then the first.

    Parameters
    ----------
    options
        Everybody's advice to one person.
    favourable
        Whether the model already decides in the person's favour.
    """
    usable = [option for option in options if option.usable]
    if not usable:
        kind = FAVOURABLE if favourable else NOTHING
        return Recommendation(None, None, 0, None, kind, TEMPLATES[kind])
    often = max(usable, key=lambda option: (option.held, -option.distance))
    firm = [option for option in usable if option.holds]
    if not firm:
        words = TEMPLATES[NONE_HOLDS].format(
            method=often.method, models=often.models, percent=often.percent
        )
        return Recommendation(None, often.method, 0, None, NONE_HOLDS, words)
    best = min(firm, key=_nearest)
    kind = ONLY if len(firm) == 1 else SHORTEST
    words = TEMPLATES[kind].format(method=best.method, holding=len(firm), models=best.models)
    nearest = min(usable, key=_nearest)
    if nearest.distance == best.distance:
        return Recommendation(best.method, often.method, len(firm), None, kind, words)
    near, far = different(nearest.distance, best.distance)
    words += TEMPLATES[BUT].format(
        other=nearest.method,
        other_distance=near,
        distance=far,
        other_percent=nearest.percent,
    )
    return Recommendation(best.method, often.method, len(firm), nearest.method, kind, words)


def different(near: float, far: float) -> tuple[str, str]:
    """Return two different distances with as many digits as it takes to tell them apart."""
    for digits in range(2, 17):
        texts = f"{near:.{digits}f}", f"{far:.{digits}f}"
        if texts[0] != texts[1]:
            break
    return texts


def _nearest(option: Option) -> tuple[float, int]:
    return option.distance, -option.held
