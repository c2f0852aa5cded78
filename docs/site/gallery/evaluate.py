"""Two methods under two families

Which of two methods gives advice that holds, and at what distance? The model is our network, and
the data come with the package.
"""

import changeproof as cp

results = cp.evaluate(
    "diabetes",
    methods=["kdtree", "wachter"],
    families=["bootstrap", "label-update"],
    factuals=20,
    base_seeds=[2026],
)
table = results.table("full_results")
numbers = ["coverage", "base_validity", "empirical_robustness", "distance"]
print(table[["method", *(f"{number}_mean" for number in numbers)]].to_string(index=False))
