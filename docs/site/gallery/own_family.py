"""A family of your own

What if the model is trained on fewer rows next time? A family describes changed models and trains
nothing: here it says which rows count. Then the magnitude of each change is drawn beside what it
costs.
"""

import matplotlib.pyplot as plt
import numpy as np

import changeproof as cp


@cp.family("smaller-samples")
def smaller_samples(task, base):
    """Retrain on 80, 40 or 20 % of the training rows."""
    n_train, n_pool = len(task.split.train), len(task.split.update)
    variants = []
    for share in (0.8, 0.4, 0.2):
        for replicate in range(8):
            drawn = np.random.default_rng(replicate).random(n_train)
            weights = np.r_[drawn < share, np.zeros(n_pool)]
            recipe = cp.TrainingRecipe(initialisation_seed=base.seed, row_weights=weights)
            variants.append(cp.Variant(f"{share:.0%}", replicate, recipe))
    return variants


asked = {"factuals": 30, "base_seeds": [2026]}
results = cp.evaluate("diabetes", methods=["kdtree"], families=[smaller_samples], **asked)
held = results.survival("diabetes", 2026, "kdtree").mean(axis=0)
variants = results.variants("diabetes", 2026).assign(held=held)
print(variants.groupby("level")[["hard_disagreement", "held"]].mean().round(3))

figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
for level, some in variants.groupby("level"):
    axes.scatter(100 * some["hard_disagreement"], 100 * some["held"], label=level)
axes.set(xlabel="test predictions that change (%)", ylabel="advice that holds (%)")
axes.legend(title="rows kept", frameon=False)
