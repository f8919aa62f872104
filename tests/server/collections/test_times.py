"""When a collection opens and closes: times that can be stored and told, and no others."""

import pytest

from dither_server.clock import iso_time
from dither_server.collections import collections
from testing.servers.defaults import ADMIN, SPEC
from testing.servers.site import Site, problem

BEFORE, AFTER = "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"
"""Times that Python reads, and of which UTC has none with a year of four digits."""


@pytest.mark.parametrize(
    ("field", "at"),
    [
        ("opens_at", BEFORE),
        ("opens_at", "1969-12-31T23:59:59Z"),
        ("opens_at", "1970-01-01T00:00:00+00:01"),
        ("closes_at", AFTER),
        ("closes_at", "9999-12-31T23:59:59.999999Z"),
        ("closes_at", "9999-01-01T00:00:00Z"),
        ("closes_at", "9998-12-31T23:59:59-00:01"),
    ],
)
def test_a_time_that_could_not_be_told_is_refused_and_nothing_is_stored(any_site: Site, field: str, at: str) -> None:
    reply = any_site.client.post("/v1/collections", json=SPEC | {field: at}, headers=ADMIN)
    assert problem(reply) == (422, "invalid-body")
    assert reply.json()["detail"] == f"{field}: Input should be a time from 1970 to 9998, in UTC."
    assert any_site.client.get("/v1/collections", headers=ADMIN).json() == {"collections": []}
    assert any_site.service.store.totals() == {}


def test_the_first_and_the_last_time_are_taken(any_site: Site) -> None:
    collection = any_site.create(opens_at="1970-01-01T00:00:00Z", closes_at="9998-12-31T23:59:59Z")
    terms = any_site.client.get(f"/v1/collections/{collection}", headers=ADMIN).json()
    assert (terms["opens_at"], terms["closes_at"]) == ("1970-01-01T00:00:00.000Z", "9998-12-31T23:59:59.000Z")


def test_a_collection_of_an_earlier_version_with_such_times_is_listed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collections, "check_times", lambda *_: None)
    site.create(opens_at=BEFORE, closes_at=AFTER)
    [terms] = site.client.get("/v1/collections", headers=ADMIN).json()["collections"]
    assert (terms["opens_at"], terms["closes_at"]) == ("0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.000Z")
    assert site.client.get("/").status_code == 200


def test_times_within_the_bounds_are_told_to_the_millisecond() -> None:
    told = [iso_time(at) for at in (-62_135_596_800_000, -1, 1_769_860_800_001)]
    assert told == ["0001-01-01T00:00:00.000Z", "1969-12-31T23:59:59.999Z", "2026-01-31T12:00:00.001Z"]
