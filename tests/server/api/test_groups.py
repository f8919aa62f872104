"""Public groups over HTTP: the label goes with the request for a ticket, and answers are counted by group."""

from collections import Counter
from random import Random
from typing import Any

import pytest

from dither_client import parse_query
from dither_client.protocol.messages import parse_terms
from dither_client.strict_json import decode_json
from dither_server.api.messages.collections import TermsReply
from testing.servers.defaults import ADMIN
from testing.servers.site import FakeClock, Site, open_site, problem

LABELS = ["north", "south", "Île-de-France"]
GROUPS = {"groups": {"name": "region", "labels": LABELS, "shares": {"north": 1, "south": 1, "Île-de-France": 2}}}
CENTRES = dict(zip(LABELS, (20, 80, 50), strict=True))


def ticket(site: Site, collection: str, body: object) -> Any:
    return site.client.post(f"/v1/collections/{collection}/tickets", json=body)


def answer(site: Site, collection: str, group: str, count: int) -> None:
    """People of one group, whose values are about the group's centre, all at once."""
    random = Random(7)
    reply = ticket(site, collection, {"count": count, "group": group})
    pairs = [
        (item["ticket"], parse_query(item["query"]).answer(random.gauss(CENTRES[group], 5), random.randrange))
        for item in reply.json()["tickets"]
    ]
    assert {item["status"] for item in site.batch(collection, *pairs).json()["responses"]} == {201}


def answers_by_group(site: Site, collection: str) -> dict[str, int]:
    posterior = site.client.get(f"/v1/collections/{collection}/posterior", headers=ADMIN).json()
    return {label: group["answers"] for label, group in posterior["groups"].items()}


def test_terms_name_the_groups_and_say_that_the_label_has_no_noise(site: Site) -> None:
    reply = site.client.get(f"/v1/collections/{site.create(**GROUPS)}")
    TermsReply.model_validate_json(reply.content, strict=True)
    assert reply.json()["groups"] == {
        "name": "region", "labels": LABELS, "shares": {"north": 0.25, "south": 0.25, "Île-de-France": 0.5}
    }  # fmt: skip
    assert "which region you belong to" in reply.json()["notice"]
    assert "without noise" in reply.json()["notice"]
    groups = parse_terms(decode_json(reply.content)).groups
    assert groups is not None
    assert (groups.name, groups.labels) == ("region", tuple(LABELS))


@pytest.mark.parametrize(
    "body", [{}, {"group": None}, {"group": ""}, {"group": "west"}, {"group": "North", "count": 3}]
)
def test_only_a_label_of_the_terms_gets_a_ticket(site: Site, body: dict[str, object]) -> None:
    refused = ticket(site, site.create(**GROUPS), body)
    assert problem(refused) == (422, "invalid-group")
    assert "one of: north, south, Île-de-France" in refused.json()["detail"]
    assert "west" not in refused.json()["detail"]


def test_where_there_are_no_groups_none_may_be_named(site: Site) -> None:
    collection = site.create()
    assert problem(ticket(site, collection, {"group": "north"})) == (422, "invalid-group")
    assert ticket(site, collection, {"group": None}).status_code == 201
    assert site.client.get(f"/v1/collections/{collection}").json()["groups"] is None


def test_a_group_must_be_a_text(site: Site) -> None:
    assert problem(ticket(site, site.create(**GROUPS), {"group": ["north"]})) == (422, "invalid-body")


def test_answers_are_counted_and_listed_by_group(any_site: Site) -> None:
    collection = any_site.create(**GROUPS)
    answer(any_site, collection, "north", 30)
    any_site.learnt(collection, 30)
    answer(any_site, collection, "Île-de-France", 20)
    any_site.learnt(collection, 50)
    any_site.check_counts()
    path = f"/v1/collections/{collection}"
    queries = any_site.client.get(f"{path}/queries", headers=ADMIN).json()["queries"]
    counted: Counter[str] = Counter()
    for item in queries:
        assert sum(item["counts"]) == item["answers"]
        counted[item["group"]] += item["answers"]
    listed = any_site.client.get(f"{path}/answers", headers=ADMIN).json()["answers"]
    assert counted == Counter(item["group"] for item in listed) == {"north": 30, "Île-de-France": 20}
    assert answers_by_group(any_site, collection) == {"north": 30, "south": 0, "Île-de-France": 20}


def test_one_question_may_be_asked_of_several_groups(site: Site) -> None:
    collection = site.create(**GROUPS, policy="fixed:40:60")
    for group in LABELS:
        answer(site, collection, group, 5)
    site.learnt(collection, 15)
    queries = site.client.get(f"/v1/collections/{collection}/queries", headers=ADMIN).json()["queries"]
    assert len({item["id"] for item in queries}) == 1
    assert [item["answers"] for item in queries] == [5, 5, 5]
    site.check_counts()


def test_every_group_is_asked_about_its_own_values(site: Site) -> None:
    collection = site.create(**GROUPS, particles=200)
    for _ in range(4):
        for group in LABELS[:2]:
            answer(site, collection, group, 60)
        site.learnt(collection, site.stored(collection))
    middles = []
    for group in LABELS[:2]:
        tickets = ticket(site, collection, {"group": group, "count": 30}).json()["tickets"]
        edges = [edge for item in tickets for edge in parse_query(item["query"]).edges]
        middles.append(sum(edges) / len(edges))
    # Centres are 60 apart, and 240 answers at ε = 1 tell each to within 2: questions cannot come the other way round.
    assert middles[0] < 50 < middles[1]


def test_what_the_answers_of_a_group_have_taught_survives_a_restart(database_url: str) -> None:
    clock = FakeClock()
    with open_site(database_url, clock) as site:
        collection = site.create(**GROUPS)
        for group, count in (("north", 40), ("south", 25)):
            answer(site, collection, group, count)
        before = site.learnt(collection, 65)
        waiting = ticket(site, collection, {"group": "south"}).json()
    with open_site(database_url, clock) as site:
        again = site.learnt(collection, 65)
        assert {name: group["answers"] for name, group in again["groups"].items()} == {
            name: group["answers"] for name, group in before["groups"].items()
        }
        assert site.respond(collection, waiting["ticket"], 0).status_code == 201
        site.learnt(collection, 66)
        assert answers_by_group(site, collection) == {"north": 40, "south": 26, "Île-de-France": 0}


def test_an_invitation_is_for_one_group(site: Site) -> None:
    collection = site.create(**GROUPS, admission="invite")
    path = f"/v1/collections/{collection}"
    [code] = site.client.post(f"{path}/invitations", json={"count": 1}, headers=ADMIN).json()["invitations"]
    body = {"invitation": code, "retry_key": "a-key-of-the-respondent"}
    assert problem(ticket(site, collection, body)) == (422, "invalid-group")
    first = ticket(site, collection, body | {"group": "south"})
    assert first.status_code == 201
    assert ticket(site, collection, body | {"group": "north"}).json() == first.json()
    assert site.respond(collection, first.json()["ticket"]).status_code == 201
    site.learnt(collection, 1)
    assert answers_by_group(site, collection)["south"] == 1


@pytest.mark.parametrize("fields", [{"keep_answers": False}, {"max_answers": 1_000}])
def test_groups_go_with_every_way_of_storing(any_site: Site, fields: dict[str, object]) -> None:
    collection = any_site.create(**GROUPS, **fields)
    answer(any_site, collection, "south", 7)
    any_site.learnt(collection, 7)
    assert answers_by_group(any_site, collection)["south"] == 7
    any_site.check_counts()
