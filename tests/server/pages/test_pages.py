import base64
import hashlib
import re

import pytest

from dither_client.posterior.digits import summary_numbers
from dither_client.posterior.wire import ParameterSummary
from testing.servers.pages import sign_in
from testing.servers.site import Site, problem


@pytest.mark.parametrize("path", ["/", "/docs", "/sign-in", "/new", "/collections/{}"])
def test_a_page_runs_and_loads_nothing_but_its_own_files(site: Site, path: str) -> None:
    sign_in(site)
    reply = site.client.get(path.format(site.create(visibility="public")))
    assert reply.status_code == 200
    policy = reply.headers["content-security-policy"]
    [style] = re.findall(r"<style>(.*?)</style>", reply.text, re.DOTALL)
    allowed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'self'; style-src 'sha256-{allowed}'; connect-src 'self'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script(?! type=\"module\" src=\"/static/)", reply.text)
    assert not re.search(r"(src|href|action)=.?(https?:)?//", reply.text)
    assert not re.search(r"\s(style|on\w+)=", reply.text)
    assert "stylesheet" not in reply.text
    for address in re.findall(r'(?:src|href)="(/static/[^"]+)"', reply.text):
        assert site.client.get(address).status_code == 200


def test_collections_are_listed(site: Site) -> None:
    assert "No collection is public" in site.client.get("/").text
    fields = {"transform": "log", "range": [1, 100], "visibility": "public"}
    collection = site.create(name="Wages <b>& more</b>", **fields)
    page = site.client.get("/").text
    assert f'href="/collections/{collection}"' in page
    assert "Wages &lt;b&gt;&amp; more&lt;/b&gt;" in page
    assert "<td>lognormal</td>" in page


def test_a_private_posterior_is_not_on_the_page(site: Site) -> None:
    collection = site.create()
    site.respond(collection, site.ticket(collection), 1)
    page = site.client.get(f"/collections/{collection}").text
    assert "<p>The collection is open." in page
    assert "1 answer" not in page
    assert "Only analysts can read the posterior" in page
    assert "sigma" not in page


def test_a_public_posterior_is_on_the_page(site: Site) -> None:
    collection = site.create(visibility="public")
    page = site.client.get(f"/collections/{collection}").text
    posterior = site.client.get(f"/v1/collections/{collection}/posterior").json()["posterior"]
    for name in ("mu", "sigma"):
        [row] = re.findall(rf'<tr data-parameter="{name}">(.*?)</tr>', page, re.DOTALL)
        assert re.findall(r"<td[^>]*>(.*?)</td>", row) == list(summary_numbers(ParameterSummary(**posterior[name])))


def test_what_a_public_posterior_rests_on_is_beside_it(site: Site) -> None:
    families = [{"family": "normal"}, {"family": "logistic"}]
    fields = {"family": None, "families": families, "misfit_check": True, "visibility": "public"}
    page = site.client.get(f"/collections/{site.create(**fields)}").text
    assert "of the answers were adversarial" not in page  # there are none
    assert "Whether a normal distribution fits is first checked at 500 check answers." in page
    assert 'aria-label="Probability of logistic"' in page
    assert "Which family holds: cannot tell yet" in page
    assert "The prior, before any answer: the mean" in page


def test_a_page_of_nothing_is_a_problem(site: Site) -> None:
    assert problem(site.client.get("/collections/missing")) == (404, "not-found")


def test_the_interface_is_described_for_people(site: Site) -> None:
    page = site.client.get("/docs").text
    for call in ("POST /v1/collections/{collection_id}/responses", "GET /healthz", "POST /v1/tokens"):
        assert call in page
    assert "The ticket has expired" in page


@pytest.mark.parametrize("path", ["/collections/none/answer", "/collections/none", "/nowhere"])
def test_a_browser_is_told_on_a_page_and_a_program_in_a_document_what_is_wrong(site: Site, path: str) -> None:
    page = site.client.get(path, headers={"Accept": "text/html,*/*;q=0.8"})
    told = site.client.get(path)
    assert page.status_code == 404
    assert f"<h1>{told.json()['title']}</h1>" in page.text
    assert told.json()["detail"] in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for document in (told, site.client.get(f"/v1{path}", headers={"Accept": "text/html"})):
        assert problem(document) == (404, "not-found")
