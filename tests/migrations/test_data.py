"""A database of the first schema with a row in every table: the server of today goes on with it."""

import hashlib
import hmac
import json
import os
import struct
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import pytest
from alembic import command
from sqlalchemy import MetaData, insert, inspect, text

from dither_client import Laplace
from dither_estimator.learning.learner import Learner
from dither_estimator.specification.specification import Specification
from dither_migrations.upgrade import _config
from dither_server.database.engine import make_engine, writing
from dither_server.errors import StartRefused
from dither_server.tickets.packing import pack_query
from testing.servers.defaults import SPEC
from testing.servers.site import START, open_site

ANSWERED = 40
QUERY = Laplace(48, 52, 1, 1)
TOKEN = "dither_analyst_of_long_ago"


def old_database(url: str) -> list[str]:
    """Makes the database; returns its tickets, of which the first 40 are answered with 1."""
    engine = make_engine(url)
    config = _config()
    with writing(engine).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    keys = [int(START).to_bytes(4, "big") + os.urandom(16) for _ in range(ANSWERED + 10)]
    rows = _rows(keys[:ANSWERED])
    tables = MetaData()
    tables.reflect(engine)
    assert rows.keys() == tables.tables.keys() - {"alembic_version"}  # a row in every table
    with writing(engine).begin() as connection:
        for name in ("collections", "queries", "answers", "counts", "snapshots", "history", "tokens"):
            connection.execute(insert(tables.tables[name]), rows[name])
    engine.dispose()
    return [_ticket(key) for key in keys]


def _ticket(key: bytes) -> str:
    """A ticket as the first version made it, with one key and without its number."""
    payload = struct.pack(">20sII", key, 1, int(START) + 24 * 3600) + pack_query(QUERY)
    encoded = urlsafe_b64encode(payload).rstrip(b"=")
    secret = hmac.digest(b"secret of the tests", b"dither ticket", "sha256")
    signature = urlsafe_b64encode(hmac.digest(secret, encoded, "sha256")).rstrip(b"=")
    return (encoded + b"." + signature).decode()


def _rows(keys: list[bytes]) -> dict[str, list[dict[str, Any]]]:
    at = int(START * 1000)
    learner = Learner(Specification.from_json(SPEC), 1)
    learner.learn_counts({QUERY: [0, ANSWERED]})
    posterior = learner.posterior().to_json()
    answer = {"collection": 1, "query": 1, "answer": 1}
    query = json.dumps(QUERY.to_json())
    return {
        "collections": [{"id": "longago", "specification": json.dumps(SPEC), "state": "open", "created_at": at}],
        "queries": [{"id": QUERY.id, "query": query}],
        "answers": [answer | {"ticket": key, "received_at": at} for key in keys],
        "counts": [answer | {"slot": 0, "count": ANSWERED}],
        "snapshots": [{"collection": 1, "answers": ANSWERED, "stored_at": at, "content": learner.snapshot()}],
        "history": [
            {"collection": 1, "answers": 1, "at": at, "ess": 1.0, "query": query}
            | {"posterior": json.dumps(posterior["posterior"])}
        ],
        "tokens": [
            {"id": "old", "role": "analyst", "name": "Ana", "created_at": at}
            | {"hash": hashlib.sha256(TOKEN.encode()).digest()}
        ],
    }


def test_a_server_goes_on_with_a_database_of_the_first_version(database_url: str) -> None:
    tickets = old_database(database_url)
    with open_site(database_url) as site:
        for answer in (0, 1):  # stored before answers had keys: nobody is told which
            replies = [site.respond("longago", ticket, answer) for ticket in tickets[:ANSWERED]]
            assert {(reply.status_code, reply.content) for reply in replies} == {(409, replies[0].content)}
        assert site.learnt("longago", ANSWERED)["posterior"].keys() == {"mu", "sigma"}
        path = "/v1/collections/longago/posterior"
        assert site.client.get(path, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
        for ticket in tickets[ANSWERED:]:  # issued before
            assert site.respond("longago", ticket, 0).status_code == 201
        site.learnt("longago", len(tickets))
        history = site.client.get(f"{path}/history", headers=site.admin).json()["history"]
        assert history[0]["answers"] == 1
        site.check_counts()
        again = {site.respond("longago", ticket, 0).json()["receipt"] for ticket in tickets[ANSWERED:]}
        assert len(again) == len(tickets) - ANSWERED


def test_a_server_refuses_a_database_of_a_newer_version(database_url: str, reopen: Callable[..., Any]) -> None:
    with reopen(database_url):
        pass
    engine = make_engine(database_url)
    with writing(engine).begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    tables = set(inspect(engine).get_table_names())
    with pytest.raises(StartRefused, match=r"from a newer version of Dither \(schema 9999\)"), reopen(database_url):
        pass
    assert set(inspect(engine).get_table_names()) == tables
    engine.dispose()
