"""A respondent of a collection with public groups: the label is one of the terms', or nothing is asked and spent."""

import asyncio
import json
from typing import Any

import pytest

from dither_client import AsyncClient, BadResponse, Client, InvalidGroup, MemoryLedger
from dither_client.mechanisms.groups import Groups
from dither_client.mechanisms.price import Price
from dither_client.protocol.flow import Response
from dither_client.protocol.messages import parse_terms
from dither_client.protocol.respondent import answer_flow
from testing.servers.fake_server import FakeServer
from tests.client.protocol.test_flow import RECEIPT, SERVER, answer, play, problem, ticket, told

REGIONS = Groups("region", ("north", "south"))
SAID: dict[str, Any] = {
    "id": "c", "name": "C", "family": "normal", "transform": "identity", "mechanism": "laplace", "epsilon": 1,
    "state": "open", "answers": 0, "admission": "public", "visibility": "private",
}  # fmt: skip
GROUPED = told(1, groups=REGIONS.to_json())
TICKETS = "/v1/collections/laplace/tickets"


def test_the_label_is_in_the_request_for_the_ticket_alone_and_no_value_changes_it() -> None:
    requests = []
    for value in (-1e9, 0.5, 1e9):
        _, sent, _ = play(answer(MemoryLedger(), value, GROUPED, group="south"), ticket(), RECEIPT)
        requests.append(sent[0])
        assert b"south" not in sent[1].body
    assert json.loads(requests[0].body) == {"group": "south"}
    assert len(set(map(repr, requests))) == 1


@pytest.mark.parametrize("group", [None, "", "West", "North", "north ", "12345.5"])
def test_where_there_are_groups_one_of_them_must_be_named(group: str | None) -> None:
    ledger = MemoryLedger()
    with pytest.raises(InvalidGroup, match=r"one of the collection's: north, south$") as refused:
        play(answer(ledger, terms=GROUPED, group=group))
    assert not group or group.strip() == "north" or group not in str(refused.value)
    assert ledger.entries() == []


def test_where_there_are_none_none_may_be_named() -> None:
    flow = answer_flow(SERVER, "c", 0.5, MemoryLedger(), group="north")
    outcome, sent, _ = play(flow, Response(200, {}, json.dumps(SAID).encode()))
    assert type(outcome) is InvalidGroup
    assert [send.method for send in sent] == ["GET"]


def test_a_refusal_spends_nothing() -> None:
    ledger = MemoryLedger()
    outcome, _, _ = play(answer(ledger, terms=GROUPED, group="north"), problem(422, "invalid-group"))
    assert outcome.name == "invalid-group"
    assert ledger.entries() == []


def test_groups_are_kept_with_the_price_and_never_change() -> None:
    price = GROUPED.price
    assert Price.from_json(json.loads(json.dumps(price.to_json()))) == price
    assert "groups" not in told(1).price.to_json()
    for other in (None, Groups("region", ("south", "north")), Groups("county", ("north", "south"))):
        with pytest.raises(BadResponse, match="has changed the groups"):
            price.check_kept(told(1, groups=other and other.to_json()).price)
    told(1).price.check_kept(price)  # kept by a version that knew of none


def test_a_price_of_an_earlier_version_does_not_hide_the_groups() -> None:
    """It was kept without groups; who names one is held to those that the terms have now."""
    for group, outcome_type in (("north", "Receipt"), ("west", "InvalidGroup")):
        ledger = MemoryLedger()
        ledger.keep_price(SERVER, "c", told(1).price)
        terms = {**SAID, "groups": {"name": "region", "labels": ["north", "south"]}}
        said = Response(200, {}, json.dumps(terms).encode())
        replies = [said, ticket(), RECEIPT] if group == "north" else [said]
        outcome, _, _ = play(answer(ledger, terms=None, group=group), *replies)
        assert type(outcome).__name__ == outcome_type


@pytest.mark.parametrize(
    "groups",
    [
        [], "north", {"name": "region"}, {"labels": ["a", "b"]}, {"name": 1, "labels": ["a", "b"]},
        {"name": "region", "labels": ["a"]}, {"name": "region", "labels": ["a", "a"]},
        {"name": "region", "labels": ["a", 1]}, {"name": "region", "labels": ["a", "b\n"]},
        {"name": "region", "labels": [str(number) for number in range(501)]},
    ],
)  # fmt: skip
def test_what_are_no_groups(groups: Any) -> None:
    with pytest.raises(BadResponse):
        parse_terms({**SAID, "groups": groups})


def test_of_many_groups_some_are_named() -> None:
    many = Groups("district", tuple(f"d{number}" for number in range(500)))
    with pytest.raises(InvalidGroup, match="d19 and 480 more, which the terms list"):
        Groups.check(many, "d500")


def test_clients_send_the_label(server: FakeServer) -> None:
    terms = {**server.terms("laplace"), "groups": {"name": "region", "labels": ["north", "south"]}}
    server.refusals["/v1/collections/laplace"] = (200, terms)

    async def run() -> None:
        async with AsyncClient(server.url, MemoryLedger()) as client:
            await client.answer("laplace", 0.3, group="south")

    with Client(server.url, MemoryLedger()) as client:
        client.answer("laplace", 0.3, group="north")
    asyncio.run(run())
    assert server.sent_to(TICKETS) == [b'{"group": "north"}', b'{"group": "south"}']
