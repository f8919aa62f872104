"""Check tickets over HTTP: told apart by the server alone, never learnt, looked at once and for good."""

from typing import Any

import httpx2
import pytest
from sqlalchemy import select

from dither_client import parse_query
from dither_estimator.checks.goodness_of_fit import Look
from dither_server.database.engine import make_engine, reading, writing
from dither_server.database.reads import Store, add_look
from dither_server.database.schema import misfit_looks
from dither_server.tickets.packing import purpose_of
from testing.patience import PATIENCE, until
from testing.servers.defaults import ADMIN, SPEC
from testing.servers.process import forked
from testing.servers.site import FakeClock, Site, open_site, problem

pytestmark = pytest.mark.usefixtures("nothing_expires")

LOOKS = [20, 40, 100_000]


def checked(site: Site, **fields: Any) -> str:
    """A collection in which every other ticket is a check ticket."""
    return site.create(**({"misfit_check": 0.5, "misfit_looks": LOOKS} | fields))


def issued(site: Site, collection: str, count: int) -> dict[str, list[str]]:
    """New tickets by what they are for, which only the server can say."""
    tickets: dict[str, list[str]] = {"training": [], "check": []}
    for ticket in site.tickets(collection, count):
        tickets[purpose_of(site.service.tickets.open(ticket).query)].append(ticket)
    return tickets


def answer(site: Site, collection: str, tickets: list[str], share: float = 0.5) -> None:
    """That share of the answers 1, the rest 0."""
    ones = round(share * len(tickets))
    pairs = [(ticket, int(i < ones)) for i, ticket in enumerate(tickets)]
    assert {item["status"] for item in site.batch(collection, *pairs).json()["responses"]} == {201}


def posterior(site: Site, collection: str, check_answers: int, answers: int) -> dict[str, Any]:
    """The posterior once it has met that many check answers and learnt that many others."""
    found: dict[str, Any] = {}

    def met() -> bool:
        found.update(site.learnt(collection, answers))
        return bool(found["misfit"]["check_answers"] == check_answers)

    until(met, lambda: f"met {found['misfit']['check_answers']} check answers, not {check_answers}")
    return found


def listed(site: Site, collection: str, purpose: str | None = None) -> list[dict[str, Any]]:
    params = {"purpose": purpose} if purpose else {}
    reply = site.client.get(f"/v1/collections/{collection}/queries", params=params, headers=ADMIN)
    return list(reply.json()["queries"])


def test_check_answers_change_nothing_that_is_learnt(any_site: Site) -> None:
    site = any_site
    collection = checked(site)
    tickets = issued(site, collection, 200)
    answer(site, collection, tickets["training"])
    before = posterior(site, collection, 0, len(tickets["training"]))
    trained, pool = listed(site, collection), site.published(collection).pools
    answer(site, collection, tickets["check"])
    after = posterior(site, collection, len(tickets["check"]), len(tickets["training"]))
    for name in ("posterior", "covariance", "answers", "ess", "log_evidence", "queries", "moves"):
        assert after[name] == before[name]
    assert listed(site, collection) == trained
    assert site.published(collection).pools == pool
    assert site.stored(collection) == 200
    checks = listed(site, collection, "check")
    assert sum(item["answers"] for item in checks) == len(tickets["check"])
    assert sum(item["counts"][1] for item in checks) == round(len(tickets["check"]) / 2)
    purposes = [item["purpose"] for item in answers_of(site, collection)]
    assert {purpose: purposes.count(purpose) for purpose in tickets} == {k: len(v) for k, v in tickets.items()}
    site.check_counts()


def answers_of(site: Site, collection: str) -> list[dict[str, Any]]:
    return list(site.client.get(f"/v1/collections/{collection}/answers", headers=ADMIN).json()["answers"])


def test_the_coin_gives_the_share_of_check_tickets(site: Site) -> None:
    """Five standard deviations of a binomial count: a false alarm in 1e6."""
    tickets = issued(site, checked(site, misfit_check=True), 4_000)
    assert abs(len(tickets["check"]) - 800) < 5 * (4_000 * 0.2 * 0.8) ** 0.5


def test_without_a_check_there_are_no_check_tickets(site: Site) -> None:
    collection = site.create()
    assert not issued(site, collection, 500)["check"]
    assert site.learnt(collection, 0)["misfit"] is None


def test_a_check_question_is_a_threshold_like_any_other(site: Site) -> None:
    collection = checked(site, mechanism="randomized_response", transform="log", range=[1, 100], epsilon=0.5)
    reply = site.client.post(f"/v1/collections/{collection}/tickets", json={"count": 200}).json()["tickets"]
    opened = [(item, purpose_of(site.service.tickets.open(item["ticket"]).query)) for item in reply]
    found = {parse_query(item["query"]) for item, purpose in opened if purpose == "check"}
    assert len(found) == 4
    assert {(query.mechanism, query.n_answers, float(query.epsilon), query.transform) for query in found} == {
        ("laplace", 2, 0.5, "log")
    }
    assert {frozenset(item) for item, _ in opened} == {frozenset(("ticket", "query", "expires_at"))}


def test_looks_are_made_once_when_they_are_due(database_url: str, clock: FakeClock) -> None:
    with open_site(database_url, clock) as site:
        collection = checked(site)
        tickets = issued(site, collection, 200)
        answer(site, collection, tickets["check"][:19])
        assert posterior(site, collection, 19, 0)["misfit"]["looks"] == []
        answer(site, collection, tickets["check"][19:25])
        found = posterior(site, collection, 25, 0)["misfit"]
        assert (found["family"], found["next_look"]) == ("normal", 40)
        [look] = found["looks"]
        assert (look["check_answers"], look["answers"], look["alpha"]) == (25, 0, 0.05 / 3)
        answer(site, collection, tickets["training"][:30])
        assert posterior(site, collection, 25, 30)["misfit"] == found
    with open_site(database_url, clock) as site:
        assert posterior(site, collection, 25, 30)["misfit"] == found
        answer(site, collection, tickets["check"][25:60])
        later = posterior(site, collection, 60, 30)["misfit"]
        assert later["looks"][0] == look
        assert (later["looks"][1]["check_answers"], later["looks"][1]["answers"]) == (60, 30)
        assert later["next_look"] == LOOKS[2]


def test_a_population_that_is_no_normal_raises_the_alarm(site: Site) -> None:
    """Every check answer is 1, on whichever side of the population its threshold lies."""
    collection = checked(site, misfit_looks=[300])
    tickets = issued(site, collection, 900)
    answer(site, collection, tickets["training"])
    posterior(site, collection, 0, len(tickets["training"]))
    answer(site, collection, tickets["check"], share=1.0)
    found = posterior(site, collection, len(tickets["check"]), len(tickets["training"]))["misfit"]
    assert found["alarm"]
    assert found["looks"][0]["p_value"] == 0.001
    assert found["next_look"] is None


def test_every_answer_counts_towards_the_maximum(site: Site) -> None:
    collection = checked(site, max_answers=30)
    tickets = issued(site, collection, 100)
    answer(site, collection, tickets["check"][:20])
    answer(site, collection, tickets["training"][:10])
    assert problem(site.respond(collection, tickets["check"][20])) == (409, "collection-full")
    assert problem(site.client.post(f"/v1/collections/{collection}/tickets")) == (409, "collection-full")
    assert site.stored(collection) == 30
    posterior(site, collection, 20, 10)


def test_a_lost_snapshot_loses_no_look(sqlite_url: str, clock: FakeClock) -> None:
    with open_site(sqlite_url, clock) as site:
        collection = checked(site)
        tickets = issued(site, collection, 100)
        answer(site, collection, tickets["training"])
        answer(site, collection, tickets["check"][:30])
        found = posterior(site, collection, 30, len(tickets["training"]))["misfit"]
    engine = make_engine(sqlite_url)
    with writing(engine).begin() as connection:
        connection.exec_driver_sql("DELETE FROM snapshots")
    engine.dispose()
    with open_site(sqlite_url, clock) as site:
        assert posterior(site, collection, 30, len(tickets["training"]))["misfit"] == found


def test_the_first_of_two_looks_at_one_time_stays(sqlite_url: str) -> None:
    with open_site(sqlite_url) as site:
        number = site.service.collections.get(checked(site)).number
    engine = make_engine(sqlite_url)
    for p_value in (0.5, 0.001):
        with writing(engine).begin() as connection:
            kept = add_look(connection, number, Look(20, 21, 70, p_value), 5)
        assert kept == [Look(20, 21, 70, 0.5)]
    assert Store(engine).looks(number) == kept
    with reading(engine).connect() as connection:
        assert connection.execute(select(misfit_looks.c.at)).scalars().all() == [5]
    engine.dispose()


@pytest.mark.slow
def test_a_killed_server_keeps_the_looks_that_were_seen(sqlite_url: str) -> None:
    with forked(sqlite_url) as [server], httpx2.Client(base_url=server.url, headers=ADMIN, timeout=PATIENCE) as client:
        spec = SPEC | {"misfit_check": 0.5, "misfit_looks": LOOKS}
        path = f"/v1/collections/{client.post('/v1/collections', json=spec).json()['id']}"
        tickets = client.post(f"{path}/tickets", json={"count": 100}).json()["tickets"]
        pairs = [{"ticket": item["ticket"], "answer": 1} for item in tickets]
        client.post(f"{path}/responses/batch", json={"responses": pairs})
        seen = _once_looked(client, path)
        server.kill()
        server.start()
        server.wait_ready()
        assert _once_looked(client, path) == seen


def _once_looked(client: httpx2.Client, path: str) -> Any:
    """The misfit check once it has looked: a server that has just taken over has the answers still to learn."""

    def seen() -> Any:
        return client.get(f"{path}/posterior").json()["misfit"]

    until(lambda: seen()["looks"])
    return seen()


def test_a_purpose_that_is_none_is_refused(site: Site) -> None:
    reply = site.client.get(f"/v1/collections/{site.create()}/queries?purpose=both", headers=ADMIN)
    assert problem(reply) == (422, "invalid-body")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"misfit_check": 0.6}, "at most 0.5"),
        ({"misfit_check": "yes"}, "at most 0.5"),
        ({"misfit_check": True, "misfit_looks": [9, 8]}, "increasing"),
        ({"misfit_looks": [9]}, "misfit_looks needs misfit_check"),
    ],
)
def test_a_check_that_cannot_be_is_refused(site: Site, fields: dict[str, Any], says: str) -> None:
    spec = {"name": "Test", "family": "normal", "epsilon": 1} | fields
    reply = site.client.post("/v1/collections", json=spec, headers=ADMIN)
    assert reply.status_code == 422
    assert says in reply.json()["detail"]


def test_terms_say_that_some_questions_check_the_family(site: Site) -> None:
    notice = site.client.get(f"/v1/collections/{checked(site, misfit_check=0.25)}").json()["notice"]
    assert notice.startswith("A random share of 0.25 of the questions checks whether the family fits")
    both = checked(site, misfit_check=True, epsilon=1, epsilon_choices=[1, 2])
    notice = site.client.get(f"/v1/collections/{both}").json()["notice"]
    assert notice.startswith("You choose ε, one of 1, 2")
    assert "share of 0.2 of the questions" in notice
