import math
from typing import Any

import pytest

from dither_client import parse_query
from dither_client.posterior.particles import Particles
from dither_client.posterior.reading import parse_posterior
from testing.servers.defaults import ADMIN
from testing.servers.site import Site, problem


def get(site: Site, path: str, **options: Any) -> Any:
    return site.client.get(path, **({"headers": ADMIN} | options))


def test_particles_are_those_of_the_posterior(site: Site) -> None:
    path = f"/v1/collections/{site.create()}/posterior"
    body = get(site, f"{path}/particles").json()
    assert body["parameters"] == ["mu", "sigma"]
    assert len(body["particles"]) == len(body["weights"]) == 100
    assert sum(body["weights"]) == pytest.approx(1)
    mean = sum(weight * particle[0] for weight, particle in zip(body["weights"], body["particles"], strict=True))
    assert get(site, path).json()["posterior"]["mu"]["mean"] == pytest.approx(mean)


def test_many_particles_are_written_in_pieces_that_lose_none(site: Site) -> None:
    path = f"/v1/collections/{site.create(particles=10_000)}"
    body = get(site, f"{path}/posterior/particles").json()
    assert body["parameters"] == ["mu", "sigma"]
    assert [len(body["particles"]), len(body["weights"])] == [10_000, 10_000]
    assert {len(particle) for particle in body["particles"]} == {2}
    assert sum(body["weights"]) == pytest.approx(1)


def test_a_private_collections_questions_are_for_analysts(any_site: Site) -> None:
    collection = any_site.create(levels=1)
    pairs = [(ticket, i % 2) for i, ticket in enumerate(any_site.tickets(collection, 40))]
    any_site.batch(collection, *pairs)
    path = f"/v1/collections/{collection}/queries"
    assert problem(any_site.client.get(path)) == (401, "unauthorized")
    analysts = get(any_site, path).json()["queries"]
    assert sum(item["answers"] for item in analysts) == 40
    for item in analysts:
        assert parse_query(item["query"]).id == item["id"]
        assert sum(item["counts"]) == item["answers"]
        assert len(item["counts"]) == 2
    assert sum(item["counts"][1] for item in analysts) == 20


def test_a_public_collections_counts_are_for_anyone(site: Site) -> None:
    collection = site.create(visibility="public")
    site.respond(collection, site.ticket(collection), 1)
    [item] = site.client.get(f"/v1/collections/{collection}/queries").json()["queries"]
    assert item["counts"][1] == 1


def test_a_wrong_token_reads_no_questions(site: Site) -> None:
    collection = site.create()
    site.respond(collection, site.ticket(collection), 1)
    reply = get(site, f"/v1/collections/{collection}/queries", headers={"Authorization": "Bearer wrong"})
    assert problem(reply) == (401, "unauthorized")


def test_answers_come_in_pages_each_once(any_site: Site) -> None:
    collection, other = any_site.create(), any_site.create()
    for target, count in ((collection, 25), (other, 5)):
        any_site.batch(target, *((ticket, i % 2) for i, ticket in enumerate(any_site.tickets(target, count))))
    path = f"/v1/collections/{collection}/answers"
    pages, after = [], None
    while True:
        page = get(any_site, path, params={"limit": 10} | ({"after": after} if after else {})).json()
        pages.append(page["answers"])
        after = page["next"]
        if after is None:
            break
    assert [len(page) for page in pages] == [10, 10, 5]
    everything = [item for page in pages for item in page]
    assert sum(item["answer"] for item in everything) == 12
    assert len({item["ticket"] for item in everything}) == 25
    assert {item["received_at"] for item in everything} == {"2027-01-15T08:00:00.000Z"}
    known = {item["id"]: item for item in get(any_site, f"/v1/collections/{collection}/queries").json()["queries"]}
    for name, item in known.items():
        assert sum(answer["query_id"] == name for answer in everything) == item["answers"]
    assert get(any_site, path).json() == {"answers": everything, "next": None, "closed": None}


@pytest.mark.parametrize("query", ["limit=0", "limit=10001", "limit=ten", "after=%21", "after=a", f"after={'a' * 65}"])
def test_a_bad_page_is_refused(site: Site, query: str) -> None:
    reply = get(site, f"/v1/collections/{site.create()}/answers?{query}")
    assert problem(reply) == (422, "invalid-body")
    assert reply.json()["detail"].startswith(query.split("=")[0])
    assert "ten" not in reply.json()["detail"].replace("Input should have at most 64 characters", "")


def test_a_mean_that_floating_point_cannot_hold_is_null(site: Site) -> None:
    """A quantile keeps its row if its own posterior has quantiles that it can, as with 4,000 particles of 300 seeds."""
    prior = {"mu": {"dist": "norm", "scale": 340}, "sigma": {"dist": "lognorm", "s": 0.1}}
    collection = site.create(transform="log", range=None, prior=prior, visibility="public", particles=4_000)
    reply = site.client.get(f"/v1/collections/{collection}/posterior")
    assert reply.status_code == 200
    half = reply.json()["quantiles"]["0.5"]
    assert (half["mean"], half["sd"]) == (None, None)
    assert 0 < half["q05"] < half["q50"] < half["q95"] < math.inf
    found = parse_posterior(collection, reply.json(), lambda: Particles((), (), ()))
    assert found.quantile(0.5).mean == math.inf
    assert site.client.get(f"/v1/collections/{collection}/posterior/history").status_code == 200
    assert (
        "inf" not in site.client.get(f"/collections/{collection}").text.partition("<table")[2].partition("</table")[0]
    )
