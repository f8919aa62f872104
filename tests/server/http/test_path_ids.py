"""What cannot be an id is not found, whatever the call and the database."""

import re

import pytest

from testing.servers.defaults import ADMIN
from testing.servers.site import Site

NO_IDS = ("%00", "a%00b", "a%20b", "%C3%A9", "%F0%9F%99%82", "a.b", "x" * 129)
_ID = re.compile(r"\{\w+_id\}")
_BUSY = [("POST", f"/v1/collections/{{collection_id}}/{end}") for end in ("tickets", "responses", "responses/batch")]


def calls(site: Site) -> list[tuple[str, str]]:
    """Every method and path with an id in it."""
    routes = [(route.path, route.methods) for route in site.client.app.routes]  # type: ignore[attr-defined]
    found = [(method, path) for path, methods in routes for method in methods if _ID.search(path)]
    assert {("DELETE", "/v1/tokens/{token_id}"), ("POST", "/collections/{collection_id}/state")} < set(found)
    return sorted(found + _BUSY)


def test_what_cannot_be_an_id_is_not_found_by_any_call(any_site: Site) -> None:
    others = {"table": "counts", "format": "csv"}
    for method, path in calls(any_site):
        for text in NO_IDS:
            address = re.sub(r"\{(\w+)\}", lambda part: others[part[1]], _ID.sub(text, path))
            reply = any_site.client.request(method, address, headers=ADMIN)
            assert reply.status_code == 404, (method, address)
    for text in NO_IDS:
        assert any_site.client.delete(f"/v1/collections/{text}?purge=true", headers=ADMIN).status_code == 404


@pytest.mark.parametrize("text", ["x", "x" * 128, "A-z_0"])
def test_what_can_be_an_id_is_looked_for(any_site: Site, text: str) -> None:
    reply = any_site.client.get(f"/v1/collections/{text}")
    assert reply.status_code == 404
    assert reply.json()["detail"] == "There is no collection with this id: see the list of collections."
