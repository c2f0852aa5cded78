"""Rules for the gate: what an audit found, as what the next one has to keep."""

from __future__ import annotations

import math

import tomli_w

from changeproof.report.page.parts import Part, Source, heading, nothing, text
from changeproof.report.recommendation import LEAST_PERCENT

FILE = "rules.toml"
# Distances in rules are rounded up to so many digits.
DIGITS = 2


def gate_section(source: Source) -> list[Part]:
    """Return rules about the method that the verdict names, and how to ask the gate."""
    (dataset,) = source.plan.datasets
    method = source.best(dataset)
    if method is None:
        return nothing("There is no advice that holds, so there is nothing to require yet.")
    rules = gate_rules(method, source.scores.of("distance", dataset, method).high)
    name = source.shown.name(method)
    return [
        text(
            f"These rules require of {name} that its advice holds in at least {LEAST_PERCENT} % of "
            "all cases (everybody who asks, in every changed model), and that it asks people to go "
            "no farther than it may today. Change the limits to what you need; every rule is in "
            "docs/gate.md."
        ),
        {"code": rules},
        {"file": FILE, "button": FILE, "content": rules},
        text(
            "Then ask the gate, of this audit (AUDIT stands for its directory) and of the one "
            "after the next change of the model. It answers pass, fail, or not decided, where "
            "the 95 % interval covers the limit; strictly, only pass opens the gate."
        ),
        {"code": f"changeproof gate AUDIT {FILE} --strict"},
        heading("Letters"),
        text(
            f"The first command writes everybody a letter with the advice of {name} and how sure "
            "it is. Once there is a next model, the second one says which of these letters it "
            "breaks; add the options that this audit was made with."
        ),
        {
            "code": "changeproof letters AUDIT --out letters\n"
            "changeproof audit … --counterfactuals letters --successor pickle:next.pkl --out NEXT"
        },
    ]


def gate_rules(method: str, farthest: float | None) -> str:
    """Return rules for a method as a file that `changeproof gate` reads.

    `farthest` is the upper end of the interval of its distance, if that is known.
    """
    rules: list[dict[str, str | float]] = [
        {
            "name": "advice holds after the model changes",
            "method": method,
            "metric": "end_to_end_robustness",
            "at_least": float(LEAST_PERCENT),
        }
    ]
    if farthest is not None and math.isfinite(farthest):
        room = 10**DIGITS
        rules.append(
            {
                "name": "advice asks for no more than today",
                "method": method,
                "metric": "distance",
                "at_most": math.ceil(room * farthest) / room,
            }
        )
    return tomli_w.dumps({"rule": rules})
