"""What one person is told

A small table of loans, a model of scikit-learn, and rules about what may change. The row that was
tested is the row that the person reads.
"""

import numpy as np
import pandas as pd

import changeproof as cp

generator = np.random.default_rng(2026)
income, debts = generator.normal(3000, 800, 400).round(-1), generator.integers(0, 6, 400)
score = income - 350 * debts + generator.normal(0, 300, 400)
approved = np.where(score > 2300, "yes", "no")
loans = pd.DataFrame({"income": income, "debts": debts, "approved": approved})

results = cp.evaluate(
    loans,
    "sklearn:LogisticRegression",
    methods=["kdtree", "rbr"],
    families=["bootstrap"],
    target="approved",
    favourable="yes",
    actions={"debts": {"change": "decrease"}, "income": {"step": 50}},
    factuals=10,
)
person = results.survival()["id"].iloc[0]
for told in cp.explain_all(results, person):
    print(f"{told.method}: holds in {told.overall.held} of {told.overall.models} changed models")
    for line in told.advice:
        print("   ", line)
print(cp.recommend(results, person).reason)
