"""What a collection's owner publishes for the other processes: its questions and its posterior, the newest alone.

The particles are not in it: whoever wants them finds them in the snapshot.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, Engine, select

from dither_client import parse_query
from dither_client.posterior.wire import PosteriorReply, from_json, to_json
from dither_server.database.engine import database_time, insert_into
from dither_server.database.schema import publications
from dither_server.owner.collection_learner import Published, Question
from dither_server.tickets.packing import Purpose, pack_query

__all__ = ["Edition", "published_text", "read_editions", "read_publication", "replace_publication"]


@dataclass(frozen=True, slots=True)
class Edition:
    """Which state of a collection's owner is published."""

    term: int
    """Of the lease it was published under."""
    version: int
    """Grows within a term."""
    answers: int
    """How many it takes into account, those of check questions too."""


def read_editions(engine: Engine) -> dict[int, Edition]:
    """What is published of each collection."""
    columns = (publications.c.collection, publications.c.term, publications.c.version, publications.c.answers)
    with engine.connect() as connection:
        return {number: Edition(*rest) for number, *rest in connection.execute(select(*columns))}


def read_publication(engine: Engine, collection: int) -> tuple[Edition, Published] | None:
    """What is published of a collection; None if nothing is yet."""
    columns = (publications.c.term, publications.c.version, publications.c.answers, publications.c.content)
    with engine.connect() as connection:
        row = connection.execute(select(*columns).where(publications.c.collection == collection)).one_or_none()
    return row and (Edition(*row[:3]), _parse(row.content))


def replace_publication(connection: Connection, collection: int, edition: Edition, content: str) -> None:
    """Publishes `content` in place of what was published before. To be run while the lease is held."""
    row: dict[str, Any] = {
        "term": edition.term,
        "version": edition.version,
        "answers": edition.answers,
        "published_at": database_time(connection.dialect.name),
        "content": content,
    }
    insert = insert_into(connection.dialect.name, publications).values(collection=collection, **row)
    connection.execute(insert.on_conflict_do_update(index_elements=["collection"], set_=row))


def published_text(published: Published) -> str:
    """Everything but the particles, as JSON."""
    content = {
        "posterior": to_json(published.posterior),
        "pools": _pools_json(published.pools),
        "check_pools": _pools_json(published.check_pools),
        "renew_at": None if math.isinf(published.renew_at) else published.renew_at,
        "check_share": published.check_share,
    }
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def _parse(text: str) -> Published:
    content = json.loads(text)
    posterior = from_json(PosteriorReply, content["posterior"])
    return Published(
        pools=_parse_pools(content["pools"], "training"),
        answers=posterior.answers,
        posterior=posterior,
        particles=None,
        check_pools=_parse_pools(content["check_pools"], "check"),
        renew_at=math.inf if content.get("renew_at") is None else content["renew_at"],
        check_share=content["check_share"],
    )


def _pools_json(pools: Mapping[Fraction, tuple[Question, ...]]) -> dict[str, list[str]]:
    return {str(epsilon): [question.json for question in pool] for epsilon, pool in pools.items()}


def _parse_pools(pools: Mapping[str, list[str]], purpose: Purpose) -> dict[Fraction, tuple[Question, ...]]:
    return {
        Fraction(epsilon): tuple(Question(pack_query(parse_query(json.loads(text)), purpose), text) for text in pool)
        for epsilon, pool in pools.items()
    }
