"""The publication of a collection's owner for the other processes: its questions and its posterior, only the newest.

It does not contain the particles, which are in the snapshot.
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
from dither_estimator.learning.description import POPULATION_FIELDS
from dither_server.database.engine import database_time, replace_row
from dither_server.database.schema import publications
from dither_server.owner.published import Pools, Published, Question
from dither_server.tickets.packing import Purpose, pack_query

__all__ = ["Edition", "population_json", "published_text", "read_editions", "read_publication", "replace_publication"]


@dataclass(frozen=True, slots=True)
class Edition:
    """The version of a collection's published state."""

    term: int
    """The term of the lease under which it was published."""
    version: int
    """A number that grows within a term."""
    answers: int
    """The number of answers taken into account, including those to check questions."""


def read_editions(engine: Engine) -> dict[int, Edition]:
    """The published edition of each collection."""
    columns = (publications.c.collection, publications.c.term, publications.c.version, publications.c.answers)
    with engine.connect() as connection:
        return {number: Edition(*rest) for number, *rest in connection.execute(select(*columns))}


def read_publication(engine: Engine, collection: int) -> tuple[Edition, Published] | None:
    """A collection's publication; None if there is none yet."""
    columns = (publications.c.term, publications.c.version, publications.c.answers, publications.c.content)
    with engine.connect() as connection:
        row = connection.execute(select(*columns).where(publications.c.collection == collection)).one_or_none()
    return row and (Edition(*row[:3]), _parse(row.content))


def replace_publication(connection: Connection, collection: int, edition: Edition, content: str) -> None:
    """Publishes `content` in place of what was published before. To be run while the lease is held."""
    row = {
        "collection": collection,
        "term": edition.term,
        "version": edition.version,
        "answers": edition.answers,
        "published_at": database_time(connection.dialect.name),
        "content": content,
    }
    replace_row(connection, publications, row)


def population_json(published: Published) -> dict[str, Any]:
    """What the posterior says in addition once it describes the population.

    Where nothing is known at once, it says all: whoever reads it with a later state has figures that belong together.
    """
    plain: dict[str, Any] = to_json(published.posterior)
    described: dict[str, Any] = to_json(published.described)
    if not plain["posterior"]:
        return described
    return {name: value for name, value in described.items() if value != plain.get(name)}


def published_text(published: Published, population: Mapping[str, Any]) -> str:
    """The publication as JSON, without the particles; `population` may be that of an earlier publication."""
    posterior = to_json(published.posterior)
    content = {
        "posterior": {name: value for name, value in posterior.items() if name not in POPULATION_FIELDS},
        "population": population,
        "pools": _pools_json(published.pools),
        "check_pools": _pools_json(published.check_pools),
        "renew_at": None if math.isinf(published.renew_at) else published.renew_at,
        "check_share": published.check_share,
        **({"group_pools": _group_pools_json(published.group_pools)} if published.group_pools else {}),
    }
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def _parse(text: str) -> Published:
    content = json.loads(text)
    posterior = from_json(PosteriorReply, content["posterior"])
    described = content["posterior"] | content.get("population", {})
    return Published(
        pools=_parse_pools(content["pools"], "training"),
        answers=posterior.answers,
        posterior=posterior,
        particles=None,
        describe=lambda _: from_json(PosteriorReply, described),
        check_pools=_parse_pools(content["check_pools"], "check"),
        renew_at=math.inf if content.get("renew_at") is None else content["renew_at"],
        check_share=content["check_share"],
        group_pools=_parse_group_pools(content.get("group_pools")),
    )


def _pools_json(pools: Pools) -> dict[str, list[str]]:
    return {str(epsilon): [question.json for question in pool] for epsilon, pool in pools.items()}


def _parse_pools(pools: Mapping[str, list[str]], purpose: Purpose) -> Pools:
    return {Fraction(epsilon): tuple(_question(text, purpose) for text in pool) for epsilon, pool in pools.items()}


def _group_pools_json(group_pools: Mapping[int, Pools]) -> dict[str, Any]:
    """The pools of the groups as places in a list of questions, since many groups ask the same ones."""
    places: dict[str, int] = {}
    pools = {
        str(group): {
            str(epsilon): [places.setdefault(question.json, len(places)) for question in pool]
            for epsilon, pool in pools.items()
        }
        for group, pools in group_pools.items()
    }
    return {"questions": list(places), "pools": pools}


def _parse_group_pools(content: Mapping[str, Any] | None) -> dict[int, Pools]:
    if content is None:
        return {}
    questions = [_question(text, "training") for text in content["questions"]]
    return {
        int(group): {Fraction(epsilon): tuple(questions[place] for place in pool) for epsilon, pool in pools.items()}
        for group, pools in content["pools"].items()
    }


def _question(text: str, purpose: Purpose) -> Question:
    return Question(pack_query(parse_query(json.loads(text)), purpose), text)
