"""The count table of a table of answers, made where the answers are: one `GROUP BY`, in whatever engine has them.

A table of answers has a row for each answer, as `dither export --answers` writes it. Of its columns are read:

- `query`: the question, a JSON object as in a ticket; `answer`: what was answered to it;
- `ticket`: names the permission to answer once. Who delivers at least once may repeat a row, and it counts once;
- where there are such columns, `purpose`, of which only `training` is learnt, `collection`, of which there may be one,
  `group`, the label of the respondent's public group, and `period`, the day, week or month in which it was asked.

Engines are those of Ibis, and all are sent the same expression. Parquet and CSV files are read by DuckDB, in this
process; a folder of `dither export --parquet-by-day`, where each ticket is once, by one statement of DuckDB's own.
Needs the extra `warehouse`.
"""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from dither_client.errors import BadResponse, InvalidQuery, InvalidTable
from dither_client.extras import require_extra
from dither_client.mechanisms.query import Query
from dither_client.mechanisms.registry import parse_query
from dither_client.strict_json import decode_json
from dither_client.tables.counts import GROUP_COLUMN, PERIOD_COLUMN, CountTable, read_integer
from dither_client.tables.csv_file import unwritten_cell
from dither_client.tables.days import Manifest, part_columns, read_manifest

if TYPE_CHECKING:
    import ibis

__all__ = ["answer_counts", "count_answers"]

_NEEDED = ("query", "answer", "ticket")
_PARTS = (GROUP_COLUMN, PERIOD_COLUMN)
_OPTIONAL = ("collection", "purpose", *_PARTS)
_FILES = (".parquet", ".csv")
_DATABASE_FILES = ("duckdb", "sqlite")
"""Schemes of engines that would create a file that is not there."""


def answer_counts(uri: str) -> tuple[CountTable, Mapping[str, Any] | None]:
    """How often each answer was given to each question of the table, and the collection's specification if it has it.

    `uri` is a folder that `dither export --parquet-by-day` wrote, Parquet or CSV files (a path, which may have `*`), or
    what `ibis.connect` takes, with the table's name after `#`. Rows of such a folder count as they are, since each
    ticket is there once. Of any other table, rows of one ticket count once. Raises `InvalidTable` and `MissingExtra`.
    """
    require_extra("warehouse", "ibis", "duckdb")
    # Ibis has exceptions for some errors of engines, and passes on those of each engine's driver for the rest.
    try:
        manifest = read_manifest(Path(uri)) if Path(uri).is_dir() else None
        if manifest is not None:
            return _count_table(_count_days(manifest)), manifest.specification
        return _count_table(_count_source(uri)), None
    except (InvalidTable, OSError):
        raise
    except Exception as error:
        raise InvalidTable(f"the table cannot be read: {_first_line(error, uri)}") from None


def count_answers(table: "ibis.Table") -> list[dict[str, Any]]:
    """The rows of the count table: `query`, `answer`, `count`, and `purpose` if the table has it.

    Rows of the same ticket count once. Raises `InvalidTable` for several collections, for blank cells and for tickets
    with unlike rows, and what the engine raises.
    """
    missing = [column for column in _NEEDED if column not in table.columns]
    if missing:
        raise InvalidTable(f"the table lacks the columns {', '.join(missing)}: dither export ID --answers writes them")
    optional = [column for column in _OPTIONAL if column in table.columns]
    keys = [*optional, "query", "answer"]
    table = table.select(*keys, "ticket").mutate(query=table["query"].cast("string"))
    parts = [column for column in _PARTS if column in optional]
    if parts:  # blank for people without a group; rows of a join must be equal, and NULL is not
        table = table.mutate(**{column: table[column].cast("string").fill_null("") for column in parts})
    rows: list[dict[str, Any]] = _counted_once(table, keys).to_pyarrow().to_pylist()
    _check(rows, keys)
    return rows


def _count_source(uri: str) -> list[dict[str, Any]]:
    """The rows of the count table of files, or of the table that a URI names."""
    from ibis.common.exceptions import TableNotFound

    with closing(_Source(uri)) as source:
        try:
            rows = count_answers(source.table())
            return [_unwritten(row) for row in rows] if source.is_csv else rows
        except TableNotFound as error:
            raise InvalidTable(f"there is no table {error}") from None


def _unwritten(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: unwritten_cell(cell) if name in _PARTS else cell for name, cell in row.items()}


def _count_days(manifest: Manifest) -> list[dict[str, Any]]:
    """The rows of the count table of a folder by day: one collection, and each ticket once.

    DuckDB is asked directly: importing Ibis and planning with it took 2.6 s of a processor, about as long as
    counting a hundred million answers.
    """
    import duckdb

    if not manifest.files:
        raise InvalidTable("the folder has no answers yet")
    keys = (*part_columns(manifest.specification), "purpose", "query", "answer")
    columns = ", ".join(f'"{key}"' for key in keys)
    with duckdb.connect(config={"temp_directory": tempfile.gettempdir()}) as engine:
        engine.execute("SET enable_progress_bar = false")
        counted = engine.execute(f"SELECT {columns}, count(*) FROM read_parquet(?) GROUP BY ALL", [manifest.files])
        rows = [dict(zip((*keys, "count"), row, strict=True)) for row in counted.fetchall()]
    _check(rows, keys)
    _check_complete(rows, manifest)
    return rows


def _counted_once(table: "ibis.Table", keys: Sequence[str]) -> "ibis.Table":
    """Counts tickets. `torn` are those with unlike rows, `nameless` tells of rows without a ticket.

    Tickets are grouped with the number of what they answered, and not with its text, which would be kept for each.
    """
    import ibis

    kinds = table.select(*keys).distinct()
    kinds = kinds.mutate(kind=ibis.row_number().over(order_by=[kinds[key] for key in keys]))
    named = table.join(kinds, keys).select("ticket", "kind")
    tickets = named.group_by("ticket").aggregate(kind=named.kind.min(), last=named.kind.max())
    counted = tickets.group_by("kind").aggregate(
        count=tickets.count(),
        torn=(tickets.kind != tickets["last"]).sum(),
        nameless=tickets.ticket.isnull().sum(),
    )
    return kinds.left_join(counted, "kind").select(*keys, "count", "torn", "nameless")


def _check(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> None:
    """Raises `InvalidTable` for blank cells, several collections, and tickets with unlike rows."""
    blank = [key for key in keys if any(row[key] is None for row in rows)]
    if blank:
        raise InvalidTable(f"the table has rows whose {blank[0]} is blank")
    collections = {row["collection"] for row in rows if "collection" in row}
    if len(collections) > 1:
        raise InvalidTable(f"the table has answers of {len(collections):,} collections: make a view of one")
    if sum(row.get("nameless") or 0 for row in rows):
        raise InvalidTable("the table has rows whose ticket is blank")
    torn = sum(row.get("torn") or 0 for row in rows)
    if torn:
        raise InvalidTable(f"{torn:,} tickets have several rows that differ in question or answer: each may have one")


def _check_complete(rows: Iterable[Mapping[str, Any]], manifest: Manifest) -> None:
    found = sum(row["count"] for row in rows)
    if found != manifest.rows:
        raise InvalidTable(f"the files have {found:,} rows, and the manifest says {manifest.rows:,}: export them again")


def _count_table(rows: Iterable[Mapping[str, Any]]) -> CountTable:
    """The counts by question, and by group and period where rows have one. Raises `InvalidTable`."""
    found = CountTable()
    for row in rows:
        if row.get("purpose", "training") != "training":
            continue
        query, answer = _parse_query(row["query"]), read_integer(row, "answer")
        if answer >= query.n_answers:
            raise InvalidTable(f"a question with the answers 0 to {query.n_answers - 1} has the answer {answer}")
        found.add(query, [(answer, row["count"])], row.get(GROUP_COLUMN) or None, row.get(PERIOD_COLUMN) or None)
    return found


def _parse_query(text: object) -> Query:
    try:
        fields = decode_json(str(text).encode())
        if not isinstance(fields, dict):
            raise InvalidTable("query must hold JSON objects, as in tickets")
        return parse_query(fields)
    except BadResponse:
        raise InvalidTable("query must hold JSON objects, as in tickets") from None
    except InvalidQuery as error:
        raise InvalidTable(f"query holds something that is not a question: {error}") from None


class _Source:
    """Files, or the engine and the table that a URI names. Raises `InvalidTable`, and what the engine raises."""

    def __init__(self, uri: str) -> None:
        self._files, self._name = uri, ""
        if uri.partition("#")[0].lower().endswith(_FILES):
            self._engine = _files_engine()
        else:
            self._engine, self._name = _connect(uri)

    @property
    def is_csv(self) -> bool:
        """Whether the table is one of CSV files."""
        return not self._name and self._files.lower().endswith(".csv")

    def table(self) -> "ibis.Table":
        """The table, of which nothing is read yet."""
        if self._name:
            schema, _, table = self._name.rpartition(".")
            return self._engine.table(table, database=schema or None)
        if self.is_csv:
            return self._engine.read_csv(self._files, all_varchar=True)
        return self._engine.read_parquet(self._files)

    def close(self) -> None:
        self._engine.disconnect()


def _connect(uri: str) -> tuple[Any, str]:
    """The engine, and the table's name."""
    import ibis

    address, _, name = uri.partition("#")
    parts = urlsplit(address)
    if not parts.scheme:
        raise InvalidTable(
            f"{address} is no folder of dither export --parquet-by-day, and does not end in .parquet or .csv"
        )
    if not name:
        raise InvalidTable("name the table after #, as in postgresql://host/database#schema.table")
    options = {}
    if parts.scheme in _DATABASE_FILES:
        file = Path(address.split("?")[0].removeprefix(f"{parts.scheme}://"))
        if not file.is_file():
            raise InvalidTable(f"{file} does not exist: check the name and the folder")
        if parts.scheme == "duckdb":
            options = {"read_only": True}
    return _quiet(ibis.connect(address, **options)), name


def _files_engine() -> Any:
    """DuckDB in this process, which reads files when they are asked for."""
    import ibis

    return _quiet(ibis.duckdb.connect(temp_directory=tempfile.gettempdir()))


def _quiet(engine: Any) -> Any:
    """The engine, which prints no progress: DuckDB writes it to standard output."""
    if engine.name == "duckdb":
        engine.raw_sql("SET enable_progress_bar = false")
    return engine


def _first_line(error: Exception, uri: str) -> str:
    """An engine's message, from which the password of the URI is removed."""
    line = (str(error).strip() or type(error).__name__).splitlines()[0]
    password = urlsplit(uri).password
    return line.replace(password, "***") if password else line
