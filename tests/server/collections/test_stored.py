"""Collections that an older version stored are read, whatever is refused of new ones."""

import json

from sqlalchemy import select, update

from dither_server.database.engine import make_engine, reading, writing
from dither_server.database.schema import collections
from testing.servers.defaults import ADMIN, SPEC
from testing.servers.site import open_site


def test_a_prior_that_is_refused_now_is_read_where_it_is_stored(migrated_url: str) -> None:
    """A server starts, whatever an older version let in."""
    slow = {"prior": {"mu": {"dist": "ksone", "n": 3}, "sigma": {"dist": "halfnorm", "scale": 10}}, "range": None}
    with open_site(migrated_url) as site:
        collection = site.create()
        with reading(site.service._engine).connect() as connection:
            before = connection.execute(select(collections.c.specification)).scalar_one()
    changed = json.dumps({name: value for name, value in (json.loads(before) | slow).items() if value is not None})
    engine = make_engine(migrated_url)
    with writing(engine).begin() as connection:
        connection.execute(update(collections).values(specification=changed))
    engine.dispose()
    with open_site(migrated_url) as site:
        assert site.client.get(f"/v1/collections/{collection}").json()["prior"] == slow["prior"]
        reply = site.client.post("/v1/collections", json=SPEC | slow, headers=ADMIN)
        assert "draws from ksone take too long" in reply.json()["detail"]
