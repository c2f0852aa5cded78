"""How far rounding can carry a sum: what every bound of this room carries with it.

A sum in double precision, in any order, with fused products or without, misses its true value by
at most a multiple of the sum of the sizes of its terms: the number of roundings that a term goes
through, times half the distance from 1 to the next number. `unit` is such a multiple, for any sum
over the inputs or neurons of a network: large enough for the network's own evaluation, for the
bound that is compared with it, and for the error term itself, together. So what is proven holds
for the logit as it is computed, whatever the order, and for the true one.

A row whose errors are not finite, or beyond `LARGEST`, is unknown. Below that, underflow stays far
below `TINY`, which is part of every error.
"""

from __future__ import annotations

from typing import Any

from changeproof.arithmetic.compiling import compiled

HALF_STEP = 2.0**-53
TINY = 1e-150
LARGEST = 1e140


@compiled
def roundings(terms: int) -> float:
    """Return what a sum of so many terms can miss, per sum of the sizes of its terms.

    A term goes through at most two products and `terms` additions, in the sum and in the one
    that it is compared with. Twice that leaves room for errors of error terms.
    """
    return HALF_STEP * (4.0 * terms + 64.0)


@compiled
def unit(layers: Any) -> float:
    """Return what any sum over the inputs or neurons of a network can miss, per size."""
    return roundings(layers[0, 0] + layers[-1, 3] + 1)
