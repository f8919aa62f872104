"""Work on other machines: joblib hands it to the workers of a Dask scheduler. Needs the extra `dask`."""

from collections.abc import Iterator
from contextlib import contextmanager

from dither_client.extras import require_extra

__all__ = ["NoWorkers", "workers_of"]

_CONNECT_TIMEOUT = "10s"


class NoWorkers(ValueError):
    """No Dask scheduler answers at an address, or it has no workers."""


@contextmanager
def workers_of(address: str | None) -> Iterator[None]:
    """Everything that joblib does within runs on the workers of this scheduler, if one is given.

    The workers need the same version of Dither. Raises `NoWorkers` and `MissingExtra`.
    """
    if address is None:
        yield
        return
    require_extra("dask", "joblib", "distributed")
    from distributed import Client
    from joblib import parallel_config

    try:
        client = Client(address, timeout=_CONNECT_TIMEOUT)
    except (OSError, ValueError):
        raise NoWorkers(f"no Dask scheduler answers at {address}: start one with dask scheduler") from None
    with client:
        if not client.ncores():
            raise NoWorkers(f"the scheduler at {address} has no workers: start some with dask worker {address}")
        with parallel_config(backend="dask"):
            yield
