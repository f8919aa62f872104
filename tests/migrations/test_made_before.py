"""Files that earlier commits made, a database and a ledger, are opened and gone on with.

`made_before` has them in folders that are called by the revision of their schema (`make_files.py` makes one), and in
`facts.json` what that commit said of them: collections of every kind with answers that were learnt, tickets that were
not answered yet, an invitation that was redeemed, and a ledger's entries in every state.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dither_client import Ledger
from dither_client.protocol.messages import parse_terms
from dither_client.strict_json import decode_json
from dither_migrations import newest_revision
from testing.servers.site import Site, open_site, problem

FILES = Path(__file__).with_name("made_before")
REVISIONS = sorted(folder.name for folder in FILES.iterdir())
FACTS = {name: json.loads((FILES / name / "facts.json").read_text(encoding="utf-8")) for name in REVISIONS}
NEVER_OPEN = ("closed", "deleted", "invited")
SERVER = "https://survey.example.org"

every_revision = pytest.mark.parametrize("revision", REVISIONS)
every_collection = pytest.mark.parametrize(
    ("revision", "name"),
    [(revision, name) for revision in REVISIONS for name in FACTS[revision]["collections"] if name not in NEVER_OPEN],
)
every_posterior = pytest.mark.parametrize(
    ("revision", "name"),
    [
        (revision, name)
        for revision in REVISIONS
        for name, posterior in FACTS[revision]["posteriors"].items()
        if name != "deleted" and "posterior" in posterior
    ],
)


def unpacked(revision: str, name: str, folder: Path) -> Path:
    """The file in a folder of the test's own."""
    file = folder / name
    file.write_bytes(gzip.decompress((FILES / revision / f"{name}.gz").read_bytes()))
    return file


@pytest.fixture
def facts(revision: str) -> Any:
    return FACTS[revision]


@pytest.fixture
def old_site(revision: str, tmp_path: Path) -> Iterator[Site]:
    with open_site(f"sqlite:///{unpacked(revision, 'dither.sqlite', tmp_path)}") as site:
        yield site


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """The numbers and texts inside, by their path."""
    if isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        return {where: leaf for name, part in parts for where, leaf in leaves(part, f"{path}/{name}").items()}
    return {path: value}


@every_posterior
def test_posteriors_are_the_same(old_site: Site, facts: Any, name: str) -> None:
    """From the snapshot: not one particle differs. The bound on contamination is drawn anew each time."""
    before = dict(facts["posteriors"][name])
    now = old_site.learnt(facts["collections"][name], before["answers"])
    for changing in ("updated_at", "poison"):
        del before[changing], now[changing]
    found, expected = leaves(now), leaves(before)
    assert found.keys() >= expected.keys()  # what a posterior says of its population was not there yet
    for where, value in expected.items():
        assert found[where] == (pytest.approx(value, rel=1e-9) if isinstance(value, float) else value), where
    assert {value for where, value in found.items() if "group" in where} <= {None}


@every_revision
def test_terms_say_what_they_said_and_that_no_words_were_written(old_site: Site, facts: Any) -> None:
    for name, collection in facts["collections"].items():
        if name == "deleted":
            continue
        terms = old_site.client.get(f"/v1/collections/{collection}").json()
        assert [terms[name] for name in ("question", "unit", "thank_you")] == [None] * 3
        assert old_site.client.get(f"/collections/{collection}/answer").status_code == 200


@every_collection
def test_answers_that_were_stored_stay_and_others_still_come(old_site: Site, facts: Any, name: str) -> None:
    collection = facts["collections"][name]
    for ticket, answer, receipt in facts["answered"][name]:
        again = old_site.respond(collection, ticket, answer)
        assert (again.status_code, again.json()) == (200, {"receipt": receipt})
        other = old_site.respond(collection, ticket, 1 - answer)
        assert other.status_code == (200 if name == "dropped" else 409)  # what is not kept cannot be told apart
    for ticket in facts["unanswered"][name]:
        assert old_site.respond(collection, ticket, 1).status_code == 201
    old_site.learnt(collection, facts["posteriors"][name]["answers"] + len(facts["unanswered"][name]))
    old_site.check_counts()


@pytest.mark.parametrize("revision", ["0011"])
def test_groups_have_the_answers_they_had(old_site: Site, facts: Any) -> None:
    collection = facts["collections"]["groups"]
    groups = old_site.learnt(collection, facts["posteriors"]["groups"]["answers"])["groups"]
    assert {label: group["answers"] for label, group in groups.items()} == {"north": 25, "south": 25}


@pytest.mark.parametrize("revision", ["0011"])
def test_what_was_deleted_can_still_be_restored(old_site: Site, facts: Any) -> None:
    path = f"/v1/collections/{facts['collections']['deleted']}"
    assert problem(old_site.client.get(path)) == (410, "collection-deleted")
    assert old_site.client.post(f"{path}/restore", headers=old_site.admin).json()["answers"] == 50


@every_revision
def test_what_was_closed_stays_closed(old_site: Site, facts: Any) -> None:
    collection = facts["collections"]["closed"]
    refused = old_site.respond(collection, facts["unanswered"]["closed"][0], 1)
    assert problem(refused) == (409, "collection-closed")
    assert old_site.client.get(f"/v1/collections/{collection}").json()["state"] == "closed"


@every_revision
def test_an_invitation_that_was_redeemed_gets_its_ticket_again(old_site: Site, facts: Any) -> None:
    path = f"/v1/collections/{facts['collections']['invited']}/tickets"
    invitation = facts["invitation"]
    reply = old_site.client.post(path, json=invitation["body"])
    assert (reply.status_code, reply.json()) == (201, invitation["reply"])
    thief = invitation["body"] | {"retry_key": "the-retry-key-of-somebody-else"}
    assert old_site.client.post(path, json=thief).status_code == 409
    fresh = invitation["body"] | {"invitation": invitation["unused"]}
    assert old_site.client.post(path, json=fresh).status_code == 201


@every_revision
def test_a_ledger_has_every_entry_as_it_was(revision: str, facts: Any, tmp_path: Path) -> None:
    with Ledger(unpacked(revision, "ledger.sqlite", tmp_path)) as ledger:
        for name, before in facts["ledger"].items():
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
        assert ledger.retry_key(SERVER, "invited") == facts["retry_key"]
        drawn = ledger.draw(SERVER, "charged", 2)
        assert (drawn.state, drawn.answer) == ("drawn", 2)


@pytest.mark.parametrize("revision", ["0011"])
def test_a_ledger_has_the_price_it_kept(revision: str, facts: Any, tmp_path: Path) -> None:
    with Ledger(unpacked(revision, "ledger.sqlite", tmp_path)) as ledger:
        assert ledger.price(SERVER, "groups") == parse_terms(decode_json(json.dumps(facts["terms"]).encode())).price


def test_the_newest_files_are_of_the_newest_schema_but_one_or_newer() -> None:
    """Whoever adds a revision makes files of the one before."""
    assert int(newest_revision() or 0) - int(REVISIONS[-1]) <= 1
