"""A visitor finds no private collection: nothing that can be read without its id says that it is there.

Its id is not to be guessed (50 random bits), and respondents are given it; whoever has it reads the terms, as a
respondent must before answering, and nothing else.
"""

from typing import Any

import pytest

from testing.servers.defaults import ADMIN
from testing.servers.site import Site, open_site, problem

NAME = "zebra-private"
WITHOUT_ID = ("/", "/v1/collections", "/docs", "/openapi.json", "/metrics", "/healthz", "/readyz", "/sign-in", "/new")
FOR_ADMINS = ("/v1/audit", "/v1/deletions", "/v1/tokens", "/v1/keys")
TERMS = {"/v1/collections/{collection_id}", "/collections/{collection_id}", "/collections/{collection_id}/answer"}


@pytest.fixture
def public_site(database_url: str) -> Any:
    """A server whose metrics anyone may read."""
    with open_site(database_url, public_metrics=True) as site:
        yield site


def answered(site: Site, **fields: Any) -> str:
    """A collection with seven answers, which are learnt, so that there are series of it."""
    collection = site.create(**fields)
    site.batch(collection, *((ticket, 0) for ticket in site.tickets(collection, 7)))
    site.learnt(collection, 7)
    return collection


def reads(site: Site) -> list[str]:
    """The paths of all calls and pages that read something of one collection."""
    routes = site.client.app.routes  # type: ignore[attr-defined]
    found = [route.path for route in routes if "{collection_id}" in getattr(route, "path", "")]
    of = {route.path for route in routes if "GET" in (getattr(route, "methods", None) or ())}
    return sorted({path for path in found if path in of})


def address(path: str, collection: str) -> str:
    return path.replace("{collection_id}", collection).replace("{table}", "counts").replace("{format}", "csv")


def test_nothing_that_is_read_without_its_id_names_it(public_site: Site) -> None:
    site = public_site
    private, public = answered(site, name=NAME), answered(site, visibility="public")
    other = site.client.post("/v1/tokens", json={"role": "analyst", "collections": [public]}, headers=ADMIN).json()
    for headers in ({}, {"Authorization": f"Bearer {other['token']}"}):
        for path in WITHOUT_ID:
            text = site.client.get(path, headers=headers).text
            assert private not in text, path
            assert NAME not in text, path
        for path in FOR_ADMINS:
            assert problem(site.client.get(path, headers=headers))[0] == (403 if headers else 401)
        assert (
            f'dither_learnt_answers{{collection="{public}"}} 7.0' in site.client.get("/metrics", headers=headers).text
        )
    assert f'collection="{private}"' in site.client.get("/metrics", headers=ADMIN).text


def test_with_its_id_the_terms_are_read_and_nothing_else(site: Site) -> None:
    private, other = answered(site, name=NAME), site.create()
    token = site.client.post("/v1/tokens", json={"role": "analyst", "collections": [other]}, headers=ADMIN).json()
    paths = reads(site)
    assert len(paths) >= 15
    for headers, status in (({}, 401), ({"Authorization": f"Bearer {token['token']}"}, 403)):
        for path in paths:
            reply = site.client.get(address(path, private), headers=headers)
            if path in TERMS:
                assert reply.status_code == 200
            else:
                assert problem(reply)[0] == status, path
                assert NAME not in reply.text
                assert private not in reply.text
            assert problem(site.client.get(address(path, "nosuchcollection"), headers=headers))[0] in (404, status), (
                path
            )
        assert site.client.get(f"/v1/collections/{private}", headers=headers).json()["answers"] is None
        assert "7 answers" not in site.client.get(f"/collections/{private}", headers=headers).text


def test_refusals_about_one_collection_are_the_same_for_all(site: Site) -> None:
    """What is said to a stranger about a private collection says nothing of that one."""
    some = [answered(site, name=NAME), site.create(), site.create(admission="invite", max_answers=5)]
    for path in set(reads(site)) - TERMS:
        told = {site.client.get(address(path, collection)).text for collection in some}
        assert len(told) == 1, path
