"""All collections of a server, and whether they issue tickets now."""

import asyncio
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from threading import Lock
from typing import Any

from sqlalchemy import Engine, select

from dither_server.answers.writer import Writer
from dither_server.clock import Clock, milliseconds
from dither_server.collections.collection import Collection, State
from dither_server.collections.rows import Standing, in_state, insert_collection, is_stored, load, set_stored_state
from dither_server.collections.specification import parse_new_spec
from dither_server.collections.survey import AnswerPage
from dither_server.collections.timetable import check_times
from dither_server.database.reads import Store
from dither_server.database.refreshed import Refreshed
from dither_server.database.schema import collections
from dither_server.database.shared_reads import SharedReads
from dither_server.errors import CollectionClosed, CollectionDeleted, InvalidBody, NotFound
from dither_server.http.bodies import parse_json

__all__ = ["Collections"]

_ID_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
"""Letters and digits that are not easily confused."""
_ID_LENGTH = 10
_TOTALS_BY_NUMBER = 1_000
"""The most collections whose answers are counted by number; where there are more, those of all are."""
_RIGHT_REPLIES = 4
"""How many numbers of right replies there can be, to the three questions of a check."""

_FIRST = {"number": 0, "deleted_at": None, "purge_at": None}
"""The columns that a collection's row gets when it is stored."""


class Collections:
    """All collections, in memory, so that issuing a ticket reads no database. `holder` names this process in leases."""

    def __init__(self, engine: Engine, store: Store, writer: Writer, clock: Clock, holder: str) -> None:
        self._engine = engine
        self._store = store
        self._writer = writer
        self._clock = clock
        self._holder = holder
        self._by_id: dict[str, Collection] = {}
        self._by_number: dict[int, Collection] = {}
        self._totals: dict[int, int] = {}
        """The number of answers of each collection with a maximum."""
        self._noting = Lock()
        self._refreshed = Refreshed(self._read)
        self._unknown = SharedReads(self.stored)
        """Reads of collections that this process does not know."""
        self.refresh()

    def refresh(self) -> None:
        """Reads new collections, and the states of all, from the database."""
        self._refreshed.refresh()

    def get(self, collection_id: str) -> Collection:
        """The collection with this id, from the database if this process does not know it.

        Raises `NotFound`, and `CollectionDeleted` if it was deleted.
        """
        collection = self.stored(collection_id)
        if collection.deleted_at is not None:
            raise CollectionDeleted
        return collection

    def stored(self, collection_id: str) -> Collection:
        """Does what `get` does, but also finds a deleted collection that can still be restored."""
        # Another process may have just created it. Made-up ids must not cause all collections to be read.
        if collection_id not in self._by_id and is_stored(self._engine, collection_id):
            self.refresh()
        try:
            return self._by_id[collection_id]
        except KeyError:
            raise NotFound("There is no collection with this id: see the list of collections.") from None

    async def find(self, collection_id: str) -> Collection:
        """Does what `get` does, and may be called on the event loop."""
        collection = await self.find_stored(collection_id)
        if collection.deleted_at is not None:
            raise CollectionDeleted
        return collection

    async def find_stored(self, collection_id: str) -> Collection:
        """Does what `stored` does, and may be called on the event loop."""
        if collection_id in self._by_id:
            return self._by_id[collection_id]
        return await self._unknown.of(collection_id)

    def numbered(self, number: int) -> Collection:
        """The collection with this number, deleted or not. Raises `CollectionDeleted` if nothing of it is left."""
        if number not in self._by_number:
            self.refresh()
        try:
            return self._by_number[number]
        except KeyError:
            raise CollectionDeleted from None

    def known(self, number: int) -> bool:
        """Whether this process knows a collection with this number, deleted or not."""
        return number in self._by_number

    def may_have_shares(self, number: int) -> bool:
        """Whether institutions may share counts with this collection, as far as this process knows."""
        known = self._by_number.get(number)
        return known is None or known.specification.member_cuts is not None

    def deleted(self, collection: Collection) -> bool:
        """Whether the collection is deleted by now, as far as this process knows."""
        known = self._by_id.get(collection.id)
        return known is None or known.deleted_at is not None

    def specification_text(self, number: int) -> str:
        """The JSON text that a collection was created with. Raises `CollectionDeleted` if it is gone."""
        found = select(collections.c.specification).where(collections.c.number == number)
        with self._engine.connect() as connection:
            text: str | None = connection.execute(found).scalar_one_or_none()
        if text is None:
            raise CollectionDeleted
        return text

    def limited(self) -> list[int]:
        """The numbers of the collections whose number of answers decides whether they issue tickets."""
        return [one.number for one in self.all() if one.max_answers is not None and one.stored_state != "closed"]

    def note_totals(self, totals: Mapping[int, int | None]) -> None:
        """Updates the numbers of answers of collections with a maximum; None for others. Thread-safe."""
        with self._noting:
            for number, total in totals.items():
                if total is not None:
                    self._totals[number] = max(total, self._totals.get(number, 0))

    def check_issues(self, collection: Collection) -> None:
        """Raises a `CollectionRefused` unless the collection issues tickets now."""
        collection.check_issues(milliseconds(self._clock()), self._totals.get(collection.number, 0))

    def state(self, collection: Collection) -> State:
        """The collection's state now, as far as this process knows, without reading the database."""
        known = self._by_id.get(collection.id, collection)
        return known.state(milliseconds(self._clock()), self._totals.get(known.number, 0))

    def terms(self, collection: Collection, languages: Sequence[str] = ()) -> dict[str, Any]:
        """The collection's terms now, with its number of answers from the database."""
        return collection.terms(milliseconds(self._clock()), self._store.total(collection.number), languages)

    def listed(
        self, shown: Callable[[Collection], bool], after: str | None = None, limit: int | None = None
    ) -> tuple[list[Collection], str | None]:
        """The collections for which `shown` holds, newest first: up to `limit` that are older than the one `after`.

        Beside them stands the last one's id if there are more. Raises `InvalidBody` if there is no collection `after`.
        """
        found = iter(self.all())
        if after is not None:
            try:
                newest = self.stored(after).number
            except (NotFound, CollectionDeleted):
                raise InvalidBody("after: Input should be `next` from an earlier page.") from None
            found = (one for one in found if one.number < newest)
        found = filter(shown, found)
        some = list(islice(found, limit))
        return some, some[-1].id if some and next(found, None) is not None else None

    def counted(self, some: Sequence[Collection]) -> tuple[int, list[int]]:
        """The time now in milliseconds, and the number of answers of each of these collections, from the database."""
        numbers = [one.number for one in some]
        totals = self._store.totals(numbers if len(numbers) <= _TOTALS_BY_NUMBER else None) if some else {}
        return milliseconds(self._clock()), [totals.get(number, 0) for number in numbers]

    def all_terms(self, some: Sequence[Collection]) -> list[dict[str, Any]]:
        """The terms of these collections."""
        now, totals = self.counted(some)
        return [collection.terms(now, answers) for collection, answers in zip(some, totals, strict=True)]

    def all(self) -> Iterable[Collection]:
        """Every collection that is not deleted, newest first."""
        return (one for one in self.with_deleted() if one.deleted_at is None)

    def with_deleted(self) -> Iterable[Collection]:
        """Every collection, also those that are deleted and can still be restored, newest first."""
        return reversed(list(self._by_id.values()))

    async def create(self, body: bytes, tell: Callable[[Collection], object]) -> Collection:
        """Creates the collection that `body` describes, unless `tell` raises for what is to be stored.

        Raises what `parse_json` and `parse_new_spec` raise.
        """
        # In a thread, since the designs for each ε that may be chosen take a moment.
        service, specification = await asyncio.to_thread(parse_new_spec, parse_json(body))
        for page in service.pages or ():
            await self._check_page(page)
        now = milliseconds(self._clock())
        check_times(service, specification.panel, now)
        row = {
            "id": "".join(secrets.choice(_ID_LETTERS) for _ in range(_ID_LENGTH)),
            "specification": body.decode(),
            "state": "open",
            "created_at": now,
            "closes_at": milliseconds(service.closes_at.timestamp()) if service.closes_at else None,
            "max_answers": service.max_answers,
            "keep_answers": service.keep_answers,
        }
        await asyncio.to_thread(lambda: tell(load(_FIRST | row)))
        await self._writer.run(lambda connection: insert_collection(connection, row, self._holder))
        return await self._reread(str(row["id"]))

    async def _check_page(self, page: AnswerPage) -> None:
        """Raises `InvalidBody` unless the collection that the page's check names can count right replies."""
        if page.check is None:
            return
        try:
            found = await self.find(page.check)
        except (NotFound, CollectionDeleted):
            raise InvalidBody("pages: There is no collection with the id of a check: create it first.") from None
        if len(found.specification.categories) != _RIGHT_REPLIES:
            raise InvalidBody(
                f"pages: The collection of a check must have {_RIGHT_REPLIES} categories, of 0 to 3 right replies."
            )

    async def set_state(self, collection_id: str, state: State) -> Collection:
        """Opens, pauses or closes a collection. Raises `NotFound`, and `CollectionClosed` if it is closed already."""
        collection = await self.find(collection_id)
        terms = await asyncio.to_thread(self.terms, collection)
        if terms["state"] == "closed" and state != "closed":
            raise CollectionClosed("The collection is permanently closed: create another one.")
        await self._writer.run(lambda connection: set_stored_state(connection, collection.number, state))
        return await self._reread(collection_id)

    async def _reread(self, collection_id: str) -> Collection:
        await asyncio.to_thread(self.refresh)
        return await asyncio.to_thread(self.get, collection_id)

    def _read(self) -> None:
        row_of = collections.c
        columns = (row_of.number, row_of.state, row_of.deleted_at, row_of.purge_at)
        with self._engine.connect() as connection:
            states = {number: Standing(*rest) for number, *rest in connection.execute(select(*columns))}
            new = states.keys() - self._by_number.keys()
            wanted = (
                select(collections).where(collections.c.number.in_(new)) if self._by_number else select(collections)
            )
            rows = connection.execute(wanted).mappings().all() if new else []
        known = {number: in_state(self._by_number[number], states[number]) for number in states.keys() - new}
        known |= {row["number"]: load(row) for row in rows}
        self._by_number = {number: known[number] for number in sorted(known)}
        self._by_id = {one.id: one for one in self._by_number.values()}
