"""Downloads: the population and its parts in numbers, the count table, and the history of the posterior."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from fastapi import FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool

from dither_client import MissingExtra
from dither_client.posterior.particles import parse_particles
from dither_client.posterior.population_table import Parts, parts_table, population_table
from dither_client.posterior.reading import parse_posterior
from dither_client.posterior.wire import QUANTILES, to_json
from dither_client.tables.counts import write_table
from dither_server.api.callers import LONG_READ, CollectionOf, ServiceOf, check_reader
from dither_server.clock import iso_time
from dither_server.collections.collection import Collection
from dither_server.collections.count_table import counted_rows
from dither_server.collections.institutions import table_of
from dither_server.errors import NotFound
from dither_server.owner.published import Published
from dither_server.pages.charts import MEDIAN, has_median, raised
from dither_server.pages.sentences import basis
from dither_server.service.service import Service

__all__ = ["add_routes"]

Table = Literal["population", "counts", "history"] | Parts
Format = Literal["csv", "parquet"]

_Basis = Callable[[Collection, Service], Any]
_Write = Callable[[Collection, Service, Path], None]

_TYPES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


def add_routes(app: FastAPI) -> None:
    """Adds the downloads."""
    app.add_api_route(
        "/collections/{collection_id}/export/{table}.{format}",
        export_table,
        methods=["GET"],
        dependencies=[LONG_READ],
        include_in_schema=False,
    )


async def export_table(
    request: Request, collection: CollectionOf, service: ServiceOf, table: Table, format: Format
) -> Response:
    """A table of a collection as a file.

    Raises `NotFound` where there are no groups or periods to tell of, and for Parquet if the server lacks the extra.
    """
    await run_in_threadpool(check_reader, request, collection)
    _check_parts(collection, table)
    if table in _STORED:
        basis, write = _STORED[table]
    else:
        published = await service.descriptions.of(collection)
        basis, write = partial(_posterior, published), partial(_write_described, published, table)
    name = f"{table}.{format}"
    content = await request.app.state.tables.content(
        collection,
        service,
        name,
        partial(basis, collection, service),
        partial(_written, partial(write, collection, service), name),
    )
    named = {"Content-Disposition": f'attachment; filename="{collection.id}-{name}"'}
    return Response(content, headers=named, media_type=_TYPES[format])


def _check_parts(collection: Collection, table: Table) -> None:
    known = {"groups": collection.specification.groups, "periods": collection.specification.period}
    if known.get(table, table) is None:
        raise NotFound(f"This collection has no {table}.")


def _written(write: Callable[[Path], None], name: str) -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder) / name
        try:
            write(file)
        except MissingExtra:
            raise NotFound("This server cannot write Parquet: its operator can install the extra tables.") from None
        return file.read_bytes()


def _counted(collection: Collection, service: Service) -> tuple[int, int]:
    """What the count table follows from: as long as no more is counted, it is the same."""
    shared = service.institutions.totals([collection.number]).get(collection.number, 0)
    return service.store.total(collection.number), shared


def _last_row(collection: Collection, service: Service) -> int:
    """What the history's table follows from: rows are only added, for more answers."""
    return service.store.last_history(collection.number)


def _posterior(published: Published, collection: Collection, service: Service) -> bytes:
    """What tables of the population follow from: the posterior in short."""
    return hashlib.sha256(published.reply).digest()


def _write_described(published: Published, table: Table, collection: Collection, service: Service, file: Path) -> None:
    whole, terms = published.described, service.collections.terms(collection)
    found = parse_posterior(
        collection.id,
        to_json(replace(whole, groups=None, periods=None)),  # hundreds of groups have megabytes
        lambda: parse_particles({}),
        terms=terms,
    )
    if table == "groups" or table == "periods":
        columns, rows = parts_table(replace(found, groups=whole.groups or {}, periods=whole.periods or {}), table)
    else:
        columns, rows = population_table(found, basis(collection.specification, whole))
    write_table(file, rows, columns)


def _write_counts(collection: Collection, service: Service, file: Path) -> None:
    members = table_of(collection, service.institutions.shares(collection.number))
    write_table(file, counted_rows(collection, service.store.counts(collection.number), members))


def _write_history(collection: Collection, service: Service, file: Path) -> None:
    stored = [(row, json.loads(row.posterior)) for row in service.store.history(collection.number)]
    names = tuple(stored[-1][1]) if stored else collection.specification.family.names
    levels: tuple[str, ...] = ("mean", "sd", *QUANTILES)
    if has_median(collection.specification):  # parameters are those of logarithms, which the API has
        names, levels = (MEDIAN,), tuple(QUANTILES)
        stored = [(row, {MEDIAN: raised(posterior.get("mu", {}))}) for row, posterior in stored]
    columns = ("answers", "at", "ess", *(f"{name}_{level}" for name in names for level in levels))
    rows: list[dict[str, Any]] = []
    for row, posterior in stored:
        numbers = {f"{name}_{level}": posterior.get(name, {}).get(level) for name in names for level in levels}
        rows.append({"answers": row.answers, "at": iso_time(row.at), "ess": row.ess, **numbers})
    write_table(file, rows, columns)


_STORED: dict[str, tuple[_Basis, _Write]] = {
    "counts": (_counted, _write_counts),
    "history": (_last_row, _write_history),
}
