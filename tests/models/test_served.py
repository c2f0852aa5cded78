from __future__ import annotations

import pickle
import socket
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

import changeproof as cp
import shipped
from changeproof import InputError, PieceFailedError, Task, own_task
from changeproof.changes.successors import read_successors
from changeproof.datasets.threshold import Threshold
from changeproof.models import served as module
from changeproof.models.find import find_shipped, shipped_learner
from changeproof.models.served import ServedModel, _json_value, read_answers
from changeproof.runs import execute
from serving import Answer, Asked, probabilities, served


@pytest.fixture(scope="module")
def today(frame: pd.DataFrame) -> Pipeline:
    return shipped.current(frame)


@pytest.fixture
def asked(today: Pipeline) -> Iterator[Asked]:
    with served(partial(probabilities, today)) as found:
        yield found


def test_a_served_model_judges_as_the_model_behind_it(
    asked: Asked, task: Task, today: Pipeline
) -> None:
    model = find_shipped(asked.address)
    assert (model.name, model.reference, model.columns) == ("score", asked.address, None)
    rows = task.rows("test")
    judged = model.model(task, None)
    expected = today.predict_proba(task.readable(rows)[shipped.FEATURES])[:, 1]
    np.testing.assert_allclose(judged.probabilities(rows), expected, rtol=1e-12)
    assert "cannot be fitted again" in shipped_learner(asked.address, task).traits.no_training


def test_scores_are_compared_with_a_threshold(task: Task) -> None:
    def points(people: pd.DataFrame) -> Any:
        return {"scores": list(300 + people["income"] / 10 - 20 * people["debts"])}

    with served(points) as asked:
        model = find_shipped(asked.address)
        rows, told = task.rows("test"), task.readable(task.rows("test"))
        accepted = model.model(task, Threshold(560.0)).favourable(rows)
        np.testing.assert_array_equal(
            accepted, 300 + told["income"] / 10 - 20 * told["debts"] >= 560
        )
        with pytest.raises(InputError, match="other scores need a threshold"):
            model.model(task, None).probabilities(rows)


def test_rows_are_asked_in_batches_and_equal_ones_once(asked: Asked, task: Task) -> None:
    judged = ServedModel(asked.address, batch=20).model(task, None)
    rows = task.rows("test")[:45]
    asked.bodies.clear()
    twice = judged.probabilities(np.concatenate([rows, rows[::-1]]))
    assert [len(body["rows"]) for body in asked.bodies] == [20, 20, 5]
    np.testing.assert_array_equal(twice[:45], twice[:44:-1])
    assert asked.bodies[0]["columns"] == shipped.FEATURES
    told = task.readable(rows[:20])
    assert asked.bodies[0]["rows"] == told.to_numpy(object).tolist()
    asked.bodies.clear()
    judged.probabilities(task.rows("train"))
    assert not asked.bodies, "the answers for the training rows are known"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (pd.Timestamp("2026-02-01"), "2026-02-01T00:00:00"),
        (pd.Timestamp("2026-02-01 12:30:00.123456"), "2026-02-01T12:30:00"),
        (pd.Timestamp("2026-02-01").date(), "2026-02-01"),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (2.5, 2.5),
        ("car", "car"),
    ],
)
def test_values_are_sent_as_json_has_them(value: Any, expected: Any) -> None:
    found = _json_value(value)
    assert found == expected and type(found) is type(expected)


def test_missing_values_are_null() -> None:
    frame = pd.DataFrame({"a": [1.5, np.nan], "b": pd.Categorical(["x", None]), "c": [None, True]})
    ((body, count),) = module._batches(frame, 10)
    assert count == 2
    assert body == b'{"columns": ["a", "b", "c"], "rows": [[1.5, "x", null], [null, null, true]]}'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"<html>Welcome</html>", "answers no JSON: <html>Welcome</html>; expected"),
        (b"", "answers no JSON: nothing"),
        (b"\xff\xfe\x00", "answers no JSON"),
        (b"[" * 100_000, "answers no JSON"),
        (b'{"error": "no \x1b[31mcolumn"}', r"answers no JSON: .*x1b\[31m"),
        (b'{"error": "no column"}', r'answers \{"error": "no column"\}; expected'),
        (b"[0.1, 0.2]", r"answers \[0.1, 0.2\]; expected"),
        (b'{"scores": [1], "probabilities": [[0, 1]]}', "expected"),
        (b'{"scores": [0.5]}', "answers 1 scores for 2 rows"),
        (b'{"scores": 0.5}', "answers scores 0.5; expected a list"),
        (b'{"scores": [0.5, "high"]}', 'answers "high" as a score; expected a finite number'),
        (b'{"scores": [0.5, NaN]}', "answers NaN as a score"),
        (b'{"scores": [0.5, 1e999]}', "answers Infinity as a score"),
        (b'{"scores": [0.5, 1%s]}' % (b"0" * 400), "as a score"),
        (b'{"scores": [0.5, null]}', "answers null as a score"),
        (b'{"scores": [0.5, true]}', "answers true as a score"),
        (b'{"probabilities": [[0.5, 0.5], [0, 1]]}', "probabilities and no classes; expected"),
        (b'{"probabilities": [[0.5, 0.5], [0, 1]], "classes": ["a"]}', r'the classes \["a"\]'),
        (b'{"probabilities": [[0.5, 0.5], [0, 1]], "classes": [1, "1"]}', "the classes"),
        (b'{"probabilities": [[0.5, 0.5], [0, 1]], "classes": [[], {}]}', "the classes"),
        (b'{"probabilities": [[0.5, 0.5]], "classes": ["a", "b"]}', "1 probabilities for 2 rows"),
        (
            b'{"probabilities": [[0.5, 0.5], [1]], "classes": ["a", "b"]}',
            r"probabilities \[1\] for a row; expected one for each of 2 classes",
        ),
        (
            b'{"probabilities": [[0.5, 0.5], [0.9, 0.9]], "classes": ["a", "b"]}',
            "expected shares that add up to 1",
        ),
        (
            b'{"probabilities": [[0.5, 0.5], [2.0, -1.0]], "classes": ["a", "b"]}',
            "expected shares that add up to 1",
        ),
    ],
)
def test_nonsense_is_refused_in_one_line(content: bytes, reason: str, task: Task) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        read_answers("the model at ADDRESS", content, 2)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
    with served(lambda people: content) as asked, pytest.raises(InputError) as refused:
        shipped_learner(asked.address, task)
    assert str(refused.value).startswith(f"the model at {asked.address} answers ")


def test_an_address_that_is_down_is_named(task: Task) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(
        InputError, match=rf"at http://127.0.0.1:{port}/ cannot be asked: Connection refused"
    ):
        find_shipped(f"http://127.0.0.1:{port}/").fitted(task)
    with pytest.raises(InputError, match=r"at http://nowhere.invalid/score cannot be asked"):
        find_shipped("http://nowhere.invalid/score").fitted(task)


def test_a_slow_model_is_given_up(task: Task) -> None:
    def slow(people: pd.DataFrame) -> Any:
        time.sleep(0.5)
        return {"scores": [0.5] * len(people)}

    with (
        served(slow) as asked,
        pytest.raises(InputError, match=r"did not answer \d+ rows within 0.1 seconds"),
    ):
        ServedModel(asked.address, timeout=0.1).fitted(task)


def raw_server(send: Any) -> tuple[socket.socket, Thread]:
    """Return a socket whose first visitor is sent something, whatever is asked."""
    listening = socket.create_server(("127.0.0.1", 0))

    def visit() -> None:
        connection, _ = listening.accept()
        with connection, connection.makefile("rb") as request:
            # What is unread when a connection is closed would reset it.
            head = dict(
                line.split(b": ") for line in iter(request.readline, b"\r\n") if b": " in line
            )
            request.read(int(head[b"Content-Length"]))
            try:
                send(connection)
            except (BrokenPipeError, ConnectionResetError):
                return  # whoever asked has given up

    thread = Thread(target=visit)
    thread.start()
    return listening, thread


def drip(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
    for _ in range(100):
        connection.sendall(b" ")
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("send", "reason"),
    [
        (drip, "did not answer .* rows within 0.3 seconds"),
        (lambda connection: None, "cannot be asked: "),
        (lambda connection: connection.sendall(b"SSH-2.0\r\n"), "cannot be asked: SSH-2.0"),
    ],
    ids=["drip", "hangs up", "another protocol"],
)
def test_what_is_no_whole_answer_is_given_up(task: Task, send: Any, reason: str) -> None:
    listening, thread = raw_server(send)
    address = f"http://127.0.0.1:{listening.getsockname()[1]}/score"
    with listening, pytest.raises(InputError, match=f"the model at {address} {reason}"):
        ServedModel(address, timeout=0.3).fitted(task)
    thread.join()


def test_an_error_status_is_told(task: Task) -> None:
    def failing(people: pd.DataFrame) -> Any:
        return Answer(422, b'{"detail":\n "no column member"}')

    with (
        served(failing) as asked,
        pytest.raises(
            InputError, match=r'rows with HTTP 422 .*: \{"detail": "no column member"\}$'
        ),
    ):
        find_shipped(asked.address).fitted(task)


def test_redirects_are_not_followed(task: Task, asked: Asked) -> None:
    for status in (301, 302, 303, 307, 308):

        def moved(people: pd.DataFrame, status: int = status) -> Any:
            return Answer(status, b"", {"Location": asked.address})

        with (
            served(moved) as first,
            pytest.raises(InputError, match=f"redirects to {asked.address}; pass the address"),
        ):
            find_shipped(first.address).fitted(task)
    assert not asked.bodies


def test_a_long_answer_is_cut_short(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_ANSWER", 2**20)
    with (
        served(lambda people: b" " * (2**20 + 1)) as asked,
        pytest.raises(InputError, match="answers more than 1 MiB"),
    ):
        find_shipped(asked.address).fitted(task)


def test_proxies_are_not_asked_for_this_machine(
    task: Task, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    module._opener.cache_clear()
    local = asked.address.replace("127.0.0.1", "localhost")
    for address in (asked.address, local):
        assert find_shipped(address).fitted(task)
    with pytest.raises(InputError, match=r"at http://example.invalid/ cannot be asked: Connection"):
        find_shipped("http://example.invalid/").fitted(task)
    module._opener.cache_clear()


@pytest.mark.parametrize(
    "address",
    [
        "http:",
        "http://",
        "http:score",
        "http:///score",
        "http://host:port/",
        "http://host:99999/",
        "http://[::1/score",
        "http://host/a b",
        "http://host/\x1b[31m",
        "https://höst/",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match=r"is no address; expected http://|unknown fitted model"):
        find_shipped(address)


def test_addresses_have_no_secrets() -> None:
    with pytest.raises(InputError, match="expected an address without user, password") as caught:
        find_shipped("https://me:secret@host/score")
    assert "secret" not in str(caught.value)
    with pytest.raises(InputError, match="without user, password and fragment"):
        find_shipped("https://host/score#top")


def test_the_hash_is_that_of_the_answers(
    asked: Asked, task: Task, frame: pd.DataFrame, today: Pipeline
) -> None:
    models = [find_shipped(asked.address) for _ in range(3)]
    for model in models[:2]:
        model.fitted(task)
    first, again, unasked = (model.digest for model in models)
    assert first == again != unasked
    learners = [shipped_learner(asked.address, task).fingerprint for _ in range(2)]
    assert learners[0] == learners[1]
    answers = [today, shipped.stricter(frame)]
    with served(lambda people: probabilities(answers[0], people)) as other:
        records = []
        for model in answers:
            answers[0] = model
            records.append(read_successors({"next": other.address}, task, {}).records["next"])
    assert records[0] != records[1]
    assert all(record.startswith(f"{other.address}#") for record in records)


def test_training_rows_are_asked_once_per_task(
    asked: Asked, task: Task, frame: pd.DataFrame
) -> None:
    model = find_shipped(asked.address)
    other = own_task(frame, **shipped.DATA | {"favourable": "no"})
    first = [model.fitted(each) for each in (task, other)]
    asked.bodies.clear()
    again = [model.fitted(each) for each in (task, other)]
    assert [len(body["rows"]) for body in asked.bodies] == 2 * [module.ASKED_AGAIN]
    assert all(one is two for one, two in zip(first, again, strict=True))


def test_a_model_that_changes_meanwhile_is_refused(
    task: Task, frame: pd.DataFrame, today: Pipeline
) -> None:
    answers: list[Any] = [today]
    with served(lambda people: probabilities(answers[0], people)) as asked:
        learner = pickle.loads(pickle.dumps(shipped_learner(asked.address, task)))
        base = cp.TrainingRecipe(initialisation_seed=2026)
        asked.bodies.clear()
        assert learner.train([base], task)
        assert [len(body["rows"]) for body in asked.bodies] == [module.ASKED_AGAIN]
        answers[0] = shipped.stricter(frame)
        with pytest.raises(InputError, match=r"answered .* for a row and then .* for the same row"):
            learner.train([base], task)
    draws = np.random.default_rng(1)
    with (
        served(lambda people: {"scores": draws.random(len(people)).tolist()}) as asked,
        pytest.raises(InputError, match="expected a model that does not change meanwhile"),
    ):
        find_shipped(asked.address).fitted(task)


def test_people_whom_it_rejects_are_advised_in_worker_processes(
    tmp_path: Path,
    frame: pd.DataFrame,
    asked: Asked,
    today: Pipeline,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(execute, "worth_workers", lambda pieces: True)
    tables = []
    for jobs in (1, 2):
        results = cp.evaluate(
            frame,
            asked.address,
            ["kdtree"],
            ["decision-threshold"],
            factuals=12,
            jobs=jobs,
            out=tmp_path / str(jobs),
            **shipped.DATA,
        )
        tables.append(results.table("people"))
    pd.testing.assert_frame_equal(*tables)
    people = tables[0]
    told = people[[f"told:{name}" for name in shipped.FEATURES]].set_axis(shipped.FEATURES, axis=1)
    valid = people["base_valid"].to_numpy(bool)
    assert valid.sum() >= 10
    assert (today.predict(told[valid]) == "yes").all()
    own = frame.set_index("applicant").loc[people["id"], shipped.FEATURES]
    assert (today.predict(own) == "no").all()


def test_a_run_goes_on_where_the_address_went_down(
    tmp_path: Path, frame: pd.DataFrame, today: Pipeline
) -> None:
    answers = {"left": 12}

    def failing(people: pd.DataFrame) -> Any:
        answers["left"] -= 1
        if answers["left"] < 0:
            return Answer(503, b"out for lunch")
        return probabilities(today, people)

    wanted = {"factuals": 6, "jobs": 1, "out": tmp_path / "run", **shipped.DATA}
    with served(failing) as asked:
        with pytest.raises(PieceFailedError) as failed:
            cp.evaluate(frame, asked.address, ["kdtree"], ["decision-threshold"], **wanted)
        assert "rows with HTTP 503 Service Unavailable: out for lunch" in failed.value.summary[0]
        answers["left"] = 10_000
        results = cp.evaluate(frame, asked.address, ["kdtree"], ["decision-threshold"], **wanted)
    assert len(results.table("people")) == 6
