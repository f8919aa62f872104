"""Tables in CSV or Parquet files, and the count table, which any SQL engine can write.

A row of a count table says how often one answer was given to one query. The columns are:

- `COUNT_COLUMNS`: the fields of the query (`cuts` separated by blanks; fields that the mechanism lacks are empty), then
  `answer` and `count`.
- Only where they are needed: `sets` (cells separated by blanks, sets by `|`), `weights` (separated by blanks), `rho`
  and `size`; where people have several numbers, `component`, `query` (the question about it, as JSON), `components`,
  `states`, `transforms` and `channel` (as JSON), with the cuts of each component in `cuts`, separated by `|`.

A row with the mechanism `member_counts` is what an institution shared: one cut, the `size` of the group that was
counted at it, and the noisy count as its `answer`. Where a collection has public groups, the column `group` has the
label of the respondents' group, in every row; where answers are told apart by time, the column `period` has the day,
week or month of each, such as `2026-W07`. Rows of the same answer to the same query add up. Other columns are
ignored. Parquet needs the extra `tables`.
"""

import csv
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import Any

from dither_client.decimals import read_decimal
from dither_client.errors import InvalidQuery, InvalidTable
from dither_client.mechanisms.epsilon import epsilon_text
from dither_client.mechanisms.member_counts import Asked, MemberCounts, MemberTable
from dither_client.mechanisms.query import EXACT, Query, Schema
from dither_client.mechanisms.registry import QUERY_TYPES, parse_query
from dither_client.strict_json import decode
from dither_client.tables.csv_file import separator_of, unwritten_cell, written_cell
from dither_client.tables.parquet import is_parquet, read_parquet

__all__ = [
    "COUNT_COLUMNS",
    "GROUP_COLUMN",
    "PERIOD_COLUMN",
    "CountTable",
    "counts_rows",
    "read_integer",
    "read_table",
    "table_rows",
    "write_table",
]

COUNT_COLUMNS = ("mechanism", "low", "high", "levels", "cuts", "epsilon", "transform", "answer", "count")
GROUP_COLUMN = "group"
"""The column with the labels of public groups, where a collection has them."""
PERIOD_COLUMN = "period"
"""The column with the labels of periods, where a collection has them."""

_EXTRA_CELLS = "\0"
"""The key under which a row's cells beyond the last column are read; no column can have this name."""
_FIELDS: Mapping[str, Schema] = {
    **{name: schema for kind in QUERY_TYPES.values() for name, schema in kind.fields.items()},
    "size": {"type": "integer"},
}
"""Every field that a query of some mechanism has, or what institutions are asked."""
_OPTIONAL_COLUMNS = tuple(name for name in _FIELDS if name not in COUNT_COLUMNS)
"""Written only where a query has such a field; blank where they are missing."""

_INTEGERS = ("answer", "count", "answers", *(name for name, schema in _FIELDS.items() if schema["type"] == "integer"))
_TEXTS = (
    "mechanism", "epsilon", "transform", "collection", "ticket", "query_id", "query", "purpose", "received_at", "at",
    "what", "of", "unit", "rests_on", GROUP_COLUMN, PERIOD_COLUMN,
    *(name for name, schema in _FIELDS.items() if schema["type"] in ("array", "string", "object", EXACT["type"])),
)  # fmt: skip

_MAX_INTEGER = 2**53
_MAX_DIGITS = 15


@dataclass(frozen=True)
class CountTable:
    """The content of a count table: how often each answer was given to each query, and what institutions shared."""

    queries: dict[Query, list[int]] = field(default_factory=dict)
    members: MemberTable = field(default_factory=dict)
    groups: dict[str, dict[Query, list[int]]] = field(default_factory=dict)
    """The part of `queries` that each public group answered, by its label, where rows have one."""
    periods: dict[str, dict[Query, list[int]]] = field(default_factory=dict)
    """The part of `queries` that was asked in each period, by its label, where rows have one."""

    @property
    def answers(self) -> int:
        """The number of respondents' answers."""
        return sum(map(sum, self.queries.values()))

    def add(
        self, query: Query, by_answer: Iterable[tuple[int, int]], group: str | None = None, period: str | None = None
    ) -> None:
        """Adds pairs of an answer to the query and how often it was given, by this group or in this period if any."""
        parts = [self.queries]
        parts += [] if group is None else [self.groups.setdefault(group, {})]
        parts += [] if period is None else [self.periods.setdefault(period, {})]
        rows = [part.setdefault(query, [0] * query.n_answers) for part in parts]
        for answer, count in by_answer:
            for row in rows:
                row[answer] += count

    @property
    def in_order(self) -> dict[Query, list[int]]:
        """The queries in the order of their ids: tables with the same counts are learnt alike, to the last digit."""
        return _in_order(self.queries)

    @property
    def groups_in_order(self) -> dict[str, dict[Query, list[int]]]:
        """The queries of each group, in the same order."""
        return {label: _in_order(queries) for label, queries in self.groups.items()}

    @property
    def periods_in_order(self) -> dict[str, dict[Query, list[int]]]:
        """The queries of each period, in the same order."""
        return {label: _in_order(queries) for label, queries in self.periods.items()}


def _in_order(queries: Mapping[Query, list[int]]) -> dict[Query, list[int]]:
    return dict(sorted(queries.items(), key=lambda item: item[0].id))


def write_table(
    path: str | PathLike[str], rows: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None
) -> int:
    """Writes `rows` and returns their number. Each row maps every one of `columns` to a value or None (an empty cell).

    In a CSV file no text is a formula (`csv_file.written_cell`).

    `columns` default to those of the first row, or of a count table if there are no rows. Raises `InvalidTable` for an
    ending other than .csv and .parquet, `MissingExtra` and `OSError`.
    """
    path, rows = Path(path), list(rows)
    columns = columns or tuple(rows[0] if rows else COUNT_COLUMNS)
    if is_parquet(path):
        _write_parquet(path, [{column: row[column] for column in columns} for row in rows], columns)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(map(written_cell, columns))
            writer.writerows([written_cell(row[column]) for column in columns] for row in rows)
    return len(rows)


def read_table(path: str | PathLike[str]) -> CountTable:
    """Reads a count table: how often each answer `0..n_answers - 1` was given to each query, and members' counts.

    ε is read as the exact decimal that is written. Raises `InvalidTable`, which names the first wrong row (row 1 is the
    row below the header), `MissingExtra` and `OSError`.
    """
    path = Path(path)
    table = CountTable()
    for number, row in enumerate(_read_rows(path), start=1):
        try:
            if _EXTRA_CELLS in row:
                raise InvalidTable("there are more cells than columns")
            asked = _read_members(row) if _cell(row, "mechanism") == MemberCounts.mechanism else _read_query(row)
            largest = asked.size if isinstance(asked, MemberCounts) else asked.n_answers - 1
            answer, count = read_integer(row, "answer"), read_integer(row, "count")
            if answer > largest:
                raise InvalidTable(f"answer must be 0 to {largest}, not {answer}")
            if isinstance(asked, MemberCounts):
                table.members.setdefault(asked, Counter())[answer] += count
            else:
                group, period = _cell(row, GROUP_COLUMN), _cell(row, PERIOD_COLUMN)
                table.add(
                    asked, [(answer, count)], *(None if label is None else str(label) for label in (group, period))
                )
        except (InvalidTable, InvalidQuery) as error:
            raise InvalidTable(f"row {number} of {path.name}: {error}") from None
    return table


def table_rows(table: CountTable) -> list[dict[str, Any]]:
    """The rows of a count table, with the column `group` or `period` where the answers are told apart so."""
    if table.periods:
        return _labelled_rows(PERIOD_COLUMN, dict(sorted(table.periods.items())))
    return _labelled_rows(GROUP_COLUMN, table.groups) if table.groups else counts_rows(table.queries, table.members)


def counts_rows(counts: Mapping[Query, Sequence[int]], members: MemberTable | None = None) -> list[dict[str, Any]]:
    """The rows of a count table.

    There is one row for each answer to each query, including answers that nobody gave, and one for each noisy count in
    `members`.
    """
    rows = []
    members = members or {}
    columns = _columns(counts, {"size"} if members else set())
    answered: list[tuple[Asked, Iterable[tuple[int, int]]]] = [(asked, enumerate(row)) for asked, row in counts.items()]
    answered += [(question, sorted(found.items())) for question, found in members.items()]
    for asked, by_answer in answered:
        fields = _cells(asked)
        shared = {column: fields.get(column) for column in columns}
        rows += [{**shared, "answer": answer, "count": int(count)} for answer, count in by_answer]
    return rows


def _labelled_rows(name: str, parts: Mapping[str, Mapping[Query, Sequence[int]]]) -> list[dict[str, Any]]:
    columns = _columns([query for counts in parts.values() for query in counts])
    blank = dict.fromkeys(columns)
    return [{name: label, **blank, **row} for label, counts in parts.items() for row in counts_rows(counts)]


def _columns(queries: Iterable[Query], others: Set[str] = frozenset()) -> tuple[str, ...]:
    """The columns of a count table of these queries, with `others` if they are optional."""
    needed = {name for query in queries for name in query.fields} | others
    return (*COUNT_COLUMNS, *(column for column in _OPTIONAL_COLUMNS if column in needed))


def _cells(asked: Asked) -> dict[str, Any]:
    """The fields of a query or an institution's question, as the cells of a row."""
    fields = asked.to_json()
    fields["epsilon"] = epsilon_text(asked.epsilon)
    if asked.rho is not None:
        fields["rho"] = epsilon_text(asked.rho)
    return {name: _written(value) for name, value in fields.items()}


def _written(value: Any) -> Any:
    """A cell: numbers and words of a list are separated by blanks, lists of them by `|`; an object is compact JSON."""
    if isinstance(value, list):
        return ("|" if isinstance(value[0], list) else " ").join(str(_written(some)) for some in value)
    return json.dumps(value, separators=(",", ":")) if isinstance(value, dict) else value


def _write_parquet(path: Path, table: list[dict[str, Any]], columns: Sequence[str]) -> None:
    import pyarrow
    from pyarrow import parquet

    words = {name for row in table for name, value in row.items() if isinstance(value, str)}
    types = {**dict.fromkeys(_INTEGERS, pyarrow.int64()), **dict.fromkeys([*_TEXTS, *words], pyarrow.string())}
    schema = pyarrow.schema([(column, types.get(column, pyarrow.float64())) for column in columns])
    parquet.write_table(pyarrow.Table.from_pylist(table, schema), path)


def _read_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """The rows of a table. Raises `InvalidTable` if it lacks any of `COUNT_COLUMNS`."""
    if is_parquet(path):
        table = read_parquet(path)
        _check_columns(path, table.column_names)
        yield from table.to_pylist()
        return
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            separator = separator_of(path, lambda names: set(COUNT_COLUMNS) <= set(names))
            reader = csv.DictReader(file, restkey=_EXTRA_CELLS, delimiter=separator, strict=True)
            _check_columns(path, reader.fieldnames or ())
            for row in reader:
                yield {name: unwritten_cell(cell) if isinstance(cell, str) else cell for name, cell in row.items()}
        except UnicodeDecodeError:
            raise InvalidTable(f"{path.name} is not UTF-8 text") from None
        except csv.Error as error:
            raise InvalidTable(f"{path.name} is not a CSV file: {error}") from None


def _check_columns(path: Path, columns: Sequence[str]) -> None:
    missing = [column for column in COUNT_COLUMNS if column not in columns]
    if missing == list(COUNT_COLUMNS):
        raise InvalidTable(
            f"{path.name} is not a count table: it has none of the columns {', '.join(missing)}, which dither export "
            "--counts writes; people's values are read by dither simulate --data and dither compare --data"
        )
    if missing:
        raise InvalidTable(f"{path.name} lacks the columns {', '.join(missing)}")


def _read_query(row: Mapping[str, Any]) -> Query:
    mechanism = _cell(row, "mechanism")
    kind = QUERY_TYPES.get(str(mechanism))
    if kind is None:
        raise InvalidTable(f"mechanism must be one of {', '.join([*QUERY_TYPES, MemberCounts.mechanism])}")
    _check_blank(row, kind.mechanism, kind.fields)
    fields = {name: _read_field(row, name, schema) for name, schema in kind.fields.items()}
    epsilon, transform = _read_number(row, "epsilon"), _cell(row, "transform")
    return parse_query({"mechanism": mechanism, **fields, "epsilon": epsilon, "transform": transform})


def _read_members(row: Mapping[str, Any]) -> MemberCounts:
    _check_blank(row, MemberCounts.mechanism, ("cuts", "size"))
    cuts = [float(cut) for cut in _read_cuts(row, "cuts")]
    if len(cuts) != 1:
        raise InvalidTable(f"cuts must hold one cut for {MemberCounts.mechanism}")
    return MemberCounts(cuts, read_integer(row, "size"), _read_number(row, "epsilon"), _cell(row, "transform"))


def _check_blank(row: Mapping[str, Any], mechanism: str, fields: Iterable[str]) -> None:
    for column in _FIELDS:
        if column not in fields and _cell(row, column) is not None:
            raise InvalidTable(f"{column} must be blank for {mechanism}")


def _cell(row: Mapping[str, Any], column: str) -> Any:
    """A cell, or None if it is blank: missing, only white space, or NaN."""
    cell = row.get(column)
    if isinstance(cell, str):
        return cell.strip() or None
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def _read_number(row: Mapping[str, Any], column: str) -> Decimal:
    return _number(_cell(row, column), column)


def _number(cell: Any, column: str) -> Decimal:
    if cell is None:
        raise InvalidTable(f"{column} is blank")
    try:
        return read_decimal(cell if isinstance(cell, str) else _text(cell))
    except ValueError:
        if "," in str(cell):
            raise InvalidTable(f"{column} must have a point before its decimals, and no comma") from None
        raise InvalidTable(f"{column} must be a number that a double can hold") from None


def _text(cell: Any) -> str:
    """The number in a cell of a typed table, as text. Raises `ValueError` if the cell is not a number."""
    if isinstance(cell, bool) or not isinstance(cell, int | float | Decimal):
        raise ValueError
    return repr(cell) if isinstance(cell, float) else str(cell)


def read_integer(row: Mapping[str, Any], column: str) -> int:
    number = _read_number(row, column)
    if not 0 <= number <= _MAX_INTEGER or number != int(number):
        raise InvalidTable(f"{column} must be a whole number, 0 to 2^53")
    return int(number)


def _read_cuts(row: Mapping[str, Any], column: str) -> list[Decimal]:
    return [_number(cut, column) for cut in str(_cell(row, column) or "").split()]


def _read_field(row: Mapping[str, Any], column: str, schema: Schema) -> Any:
    """The field of a query with this schema: a number, a word, an object, or a list of numbers, words or lists."""
    text = str(_cell(row, column) or "")
    if schema["type"] == "integer":
        return read_integer(row, column)
    if schema["type"] == "string":
        return text
    if schema["type"] == "object":
        return _object(text, column)
    if schema["type"] != "array":
        return _read_number(row, column)
    if schema["items"]["type"] == "array":
        return [_items(some, column, schema["items"]["items"]) for some in text.split("|")]
    return _items(text, column, schema["items"])


def _items(text: str, column: str, schema: Schema) -> list[Any]:
    """The numbers, whole numbers or words that are separated by blanks."""
    words = text.split()
    if schema["type"] == "number":
        return [_number(word, column) for word in words]
    return words if schema["type"] == "string" else _whole_numbers(words, column)


def _object(text: str, column: str) -> Any:
    try:
        return decode(text.encode())
    except ValueError:
        raise InvalidTable(f"{column} must be a query as JSON") from None


def _whole_numbers(words: list[str], column: str) -> list[int]:
    if not all(word.isascii() and word.isdigit() and len(word) <= _MAX_DIGITS for word in words):
        raise InvalidTable(f"{column} must hold whole numbers")
    return [int(word) for word in words]
