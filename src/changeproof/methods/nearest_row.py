"""The nearest row that the base model accepts, and nothing more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from changeproof.feasible.search import THOROUGH
from changeproof.methods.method import Cost, People, WarmUp
from changeproof.methods.shared.free_search import SearchedMethod
from changeproof.model import Booleans, Floats, Model


class NearestRow(SearchedMethod):
    """Send people to the nearest row that they may be told and that the base model accepts.

    The baseline that robust methods are compared with: what advice costs that only has to be
    accepted today. The distance is that of the task, and the search that of the base class, from
    the person's own row and from the nearest favourable training rows. Where everything may
    change, it goes over the rows inside the range of the training rows, every column by itself, in
    steps of a thousandth of a deviation.

    A row is good enough if the base model accepts it.

    Notes
    -----
    The search is local: one feature at a time, then every change given up in turn for others. On
    forests it tries the values just across their splits. No other value can be the nearest, so a
    number is exactly as far from its old value as its side of the split needs. Which features
    change is not proven to be the best choice. On other models, numbers come as near as halving
    seven times brings them, which leaves up to a 64th of their change.
    """

    name = "nearest-row"
    label = "Nearest row"
    cost = Cost(per_person=0.01, feasible=0.01, own_model=0.05)
    warm_up = WarmUp(seconds=3)
    summary = "the nearest row that the base model accepts"
    source = (
        "the closest counterfactual, as Wachter, Mittelstadt and Russell define it: Counterfactual "
        "Explanations without Opening the Black Box, Harvard Journal of Law & Technology 31(2), "
        "2018 (https://arxiv.org/abs/1711.00399); changeproof's search among feasible rows"
    )

    effort = THOROUGH
    fine = 0.001

    def _accepts(self, rows: Floats, people: People) -> Booleans:
        return np.ones(len(rows), dtype=np.bool_)

    def _deciding_models(self) -> Sequence[Model]:
        return (self.context.model,)
