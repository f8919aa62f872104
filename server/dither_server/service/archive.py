"""Everything about one collection as a ZIP file, which is written while it is read, and never held as a whole.

Receipts are apart from answers and sorted, so that nobody sees which answer a receipt is of. The last file is the
manifest: size and SHA-256 of each of the others. A collection that still takes answers goes on doing so meanwhile, so
its files may differ by the last few; close or pause it first if they must not.
"""

import csv
import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dither_client.posterior.wire import PosteriorReply, to_json
from dither_client.tables.counts import write_table
from dither_client.tables.csv_file import written_cell
from dither_server.clock import iso_time, milliseconds
from dither_server.collections.collection import Collection
from dither_server.collections.count_table import counted_rows
from dither_server.collections.institutions import table_of
from dither_server.database.reads import AnswerRow, HistoryRow
from dither_server.service.service import Service
from dither_server.tickets.packing import Purpose

__all__ = ["archive"]

_PAGE = 10_000
_PURPOSES: tuple[Purpose, ...] = ("training", "check")

_Part = tuple[str, Iterable[bytes]]


def archive(service: Service, collection: Collection, posterior: PosteriorReply) -> Iterator[bytes]:
    """The bytes of the ZIP file. It reads the database as it goes: not on the event loop."""
    sink = _Sink()
    at = milliseconds(service.clock())
    files: dict[str, dict[str, Any]] = {}
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in _parts(service, collection, posterior):
            digest, size = hashlib.sha256(), 0
            with zipped.open(_entry(name, at), "w", force_zip64=True) as file:
                for piece in content:
                    file.write(piece)
                    digest.update(piece)
                    size += len(piece)
                    yield sink.taken()
            files[name] = {"bytes": size, "sha256": digest.hexdigest()}
        manifest = {"collection": collection.id, "made_at": iso_time(at), "files": files}
        zipped.writestr(_entry("manifest.json", at), _json(manifest))
    yield sink.taken()


def _parts(service: Service, collection: Collection, posterior: PosteriorReply) -> Iterator[_Part]:
    number, store = collection.number, service.store
    yield "specification.json", [service.collections.specification_text(number).encode()]
    yield "terms.json", [_json(service.collections.terms(collection))]
    yield from _counts(service, collection)
    yield "questions.jsonl", _questions(service, number)
    yield "answers.csv", _answers(service, collection)
    yield "receipts.txt", _receipts(service, number)
    yield "posterior.json", [_json(to_json(posterior))]
    yield "history.jsonl", (_line(_history(row)) for row in store.history(number))
    yield "goodness-of-fit.json", [_json([asdict(look) for look in store.looks(number)])]
    yield "institutions.json", [_json([asdict(share) for share in service.institutions.shares(number)])]
    made, redeemed = service.invitations.tally(number)
    yield "invitations.json", [_json({"made": made, "redeemed": redeemed})]
    yield "quality.json", [_json(service.quality.report(collection, posterior, service.clock()))]
    yield "audit.jsonl", _audit(service, collection.id)


def _counts(service: Service, collection: Collection) -> Iterator[_Part]:
    """The count tables, from which `dither estimate` computes the posterior again."""
    members = table_of(collection, service.institutions.shares(collection.number))
    checked: tuple[Purpose, ...] = ("training",) if collection.specification.misfit_check is None else _PURPOSES
    for purpose in checked:
        counted = service.store.counts(collection.number, purpose)
        with TemporaryDirectory() as folder:
            file = Path(folder) / "counts.csv"
            write_table(file, counted_rows(collection, counted, members if purpose == "training" else None))
            yield ("counts.csv" if purpose == "training" else "check-counts.csv"), [file.read_bytes()]


def _questions(service: Service, number: int) -> Iterator[bytes]:
    """The questions that were answered, by the ids that `answers.csv` has."""
    for purpose in _PURPOSES:
        rows = {row.query_id: row.query for row in service.store.counts(number, purpose)}
        for name, query in rows.items():
            yield _line({"id": name, "purpose": purpose, "query": json.loads(query)})


def _pages(service: Service, number: int) -> Iterator[list[AnswerRow]]:
    after = b""
    while rows := service.store.answers(number, after, _PAGE):
        yield rows
        after = rows[-1].ticket


def _answers(service: Service, collection: Collection) -> Iterator[bytes]:
    specification = collection.specification
    parts = [*(["group"] if specification.groups else []), *(["period"] if specification.period else [])]
    columns = ("query_id", "purpose", "answer", "received_at", *parts)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for rows in _pages(service, collection.number):
        for row in rows:
            labels = {"group": collection.group_label(row.group), "period": collection.period_label(row.period)}
            of = [written_cell(labels[part]) for part in parts]
            writer.writerow([row.query_id, row.purpose, row.answer, iso_time(row.received_at), *of])
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    yield text.getvalue().encode()


def _receipts(service: Service, number: int) -> Iterator[bytes]:
    """The receipts of the answers that are kept: their order says nothing."""
    receipts = sorted(service.tickets.receipt(row.ticket) for rows in _pages(service, number) for row in rows)
    for at in range(0, len(receipts), _PAGE):
        yield "".join(f"{receipt}\n" for receipt in receipts[at : at + _PAGE]).encode()


def _history(row: HistoryRow) -> dict[str, Any]:
    texts = {"posterior": json.loads(row.posterior), "query": json.loads(row.query)}
    return {"answers": row.answers, "at": iso_time(row.at), "ess": row.ess, **texts}


def _audit(service: Service, collection: str) -> Iterator[bytes]:
    after = 0
    while rows := service.trail.rows(collection, after, _PAGE):
        yield from (_line(row.to_json()) for row in rows)
        after = rows[-1].number


def _entry(name: str, at: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, datetime.fromtimestamp(at / 1000, UTC).timetuple()[:6])
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False).encode() + b"\n"


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode() + b"\n"


class _Sink(io.RawIOBase):
    """A buffer that is filled and emptied in turns: a ZIP file is written from its beginning to its end."""

    def __init__(self) -> None:
        super().__init__()
        self._written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        self._written += piece
        return len(piece)

    def taken(self) -> bytes:
        taken, self._written = bytes(self._written), bytearray()
        return taken
