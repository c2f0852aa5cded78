"""How kernels are compiled: every operation as it is written, in the order that is written.

The compiler may not reorder sums, so that their order does not follow the width of a processor's
vectors. It may not fuse a product and a sum either: where that is wanted, the code says `fma`.
What is left is still turned into vector instructions: loops whose turns do not depend on each
other, and sums that `lanes.py` spreads over lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function when it is first called, and keep the result for other processes."""
    return cast(Function, njit(nogil=True, cache=True, error_model="numpy")(function))
