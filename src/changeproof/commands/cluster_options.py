"""The options for work on a cluster, and the client that they ask for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from changeproof.errors import InputError

PANEL = "A cluster"


def _option(text: str, metavar: str) -> Any:
    return typer.Option(help=text, show_default=False, rich_help_panel=PANEL, metavar=metavar)


ClusterName = Annotated[
    str | None,
    _option(
        "Have the work done by a Dask cluster (extra: cluster): tcp://HOST:8786, the file of its "
        "scheduler (scheduler.json), or local for one that is started here with --jobs workers.",
        "ADDRESS",
    ),
]
Authority = Annotated[
    Path | None, _option("TLS: the certificate of the authority that the cluster trusts.", "FILE")
]
Certificate = Annotated[Path | None, _option("TLS: your own certificate.", "FILE")]
Key = Annotated[Path | None, _option("TLS: the key of your certificate.", "FILE")]


@contextmanager
def workers_of(
    cluster: str | None, jobs: int | None, tls: tuple[Path | None, Path | None, Path | None]
) -> Iterator[dict[str, Any]]:
    """Give what `run` and `audit` take: a number of workers here, or the client of a cluster."""
    if cluster is None:
        if any(tls):
            raise InputError("--tls-ca-file, --tls-cert and --tls-key belong to --cluster")
        yield {"jobs": jobs}
        return
    from changeproof.commands.progress import patience
    from changeproof.workers.cluster import Certificates, connected

    with ExitStack() as open_until_done:
        with patience(f"reaching the cluster: {cluster}"):
            client = open_until_done.enter_context(
                connected(cluster, jobs=jobs, certificates=Certificates(*tls))
            )
        yield {"client": client}
