"""A model behind an address: an HTTP server in a thread of this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

Judge = Callable[[pd.DataFrame], Any]


class Asked:
    """What a server was asked: its address, and the bodies of all requests."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.bodies: list[dict[str, Any]] = []


class Answer(NamedTuple):
    """Anything but a usual answer: a status, bytes and headers."""

    status: int
    body: bytes
    headers: Mapping[str, str] = MappingProxyType({})


@contextmanager
def served(judge: Judge) -> Iterator[Asked]:
    """Serve a function from a DataFrame to what is sent back: an `Answer`, bytes, or JSON."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.bodies.append(body)
            found = judge(pd.DataFrame(body["rows"], columns=body["columns"]))
            if not isinstance(found, Answer):
                found = Answer(
                    200, found if isinstance(found, bytes) else json.dumps(found).encode()
                )
            try:
                self.send_response(found.status)
                for key, value in {
                    "Content-Length": str(len(found.body)),
                    **found.headers,
                }.items():
                    self.send_header(key, value)
                self.end_headers()
                self.wfile.write(found.body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # whoever asked has given up

        def log_message(self, *_: Any) -> None:
            """Write nothing to the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    asked = Asked(f"http://127.0.0.1:{server.server_port}/v2/score")
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def probabilities(model: Any, people: pd.DataFrame) -> dict[str, Any]:
    """Return what a classifier says, as a server answers."""
    shares = model.predict_proba(people[list(model.feature_names_in_)])
    return {"probabilities": shares.tolist(), "classes": model.classes_.tolist()}
