from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from filelock import FileLock
from hypothesis import settings

import shipped
from advised import advised
from changeproof import (
    Context,
    Factuals,
    Network,
    Plan,
    Results,
    Task,
    TrainingData,
    TrainingRecipe,
    evaluation_factuals,
    load_task,
    run,
    train,
)
from changeproof.workers.interpreter import collect_garbage_rarely

# What one test has trained, the next one trains again, unless it is about that.
os.environ["CHANGEPROOF_MODELS"] = "off"
# Worker processes only where a test asks for them: they take longer to start than small runs.
os.environ.setdefault("LOKY_MAX_CPU_COUNT", "1")
# Importing and drawing make many objects: a fourth of the time went into looking for garbage.
collect_garbage_rarely()
# Kernels are compiled when they are first used, and machines are busy: time says nothing here.
settings.register_profile("changeproof", deadline=None)
settings.load_profile("changeproof")


SharedRun = Callable[[str, Callable[[Path], Results]], Results]


@pytest.fixture(scope="session")
def small_task() -> Task:
    """400 rows, 5 features, a boundary that is not linear."""
    generator = np.random.default_rng(7)
    rows = generator.normal(size=(400, 5)) * [1.0, 20.0, 0.01, 3.0, 5.0] + [
        0.0,
        100.0,
        1.0,
        -5.0,
        2.0,
    ]
    z = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    score = z[:, 0] + np.abs(z[:, 1]) - 0.8 * z[:, 2] * z[:, 3] + generator.normal(size=400) / 3
    frame = pd.DataFrame(rows, columns=["a", "b", "c", "d", "e"], index=np.arange(1000, 1400))
    return Task("small", frame, (score > np.median(score)).astype(int))


@pytest.fixture(scope="session")
def small_network(small_task: Task) -> Network:
    recipe = TrainingRecipe(initialisation_seed=2026)
    return train([recipe], TrainingData.of(small_task)).stack[0]


@pytest.fixture(scope="session")
def small_context(small_task: Task, small_network: Network) -> Context:
    return Context(small_task, small_network, 2026)


@pytest.fixture(scope="session")
def small_factuals(small_task: Task, small_network: Network) -> Factuals:
    return evaluation_factuals(small_task, small_network, 2026, 40)


@pytest.fixture(scope="session")
def cancer() -> Task:
    return load_task("breast-cancer")


@pytest.fixture(scope="session")
def cancer_network(cancer: Task) -> Network:
    return train([TrainingRecipe(initialisation_seed=2026)], TrainingData.of(cancer)).stack[0]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Loans that no line tells apart; of each file its own, as some change what they are given."""
    return shipped.table()


@pytest.fixture(scope="module")
def task(frame: pd.DataFrame) -> Task:
    """The same as a task; files whose `frame` or `task` is another have their own."""
    return shipped.task(frame)


@pytest.fixture
def always_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worker processes also for what is done sooner than they have started."""
    monkeypatch.setattr("changeproof.runs.execute.WORTH_WORKERS", 0.0)


@pytest.fixture(scope="session")
def shared_run(tmp_path_factory: pytest.TempPathFactory) -> SharedRun:
    """Runs by name: computed once, by whoever of the test workers comes first.

    Tests read them, and change nothing in them.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own

    def shared_run(name: str, compute: Callable[[Path], Results]) -> Results:
        folder = shared / name
        with FileLock(shared / f"{name}.lock"):
            if (shared / f"{name}.done").exists():
                return Results(folder)
            results = compute(folder)
            (shared / f"{name}.done").touch()
            return results

    return shared_run


@pytest.fixture(scope="session")
def quick_run(shared_run: SharedRun) -> Results:
    """The quick preset, in one process."""
    return shared_run("quick", lambda folder: run(Plan.preset("quick"), folder, jobs=1))


@pytest.fixture(scope="session")
def advised_run(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Advice to 12 people of a mixed table, under constraints."""
    return advised(tmp_path_factory.mktemp("advised") / "run", publish=False)


# Files with tests that take long, the longest first.
LONG = (
    "test_processors.py", "test_docs.py", "test_cluster.py", "test_own_method.py",
    "test_warm_up.py", "test_site.py", "test_readme.py", "test_package.py", "test_cluster_trust.py",
    "test_notebooks.py", "test_tracking.py", "test_action.py", "test_cli.py", "test_runner.py",
    "test_things.py", "test_ellice.py", "test_planted.py",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests, so that no worker is left alone with one at the end."""
    places = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path.name, len(LONG)))


def pytest_collection_finish() -> None:
    """Have the collector of garbage pass over modules and tests, which stay."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which processors gave the same bytes as this one (see `test_processors.py`)."""
    targets = [
        value
        for report in terminalreporter.stats.get("passed", [])
        for name, value in report.user_properties
        if name == "target" and report.when == "call"
    ]
    if targets:
        terminalreporter.write_line("The quick preset, byte by byte the same as on this machine:")
        for target in targets:
            terminalreporter.write_line(f"  {target}")
