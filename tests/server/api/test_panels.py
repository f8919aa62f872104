"""Panels over HTTP: the same people in thirty waves, on either database."""

from typing import Any

import httpx2
import pytest

from dither_client import Client, Ledger, LedgerProtocol, MemoryLedger, NotYourTurn
from dither_server.api.messages.collections import TermsReply
from testing.servers.defaults import ADMIN
from testing.servers.site import FakeClock, Site, open_site, problem

WEEK = 7 * 86_400
FIELDS: dict[str, Any] = {
    "period": "week",
    "drift": True,
    "particles": 200,
    "panel": {"answers": 2, "periods": 30},
}


class Through(httpx2.BaseTransport):
    """To the application of a site."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.requests = 0

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests += 1
        reply = self._site.client.request(
            request.method, request.url.path, content=request.read(), headers={"content-type": "application/json"}
        )
        return httpx2.Response(reply.status_code, headers={"content-type": "application/json"}, content=reply.content)


def test_the_same_people_in_thirty_waves(database_url: str, tmp_path: Any) -> None:
    clock = FakeClock()
    clock.now = 1_770_681_600.0  # Tuesday, 10 February 2026
    with open_site(database_url, clock) as site, Ledger(tmp_path / "ledger.sqlite", max_epsilon=2) as in_file:
        collection = site.create(**FIELDS)
        ledgers: list[LedgerProtocol] = [in_file, *(MemoryLedger(max_epsilon=2) for _ in range(7))]
        through = Through(site)
        people = [Client("http://127.0.0.1:1", ledger, transport=through, clock=clock) for ledger in ledgers]
        drawn = [person.join(collection) for person in people]
        assert drawn == [person.join(collection) for person in people]
        answered: dict[str, int] = {}
        before = through.requests
        for wave in range(31):
            label = f"2026-W{7 + wave:02}"
            for number, person in enumerate(people):
                value = 50 + number + wave * (number % 2)
                if label in drawn[number]:
                    person.answer(collection, value)
                    answered[label] = answered.get(label, 0) + 1
                    continue
                with pytest.raises(NotYourTurn) as refused:
                    person.answer(collection, value)
                assert refused.value.next_turn == next((each for each in drawn[number] if each > label), None)
            clock.now += WEEK
        assert [ledger.spent() for ledger in ledgers] == [2] * 8
        assert sum(answered.values()) == 16
        assert through.requests - before == 32, "a ticket and an answer in each turn, and nothing else"
        periods = site.learnt(collection, 16)["periods"]
        assert {label: period["answers"] for label, period in periods.items() if period["answers"]} == answered
        site.check_counts()


def test_terms_have_the_panel_and_say_what_it_costs(site: Site) -> None:
    reply = site.client.get(f"/v1/collections/{site.create(**FIELDS)}")
    TermsReply.model_validate_json(reply.content, strict=True)
    assert reply.json()["panel"] == {"answers": 2, "periods": 30}
    assert "You answer 2 times within 30 weeks" in reply.json()["notice"]
    assert "ε = 2 in all" in reply.json()["notice"]
    assert "panel" not in site.client.get(f"/v1/collections/{site.create(period='week')}").json()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"period": None}, "panel needs a period: day, week or month"),
        ({"panel": {"answers": 2}}, "panel must be such as"),
        ({"panel": 2}, "panel must be such as"),
        ({"panel": {"answers": 2, "periods": 30, "waves": 3}}, "panel must be such as"),
        ({"panel": {"answers": 31, "periods": 30}}, "answers one from 1 to periods"),
        ({"panel": {"answers": 2, "periods": 1501}}, "a whole number from 2 to 1,500"),
        ({"panel": {"answers": 2.0, "periods": 30}}, "a whole number from 2 to 1,500"),
        ({"epsilon_choices": [0.5, 1]}, "epsilon_choices cannot go with panel"),
        ({"opens_at": "2026-01-01T00:00:00Z"}, "opens_at cannot go with panel"),
        ({"admission": "invite"}, "admission cannot be invite with panel"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(site: Site, fields: dict[str, Any], said: str) -> None:
    body = {"name": "Wages", "family": "normal", "epsilon": 1, "period": "week"} | {"panel": FIELDS["panel"]} | fields
    refused = site.client.post("/v1/collections", json=body, headers=ADMIN)
    assert problem(refused)[0] == 422
    assert said in refused.json()["detail"]


@pytest.mark.parametrize(
    ("fields", "taken"),
    [
        ({"closes_at": "2026-08-30T00:00:00Z"}, False),
        ({"closes_at": "2026-08-31T00:00:00Z"}, False),
        ({"closes_at": "2026-09-01T00:00:00Z"}, True),
        ({"keep_days": 200}, False),
        ({"keep_days": 203}, True),
        ({"panel": None, "closes_at": "2026-03-01T00:00:00Z"}, True),
    ],
)
def test_a_panel_lasts_for_all_turns_of_those_who_join_now(
    site: Site, clock: FakeClock, fields: dict[str, Any], taken: bool
) -> None:
    """The last of thirty weeks from 10 February 2026 begins on 31 August."""
    clock.now = 1_770_681_600.0  # Tuesday, 10 February 2026
    body = {"name": "Wages", "family": "normal", "epsilon": 1} | FIELDS | fields
    reply = site.client.post("/v1/collections", json=body, headers=ADMIN)
    assert (reply.status_code == 201) == taken
    if not taken:
        assert "Input should reach to the week of 31 August 2026" in reply.json()["detail"]
