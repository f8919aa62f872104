"""Deleting collections, restoring them, and removing them for good once nobody has restored them in time.

    there ──► deleted ──► being removed ──► removed: only its receipt is left
      ▲          │         (cannot be restored)
      └──────────┘
       restored in time

A collection that was created with `keep_days` is removed when they are over, without the time to restore it.
"""

import json
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection, Engine, select, update
from sqlalchemy.exc import IntegrityError

from dither_server.audit import audit
from dither_server.clock import Clock, milliseconds
from dither_server.collections.collection import Collection
from dither_server.collections.collections import Collections
from dither_server.collections.deletion_receipt import ReceiptSigner
from dither_server.collections.retention import DAY
from dither_server.database.audit_log import append_audit
from dither_server.database.purge import begin_purge, drop_answers, purge_step
from dither_server.database.schema import collections, deletions
from dither_server.errors import CollectionDeleted, CollectionRefused, NotDeleted, Unavailable

__all__ = ["Deleted", "Deletions"]

_ANSWERS = 5_000
"""The most answers that one transaction drops."""

_MOST_FAILED = 20

_log = logging.getLogger(__name__)

Transact = Callable[[Callable[[Connection], Any]], Any]


@dataclass(frozen=True)
class Deleted:
    """A deleted collection that can still be restored. Times are milliseconds."""

    collection: str
    name: str
    deleted_at: int
    purge_at: int


class Deletions:
    """Deletes, restores and removes collections. Every method waits for the database: not for the event loop."""

    def __init__(
        self,
        engine: Engine,
        transact: Transact,
        found: Collections,
        signer: ReceiptSigner,
        clock: Clock,
        stopping: threading.Event,
        restore_days: int,
    ) -> None:
        self._engine = engine
        self._transact = transact
        self._collections = found
        self._signer = signer
        self._clock = clock
        self._stopping = stopping
        self._restore_days = restore_days

    @property
    def public_key(self) -> str:
        """The key that verifies receipts, hexadecimal."""
        return self._signer.public_key

    def delete(self, collection_id: str, by: str) -> Deleted:
        """Deletes a collection, which may be deleted already. Raises `NotFound`, and `CollectionDeleted` if removed."""
        collection = self._collections.stored(collection_id)
        now = milliseconds(self._clock())
        self._mark(collection, by, now, now + self._restore_days * DAY)
        return _deleted(self._collections.numbered(collection.number))

    def restore(self, collection_id: str, by: str) -> Collection:
        """Restores a deleted collection, which may be there already. Raises `NotFound`, and `CollectionDeleted`."""
        collection = self._collections.stored(collection_id)
        self._transact(lambda connection: self._unmark(connection, collection, by))
        self._collections.refresh()
        return self._collections.get(collection_id)

    def purge(self, collection_id: str, by: str) -> dict[str, Any]:
        """Removes a deleted collection for good, and returns the receipt. A second call returns the same receipt.

        Raises `NotFound`, and `NotDeleted` unless it was deleted.
        """
        number = self._removed(collection_id)
        if number is None:
            number = self._collections.stored(collection_id).number
        return self._purge(number, by, None)

    def receipts(self) -> list[dict[str, Any]]:
        """The receipts of all collections that were removed for good, oldest first."""
        found = select(deletions.c.receipt).where(deletions.c.receipt.is_not(None)).order_by(deletions.c.number)
        with self._engine.connect() as connection:
            return [dict(json.loads(text)) for text in connection.execute(found).scalars()]

    def deleted(self) -> list[Deleted]:
        """The collections that can still be restored, newest first."""
        begun = self._begun()
        every = self._collections.with_deleted()
        return [_deleted(one) for one in every if one.deleted_at is not None and one.number not in begun]

    def sweep(self) -> None:
        """Does what is due: drops answers, and removes collections whose time is over. Any process may, at any time.

        What fails for one collection is logged, and the others have their turn. Raises `Unavailable` if the server is
        stopping.
        """
        now = milliseconds(self._clock())
        for number, collection_id in self._begun().items():
            self._apart(collection_id, partial(self._purge, number, "server", None))
        for collection in list(self._collections.with_deleted()):
            self._apart(collection.id, partial(self._do_what_is_due, collection, now))

    def _apart(self, collection_id: str, work: Callable[[], object]) -> None:
        """Does some `work` on a collection, and logs that it failed."""
        self._check_running()
        try:
            work()
        except Unavailable:
            raise
        except CollectionRefused:
            pass  # it was restored, or another process has removed it
        except Exception as error:
            facts = {"collection": collection_id, "error": type(error).__name__}
            _log.error("what is due to be removed of a collection could not be", extra=facts)

    def _do_what_is_due(self, collection: Collection, now: int) -> None:
        if collection.ends_at is not None and now >= collection.ends_at and collection.deleted_at is None:
            self._mark(collection, "keep_days", now, now)
            collection = self._collections.numbered(collection.number)
        if collection.purge_at is not None and now >= collection.purge_at:
            self._purge(collection.number, "server", now)
        elif collection.keep_answers_days is not None:
            self._drop(collection, now - collection.keep_answers_days * DAY)

    def _mark(self, collection: Collection, by: str, at: int, purge_at: int) -> None:
        def run(connection: Connection) -> None:
            still_there = update(collections).where(
                collections.c.number == collection.number, collections.c.deleted_at.is_(None)
            )
            if connection.execute(still_there.values(deleted_at=at, deleted_by=by, purge_at=purge_at)).rowcount:
                self._note(connection, "collection deleted", by, collection.id)

        self._transact(run)
        self._collections.refresh()

    def _unmark(self, connection: Connection, collection: Collection, by: str) -> None:
        # The lock is the one that `begin_purge` takes first.
        locked = select(collections.c.deleted_at).where(collections.c.number == collection.number).with_for_update()
        row = connection.execute(locked).one_or_none()
        begun = select(deletions.c.number).where(deletions.c.number == collection.number)
        if row is None or connection.execute(begun).first() is not None:
            raise CollectionDeleted
        if row.deleted_at is not None:
            there = update(collections).where(collections.c.number == collection.number)
            connection.execute(there.values(deleted_at=None, deleted_by=None, purge_at=None))
            self._note(connection, "collection restored", by, collection.id)

    def _removed(self, collection_id: str) -> int | None:
        """The number of a collection that is being removed, or was."""
        found = select(deletions.c.number).where(deletions.c.id == collection_id)
        with self._engine.connect() as connection:
            number: int | None = connection.execute(found).scalar_one_or_none()
            return number

    def _begun(self) -> dict[int, str]:
        """The numbers of the collections that are being removed, with their ids."""
        found = select(deletions.c.number, deletions.c.id).where(deletions.c.receipt.is_(None))
        with self._engine.connect() as connection:
            return {row.number: row.id for row in connection.execute(found)}

    def _purge(self, number: int, by: str, due: int | None) -> dict[str, Any]:
        """Removes a collection; `due` as in `begin_purge`."""
        self._transact(lambda connection: begin_purge(connection, number, by, due))
        receipt: str | None = None
        failed = 0
        while receipt is None:
            self._check_running()
            try:
                receipt = self._transact(lambda connection: self._step(connection, number))
            except IntegrityError:  # somebody has just asked a question that was to go: the next step leaves it
                failed += 1
                if failed == _MOST_FAILED:
                    raise
        self._collections.refresh()
        return dict(json.loads(receipt))

    def _check_running(self) -> None:
        if self._stopping.is_set():
            raise Unavailable("The server is stopping: what it removes, it goes on with after its next start.")

    def _step(self, connection: Connection, number: int) -> str | None:
        def sign(facts: Any) -> str:
            self._note(connection, "collection removed", facts["removed_by"], facts["collection"])
            return self._signer.sign(facts)

        return purge_step(connection, number, milliseconds(self._clock()), sign)

    def _drop(self, collection: Collection, received_before: int) -> None:
        dropped = _ANSWERS
        while dropped == _ANSWERS:
            self._check_running()
            dropped = self._transact(
                lambda connection: drop_answers(connection, collection.number, received_before, _ANSWERS)
            )

    def _note(self, connection: Connection, what: str, by: str, collection: str) -> None:
        audit(what, by, collection=collection)
        append_audit(connection, milliseconds(self._clock()), what, by, collection=collection)


def _deleted(collection: Collection) -> Deleted:
    if collection.deleted_at is None or collection.purge_at is None:  # restored a moment ago
        raise NotDeleted
    return Deleted(collection.id, collection.survey["name"], collection.deleted_at, collection.purge_at)
