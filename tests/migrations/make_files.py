"""Makes a database, a ledger, and the facts about them, with the code that is installed, for `test_made_before.py`.

    python tests/migrations/make_files.py tests/migrations/made_before/REVISION

To be run at a commit whose schema is about to change.
"""

import gzip
import json
import sys
import tempfile
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

from dither_client import Laplace, Ledger, MemberCounts, parse_query
from dither_client.protocol.messages import parse_terms
from dither_client.strict_json import decode_json
from testing.servers.defaults import ADMIN
from testing.servers.site import Site, open_site

__all__: list[str] = []

SERVER = "https://survey.example.org"
KINDS: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "staircase": {"mechanism": "staircase", "epsilon": 2},
    "families": {"family": None, "range": None, "families": [{"family": "normal"}, {"family": "laplace"}]},
    "dropped": {"keep_answers": False},
    "closed": {},
    "without_family": {"family": None, "range": None, "minimum": 0, "atoms": [0]},
    "categories": {"family": "categorical", "range": None, "categories": ["never", "monthly", "daily"]},
    "groups": {"groups": {"name": "region", "labels": ["north", "south"]}},
    "deleted": {},
}
_ANSWERED, _UNANSWERED, _SHOWN = 50, 5, 5


def _collect(site: Site, name: str, fields: Mapping[str, Any], facts: dict[str, Any]) -> None:
    random, groups = Random(name), cycle(["north", "south"])
    collection = facts["collections"][name] = site.create(**fields)
    path = f"/v1/collections/{collection}/tickets"
    shown: list[list[Any]] = []
    tickets: list[str] = []
    for number in range(_ANSWERED + _UNANSWERED):
        item = site.client.post(path, json={"group": next(groups)} if name == "groups" else {}).json()
        if number >= _ANSWERED:
            tickets.append(item["ticket"])
            continue
        value = random.randrange(3) if name == "categories" else random.gauss(50, 10)
        answer = parse_query(item["query"]).answer(value, random.randrange)
        reply = site.respond(collection, item["ticket"], answer)
        assert reply.status_code == 201, reply.text
        if answer in (0, 1) and len(shown) < _SHOWN:
            shown.append([item["ticket"], answer, reply.json()["receipt"]])
    facts["unanswered"][name], facts["answered"][name] = tickets, shown
    posterior = site.learnt(collection, _ANSWERED)
    kept = posterior.keys() - {"distribution"} if posterior["posterior"] and name != "groups" else {"answers"}
    facts["posteriors"][name] = {field: posterior[field] for field in posterior if field in kept}


def _fill(site: Site) -> dict[str, Any]:
    facts: dict[str, Any] = {"collections": {}, "posteriors": {}, "unanswered": {}, "answered": {}}
    for name, fields in KINDS.items():
        _collect(site, name, fields, facts)
    site.set_state(facts["collections"]["closed"], "closed")
    site.client.delete(f"/v1/collections/{facts['collections']['deleted']}", headers=ADMIN)
    invited = facts["collections"]["invited"] = site.create(admission="invite")
    path = f"/v1/collections/{invited}"
    made = site.client.post(f"{path}/invitations", json={"count": 2}, headers=ADMIN).json()["invitations"]
    body = {"invitation": made[0], "retry_key": "a-retry-key-of-the-respondents-own"}
    reply = site.client.post(f"{path}/tickets", json=body).json()
    facts["invitation"] = {"body": body, "reply": reply, "unused": made[1]}
    facts["terms"] = site.client.get(f"/v1/collections/{facts['collections']['groups']}").json()
    return facts


def _write_ledger(file: Path, terms: object) -> dict[str, Any]:
    query, entries = Laplace(0, 64, 4, "0.5"), {}
    with Ledger(file) as ledger:
        for name in ("sent", "drawn", "charged", "expired"):
            ledger.charge(SERVER, name, f"1.ticket.{name}", query)
            if name != "charged":
                ledger.draw(SERVER, name, 3)
        ledger.mark_sent(SERVER, "sent", "a" * 32)
        ledger.mark_expired(SERVER, "expired")
        ledger.charge(SERVER, "members", "one-time", MemberCounts([0, 1], 10, 1))
        ledger.draw(SERVER, "members", (2, 3))
        ledger.keep_price(SERVER, "groups", parse_terms(decode_json(json.dumps(terms).encode())).price)
        for name in ("sent", "drawn", "charged", "expired", "members"):
            entry = ledger.find(SERVER, name)
            assert entry is not None
            entries[name] = {
                "state": entry.state,
                "micro_epsilon": entry.micro_epsilon,
                "ticket": entry.ticket,
                "query": json.loads(json.dumps(entry.query.to_json(), default=str)),
                "answer": entry.answer,
                "receipt": entry.receipt,
                "retry_key": entry.retry_key,
            }
        return {"ledger": entries, "retry_key": ledger.retry_key(SERVER, "invited")}


def main(folder: Path) -> None:
    """Writes the files into the folder, which it makes."""
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as temporary:
        database, ledger = Path(temporary) / "dither.sqlite", Path(temporary) / "ledger.sqlite"
        with open_site(f"sqlite:///{database}") as site:
            facts = _fill(site)
        facts |= _write_ledger(ledger, facts["terms"])
        for file in (database, ledger):
            (folder / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
    (folder / "facts.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
