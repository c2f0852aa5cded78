"""How kernels are compiled: every operation as it is written, in the order that is written.

The compiler may not reorder sums, so that their order does not follow the width of a processor's
vectors. It may not fuse a product and a sum either: where that is wanted, the code says `fma`.
What is left is still turned into vector instructions: loops whose turns do not depend on each
other, and sums that `lanes.py` spreads over lanes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.caching import FunctionCache

PACKAGE = Path(__file__).resolve().parent.parent
# Where kernels are, and what they are made from.
ROOMS = ("arithmetic", "feasible", "networks", "models", "certificates", "methods")

Function = TypeVar("Function", bound=Callable[..., Any])


class KernelCache(FunctionCache):  # type: ignore[misc]
    """Compiled kernels on disk.

    Numba compiles a kernel again when its own file has changed. Ours take in code of other files,
    so all of them count as a version. What another version has left is not even read.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file._version += f" {kernels_digest()}"


@cache
def kernels_digest() -> str:
    digest = hashlib.sha256()
    for room in ROOMS:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def compiled(function: Function) -> Function:
    """Compile a function when it is first called, and keep the result for other processes."""
    kernel = njit(nogil=True, error_model="numpy")(function)
    kernel._cache = KernelCache(function)
    return cast(Function, kernel)
