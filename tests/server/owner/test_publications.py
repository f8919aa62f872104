"""What one process publishes for the others, and goes on being readable when the program is replaced."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from dither_client.posterior.wire import FamilyEvidence
from dither_estimator.learning.summary import Posterior
from dither_server.database.engine import make_engine, writing
from dither_server.owner.publications import (
    Edition,
    population_json,
    published_text,
    read_publication,
    replace_publication,
)
from testing.servers.site import Site

STORED = Path(__file__).with_name("stored_publication.json").read_text(encoding="utf-8")
"""As a server stored it before the posterior had types."""


def test_a_publication_of_an_earlier_version_is_read(any_site: Site) -> None:
    any_site.create()
    engine = make_engine(any_site.url)
    with writing(engine).begin() as connection:
        replace_publication(connection, 1, Edition(1, 2, 120), STORED)
    found = read_publication(engine, 1)
    engine.dispose()
    assert found is not None
    edition, published = found
    assert edition == Edition(1, 2, 120)
    assert (published.answers, published.renew_at, published.check_share) == (81, 91, 0.3)
    assert published.pools.keys() == published.check_pools.keys() == {Fraction(1, 2), Fraction(1)}
    posterior = published.posterior
    assert posterior.families is not None
    assert posterior.families[0] == FamilyEvidence(
        "normal", "identity", -58.227177935043976, 0.050442126859767906, 0.9122673582012413
    )
    assert posterior.misfit is not None
    assert (posterior.misfit.looks[0].p_value, posterior.misfit.next_look) == (0.53, 2000)
    expected = json.loads(STORED) | {"population": {}}
    expected["posterior"]["misfit"]["transform"] = "identity"  # which no earlier version had
    assert json.loads(published_text(published, {})) == expected


def test_a_population_that_cannot_be_described_is_left_out(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Reading the posterior does not fail, and neither does the owner, which stores it for other processes."""
    monkeypatch.setattr(Posterior, "described", lambda *_: 1 / 0)
    collection = site.create(visibility="public")
    site.published(collection)
    reply = site.client.get(f"/v1/collections/{collection}/posterior")
    assert reply.status_code == 200
    assert "distribution" not in reply.json()
    assert population_json(site.published(collection)) == {}
    assert "describing the population failed" in caplog.text
    site.respond(collection, site.ticket(collection))
    site.learnt(collection, 1)
