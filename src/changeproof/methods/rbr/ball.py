"""Distances and the projection onto a ball, in single precision and in the published order.

RBR's published code walks in PyTorch's single precision and ends where it finds itself on the
surface of a ball, without a tolerance. Whether a row on the surface comes out a rounding error
inside hangs on the order of every sum, so these are PyTorch's:

- `single_length`, its 1-norm: one feature after the other;
- `single_sum`, its sum: eight lanes, in which feature k goes to lane k modulo 8; what is left
  over at the end first, then the lanes one after the other;
- its running sums: in double precision, each of them rounded.

These orders are the same for all of PyTorch's vector widths (tried with 2.13.0).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from changeproof.arithmetic.compiling import compiled

LANES = 8
# Groups of lanes that take turns where a row is long enough to fill all of them.
GROUPS = 4


@compiled
def single_length(here: Any, start: Any) -> Any:
    """Return the absolute distance of two single precision rows."""
    length = np.float32(0.0)
    for k in range(len(here)):
        length += abs(here[k] - start[k])
    return length


@compiled
def single_sum(sizes: Any) -> Any:
    """Return the sum of a single precision row of up to 512 numbers as PyTorch has it.

    Fewer than eight numbers go to single lanes. Beyond 512 PyTorch adds up in more stages.
    """
    n = len(sizes)
    width = LANES if n >= LANES else 1
    n_turns = n // width
    n_full_turns = n_turns - n_turns % GROUPS
    lanes = np.zeros((GROUPS, width), np.float32)
    for turn in range(n_turns):
        group = turn % GROUPS if turn < n_full_turns else 0
        for lane in range(width):
            lanes[group, lane] += sizes[turn * width + lane]
    for group in range(1, GROUPS):
        for lane in range(width):
            lanes[0, lane] += lanes[group, lane]
    total = np.float32(0.0)
    for k in range(n_turns * width, n):
        total += sizes[k]
    for lane in range(width):
        total += lanes[0, lane]
    return total


@compiled
def project(changes: Any, radius: Any) -> None:
    """Move single precision changes, in place, to the nearest ones of a total of at most `radius`.

    Every change shrinks by the same amount, or to nothing where it is smaller than that. The
    amount is what the largest changes have too much, shared by them; those that shrink to nothing
    have no part in it.
    """
    sizes = np.abs(changes)
    nothing = np.zeros_like(sizes)
    if single_sum(sizes) <= radius or single_length(sizes, nothing) == radius:
        return
    largest_first = np.sort(sizes)[::-1]
    cut, running = largest_first[0], 0.0
    for k in range(len(sizes)):
        running += largest_first[k]
        excess = np.float32(running) - radius
        sharers = np.float32(k + 1)
        if largest_first[k] * sharers > excess:
            cut = excess / sharers
    for k in range(len(sizes)):
        size = max(sizes[k] - cut, np.float32(0.0))
        changes[k] = size if changes[k] > 0.0 else -size
