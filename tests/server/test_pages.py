import re

import pytest
from tests.server.conftest import Site, problem


@pytest.mark.parametrize("path", ["/", "/docs", "/style.css"])
def test_a_page_loads_nothing_from_elsewhere_and_runs_nothing(site: Site, path: str) -> None:
    reply = site.client.get(path)
    assert reply.status_code == 200
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "script" not in policy
    assert "<script" not in reply.text
    assert not re.search(r"(src|href)=.?(https?:)?//", reply.text)
    assert " style=" not in reply.text
    assert "<style" not in reply.text


def test_collections_are_listed(site: Site) -> None:
    assert "There is no collection yet" in site.client.get("/").text
    collection = site.create(name="Wages <b>& more</b>", transform="log", range=[1, 100])
    page = site.client.get("/").text
    assert f'href="/collections/{collection}"' in page
    assert "Wages &lt;b&gt;&amp; more&lt;/b&gt;" in page
    assert "of the logarithm" in page


def test_a_private_posterior_is_not_on_the_page(site: Site) -> None:
    collection = site.create()
    site.respond(collection, site.ticket(collection), 1)
    page = site.client.get(f"/collections/{collection}").text
    assert "1 answer; the collection is open" in page
    assert "The posterior is for analysts" in page
    assert "sigma" not in page


def test_a_public_posterior_is_on_the_page(site: Site) -> None:
    collection = site.create(visibility="public")
    page = site.client.get(f"/collections/{collection}").text
    mean = site.client.get(f"/v1/collections/{collection}/posterior").json()["posterior"]["mu"]["mean"]
    assert f"{mean:.4g}" in page
    assert "sigma" in page


def test_what_a_public_posterior_rests_on_is_beside_it(site: Site) -> None:
    families = [{"family": "normal"}, {"family": "logistic"}]
    fields = {"family": None, "families": families, "misfit_check": True, "visibility": "public"}
    page = site.client.get(f"/collections/{site.create(**fields)}").text
    assert "If 1% of the answers were adversarial, mu could be off by" in page
    assert "Whether the family normal fits is first checked at 500 check answers." in page
    assert "logistic: log evidence" in page
    assert "0 answers, the 0 of the misfit check left out" in page


def test_a_page_of_nothing_is_a_problem(site: Site) -> None:
    assert problem(site.client.get("/collections/missing")) == (404, "not-found")


def test_the_interface_is_described_for_people(site: Site) -> None:
    page = site.client.get("/docs").text
    for call in ("POST /v1/collections/{collection_id}/responses", "GET /healthz", "POST /v1/tokens"):
        assert call in page
    assert "The ticket has expired" in page
