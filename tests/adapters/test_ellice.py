"""ElliCE as a method: their answers, our contract."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import changeproof as cp
from changeproof import Context, Factuals, InputError, Task
from changeproof.adapters import ellice as adapter
from changeproof.adapters.ellice import NO_TRAINING_ROW, REASONS, ElliCE
from changeproof.feasible.rules import DIRECTION, FIXED, RANGE
from changeproof.networks.network import Network

PATH = "changeproof.adapters.ellice:ElliCE"
needs_ellice = pytest.mark.skipif(
    not adapter.HAS_ELLICE, reason="ellice is not installed (extra: ellice)"
)


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "HAS_ELLICE", False)
    with pytest.raises(InputError, match=r"pip install 'changeproof\[ellice\]'"):
        cp.make_method(PATH)


@needs_ellice
def test_settings_are_checked() -> None:
    with pytest.raises(InputError, match="'data_supported'; got 'discreet'"):
        ElliCE(method="discreet")
    with pytest.raises(
        InputError, match="requires should be 'valid', 'robust' or 'none'; got 'much'"
    ):
        cp.make_method(f"{PATH}(requires='much')")


@needs_ellice
def test_defaults_are_theirs() -> None:
    from ellice import Explainer
    from ellice.configs import GenerationConfig

    call = inspect.signature(Explainer.generate_counterfactuals).parameters
    for name, value in ElliCE().settings().items():
        theirs = call[name].default if name in call else getattr(GenerationConfig, name)
        assert value == theirs, name


@needs_ellice
@pytest.mark.parametrize(
    "settings", ["learning_rate=0.5, max_iterations=15", "method='data_supported'"]
)
def test_it_keeps_to_the_contract(settings: str) -> None:
    findings = cp.check_method(f"{PATH}({settings})")
    assert not [finding for finding in findings if finding.failed]
    assert len(findings) > 10


@pytest.fixture(scope="module")
def few(small_factuals: Factuals) -> Factuals:
    return small_factuals[:8]


@needs_ellice
@pytest.mark.parametrize("settings", [{}, {"method": "data_supported"}], ids=str)
def test_rows_are_those_of_their_library(
    settings: dict[str, Any], small_context: Context, few: Factuals
) -> None:
    import ellice
    from torch import nn

    answers = ElliCE(**settings).fit(small_context).generate(few)
    task, network = small_context.task, small_context.model
    assert isinstance(network, Network)
    frame = pd.DataFrame(task.rows("train"), columns=list(task.feature_names))
    data = ellice.Data(frame.assign(y=task.labels_of("train")), "y")
    logits = nn.Sequential(*list(network.to_torch())[:-1])
    theirs = ellice.Explainer(logits, data, device="cpu").generate_counterfactuals(
        pd.DataFrame(few.rows, columns=list(task.feature_names)), progress_bar=False, **settings
    )
    assert answers.found.all()
    own = theirs[list(task.feature_names)].to_numpy(dtype=np.float32)
    np.testing.assert_array_equal(answers.rows.astype(np.float32), own)
    low, high = task.training_range
    assert ((answers.rows >= low) & (answers.rows <= high)).all()


@needs_ellice
@pytest.mark.parametrize("method", ["continuous", "data_supported"])
def test_what_is_certified_holds_for_the_whole_ellipsoid(
    method: str, small_context: Context, few: Factuals
) -> None:
    from benchmarks.ellice_promise import Ellipsoid, last_features

    asked = ElliCE(method=method)
    answers = asked.fit(small_context).generate(few)
    network = small_context.model
    assert isinstance(network, Network)
    ellipsoid = Ellipsoid(small_context.task, network, asked)
    lowest = ellipsoid.lowest_logits(answers.rows)
    told = answers.diagnostics["worst_case_probability"]
    np.testing.assert_allclose(1 / (1 + np.exp(-lowest)), told, atol=1e-3)
    certified = answers.diagnostics["certified"].astype(bool)
    assert certified.any()
    assert (lowest[certified] > -1e-4).all()
    # The closed form is attained: no last layer that is drawn is worse, the best are near.
    layers = ellipsoid.drawn(np.random.default_rng(1))
    drawn = layers @ last_features(network, answers.rows).T
    assert (drawn.min(axis=0) > lowest - 1e-9).all()
    if method == "data_supported":
        rows = small_context.task.rows("train")
        kept = rows[ellipsoid.lowest_logits(rows) > 0]
        far = np.linalg.norm(kept[None] - few.rows[:, None], axis=2)
        np.testing.assert_allclose(answers.rows, kept[far.argmin(axis=1)])


@needs_ellice
@pytest.mark.parametrize("method", ["continuous", "data_supported"])
def test_who_gets_no_answer_is_told_why(method: str, small_context: Context, few: Factuals) -> None:
    network = small_context.model
    assert isinstance(network, Network)
    never = Network(network.weights, (*network.biases[:-1], network.biases[-1] - 1e6))
    asked = ElliCE(method=method, requires="robust", max_iterations=20)
    answers = asked.fit(replace(small_context, model=never)).generate(few)
    reason = NO_TRAINING_ROW if method == "data_supported" else REASONS["robust"]
    assert set(answers.outcomes) == {reason}
    assert not answers.diagnostics["certified"].any()


@needs_ellice
def test_it_is_quiet_and_leaves_torch_as_it_was(
    small_context: Context, few: Factuals, capsys: pytest.CaptureFixture[str]
) -> None:
    import torch

    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    # So large an ellipsoid that the search warns, which the tests make an error.
    ElliCE(robustness_epsilon=10.0, patience=3).fit(small_context).generate(few)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    assert capsys.readouterr() == ("", "")


@needs_ellice
def test_it_is_told_what_may_change(small_task: Task, small_context: Context) -> None:
    task = Task(
        small_task.name,
        small_task.frame,
        small_task.labels,
        small_task.split,
        small_task.features,
        actions={"c": {"change": "none"}, "a": {"change": "increase"}},
    )
    people = np.flatnonzero(~small_context.model.favourable(task.rows("test")))[:8]
    asking = Factuals(task.row_ids("test")[people], task.rows("test")[people])
    context = replace(small_context, task=task, actions=task.actions)
    answers = ElliCE().fit(context).generate(asking)
    assert answers.base_valid.any()
    assert answers.realisation is not None
    assert not set(answers.realisation.raw_breach) & {FIXED, DIRECTION, RANGE}


@needs_ellice
def test_their_version_is_part_of_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ElliCE().fingerprint
    monkeypatch.setattr(adapter, "package_version", lambda name: "9.9")
    assert ElliCE().fingerprint != before
    assert ElliCE().fingerprint == ElliCE().fingerprint


def test_what_was_rounded_is_put_back() -> None:
    person, low = np.array([0.1, 0.2, 0.3]), np.array([-0.7, -0.7, -0.7])
    rounded = np.array([0.1, -0.7, 0.5], dtype=np.float32).astype(np.float64)
    row = adapter._in_double_precision(rounded, low, person)
    assert row.tolist() == [0.1, -0.7, 0.5]


@needs_ellice
def test_it_runs_beside_others_by_its_import_path(small_task: Task) -> None:
    methods, families = [PATH, "kdtree"], ["parameter-perturbation"]
    results = cp.evaluate(small_task, "mlp", methods, families, factuals=5)
    table = results.table().set_index("method")
    assert table.loc[PATH, "coverage_mean"] == 100
    assert PATH in results.table("certified")["method"].tolist()
