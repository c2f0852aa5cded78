"""Command lines that nobody means, drawn from what commands, options and values there are."""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.commands import call
from benchmarks.trials import TRACEBACK

COMMANDS = (
    "run", "audit", "explain", "status", "report", "show", "compare", "compare-runs", "gate",
    "check", "list",
)  # fmt: skip
OPTIONS = (
    "--out", "--data", "--target", "--favourable", "--name", "--methods", "--families",
    "--datasets", "--counterfactuals", "--model", "--base-seeds", "--factuals", "--jobs",
    "--plan", "--preset", "--table", "--grid", "--range", "--by", "--threshold", "--successor",
    "--id-column", "--encoding", "--missing", "--split", "--time", "--immutable", "--family",
)  # fmt: skip
VALUES = (
    "", ".", "..", "/", "-", "../../x", "/dev/null", "x" * 300, "kdtree", "kdtree(", "a:b", ":::",
    "mlp:0", "mlp:-1", "python:::", "pickle:x", "onnx:x", "object:x@y", "sklearn:", "loans.csv",
    "loans.toml", "plan.toml", "0", "-1", "1e400", "999999999999999999999", "nan", "x=y", "=",
    "../e=loans.csv", "income", "approved", "yes", "no", "🙂", "a\tb", "a\nb", "\x1b[31m", "é",
    "quick", "bootstrap(replicates=0)", "bootstrap(replicates='x')", "[[[[", "income=9:1", "run",
    "methods", "bootstrap", "utf-16", "sklearn:LogisticRegression", "mlp", "drop", "impute",
)  # fmt: skip
# Some of the calls are sound after all, and compute something.
PATIENCE = 12.0


def odd_call(cwd: Path, number: int, chance: random.Random) -> str:
    """Give a command line that nobody means."""
    (cwd / "loans.csv").write_text("income,debts,approved\n1,2,yes\n3,x,no\n")
    (cwd / "loans.toml").write_text('data = "loans.csv"\ntarget = "approved"\nfavourable = "yes"')
    words = [chance.choice(COMMANDS)]
    for _ in range(chance.randint(0, 5)):
        words += [chance.choice(OPTIONS)] if chance.random() < 0.7 else []
        words.append(chance.choice(VALUES))
    told = call(words, cwd, patience=PATIENCE)
    if told.code is None:
        return "still at work, and stopped"
    return TRACEBACK if told.traceback else f"exit code {told.code}" if told.code else "done"
