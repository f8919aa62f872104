"""The checker of all faults notices what it is there for."""

from collections.abc import Callable

import pytest
from sqlalchemy import Connection, delete, text

from dither_server.database import schema
from dither_server.database.engine import make_engine, writing
from testing.faults.checker import Acknowledged, check_database
from testing.servers.site import Site


def lose(connection: Connection) -> None:
    connection.execute(delete(schema.answers).where(schema.answers.c.answer == 1))


def lose_with_its_count(connection: Connection) -> None:
    lose(connection)
    connection.execute(delete(schema.counts).where(schema.counts.c.answer == 1))


def count_twice(connection: Connection) -> None:
    connection.execute(text("UPDATE counts SET count = count + 1 WHERE answer = 1"))


def change(connection: Connection) -> None:
    connection.execute(text("UPDATE answers SET answer = 1 - answer"))
    connection.execute(text("DELETE FROM counts"))
    group = "SELECT collection, query, answer, 0, count(*) FROM answers GROUP BY collection, query, answer"
    connection.execute(text(f"INSERT INTO counts (collection, query, answer, slot, count) {group}"))


@pytest.mark.parametrize("damage", [lose, lose_with_its_count, count_twice, change])
def test_damage_is_noticed(site: Site, damage: Callable[[Connection], None]) -> None:
    collection = site.create(policy="fixed:0:1", levels=1)
    acknowledged: Acknowledged = {}
    for i, ticket in enumerate(site.tickets(collection, 5)):
        answer = int(i == 0)
        acknowledged[ticket] = (answer, site.respond(collection, ticket, answer).json()["receipt"])
    check_database(site.url, acknowledged)
    engine = make_engine(site.url)
    with writing(engine).begin() as connection:
        damage(connection)
    engine.dispose()
    with pytest.raises(AssertionError):
        check_database(site.url, acknowledged)
