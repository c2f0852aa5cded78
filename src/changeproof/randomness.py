"""Randomness has an address.

The draws that the protocol does not seed itself come from streams named by who draws and for
what. A stream is the same whatever was drawn before, in which order, or by how many workers.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np

PROTOCOL_SEED = 2026


def stream(*address: str | int, seed: int = PROTOCOL_SEED) -> np.random.Generator:
    """Return the random stream at an address.

    Parameters
    ----------
    *address
        Names and numbers from the general to the particular, for instance
        ``("heloc", 2026, "lime", row_id)``.
    seed
        The protocol seed, the root of all addresses.
    """
    digest = hashlib.sha256(json.dumps([seed, *address]).encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))
