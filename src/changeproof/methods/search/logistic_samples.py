"""What a logistic regression makes of a tile of weighted samples."""

from __future__ import annotations

from typing import Any

from changeproof.arithmetic.compiling import compiled
from changeproof.arithmetic.functions import exp, fma, log1p


@compiled
def fill_logits(rows: Any, parameters: Any, logits: Any) -> None:
    """Fill in the logits of samples, which are columns [features, samples]."""
    for r in range(len(logits)):
        logits[r] = 0.0
    for k in range(len(parameters)):
        for r in range(len(logits)):
            logits[r] = fma(parameters[k], rows[k, r], logits[r])


@compiled
def judge_samples(
    logits: Any,
    labels: Any,
    weights: Any,
    losses: Any,
    agreements: Any,
    residuals: Any,
    bends: Any,
) -> None:
    """Fill in what each sample loses, whether it agrees, and how it slopes and bends the loss."""
    for r in range(len(logits)):
        logit, label, weight = logits[r], labels[r], weights[r]
        small = exp(-abs(logit))
        positive = logit if logit > 0.0 else 0.0
        probability = (1.0 if logit >= 0.0 else small) / (1.0 + small)
        losses[r] = weight * (positive - label * logit + log1p(small))
        agreements[r] = weight if (logit >= 0.0) == (label > 0.5) else 0.0
        residuals[r] = weight * (probability - label)
        bends[r] = weight * small / ((1.0 + small) * (1.0 + small))
