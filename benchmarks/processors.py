"""The same plan under other processors: are all pieces equal to the byte?

A machine can pretend to be others. Compiled kernels are told how wide vectors are and whether
there are 512-bit registers; OpenBLAS and NumPy are told to use kernels of other processors; the
C library is told to do without AVX2 and fused products. Every target runs the plan in processes
of its own and into a directory of its own, and its pieces are held against those of the host.

    python -m benchmarks.processors [--preset quick|paper|recourse|beyond] [--out DIRECTORY]
        [TARGET ...]

The targets of `targets()`, or those with one of the words in their name, are tried one after the
other (with the preset `paper`, six minutes each). DIRECTORY/0/run is the host's run;
DIRECTORY/targets.json says what was compared, DIRECTORY/fingerprints.csv holds every piece with the
fingerprint of what went into it and the checksum of what came out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from llvmlite import binding
from numpy._core import _multiarray_umath as numpy_core

HOST = "host"
# How long things took is not part of what is promised; the last is not a run's but `compare`'s.
NOT_COMPARED = {"generation_seconds.csv", "timings.csv", "paper_comparison.csv"}
# y += x, which can be done as many numbers at a time as fit into a vector.
LOOP = """
define void @add(ptr noalias %x, ptr noalias %y, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %from = getelementptr float, ptr %x, i64 %i
  %to = getelementptr float, ptr %y, i64 %i
  %one = load float, ptr %from
  %other = load float, ptr %to
  %sum = fadd float %one, %other
  store float %sum, ptr %to
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %out, label %loop
out:
  ret void
}
"""


def targets() -> dict[str, dict[str, str]]:
    """Return the environments of the processors that this machine can pretend to be, by name."""
    features = binding.get_host_cpu_features()
    if "avx2" not in features:  # not an x86 processor of the last ten years: only itself
        return {HOST: {}}
    name = binding.get_host_cpu_name()
    listed = features.flatten()
    narrow = ",".join(
        f"-{feature[1:]}" if feature.startswith("+avx512") else feature
        for feature in listed.split(",")
    )
    dispatched = [
        feature
        for feature in numpy_core.__cpu_dispatch__
        if numpy_core.__cpu_features__.get(feature)
    ]
    found = {
        HOST: {},
        "x86-64-v3 with 128-bit vectors, OpenBLAS for Haswell, NumPy and libm for old processors": {
            **_vectors("x86-64-v3", f"{narrow},+prefer-128-bit"),
            "OPENBLAS_CORETYPE": "Haswell",
            "NPY_DISABLE_CPU_FEATURES": " ".join(dispatched),
            "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-FMA",
        },
        "256-bit vectors, OpenBLAS for Zen": {
            **_vectors(name, f"{listed},+prefer-256-bit"),
            "OPENBLAS_CORETYPE": "Zen",
        },
    }
    if features.get("avx512f"):
        found["512-bit vectors, OpenBLAS for SkylakeX"] = {
            **_vectors(name, f"{listed},-prefer-256-bit,-prefer-128-bit"),
            "OPENBLAS_CORETYPE": "SkylakeX",
        }
    return found


def _vectors(name: str, features: str) -> dict[str, str]:
    return {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": features}


def kernels_are_the_hosts(settings: dict[str, str]) -> bool:
    """Return whether the compiler makes the same of a loop as for the host.

    Between names and features that differ in nothing but the preferred width of vectors, one loop
    that can be turned into vector instructions tells: it is as wide as the compiler prefers.
    """
    name, features = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    asked = settings.get("NUMBA_CPU_NAME", name), settings.get("NUMBA_CPU_FEATURES", features)
    without_widths = ",".join(word for word in asked[1].split(",") if "prefer-" not in word)
    if (asked[0], without_widths) != (name, features):
        return False
    return assembly(*asked) == assembly(name, features)


def assembly(name: str, features: str) -> str:
    """Compile a loop, with all optimisations, for a processor."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(binding.get_default_triple())
    machine = target.create_target_machine(cpu=name, features=features, opt=3)
    module = binding.parse_assembly(LOOP)
    builder = binding.create_pass_builder(
        machine, binding.create_pipeline_tuning_options(speed_level=3)
    )
    builder.getModulePassManager().run(module, builder)
    return str(machine.emit_assembly(module))


def run_as(
    target: str,
    runs: Mapping[str, tuple[str, dict[str, Any]]],
    folder: Path,
    *,
    jobs: int,
    publish: bool,
    kernels: Path | None = None,
) -> None:
    """Run presets as if on another processor, with a cache of compiled kernels of its own.

    `runs` has the name of each run, its preset and what is changed in it.
    The cache is in `kernels`, or in `folder`. A target whose kernels are the host's uses those of
    the host: to compile the same once more would show nothing.
    """
    settings = targets()[target]
    if kernels_are_the_hosts(settings):
        settings = {key: value for key, value in settings.items() if not key.startswith("NUMBA_")}
    else:
        settings = {**settings, "NUMBA_CACHE_DIR": str(kernels or folder / "kernels")}
    environment = {**os.environ, **settings}
    # Compiling makes millions of objects and no garbage: to look for it takes a tenth of the time.
    code = (
        "import gc; gc.disable()\n"
        "from changeproof import Plan, run\n"
        f"for name, (preset, changes) in {dict(runs)!r}.items():\n"
        "    plan = Plan.preset(preset, **changes)\n"
        f"    run(plan, {str(folder)!r} + '/' + name, jobs={jobs}, publish={publish})\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"the run as {target!r} failed:\n{done.stderr}")


def differences(one: Path, other: Path) -> list[str]:
    """Return the pieces that two runs do not share to the byte; file names hold a checksum."""
    names = [
        {str(path.relative_to(run)) for path in (run / "pieces").rglob("*") if path.is_file()}
        for run in (one, other)
    ]
    unequal = [
        name
        for name in names[0] & names[1]
        if (one / name).read_bytes() != (other / name).read_bytes()
    ]
    return sorted([*(names[0] ^ names[1]), *unequal])


def unequal_tables(one: Path, other: Path) -> list[str]:
    """Return the tables that differ or are missing in one of the runs, times aside."""
    contents = [
        {path.name: path.read_bytes() for path in (run / "tables").glob("*.csv")}
        for run in (one, other)
    ]
    names = sorted((contents[0].keys() | contents[1].keys()) - NOT_COMPARED)
    return [name for name in names if contents[0].get(name) != contents[1].get(name)]


def fingerprints(run: Path) -> pd.DataFrame:
    """Return piece, fingerprint and checksum of everything that a run has computed."""
    paths = sorted(path for path in (run / "pieces").rglob("*") if path.is_file())
    names = [str(path.relative_to(run / "pieces")).split(".") for path in paths]
    table = pd.DataFrame(names, columns=["piece", "fingerprint", "checksum", "kind"])
    return table.drop(columns="kind")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("target", nargs="*", help="parts of names; all of them by default")
    parser.add_argument(
        "--preset", choices=("quick", "paper", "recourse", "beyond"), default="quick"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/processors"))
    options = parser.parse_args()
    wanted = [
        name
        for name in targets()
        if name != HOST and (not options.target or any(t in name for t in options.target))
    ]
    folders = {name: options.out / f"{place}" for place, name in enumerate([HOST, *wanted])}
    verdicts = []
    for name, folder in folders.items():
        print(f"{name} ...", flush=True)
        runs: dict[str, tuple[str, dict[str, Any]]] = {"run": (options.preset, {})}
        run_as(name, runs, folder, jobs=os.cpu_count() or 1, publish=True)
        host, run = folders[HOST] / "run", folder / "run"
        pieces, tables = differences(host, run), unequal_tables(host, run)
        count = sum(path.is_file() for path in (run / "pieces").rglob("*"))
        verdicts.append(
            {
                "target": name,
                "settings": targets()[name],
                "pieces": count,
                "pieces_that_differ": pieces,
                "tables_that_differ": tables,
            }
        )
        print(f"  {count} pieces, {len(pieces)} differ; {len(tables)} tables differ", flush=True)
    fingerprints(folders[HOST] / "run").to_csv(options.out / "fingerprints.csv", index=False)
    record = {
        "processor": binding.get_host_cpu_name(),
        "numpy": np.__version__,
        "preset": options.preset,
        "targets": verdicts,
    }
    (options.out / "targets.json").write_text(json.dumps(record, indent=2) + "\n")
    if any(v["pieces_that_differ"] or v["tables_that_differ"] for v in verdicts):
        sys.exit("not the same everywhere")


if __name__ == "__main__":
    main()
