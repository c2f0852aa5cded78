"""Reaching a Dask cluster: by address, by the file of a scheduler, or by starting one here."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from changeproof.errors import InputError, one_line

if TYPE_CHECKING:
    from distributed import Client

LOCAL = "local"
ADDRESS = re.compile(r"[a-z]+://[^\s/]+:[0-9]+")
# Dask's settings that are ours, with what they are by default.
PATIENCE = ("changeproof.patience", "60s")
# Looking at oneself takes processor time: sampling what workers do, ticking fifty times a second.
# Handing back small bits of memory at once takes more.
LOCAL_SETTINGS = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.nanny.pre-spawn-environ": {
        f"{library}_NUM_THREADS": 1 for library in ("OMP", "MKL", "OPENBLAS")
    },
}


class ClusterError(InputError):
    """A cluster cannot be used, or not any more; what is finished is kept."""


class GoneError(RuntimeError):
    """The scheduler does not answer any more."""


class StuckError(RuntimeError):
    """There are workers, and work, and nothing happens."""


class Certificates(NamedTuple):
    """The files of TLS, as Dask takes them: the authority's, one's own certificate, its key."""

    authority: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


@contextmanager
def connected(
    cluster: str, *, jobs: int | None = None, certificates: Certificates | None = None
) -> Iterator[Client]:
    """Connect to a cluster.

    Parameters
    ----------
    cluster
        An address ("tcp://host:8786"), the file that a scheduler wrote about itself
        ("scheduler.json"), or "local" for a cluster that is started here and ends with this.
    jobs
        How many workers a local cluster has; as many as there are cores by default.
    certificates
        For clusters that talk over TLS. Without them Dask's own settings count.
    """
    require_dask()
    from distributed import Client, LocalCluster

    # What happens to a cluster is said in our own words, once.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if cluster == LOCAL:
        import dask

        with (
            dask.config.set(LOCAL_SETTINGS),
            LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                memory_limit=0,
                dashboard_address="127.0.0.1:0",
            ) as here,
            Client(here, set_as_default=False) as client,
        ):
            yield client
        return
    if jobs is not None:
        raise InputError(
            f"--jobs says how many workers there are here; {cluster} has its own. Leave out one"
        )
    with _reached(address_of(cluster), certificates) as client:
        yield client


def require_dask() -> None:
    """Refuse to go on without Dask."""
    if find_spec("distributed") is None:
        raise InputError("clusters need Dask, an extra: pip install 'changeproof[cluster]'")


def address_of(cluster: str) -> str:
    """Return the address of a scheduler, from the file that it wrote if that is what was given."""
    path = Path(cluster)
    if ADDRESS.fullmatch(cluster):
        return cluster
    if "://" in cluster or not (path.suffix == ".json" or path.exists()):
        raise InputError(
            f"cluster {cluster!r}; expected an address such as tcp://HOST:8786 or tls://HOST:8786, "
            f"the file of a scheduler (scheduler.json), or {LOCAL}"
        )
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        return str(content["address"])
    except OSError as error:
        raise InputError(f"cannot read the scheduler's file {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"{path} is not a file that a Dask scheduler wrote (dask scheduler --scheduler-file)"
        ) from None


def patience() -> float:
    """Return how many seconds to wait for workers, or for a scheduler that is gone."""
    import dask
    from dask.utils import parse_timedelta

    return float(parse_timedelta(dask.config.get(*PATIENCE)))


def _reached(address: str, certificates: Certificates | None) -> Client:
    from distributed import Client, Security

    given = {}
    if certificates is not None and any(certificates):
        missing = [path for path in certificates if path is not None and not path.is_file()]
        if missing:
            raise InputError(f"cannot read the TLS file {missing[0]}")
        names = ("tls_ca_file", "tls_client_cert", "tls_client_key")
        files = {name: str(path) for name, path in zip(names, certificates, strict=True) if path}
        given["security"] = Security(require_encryption=True, **files)
    try:
        return Client(address, set_as_default=False, **given)
    except (OSError, TimeoutError, ValueError, RuntimeError, TypeError) as error:
        raise ClusterError(
            f"no Dask scheduler answers at {address} ({one_line(error)}); start one with "
            "'dask scheduler', or mend the address (tls:// with certificates)"
        ) from None
