"""A collection of categories, over HTTP and on its pages: what is asked, learnt, shown, stored and saved."""

from typing import Any

import numpy as np
import pytest

from dither_client.posterior.particles import Particles
from dither_client.posterior.reading import parse_posterior
from testing.servers.site import FakeClock, Site, before_and_after_a_restart

NAMES = ["never", "monthly", "<b>daily</b>"]
SHARES = np.array([0.6, 0.3, 0.1])
PEOPLE = 240


def answered(site: Site, people: int = PEOPLE, **spec: Any) -> str:
    """A collection of categories, answered by people who have them with the probabilities `SHARES`."""
    fields = {"family": "categorical", "categories": NAMES, "epsilon": 4, "range": None, "particles": 200}
    return site.answered(np.random.default_rng(8).choice(3, people, p=SHARES).tolist(), **fields | spec)


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
    assert list(site.history(collection)[-1]["posterior"]) == NAMES


def test_the_next_start_knows_the_same(database_url: str, clock: FakeClock) -> None:
    before, after = before_and_after_a_restart(database_url, clock, lambda site: answered(site, people=60))
    assert (after.answers, after.categories) == (60, before.categories)


@pytest.mark.parametrize("people", [0, 60])
def test_its_pages_show_shares(site: Site, people: int) -> None:
    collection = answered(site, people=people)
    for path in ("export/population.csv", "export/counts.csv", "export/history.csv"):
        assert site.client.get(f"/collections/{collection}/{path}").status_code == 200
    assert site.client.get(f"/collections/{collection}/precision.json").status_code == 404
    charts = site.client.get(f"/collections/{collection}/charts.json").json()
    assert (charts["parameters"], charts["population"], charts["questions"]["edges"]) == ({}, None, [])
    findings = site.client.get(f"/collections/{collection}/findings.json").json()
    page = site.client.get(f"/collections/{collection}").text
    assert "Each person is taken to have one of the categories." in "".join(findings.values())
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


@pytest.mark.parametrize("categories", [["a", "a"], ["caf\u00e9", "cafe\u0301"], ["Å", "\u212b", "b"]])
def test_categories_that_look_the_same_are_refused(site: Site, categories: list[str]) -> None:
    """é is a letter of its own, or an e and an accent."""
    spec = {"name": "x", "epsilon": 1, "family": "categorical", "categories": categories}
    refused = site.client.post("/v1/collections", json=spec, headers=site.admin)
    assert refused.status_code == 422
    assert "categories must all be different" in refused.text
