"""The uniform numbers that PyTorch draws on a CPU, without importing PyTorch.

The protocol's seeds are seeds of PyTorch's generator, a Mersenne Twister. Importing PyTorch for
its draws alone takes seconds, in every worker; and what it draws depends on whether the
processor fuses multiplication and addition. Here they are always fused, as on any processor of
the last ten years.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

BITS = 24
PART = 1 << 15


class TorchDraws:
    """What `torch.Generator().manual_seed(seed)` gives, draw after draw."""

    def __init__(self, seed: int) -> None:
        # The old interface on purpose: its seeding by a whole number is the one of PyTorch.
        self._words = np.random.RandomState(seed % 2**32)

    def uniform(
        self, low: float, high: float, shape: int | Sequence[int]
    ) -> npt.NDArray[np.float32]:
        """Return what `torch.empty(shape).uniform_(low, high)` would be filled with."""
        drawn = np.empty(shape, dtype=np.float32)
        first, length = np.float32(low), np.float32(high) - np.float32(low)
        flat, step = drawn.reshape(-1), 0.5**BITS * float(length)
        # Parts that stay in the cache; long draws are over twice as fast.
        for start in range(0, len(flat), PART):
            part = flat[start : start + PART]
            words = self._words.randint(0, 2**32, size=len(part), dtype=np.uint32)
            words &= np.uint32(2**BITS - 1)
            # Exact in double precision, then rounded once: what a fused operation does.
            part[:] = words * step + float(first)
        return drawn
