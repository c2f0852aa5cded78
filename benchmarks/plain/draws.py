"""The package's random draws, taken from the addresses at which the package takes them.

Plain and fast answers can be compared person by person only if both see the same draws. Where
the package changes an address or the order of its draws, this is the file that has to follow.
"""

from __future__ import annotations

import numpy as np
import torch

from changeproof import Context
from changeproof.randomness import stream


def lime_samples(context: Context, row_id: int, samples: int) -> np.ndarray:
    """Standard normal rows around nobody in particular."""
    generator = stream(context.task.name, context.base_seed, "lime", row_id)
    return generator.standard_normal((samples, context.task.n_features))


def ball_samples(context: Context, row_id: int, samples: int) -> np.ndarray:
    """Rows uniform in the Euclidean unit ball."""
    n_features = context.task.n_features
    generator = stream(context.task.name, context.base_seed, "rbr", row_id)
    directions = generator.standard_normal((samples, n_features))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * generator.random((samples, 1)) ** (1.0 / n_features)


def shell_moves(
    context: Context, role: str, shell: int, *, samples: int, norm: int, step: float
) -> np.ndarray:
    """Moves of a length, in the norm, that is uniform between `shell` and `shell + 1` steps."""
    generator = stream(context.task.name, context.base_seed, role, "shell", shell)
    directions = generator.standard_normal((samples, context.task.n_features))
    lengths = step * (shell + generator.random(samples))
    return directions * (lengths / np.linalg.norm(directions, norm, axis=1))[:, None]


def stability_noise(context: Context, samples: int, variance: float) -> np.ndarray:
    """The draws that serve every point whose stability is asked for."""
    generator = stream(context.task.name, context.base_seed, "robx stability")
    return variance**0.5 * generator.standard_normal((samples, context.task.n_features))


def threshold_generator(context: Context) -> np.random.Generator:
    """Where training rows get their draws from, one after the other."""
    return np.random.default_rng(context.base_seed + 81_000)


def moved_parameters(
    centre: list[torch.Tensor], radius: float, samples: int, generator: torch.Generator
) -> list[torch.Tensor]:
    """Networks drawn uniformly from the box: of each tensor, first all samples."""
    return [
        tensor + radius * (2.0 * torch.rand((samples, *tensor.shape), generator=generator) - 1.0)
        for tensor in centre
    ]
