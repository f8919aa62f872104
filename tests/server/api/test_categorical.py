"""A collection of categories, over HTTP and on its pages: what is asked, learnt, shown, stored and saved."""

import json
from typing import Any

import numpy as np
import pytest

from dither_client.posterior.posterior import Particles, parse_posterior
from testing.patience import until
from testing.servers.site import FakeClock, Site, open_site

NAMES = ["never", "monthly", "<b>daily</b>"]
SHARES = np.array([0.6, 0.3, 0.1])
PEOPLE = 240


def answered(site: Site, people: int = PEOPLE, **spec: Any) -> str:
    """A collection of categories, answered by people who have them with the probabilities `SHARES`."""
    fields: dict[str, Any] = {"family": "categorical", "categories": NAMES, "epsilon": 4, "visibility": "public"}
    collection = site.create(**fields | {"range": None, "particles": 200} | spec)
    rng = np.random.default_rng(8)
    values = rng.choice(3, people, p=SHARES)
    site.answer(collection, values.tolist())
    return collection


def test_shares_are_learnt(any_site: Site) -> None:
    """Within five posterior sds of the truth: three false alarms in a million, had the seeds not been fixed."""
    site = any_site
    collection = answered(site)
    terms = site.client.get(f"/v1/collections/{collection}").json()
    assert terms["categories"] == NAMES
    assert (terms["family"], terms["goal"], terms["mechanism"], terms["rho"]) == (
        "categorical",
        "categories",
        "grouped_randomized_response",
        None,
    )
    reply = site.client.get(f"/v1/collections/{collection}/posterior").json()
    assert (reply["posterior"], reply["covariance"], reply["answers"]) == ({}, [], PEOPLE)
    assert list(reply["categories"]) == NAMES
    for share, summary in zip(SHARES, reply["categories"].values(), strict=True):
        assert abs(summary["mean"] - share) < 5 * summary["sd"]
        assert summary["sd"] < 0.06
    particles = site.client.get(f"/v1/collections/{collection}/posterior/particles").json()
    assert particles["parameters"] == NAMES
    asked = site.client.get(f"/v1/collections/{collection}/queries").json()["queries"]
    assert {item["query"]["mechanism"] for item in asked} == {"grouped_randomized_response"}
    assert sum(item["answers"] for item in asked) == PEOPLE
    address = f"/v1/collections/{collection}/posterior/history"
    history = until(lambda: site.client.get(address).json()["history"])  # rows come when nobody waits for questions
    assert list(history[-1]["posterior"]) == NAMES


def test_the_next_start_knows_the_same(database_url: str, clock: FakeClock) -> None:
    with open_site(database_url, clock) as site:
        collection = answered(site, people=60)
        before = site.published(collection).described
    with open_site(database_url, clock) as site:
        after = site.published(collection).described
        assert (after.answers, after.categories) == (60, before.categories)


@pytest.mark.parametrize("people", [0, 60])
def test_its_pages_show_shares(site: Site, people: int) -> None:
    collection = answered(site, people=people)
    for path in ("export/counts.csv", "export/history.csv"):
        assert site.client.get(f"/collections/{collection}/{path}").status_code == 200
    assert site.client.get(f"/collections/{collection}/precision.json").status_code == 404
    charts = site.client.get(f"/collections/{collection}/charts.json").json()
    assert (charts["parameters"], charts["population"], charts["questions"]["edges"]) == ({}, None, [])
    findings = site.client.get(f"/collections/{collection}/findings.json").json()
    page = site.client.get(f"/collections/{collection}").text
    assert "Nothing is assumed but that each person has one" in "".join(findings.values())
    for text in (findings["summary"], findings["numbers"], page):
        assert "<b>daily</b>" not in text


def test_an_analyst_reads_shares(site: Site) -> None:
    collection = answered(site, people=60)
    reply = site.client.get(f"/v1/collections/{collection}/posterior").json()
    posterior = parse_posterior(collection, reply, lambda: Particles((), (), ()))
    assert posterior.parameters == tuple(NAMES)
    assert posterior.categories["never"].mean == posterior.mean["never"]
    assert posterior.interval(0.9)["never"] == posterior.categories["never"].interval(0.9)
    assert "never" in repr(posterior)
    assert "<b>" not in posterior._repr_html_()
    [axes] = posterior.plot().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == NAMES


def test_what_is_refused_says_why(site: Site) -> None:
    spec = {"name": "x", "epsilon": 1, "family": "categorical", "categories": ["a", "a"]}
    refused = site.client.post("/v1/collections", json=spec, headers=site.admin)
    assert refused.status_code == 422
    assert "categories must all be different" in json.dumps(refused.json())


def test_categories_that_look_the_same_are_the_same(site: Site) -> None:
    """é is a letter of its own, or an e and an accent."""
    for categories in (["caf\u00e9", "cafe\u0301"], ["Å", "\u212b", "b"]):
        spec = {"name": "x", "epsilon": 1, "family": "categorical", "categories": categories}
        refused = site.client.post("/v1/collections", json=spec, headers=site.admin)
        assert refused.status_code == 422
        assert "categories must all be different" in json.dumps(refused.json())
