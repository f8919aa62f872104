"""Tables of answers: each answer with its question, so that the table can be counted wherever it is kept."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from dither_client.analyst import Analyst, specification_of
from dither_client.errors import BadResponse, InvalidTable
from dither_client.extras import require_extra
from dither_client.tables.counts import GROUP_COLUMN, PERIOD_COLUMN
from dither_client.tables.days import Manifest, answer_columns, read_manifest, write_day

__all__ = ["answer_rows", "save_days"]

_CLOCKS_DIFFER = timedelta(minutes=1)


def answer_rows(analyst: Analyst, collection: str, answers: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The answers as rows with the columns `answer_columns`, and always `group` and `period`. Raises `BadResponse`."""
    texts: dict[Any, str] = {}
    for answer in answers:
        name = answer.get("query_id")
        if name not in texts:  # the first time, and when a question has been asked since
            texts = _questions(analyst, collection)
            if name not in texts:
                raise BadResponse("the server lists an answer to a question that it does not list")
        yield {
            "collection": collection,
            "ticket": answer.get("ticket"),
            "query_id": name,
            "query": texts[name],
            "purpose": answer.get("purpose", "training"),
            "answer": answer.get("answer"),
            "received_at": answer.get("received_at"),
            GROUP_COLUMN: answer.get("group"),
            PERIOD_COLUMN: answer.get("period"),
        }


def save_days(analyst: Analyst, collection: str, folder: Path) -> int:
    """Writes a file for each day that is over and not in the folder yet, and returns how many answers they have.

    Raises `ServerError`, `InvalidTable`, `MissingExtra` and `OSError`.
    """
    require_extra("tables", "pyarrow")
    terms = analyst.terms(collection)
    folder.mkdir(exist_ok=True)
    manifest = read_manifest(folder) or Manifest(folder, collection, specification_of(terms))
    if manifest.collection != collection:
        raise InvalidTable(f"{folder} has the answers of another collection: name another folder")
    before, columns = manifest.rows, answer_columns(terms)
    day = manifest.days[-1].day + timedelta(1) if manifest.days else _first_day(terms)
    while (answers := analyst.answers_of_day(collection, day)) is not None:
        rows = answer_rows(analyst, collection, answers)
        manifest = manifest.with_day(write_day(folder, collection, day, rows, columns))
        day += timedelta(1)
    return manifest.rows - before


def _first_day(terms: Mapping[str, Any]) -> date:
    try:
        return (datetime.fromisoformat(terms["created_at"]) - _CLOCKS_DIFFER).date()
    except (KeyError, TypeError, ValueError):
        raise BadResponse("the server does not say when the collection was created") from None


def _questions(analyst: Analyst, collection: str) -> dict[Any, str]:
    """The canonical JSON of every question, by its id."""
    asked = (*analyst.queries(collection), *analyst.queries(collection, "check"))
    return {one.query.id: one.query.canonical for one in asked}
