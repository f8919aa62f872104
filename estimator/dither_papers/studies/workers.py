"""Runs on other machines: joblib hands its work to the workers of a Dask scheduler. Needs the extra `dask`."""

from collections.abc import Iterator
from contextlib import contextmanager

from joblib import parallel_config

from dither_client.extras import require_extra
from dither_papers.studies.study import StudyError

__all__ = ["workers_of"]

_PATIENCE = "10s"


@contextmanager
def workers_of(address: str | None) -> Iterator[None]:
    """Everything that joblib does within runs on the workers of this scheduler, if one is given.

    The workers need the same version of Dither. Raises `StudyError` if there is no scheduler or it has no workers, and
    `MissingExtra`.
    """
    if address is None:
        yield
        return
    require_extra("dask", "distributed")
    from distributed import Client

    try:
        client = Client(address, timeout=_PATIENCE)
    except (OSError, ValueError):
        raise StudyError(f"no Dask scheduler answers at {address}: start one with dask scheduler") from None
    with client:
        if not client.ncores():
            raise StudyError(f"the scheduler at {address} has no workers: start some with dask worker {address}")
        with parallel_config(backend="dask"):
            yield
