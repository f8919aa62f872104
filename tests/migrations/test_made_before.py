"""Files that an earlier commit made, a database and a ledger, are opened and gone on with.

`made_before` has them, and in `facts.json` what that commit said of them: collections of every kind with answers that
were learnt, tickets that were not answered yet, an invitation that was redeemed, and a ledger's entries in every state.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dither_client import Ledger
from testing.servers.site import Site, open_site, problem

FILES = Path(__file__).with_name("made_before")
FACTS = json.loads((FILES / "facts.json").read_text(encoding="utf-8"))
OPEN = ("plain", "staircase", "families", "dropped")
SERVER = "https://survey.example.org"


def unpacked(name: str, folder: Path) -> Path:
    """The file in a folder of the test's own."""
    file = folder / name
    file.write_bytes(gzip.decompress((FILES / f"{name}.gz").read_bytes()))
    return file


@pytest.fixture
def old_site(tmp_path: Path) -> Iterator[Site]:
    with open_site(f"sqlite:///{unpacked('dither.sqlite', tmp_path)}") as site:
        yield site


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """The numbers and texts inside, by their path."""
    if isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        return {where: leaf for name, part in parts for where, leaf in leaves(part, f"{path}/{name}").items()}
    return {path: value}


@pytest.mark.parametrize("name", [*OPEN, "closed"])
def test_posteriors_are_the_same(old_site: Site, name: str) -> None:
    """From the snapshot: not one particle differs. The bound on contamination is drawn anew each time."""
    before = dict(FACTS["posteriors"][name])
    now = old_site.learnt(FACTS["collections"][name], before["answers"])
    for changing in ("updated_at", "poison"):
        del before[changing], now[changing]
    found, expected = leaves(now), leaves(before)
    assert found.keys() >= expected.keys()  # what a posterior says of its population was not there yet
    for where, value in expected.items():
        assert found[where] == (pytest.approx(value, rel=1e-9) if isinstance(value, float) else value), where
    assert not [where for where in found if "group" in where]


def test_terms_say_what_they_said_and_that_no_words_were_written(old_site: Site) -> None:
    for collection in FACTS["collections"].values():
        terms = old_site.client.get(f"/v1/collections/{collection}").json()
        assert [terms[name] for name in ("question", "unit", "minimum", "maximum", "thank_you")] == [None] * 5
        assert old_site.client.get(f"/collections/{collection}/answer").status_code == 200


@pytest.mark.parametrize("name", OPEN)
def test_answers_that_were_stored_stay_and_others_still_come(old_site: Site, name: str) -> None:
    collection = FACTS["collections"][name]
    for ticket, answer, receipt in FACTS["answered"][name]:
        again = old_site.respond(collection, ticket, answer)
        assert (again.status_code, again.json()) == (200, {"receipt": receipt})
        other = old_site.respond(collection, ticket, 1 - answer)
        assert other.status_code == (200 if name == "dropped" else 409)  # what is not kept cannot be told apart
    for ticket in FACTS["unanswered"][name]:
        assert old_site.respond(collection, ticket, 1).status_code == 201
    old_site.learnt(collection, FACTS["posteriors"][name]["answers"] + len(FACTS["unanswered"][name]))
    old_site.check_counts()


def test_what_was_closed_stays_closed(old_site: Site) -> None:
    collection = FACTS["collections"]["closed"]
    refused = old_site.respond(collection, FACTS["unanswered"]["closed"][0], 1)
    assert problem(refused) == (409, "collection-closed")
    assert old_site.client.get(f"/v1/collections/{collection}").json()["state"] == "closed"


def test_an_invitation_that_was_redeemed_gets_its_ticket_again(old_site: Site) -> None:
    path = f"/v1/collections/{FACTS['collections']['invited']}/tickets"
    invitation = FACTS["invitation"]
    reply = old_site.client.post(path, json=invitation["body"])
    assert (reply.status_code, reply.json()) == (201, invitation["reply"])
    thief = invitation["body"] | {"retry_key": "the-retry-key-of-somebody-else"}
    assert old_site.client.post(path, json=thief).status_code == 409
    fresh = invitation["body"] | {"invitation": invitation["unused"]}
    assert old_site.client.post(path, json=fresh).status_code == 201


def test_a_ledger_has_every_entry_as_it_was(tmp_path: Path) -> None:
    with Ledger(unpacked("ledger.sqlite", tmp_path)) as ledger:
        for name, before in FACTS["ledger"].items():
            entry = ledger.find(SERVER, name)
            assert entry is not None
            answer = list(entry.answer) if isinstance(entry.answer, tuple) else entry.answer
            now: dict[str, Any] = {
                "state": entry.state,
                "micro_epsilon": entry.micro_epsilon,
                "ticket": entry.ticket,
                "query": json.loads(json.dumps(entry.query.to_json(), default=str)),
                "answer": answer,
                "receipt": entry.receipt,
                "retry_key": entry.retry_key,
            }
            assert now == before
        assert {entry.collection for entry in ledger.unsent(SERVER)} == {"drawn", "members"}
        assert ledger.retry_key(SERVER, "invited") == FACTS["retry_key"]
        drawn = ledger.draw(SERVER, "charged", 2)
        assert (drawn.state, drawn.answer) == ("drawn", 2)
