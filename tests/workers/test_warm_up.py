from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from changeproof.workers.warm_up import COMPILED_METHODS, LIMIT, NETWORKS

RUN = """
import gc
import sys
from numba.core import event

gc.disable()  # much is compiled
compiled = []

class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
from changeproof import Plan, run
from changeproof.workers.warm_up import compile_kernels

for name in sys.argv[2].split(","):
    compile_kernels((name, False))
before = len(compiled)
kinds = ("networks", "limit")
methods = [name for name in sys.argv[2].split(",") if name not in kinds] + ["kdtree", "wachter"]
plan = dict(datasets=["diabetes"], families=["bootstrap"], factuals=2, methods=methods)
run(Plan.preset("quick", **plan), sys.argv[1], jobs=1, publish=False)
print(before > 0, compiled[before:])
"""


def test_a_run_finds_all_it_needs_compiled(tmp_path: Path) -> None:
    # Those that take longest to compile are left out.
    arguments = [str(tmp_path / "run"), ",".join([NETWORKS, LIMIT, *COMPILED_METHODS[4:]])]
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        capture_output=True,
        text=True,
        env={"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PATH": "", "HOME": str(tmp_path)},
        check=True,
    )
    assert done.stdout.strip() == "True []"
