"""A process that is killed while it removes a collection: another one goes on, and in the end nothing is left."""

import threading
from contextlib import suppress
from typing import Any

import httpx2
from sqlalchemy import func, select

from dither_server.database.engine import make_engine, reading
from dither_server.database.schema import answers, collections, counts
from testing.databases import check_counts
from testing.patience import PATIENCE, until
from testing.servers.defaults import ADMIN, RETRY_KEY, SPEC
from testing.servers.process import running

ANSWERS = 600
SLOWLY = (
    "from dither_server.database import purge; from dither_server.service import housekeeper; "
    "purge._ROWS = 2; housekeeper.SWEEP_SECONDS = 0.1"
)
"""Removes few rows at a time, and looks all the time whether something is to be removed."""


def answered(client: httpx2.Client) -> str:
    """A collection with many answers."""
    collection = str(client.post("/v1/collections", json=SPEC).json()["id"])
    path = f"/v1/collections/{collection}"
    tickets = client.post(f"{path}/tickets", json={"count": ANSWERS}).json()["tickets"]
    responses = [{"ticket": one["ticket"], "answer": 0, "retry_key": RETRY_KEY} for one in tickets]
    items = client.post(f"{path}/responses/batch", json={"responses": responses}).json()["responses"]
    assert [item["status"] for item in items] == [201] * ANSWERS
    return collection


def test_whoever_is_left_finishes(database_url: str) -> None:
    engine = make_engine(database_url)

    def rows(table: Any) -> int:
        with reading(engine).connect() as connection:
            return int(connection.execute(select(func.count()).select_from(table)).scalar_one())

    with running(database_url, before=SLOWLY) as first, running(database_url, before=SLOWLY) as second:
        with httpx2.Client(base_url=first.url, headers=ADMIN, timeout=PATIENCE) as client:
            kept, collection = answered(client), answered(client)
            path = f"/v1/collections/{collection}"
            assert client.delete(path).status_code == 200

            def remove() -> None:
                with suppress(httpx2.TransportError):
                    httpx2.delete(f"{first.url}{path}?purge=true", headers=ADMIN, timeout=PATIENCE)

            thread = threading.Thread(target=remove)
            thread.start()
            until(lambda: rows(answers) < 2 * ANSWERS, "nothing is removed")
            first.kill()
            thread.join()
        with httpx2.Client(base_url=second.url, headers=ADMIN, timeout=PATIENCE) as client:
            until(lambda: client.get("/v1/deletions").json()["removed"], "nobody finishes the removal")
            [receipt] = client.get("/v1/deletions").json()["removed"]
            assert (receipt["collection"], receipt["rows"]["answers"]) == (collection, ANSWERS)
            assert client.get(path).status_code == 410
            assert client.get(f"/v1/collections/{kept}").json()["answers"] == ANSWERS
            assert client.post(f"/v1/collections/{kept}/tickets").status_code == 201
    assert (rows(collections), rows(answers)) == (1, ANSWERS)
    assert rows(counts) > 0
    check_counts(engine)
    engine.dispose()
