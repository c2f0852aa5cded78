"""The uniform numbers that PyTorch draws on a CPU, without importing PyTorch.

The protocol's seeds are seeds of PyTorch's generator, a Mersenne Twister (MT19937). Importing
PyTorch for its draws alone takes seconds, in every worker; and what it draws depends on whether
the processor fuses multiplication and addition. Here they are always fused, as on any processor
of the last ten years. NumPy has the same generator; it takes three times as long per number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import fma
from changeproof.model import Singles

WORDS = 624
SHIFT = 397
BITS = 24


class TorchDraws:
    """What `torch.Generator().manual_seed(seed)` gives; `state` and `words` are for kernels."""

    def __init__(self, seed: int) -> None:
        _, state, *_ = np.random.RandomState(seed % 2**32).get_state(legacy=True)
        self.state: npt.NDArray[np.uint32] = np.array(state, np.uint32)
        self.words = np.empty(WORDS, np.int32)
        self._place = WORDS

    def uniform(self, low: float, high: float, shape: int | Sequence[int]) -> Singles:
        """Return what `torch.empty(shape).uniform_(low, high)` would be filled with."""
        drawn = np.empty(shape, dtype=np.float32)
        first, length = np.float32(low), np.float32(high) - np.float32(low)
        step = length * np.float32(0.5**BITS)
        self._place = fill(self.state, self.words, self._place, first, step, drawn.reshape(-1))
        return drawn


@compiled
def next_words(state: Any, words: Any) -> None:
    one, zero = np.uint32(1), np.uint32(0)
    upper, lower = np.uint32(0x80000000), np.uint32(0x7FFFFFFF)
    twist = np.uint32(0x9908B0DF)
    for i in range(WORDS - SHIFT):
        y = (state[i] & upper) | (state[i + 1] & lower)
        state[i] = state[i + SHIFT] ^ (y >> one) ^ ((zero - (y & one)) & twist)
    for i in range(WORDS - SHIFT, WORDS - 1):
        y = (state[i] & upper) | (state[i + 1] & lower)
        state[i] = state[i + SHIFT - WORDS] ^ (y >> one) ^ ((zero - (y & one)) & twist)
    y = (state[WORDS - 1] & upper) | (state[0] & lower)
    state[WORDS - 1] = state[SHIFT - 1] ^ (y >> one) ^ ((zero - (y & one)) & twist)
    for i in range(WORDS):
        y = state[i]
        y = y ^ (y >> np.uint32(11))
        y = y ^ ((y << np.uint32(7)) & np.uint32(0x9D2C5680))
        y = y ^ ((y << np.uint32(15)) & np.uint32(0xEFC60000))
        words[i] = (y ^ (y >> np.uint32(18))) & np.uint32(0xFFFFFF)


@compiled
def fill(state: Any, words: Any, place: int, first: Any, step: Any, numbers: Any) -> Any:
    """Fill an array with first + step * bits from a position on; return the next."""
    done = 0
    while done < numbers.size:
        if place == WORDS:
            next_words(state, words)
            place = 0
        count = min(WORDS - place, numbers.size - done)
        convert(words[place : place + count], first, step, numbers[done : done + count])
        done += count
        place += count
    return place


@compiled
def convert(words: Any, first: Any, step: Any, numbers: Any) -> None:
    for i in range(numbers.size):
        numbers[i] = fma(np.float32(words[i]), step, first)
