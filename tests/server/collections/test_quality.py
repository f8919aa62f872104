"""What analysts see of how a collection goes: refused answers, completion by question, the gateways' shares."""

import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import event, func, select

from dither_client import Laplace, parse_query
from dither_server.answers.tally import PERIOD, PROMPT, Tally
from dither_server.database.engine import reading
from dither_server.database.schema import refusals
from dither_server.errors import Unavailable
from dither_server.tickets.office import SKEW, TICKET_LIFE
from dither_server.tickets.packing import pack_query
from testing.patience import until
from testing.servers.defaults import ADMIN
from testing.servers.site import FakeClock, Site, open_site, problem


def quality(site: Site, collection: str) -> dict[str, Any]:
    reply = site.client.get(f"/v1/collections/{collection}/quality", headers=ADMIN)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def once(site: Site, collection: str, there: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The report once it says so: what is counted is written within about a second."""

    def report() -> dict[str, Any] | None:
        found = quality(site, collection)
        return found if there(found) else None

    return until(report, lambda: quality(site, collection)) or {}


def asked(site: Site, collection: str, count: int) -> list[tuple[str, float]]:
    """New tickets, each with its question's place."""
    reply = site.client.post(f"/v1/collections/{collection}/tickets", json={"count": count}).json()
    queries = [(item["ticket"], parse_query(item["query"]).edges) for item in reply["tickets"]]
    return [(ticket, sum(edges) / len(edges)) for ticket, edges in queries]


def answer_all(site: Site, collection: str, tickets: list[str]) -> None:
    items = site.batch(collection, *((ticket, i % 2) for i, ticket in enumerate(tickets))).json()["responses"]
    assert {item["status"] for item in items} == {201}


def test_refused_answers_are_counted_by_cause_and_for_good(database_url: str) -> None:
    clock = FakeClock()
    with open_site(database_url, clock) as site:
        collection, other = site.create(), site.create()
        first, late = site.tickets(collection, 2)
        assert site.respond(collection, first, 0).status_code == 201
        refused = [
            site.respond(collection, first, 1),
            site.respond(collection, first, 0),
            site.respond(collection, late, 7),
            site.respond(collection, "no.ticket"),
            site.respond(other, first),
            site.client.post(f"/v1/collections/{collection}/responses", content=b"{"),
        ]
        clock.now += TICKET_LIFE + SKEW + 1
        refused.append(site.respond(collection, late))
        site.set_state(collection, "closed")
        refused.append(site.respond(collection, late))
        items = site.batch(collection, (first, 1), (late, 0), (first, 0)).json()["responses"]
        assert [reply.status_code for reply in refused] == [409, 200, 422, 403, 403, 400, 410, 409]
        assert [item["status"] for item in items] == [409, 409, 200]
        expected = {
            "already-answered": 2,
            "collection-closed": 2,
            "invalid-answer": 1,
            "malformed-json": 1,
            "ticket-expired": 1,
            "ticket-invalid": 1,
        }
        assert once(site, collection, lambda found: found["refused"] == expected)["completion"]["answers"] == 1
        assert once(site, other, lambda found: bool(found["refused"]))["refused"] == {"ticket-foreign": 1}
        site.respond(collection, late)
    with open_site(database_url, clock) as site:  # an orderly end writes what is left
        assert quality(site, collection)["refused"] == expected | {"collection-closed": 3}


def test_a_report_is_of_one_moment(any_site: Site) -> None:
    """What is written while the report is read is in all of it, or in none."""
    site = any_site
    collection = site.create()
    tally = Tally(site.service.writer)
    number = site.service.collections.get(collection).number

    written: list[str] = []

    def write(connection: object, cursor: object, statement: str, *_: object) -> None:
        if written or "FROM tallies" not in statement:
            return
        written.append(statement)
        tally.issued(number, pack_query(Laplace(0, 4, 4, 1)), 0, int(site.clock.now))
        tally.refused(number, "ticket-expired")
        tally.flush()

    engine = site.service.store._engine
    before = quality(site, collection)
    event.listen(engine, "after_cursor_execute", write)
    during = quality(site, collection)
    after = quality(site, collection)
    assert written
    assert during == before
    assert (after["refused"], after["completion"]["tickets"]) == ({"ticket-expired": 1}, 1)


def test_a_flood_of_refusals_is_no_flood_of_writes(site: Site) -> None:
    collection = site.create()
    writes: list[str] = []

    def note(connection: object, cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT INTO refusals"):
            writes.append(statement)

    event.listen(site.service._reserved, "before_cursor_execute", note)
    began = time.monotonic()
    for _ in range(50):
        site.batch(collection, *[("no.ticket", 0)] * 100)
    found = once(site, collection, lambda found: found["refused"].get("ticket-invalid") == 5_000)
    assert found["refused"] == {"ticket-invalid": 5_000}
    assert 1 <= len(writes) <= time.monotonic() - began + 1
    with reading(site.service.store._engine).connect() as connection:
        assert connection.execute(select(func.count()).select_from(refusals)).scalar_one() == 1


def test_completion_is_counted_by_question(any_site: Site) -> None:
    site = any_site
    collection = site.create(misfit_check=0.5)
    tickets = asked(site, collection, 300)
    answer_all(site, collection, [ticket for ticket, _ in tickets[:200]])
    found = once(site, collection, lambda found: found["completion"]["answers"] == 200)["completion"]
    assert found["tickets"] == sum(item["tickets"] for item in found["questions"]) == 300
    assert sum(item["answers"] for item in found["questions"]) == 200
    places = [sum(edges) / len(edges) for edges in (parse_query(item["query"]).edges for item in found["questions"])]
    assert places == sorted(places)
    assert found["looks"] == []  # their hour is not over
    assert found["alarm"] is False


def dropped_out(site: Site, collection: str, by_value: bool) -> dict[str, Any]:
    """800 tickets of two periods, of which a quarter is not answered: those with high thresholds, or any."""
    for _ in range(2):
        tickets = asked(site, collection, 400)
        random.shuffle(tickets)
        if by_value:
            tickets.sort(key=lambda one: one[1])
        answer_all(site, collection, [ticket for ticket, _ in tickets[:300]])
        asked_late = [ticket for ticket, _ in tickets[300:]]
        site.clock.now += PERIOD
    once(site, collection, lambda found: found["completion"]["answers"] == 600)  # all of which is written in time
    site.clock.now += PROMPT + SKEW + PERIOD
    answer_all(site, collection, asked_late)  # too late to count as completed
    return once(site, collection, lambda found: found["completion"]["answers"] == 700)


def test_the_analyst_is_warned_when_completion_depends_on_the_question(any_site: Site) -> None:
    site = any_site
    collection = site.create(visibility="public")
    found = dropped_out(site, collection, by_value=True)
    assert found["completion"]["alarm"]
    assert [look["tickets"] for look in found["completion"]["looks"]] == [400, 800]
    assert any("Completion depends on the question" in text for text in found["warnings"])
    assert "Completion depends on the question" in site.client.get(f"/collections/{collection}").text


def test_drop_out_at_random_is_no_reason_to_warn(site: Site) -> None:
    """Five collections with one false alarm in 150 each: more than two have one in 3 of a million runs."""
    alarms = 0
    for _ in range(5):
        found = dropped_out(site, site.create(), by_value=False)
        assert len(found["completion"]["looks"]) == 2
        assert any("Completion" in text for text in found["warnings"]) == found["completion"]["alarm"]
        alarms += found["completion"]["alarm"]
    assert alarms <= 2


def test_people_who_choose_one_epsilon_may_drop_out_more(site: Site) -> None:
    """A third of those at 0.5 drop out and nobody else: no answer depends on a value, and questions at 4 lie elsewhere.

    False alarms are as rare as above. Had tickets of both ε been compared with each other, all five would be alarms.
    """
    alarms = 0
    for _ in range(5):
        collection = site.create(epsilon=0.5, epsilon_choices=[0.5, 4], mechanism="randomized_response")
        path = f"/v1/collections/{collection}/tickets"
        for _ in range(2):
            for epsilon, dropping in ((0.5, 67), (4, 0)):
                got = site.client.post(path, json={"count": 200, "epsilon": epsilon}).json()["tickets"]
                tickets = [item["ticket"] for item in got]
                random.shuffle(tickets)
                answer_all(site, collection, tickets[dropping:])
            site.clock.now += PERIOD
        once(site, collection, lambda found: found["completion"]["answers"] == 666)
        site.clock.now += PROMPT + SKEW + PERIOD
        found = quality(site, collection)
        assert [look["tickets"] for look in found["completion"]["looks"]] == [400, 800]
        alarms += found["completion"]["alarm"]
    assert alarms <= 2


def test_tickets_that_are_still_out_are_no_drop_outs(site: Site) -> None:
    """Half of the tickets, those for high thresholds, came a moment ago: nothing is said of them."""
    collection = site.create()
    tickets = asked(site, collection, 600)
    tickets.sort(key=lambda one: one[1])
    answer_all(site, collection, [ticket for ticket, _ in tickets[:300]])
    site.clock.now += PROMPT
    found = once(site, collection, lambda found: found["completion"]["answers"] == 300)
    assert found["completion"]["looks"] == []


def gateway(site: Site, name: str) -> tuple[str, dict[str, str]]:
    made = site.client.post("/v1/tokens", json={"role": "gateway", "name": name}, headers=ADMIN).json()
    return made["id"], {"Authorization": f"Bearer {made['token']}"}


def test_each_gateways_share_is_told(any_site: Site) -> None:
    site = any_site
    collection = site.create(admission="gateway", visibility="public")
    shares = {}
    for name, count in (("north", 90), ("south", 30)):
        token, headers = gateway(site, name)
        path = f"/v1/collections/{collection}/tickets"
        tickets = site.client.post(path, json={"count": count}, headers=headers).json()["tickets"]
        answer_all(site, collection, [item["ticket"] for item in tickets[: count - 10]])
        shares[name] = token
        assert site.client.delete(f"/v1/tokens/{token}", headers=ADMIN).status_code == 204
    found = once(site, collection, lambda found: found["completion"]["answers"] == 100)
    assert found["gateways"] == [
        {"id": shares["north"], "name": "north", "tickets": 90, "answers": 80, "share": 0.8},
        {"id": shares["south"], "name": "south", "tickets": 30, "answers": 20, "share": 0.2},
    ]
    told = "One gateway of 2 brought 80% of the answers: it could have determined the result alone."
    assert found["warnings"] == [told]
    for end in ("", "/report", "/findings.json"):  # which anybody may read
        page = site.client.get(f"/collections/{collection}{end}").text
        assert told in page
        assert not any(secret in page for secret in ("north", *shares.values()))


def test_where_anyone_gets_tickets_there_are_no_gateways(site: Site) -> None:
    collection = site.create()
    answer_all(site, collection, site.tickets(collection, 120))
    found = once(site, collection, lambda found: found["completion"]["answers"] == 120)
    assert found["gateways"] == []
    assert not any("Completion" in text for text in found["warnings"])


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer nonsense"}])
def test_it_is_for_analysts_also_where_the_posterior_is_public(site: Site, headers: dict[str, str]) -> None:
    collection = site.create(visibility="public")
    reply = site.client.get(f"/v1/collections/{collection}/quality", headers=headers)
    assert problem(reply) == (401, "unauthorized")


def test_what_could_not_be_written_is_kept(site: Site) -> None:
    collection = site.service.collections.get(site.create())
    tally = type(site.service.tally)(site.service.writer)
    tally.refused(collection.number, "ticket-expired")
    site.service.writer._stopping = True
    with pytest.raises(Unavailable):
        tally.flush()
    site.service.writer._stopping = False
    tally.flush()
    assert quality(site, collection.id)["refused"] == {"ticket-expired": 1}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"range": [0, 10]}, "mu: fewer"),
        ({"range": [0, 100]}, None),
        (
            {"range": None, "prior": {"mu": {"dist": "norm"}, "sigma": {"dist": "gamma", "a": 2, "of": "variance"}}},
            "mu",
        ),
        ({"range": None}, None),
        ({"range": None, "values": 5_000_000}, None),
        ({"family": "nonparametric", "range": [0, 10]}, None),
        ({"range": [0, 10], "period": "month", "drift": True}, "mu: fewer"),
        ({"families": [{"family": "normal"}, {"family": "logistic"}], "range": [0, 10]}, "mu: fewer"),
    ],
)
def test_a_range_that_the_answers_leave_is_told(site: Site, fields: dict[str, Any], said: str | None) -> None:
    """People lie about 50: the range from 0 to 10 expects none of two hundred populations beyond 35.

    Without a range no place is unexpected, not even the millions.
    """
    middle = fields.get("values", 50)
    held = [middle * (1 + (k % 7 - 3) / 50) for k in range(400)]
    fields = {name: value for name, value in fields.items() if name != "values"}
    collection = site.answered(held, **{"epsilon": 5, "family": "normal"} | fields)
    site.learnt(collection, 400)
    told = [text for text in quality(site, collection)["warnings"] if "lead far" in text]
    assert len(told) == (said is not None)
    assert all(str(said) in text and "wider one, or with none" in text for text in told)
    page = site.client.get(f"/collections/{collection}/findings.json", headers=ADMIN).json()
    assert ("lead far" in page["summary"]) == (said is not None)


def test_a_component_whose_range_the_answers_leave_is_told(site: Site) -> None:
    components = [
        {"name": "wage", "family": "normal", "range": [0, 10]},
        {"name": "age", "family": "normal", "range": [0, 99]},
    ]
    collection = site.answered(
        [(50 + k % 7, 40 + k % 9) for k in range(400)], family=None, range=None, components=components, epsilon=5
    )
    site.learnt(collection, 400)
    [told] = [text for text in quality(site, collection)["warnings"] if "lead far" in text]
    assert "mu of wage: fewer" in told
