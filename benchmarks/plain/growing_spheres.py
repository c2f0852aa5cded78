"""Growing spheres for one person: a shell, a question to the model, the next shell."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.plain.draws import shell_moves
from changeproof import Context


def growing_spheres(
    context: Context,
    centre: np.ndarray,
    accept: Callable[[np.ndarray], np.ndarray],
    role: str,
    *,
    samples: int,
    norm: int,
    step: float,
    max_shells: int,
    training_range: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """Return the closest accepted point of the first shell that has one, or NaN."""
    for shell in range(max_shells):
        moves = shell_moves(context, role, shell, samples=samples, norm=norm, step=step)
        points = centre + moves
        if training_range is not None:
            points = np.clip(points, *training_range)
        accepted = points[accept(points)]
        if len(accepted):
            return accepted[np.linalg.norm(accepted - centre, norm, axis=1).argmin()]
    return np.full_like(centre, np.nan)
