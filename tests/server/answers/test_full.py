"""A collection that has its `max_answers` is closed: its terms say so, and streams end with everything learnt."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import insert

from dither_client import Admin, Analyst, Client, MemoryLedger, RandomizedResponse
from dither_client.commands import run
from dither_server.answers.sql import number_queries, read_rules
from dither_server.database.engine import make_engine
from dither_server.database.schema import tallies
from dither_server.tickets.packing import pack_query
from testing.patience import until
from testing.servers.defaults import ADMIN, SPEC
from testing.servers.process import forked
from testing.servers.site import FakeClock, Site, open_site, problem
from tests.server.api.test_member_counts import share, token
from tests.server.replicas.test_replicas import replicas


def fill(site: Site, collection: str, count: int) -> None:
    """Stores `count` answers, of as many tickets."""
    fates = site.batch(collection, *((ticket, 1) for ticket in site.tickets(collection, count))).json()["responses"]
    assert {fate["status"] for fate in fates} == {201}


def terms(site: Site, collection: str) -> dict[str, Any]:
    return dict(site.client.get(f"/v1/collections/{collection}", headers=ADMIN).json())


def test_the_last_answer_closes_for_good(database_url: str, clock: FakeClock) -> None:
    with open_site(database_url, clock) as site:
        collection = site.create(max_answers=3)
        late, known = site.tickets(collection, 2)
        fill(site, collection, 2)
        assert (terms(site, collection)["state"], terms(site, collection)["answers"]) == ("open", 2)
        receipt = site.respond(collection, known).json()
        assert terms(site, collection)["state"] == "closed"
    with open_site(database_url, clock) as site:
        assert terms(site, collection)["state"] == "closed"
        assert [one["state"] for one in site.client.get("/v1/collections", headers=ADMIN).json()["collections"]] == [
            "closed"
        ]
        assert problem(site.client.post(f"/v1/collections/{collection}/tickets")) == (409, "collection-full")
        assert problem(site.respond(collection, late)) == (409, "collection-full")
        assert site.respond(collection, known).json() == receipt  # what is stored is settled
        for state in ("open", "paused"):
            assert problem(site.set_state(collection, state)) == (409, "collection-closed")
        assert site.set_state(collection, "closed").json()["state"] == "closed"
        assert problem(site.respond(collection, late)) == (409, "collection-closed")


def test_a_paused_collection_that_fills_up_is_closed(any_site: Site) -> None:
    collection = any_site.create(max_answers=1)
    ticket = any_site.ticket(collection)
    any_site.set_state(collection, "paused")
    any_site.respond(collection, ticket)
    assert terms(any_site, collection)["state"] == "closed"
    assert problem(any_site.client.post(f"/v1/collections/{collection}/tickets")) == (409, "collection-full")


@pytest.mark.postgres
def test_a_tally_and_an_answer_of_two_processes_do_not_wait_for_each_other(postgres_url: str, clock: FakeClock) -> None:
    """One has added a question's row and counts its tickets; the other has locked the collection and wants that row."""
    with open_site(postgres_url, clock) as site:
        site.create(max_answers=5)
    engine, packed = make_engine(postgres_url), pack_query(RandomizedResponse((40.0, 60.0), 1))
    with engine.begin() as tally, engine.begin() as answers, ThreadPoolExecutor(1) as other:
        number_of = number_queries(tally, [packed])
        assert read_rules(answers, [1])[1].max_answers == 5
        waiting = other.submit(number_queries, answers, [packed])
        places = {"collection": 1, "query": number_of[packed], "gateway": 0, "period": 0, "slot": 0}
        tally.execute(insert(tallies).values(**places, tickets=1, answers=0, prompt=0))
        tally.commit()
        assert waiting.result(timeout=30) == number_of
    engine.dispose()


def test_institutions_share_when_respondents_find_it_full(any_site: Site) -> None:
    collection = any_site.create(max_answers=1, member_cuts=[30, 45, 55, 70])
    fill(any_site, collection, 1)
    assert terms(any_site, collection)["state"] == "open"
    assert problem(any_site.client.post(f"/v1/collections/{collection}/tickets")) == (409, "collection-full")
    assert share(any_site, collection, token(any_site)).status_code == 201
    assert any_site.set_state(collection, "paused").json()["state"] == "paused"


def test_other_processes_close_it_too(database_url: str, clock: FakeClock) -> None:
    with replicas(database_url, 2, clock) as sites:
        collection = sites[0].create(max_answers=4)
        fill(sites[0], collection, 4)
        for site in sites:
            assert terms(site, collection)["state"] == "closed"
            found = site.service.collections
            until(lambda found=found: found.state(found.get(collection)) == "closed")  # type: ignore[misc]


@pytest.mark.parametrize("check", [{}, {"misfit_check": 0.5, "misfit_looks": [5]}])
def test_streams_end_with_everything_learnt(
    database_url: str, capsys: pytest.CaptureFixture[str], check: dict[str, Any]
) -> None:
    fields = {"visibility": "public", "max_answers": 20, **check}
    with forked(database_url) as [server], Admin(server.url, "the-admin-token") as admin:
        collection = admin.create_collection(SPEC | fields)["id"]
        seen: list[int] = []
        with Analyst(server.url) as analyst:
            for posterior in analyst.stream(collection):
                if not seen:
                    for _ in range(20):
                        with Client(server.url, ledger=MemoryLedger(max_epsilon=2)) as client:
                            client.answer(collection, 50)
                seen.append(posterior.answers)
        assert run(["watch", collection, "--url", server.url, "--json"]) == 0
        last = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert (last["state"], last["answers"]) == ("closed", seen[-1])
        assert last["answers"] + (last["misfit"]["check_answers"] if check else 0) == 20
