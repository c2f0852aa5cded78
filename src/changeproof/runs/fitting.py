"""Which methods and families fit a model; what does not is left out with its reason."""

from __future__ import annotations

from changeproof.changes import get_family
from changeproof.changes.own import reason_against
from changeproof.errors import InputError
from changeproof.methods import get_method
from changeproof.models.learner import Learner
from changeproof.runs.plan import Plan


def fitted(plan: Plan, learner: Learner) -> Plan:
    """Return the plan without what the model cannot support, and with the reasons."""
    left_out = {}
    for name in plan.methods:
        if (method := get_method(name)).needs > learner.offers:
            left_out[name] = (
                f"needs {method.needs} of a model; {learner.name} offers {learner.offers}"
            )
    for name in plan.families:
        if (reason := reason_against(learner, get_family(name))) is not None:
            left_out[name] = reason
    methods = tuple(name for name in plan.methods if name not in left_out)
    families = tuple(name for name in plan.families if name not in left_out)
    for what, kept in (("method", methods or plan.counterfactuals), ("family", families)):
        if not kept:
            reasons = "; ".join(f"{name} {reason}" for name, reason in left_out.items())
            raise InputError(f"no {what} of the plan fits the model: {reasons}")
    return plan.model_copy(
        update={"methods": methods, "families": families, "left_out": plan.left_out | left_out}
    )
