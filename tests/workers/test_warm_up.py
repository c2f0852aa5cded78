from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# A kernel that is not in memory is looked for on disk, and compiled if it is not there. Those that
# a warmed-up process still looks for are those that a new machine would have to compile then.
WATCHED = """
import sys
from changeproof.arithmetic.compiling import KernelCache

wanted = []
load = KernelCache.load_overload

def noted(cache, signature, target):
    wanted.append(f"{cache._py_func.__module__}.{cache._py_func.__name__}{signature}")
    return load(cache, signature, target)

KernelCache.load_overload = noted
from changeproof import Plan, run
from changeproof.methods import builtin_method_names
from changeproof.workers.warm_up import compile_kernels, kernels_for

"""
NETWORK = """
methods = builtin_method_names()

for part in kernels_for(methods, limit=True):
    compile_kernels(part)
print(len(wanted))
plan = dict(datasets=["diabetes"], families=["bootstrap"], factuals=2)
plan["methods"] = list(methods)
wanted.clear()
run(Plan.preset("quick", **plan), sys.argv[1], jobs=1, publish=False)
print(*wanted, sep="\\n")
"""
# Compiled as a part of others, and kept by itself as well.
PARTS = {"changeproof.arithmetic.functions.log(float64,)"}
AUDIT = """
from changeproof import evaluate

for part in kernels_for(["robx-balanced"], feasible=True, forests=True):
    compile_kernels(part)
print(len(wanted))
wanted.clear()
model, methods = "sklearn:GradientBoostingClassifier(n_estimators=8)", ["robx-balanced"]
evaluate("diabetes", model, methods, ["bootstrap(replicates=2)"], factuals=3, out=sys.argv[1],
         feasible=True, jobs=1, publish=False)
print(*wanted, sep="\\n")
"""


@pytest.mark.parametrize("rest", [NETWORK, AUDIT], ids=["networks", "forests"])
def test_a_run_finds_all_it_needs_compiled(rest: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCHED + rest, str(tmp_path / "run")],
        capture_output=True,
        text=True,
        check=True,
    )
    warmed_up, *later = done.stdout.split("\n")
    assert int(warmed_up) > 20
    assert {kernel for kernel in later if kernel} <= PARTS
