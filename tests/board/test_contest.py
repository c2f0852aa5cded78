"""Changed models that break an entry: which count, which attack is kept, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import changeproof as cp
from changeproof.board.contest import Outcome, contest
from changeproof.board.records import read_record
from changeproof.board.tracks import TRACKS
from changeproof.board.verify import verify
from changeproof.errors import InputError
from changeproof.networks.stack import NetworkStack
from command_line import call
from handed_in import copied, honest, say_otherwise, setting

SEEDS = range(5_000_000, 5_000_006)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory, store: Path) -> Path:
    """A verified entry; every test puts its records elsewhere."""
    entry = honest(tmp_path_factory.mktemp("honest"), store)
    verify(entry, setting=setting(store))
    return entry


@pytest.fixture
def entry(verified: Path, store: Path, tmp_path: Path) -> Path:
    verify(verified, records=tmp_path / "records", setting=setting(store))
    return verified


@pytest.fixture(scope="module")
def networks() -> NetworkStack:
    """Networks that somebody may deploy, and one that accepts everybody."""
    task = cp.load_task("diabetes")
    recipes = [cp.TrainingRecipe(initialisation_seed=seed) for seed in SEEDS]
    stack = cp.train(recipes, cp.TrainingData.of(task)).stack
    generous = stack[0]
    biases = (*generous.biases[:-1], generous.biases[-1] + 100)
    return NetworkStack.of([*stack, cp.Network(generous.weights, biases)])


def kept(stack: NetworkStack, folder: Path) -> Path:
    folder.mkdir()
    (folder / "stack.safetensors").write_bytes(safetensors.numpy.save(stack.to_tensors()))
    return folder


def against(entry: Path, models: Path, store: Path, records: Path, **more: str) -> Outcome:
    where = {"track": "trial", "dataset": "diabetes", "base_seed": 2026}
    return contest(entry, models, records=records, setting=setting(store), **{**where, **more})


def broken(stack: NetworkStack, entry: Path, store: Path) -> list[float]:
    """Return the share of answers that hold under each network, asked in another way."""
    import pyarrow.parquet as pq

    table = pq.read_table(entry / "answers.parquet").to_pylist()
    rows = np.array([row["counterfactual"] for row in table])
    return [float((network.logits(rows) >= 0).mean()) for network in stack]


def test_the_best_known_attack_is_kept(
    entry: Path, store: Path, networks: NetworkStack, tmp_path: Path
) -> None:
    held = broken(networks, entry, store)
    order = np.argsort(held[:-1])
    weak = kept(NetworkStack.of([networks[int(order[-1])]]), tmp_path / "weak")
    strong = kept(NetworkStack.of([networks[int(order[0])], networks[6]]), tmp_path / "strong")
    records = tmp_path / "records"
    one = against(entry, weak, store, records)
    assert one.kept and one.contest.held == pytest.approx(max(held[:-1]))
    two = against(entry, strong, store, records, by="B. Breaker")
    assert two.kept and two.contest.held == pytest.approx(min(held[:-1]))
    # The network that accepts everybody is not one that somebody would deploy.
    assert two.contest.admissible == 1 and "balanced accuracy 0.500" in two.contest.left_out[0]
    assert not against(entry, weak, store, records).kept
    record = read_record(records / "mine")
    assert record.contests == (two.contest,) and record.contests[0].by == "B. Breaker"
    # The worst family of this base model, less five points.
    scores = record.table()
    worst = scores[(scores["metric"] == "robustness")]["value"].min()
    assert two.contest.claimed == pytest.approx((worst - 5.0) / 100.0)
    assert (record.state == "contested") == (two.contest.held < two.contest.claimed)
    # Verified anew, the entry keeps what is known against it.
    assert verify(entry, records=records, setting=setting(store)).record.contests == (two.contest,)


def test_an_entry_is_held_to_what_it_claims(
    store: Path, networks: NetworkStack, tmp_path: Path
) -> None:
    own = honest(tmp_path, store, claims={"trial": {"robustness": 83.0}})
    verify(own, setting=setting(store))
    held = broken(networks, own, store)[:-1]
    models = kept(NetworkStack.of([networks[int(np.argmin(held))]]), tmp_path / "attack")
    outcome = against(own, models, store, tmp_path / "records")
    assert outcome.contest.claimed == 0.83 > outcome.contest.held
    assert outcome.record.state == "contested"


def test_what_is_no_attack_is_refused_in_one_line(
    entry: Path, store: Path, networks: NetworkStack, tmp_path: Path
) -> None:
    records, models = tmp_path / "records", tmp_path / "models"

    def refused(words: str, **more: str) -> None:
        with pytest.raises(InputError, match=words) as told:
            against(entry, models, store, records, **more)
        assert "\n" not in str(told.value)

    refused("is no folder; expected one with .safetensors or .onnx files")
    models.mkdir()
    refused("holds no model")
    (models / "a.safetensors").write_bytes(b"nothing")
    refused("a.safetensors does not hold networks")
    wide = cp.Network(
        (np.ones((1, 3), np.float32),), (np.zeros(1, np.float32),)
    )  # of another table
    tensors = NetworkStack.of([wide]).to_tensors()
    (models / "a.safetensors").write_bytes(safetensors.numpy.save(tensors))
    refused("a layer of shape .* follows 8 values")
    tensors = NetworkStack.of([networks[0]]).to_tensors()
    tensors["0.bias.0"] = tensors["0.bias.0"] * np.float32("nan")
    (models / "a.safetensors").write_bytes(safetensors.numpy.save(tensors))
    refused("a parameter is not finite")
    tensors = NetworkStack.of([networks[6]]).to_tensors()
    (models / "a.safetensors").write_bytes(safetensors.numpy.save(tensors))
    refused("none of 1 models is admissible: .*balanced accuracy 0.500")
    refused("the entry is not in the track 'linear'; expected one of: trial", track="linear")
    refused("trial has no heloc", dataset="heloc")
    (models / "a.safetensors").unlink()
    (models / "a.safetensors").symlink_to("/etc/passwd")
    refused("is a symbolic link")


def test_only_verified_entries_are_contested(
    entry: Path, store: Path, networks: NetworkStack, tmp_path: Path
) -> None:
    models = kept(networks, tmp_path / "models")
    with pytest.raises(InputError, match=r"is not verified as it is: .* has no record about it"):
        against(entry, models, store, tmp_path / "elsewhere")


def test_models_of_other_libraries_can_contest(entry: Path, store: Path, tmp_path: Path) -> None:
    """An ONNX model takes rows as they stand in the table."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed (extra: dev)")
    from onnx import TensorProto, helper

    task = cp.load_task("diabetes")
    low = task.frame["Glucose"].median()
    weights = [[-1.0 if name == "Glucose" else 0.0] for name in task.feature_names]
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["logit"]),
        helper.make_node("Sigmoid", ["logit"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "glucose",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])],
        [
            helper.make_tensor("w", TensorProto.FLOAT, [8, 1], np.ravel(weights).tolist()),
            helper.make_tensor("b", TensorProto.FLOAT, [1], [float(low)]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "glucose.onnx").write_bytes(model.SerializeToString())
    assert onnx is not None
    outcome = against(entry, tmp_path / "models", store, tmp_path / "records")
    import pyarrow.parquet as pq

    table = pq.read_table(entry / "answers.parquet").to_pylist()
    told = task.original(np.array([row["counterfactual"] for row in table]))
    assert outcome.contest.held == pytest.approx((told["Glucose"] <= low).mean())


def test_commands_refuse_in_one_line(verified: Path, tmp_path: Path) -> None:
    """What they do where all is well, tests/docs/test_board.py shows."""
    entry = copied(verified, tmp_path)
    say_otherwise(entry, label="\x1b[31mRed")
    done = call("verify", entry, cwd=tmp_path)
    assert done.returncode == 2 and "\x1b" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    done = call("submit", "kdtree", "--out", entry, "--claim", "x", cwd=tmp_path)
    assert done.returncode == 2 and "expected TRACK:METRIC=VALUE" in done.stderr


def test_every_track_can_be_asked() -> None:
    """The plans of all tracks are plans."""
    for track in TRACKS.values():
        for part in track.parts:
            assert part.plan.datasets and part.asking("kdtree").methods == ("kdtree",)
