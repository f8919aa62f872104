"""Collections as rows of the database: reading them, adding one, changing the state of one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, RowMapping, func, insert, select, update

from dither_server.clock import milliseconds
from dither_server.collections.collection import Collection, State
from dither_server.collections.specification import parse_spec
from dither_server.collections.survey import Survey
from dither_server.collections.terms import statistical_terms
from dither_server.database.schema import collections, deletions
from dither_server.errors import CollectionClosed, CollectionDeleted
from dither_server.http.bodies import parse_json
from dither_server.http.path_ids import is_id
from dither_server.replicas.leases import insert_lease

__all__ = ["Standing", "in_state", "insert_collection", "is_stored", "load", "set_stored_state"]


class Standing(NamedTuple):
    """What changes in a row of `collections`."""

    stored_state: State
    deleted_at: int | None
    purge_at: int | None


def is_stored(engine: Engine, collection_id: str) -> bool:
    """Whether there is a collection with this id. Raises `CollectionDeleted` if it was removed for good."""
    if not is_id(collection_id):
        return False
    with engine.connect() as connection:
        found = select(collections.c.number).where(collections.c.id == collection_id)
        if connection.execute(found).first() is not None:
            return True
        removed = select(deletions.c.number).where(deletions.c.id == collection_id)
        if connection.execute(removed).first() is not None:
            raise CollectionDeleted
        return False


def in_state(collection: Collection, now: Standing) -> Collection:
    before = (collection.stored_state, collection.deleted_at, collection.purge_at)
    return collection if before == now else replace(collection, **now._asdict())


def insert_collection(connection: Connection, row: Mapping[str, Any], holder: str) -> None:
    if connection.dialect.name == "sqlite":  # it would give the number of a removed collection again, with its tickets
        used = [connection.execute(select(func.max(one.c.number))).scalar_one() for one in (collections, deletions)]
        row = {**row, "number": max(number or 0 for number in used) + 1}
    number = connection.execute(insert(collections).returning(collections.c.number), row).scalar_one()
    insert_lease(connection, number, holder)


def set_stored_state(connection: Connection, number: int, state: State) -> None:
    # If it was closed in the meantime, it stays closed.
    still_open = update(collections).where(collections.c.number == number, collections.c.state != "closed")
    changed = connection.execute(still_open.values(state=state)).rowcount
    if not changed and state != "closed":
        raise CollectionClosed("The collection is permanently closed: create another one.")


def load(row: RowMapping | Mapping[str, Any]) -> Collection:
    data = parse_json(row["specification"].encode())
    service, specification = parse_spec(data)
    return Collection(
        number=row["number"],
        id=row["id"],
        created_at=row["created_at"],
        stored_state=row["state"],
        deleted_at=row["deleted_at"],
        purge_at=row["purge_at"],
        opens_at=milliseconds(service.opens_at.timestamp()) if service.opens_at else None,
        closes_at=row["closes_at"],
        max_answers=row["max_answers"],
        keep_answers=row["keep_answers"],
        keep_answers_days=service.keep_answers_days,
        keep_days=service.keep_days,
        admission=service.admission,
        visibility=service.visibility,
        words=service.model_dump(include=set(Survey.model_fields)),
        specification=specification,
        statistics=statistical_terms(service, specification),
    )
