"""Institutions share noisy counts of their members: stored once, learnt with single answers, by any process."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest

from dither_client import (
    AlreadyAnswered,
    Analyst,
    Client,
    InvalidQuery,
    Ledger,
    MemberCounts,
    MemoryLedger,
    OverCap,
    Shared,
)
from dither_client.commands import run
from dither_client.tables.counts import read_table
from dither_server.database.engine import make_engine, writing
from dither_server.database.schema import snapshots
from testing.patience import PATIENCE, until
from testing.servers.defaults import ADMIN
from testing.servers.served import serving
from testing.servers.site import FakeClock, Site, open_site, problem

pytestmark = pytest.mark.usefixtures("nothing_expires")

CUTS = [30, 45, 55, 70]


def token(site: Site, collection: str | None = None) -> dict[str, str]:
    """The header of a new institution."""
    body = {"role": "gateway", "name": "clinic"} | ({"collections": [collection]} if collection else {})
    reply = site.client.post("/v1/tokens", json=body, headers=ADMIN)
    assert reply.status_code == 201, reply.text
    return {"Authorization": f"Bearer {reply.json()['token']}"}


def share(site: Site, collection: str, who: Any, size: Any = 8, counts: Any = (2, 1, 1, 0)) -> httpx2.Response:
    body = {"size": size, "counts": list(counts)}
    return site.client.post(f"/v1/collections/{collection}/member-counts", json=body, headers=who)


def learnt(site: Site, collection: str, institutions: int, answers: int = 0) -> dict[str, Any]:
    """The posterior once it has learnt so many institutions and answers."""
    posterior: dict[str, Any] = {}

    def there() -> bool:
        posterior.update(site.client.get(f"/v1/collections/{collection}/posterior", headers=ADMIN).json())
        return (posterior["institutions"], posterior["answers"]) == (institutions, answers)

    until(there, lambda: f"learnt {posterior['institutions']} institutions and {posterior['answers']} answers")
    return posterior


def values(seed: int, size: int) -> list[float]:
    """A population with mean 52 and sd 8, sorted, as institutions' lists may be."""
    return sorted(np.random.default_rng(seed).normal(52, 8, size).tolist())


def test_an_institution_shares_once_and_its_receipt_never_changes(any_site: Site) -> None:
    collection = any_site.create(member_cuts=CUTS)
    who, other = token(any_site), token(any_site)
    first, again = share(any_site, collection, who), share(any_site, collection, who)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert problem(share(any_site, collection, who, counts=(2, 1, 1, 1))) == (409, "already-shared")
    assert problem(share(any_site, collection, who, size=9)) == (409, "already-shared")
    second = share(any_site, collection, other)
    assert second.status_code == 201
    assert second.json() != first.json()
    assert learnt(any_site, collection, 2)["answers"] == 0
    reply = any_site.client.get(f"/v1/collections/{collection}/member-counts", headers=ADMIN)
    assert [(item["size"], item["counts"]) for item in reply.json()["member_counts"]] == [(8, [2, 1, 1, 0])] * 2
    assert problem(any_site.client.get(f"/v1/collections/{collection}/member-counts", headers=who))[0] == 403


def test_of_requests_at_once_one_is_stored(any_site: Site) -> None:
    collection = any_site.create(member_cuts=CUTS)
    who = token(any_site)
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda i: share(any_site, collection, who, counts=(i % 2, 0, 0, 0)), range(16)))
    codes = [reply.status_code for reply in replies]
    assert codes.count(201) == 1
    assert set(codes) == {200, 201, 409}
    assert len({reply.json()["receipt"] for reply in replies if reply.status_code < 300}) == 1
    assert len(any_site.service.institutions.shares(any_site.service.collections.get(collection).number)) == 1


def test_a_share_outlives_a_restart_and_is_learnt_once(database_url: str, clock: FakeClock) -> None:
    with open_site(database_url, clock) as site:
        collection = site.create(member_cuts=CUTS)
        who = token(site)
        receipt = share(site, collection, who, 400, (95, 70, 30, 2)).json()
        site.respond(collection, site.ticket(collection), 1)
        before = learnt(site, collection, 1, 1)
    with open_site(database_url, clock) as site:
        again = share(site, collection, who, 400, (95, 70, 30, 2))
        assert (again.status_code, again.json()) == (200, receipt)
        after = learnt(site, collection, 1, 1)
    # From the snapshot: the very same particles.
    assert after["posterior"] == before["posterior"]


def test_without_its_snapshot_a_posterior_is_learnt_again(database_url: str, clock: FakeClock) -> None:
    """100 particles twice: means within 1.5 sd, more than 5 of their Monte Carlo standard errors."""
    with open_site(database_url, clock) as site:
        collection = site.create(member_cuts=CUTS)
        share(site, collection, token(site), 400, (95, 70, 30, 2))
        before = learnt(site, collection, 1)["posterior"]["mu"]
        number = site.service.collections.get(collection).number
        assert len(site.service.institutions.shares(number)) == 1
    forget_snapshots(database_url)
    with open_site(database_url, clock) as site:
        after = learnt(site, collection, 1)["posterior"]["mu"]
    assert abs(after["mean"] - before["mean"]) < 1.5 * before["sd"]


def forget_snapshots(url: str) -> None:
    engine = make_engine(url)
    with writing(engine).begin() as connection:
        connection.execute(snapshots.delete())
    engine.dispose()


def test_another_process_learns_what_this_one_stores(database_url: str, clock: FakeClock) -> None:
    with open_site(database_url, clock) as owner:
        collection = owner.create(member_cuts=CUTS)
        who = token(owner)
        with open_site(database_url, clock) as other:
            assert share(other, collection, who).status_code == 201
            assert share(owner, collection, who).status_code == 200
            learnt(other, collection, 1)
            learnt(owner, collection, 1)


def test_refusals(site: Site) -> None:
    without, collection = site.create(), site.create(member_cuts=CUTS)
    who = token(site)
    assert problem(share(site, without, who)) == (409, "no-member-counts")
    assert problem(share(site, collection, {})) == (401, "unauthorized")
    assert problem(share(site, collection, token(site, without))) == (403, "forbidden")
    for size, counts in [(8, (2, 1, 1)), (8, (3, 0, 0, 0)), (3, (0, 0, 0, 0)), (9, (0, 3, 0, 0))]:
        assert problem(share(site, collection, who, size, counts)) == (422, "invalid-answer")
    for wrong, some in [(0, (0, 0, 0, 0)), (8, (-1, 0, 0, 0)), (8, ()), (8.5, (0, 0, 0, 0)), (True, (0, 0, 0, 0))]:
        assert problem(share(site, collection, who, wrong, some)) == (422, "invalid-body")
    site.set_state(collection, "paused")
    assert problem(share(site, collection, who)) == (409, "collection-paused")
    site.set_state(collection, "open")
    assert share(site, collection, who).status_code == 201
    site.set_state(collection, "closed")
    assert share(site, collection, who).status_code == 200
    assert problem(share(site, collection, token(site))) == (409, "collection-closed")


@pytest.mark.parametrize(
    "fields",
    [
        {"member_cuts": []},
        {"member_cuts": [2, 1]},
        {"member_cuts": ["a"]},
        {"member_cuts": 5},
        {"member_cuts": [1e400]},
        {"member_cuts": [True]},
        {"member_cuts": list(range(17))},
        {"member_cuts": [-1, 5], "transform": "log", "range": [1, 100]},
        {"member_cuts": [5], "epsilon": None, "rho": 1, "mechanism": "gaussian"},
    ],
)
def test_cuts_that_cannot_be_are_refused_in_one_sentence(site: Site, fields: dict[str, Any]) -> None:
    spec = {"name": "Test", "family": "normal", "epsilon": 1, "range": [0, 100]} | fields
    body = json.dumps({name: value for name, value in spec.items() if value is not None}).replace("Infinity", "1e400")
    reply = site.client.post("/v1/collections", content=body, headers=ADMIN)
    assert reply.status_code in (400, 422)
    if reply.status_code == 422:
        assert "member_cuts" in reply.json()["detail"]


class Through(httpx2.BaseTransport):
    """To the application of a site; loses the first replies to shares, after the server has stored them."""

    def __init__(self, site: Site, losses: int = 0) -> None:
        self._site = site
        self.losses = losses
        self.bodies: list[bytes] = []

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        body = request.read()
        headers = {name: value for name, value in request.headers.items() if name in ("authorization", "content-type")}
        reply = self._site.client.request(request.method, request.url.path, content=body, headers=headers)
        if request.url.path.endswith("member-counts"):
            self.bodies.append(body)
            if self.losses:
                self.losses -= 1
                raise httpx2.ReadError("lost")
        return httpx2.Response(reply.status_code, headers={"content-type": "application/json"}, content=reply.content)


def client(site: Site, ledger: Any, who: dict[str, str], losses: int = 0) -> tuple[Client, Through]:
    through = Through(site, losses)
    secret = who["Authorization"].removeprefix("Bearer ")
    return Client("http://127.0.0.1:1", ledger, transport=through, token=secret), through


def test_institutions_and_people_on_one_posterior(site: Site) -> None:
    """Four clinics of 2,000 members each and 20 people: the truth within 5 posterior sd, whose size is known."""
    collection = site.create(member_cuts=CUTS, particles=500)
    for seed in range(4):
        with client(site, MemoryLedger(), token(site))[0] as institution:
            shared = institution.share(collection, values(seed, 2000))
        assert shared.query.groups == (500,) * 4
    for i in range(20):
        site.respond(collection, site.ticket(collection), i % 2)
    posterior = learnt(site, collection, 4, 20)["posterior"]
    for name, truth in (("mu", 52), ("sigma", 8)):
        assert abs(posterior[name]["mean"] - truth) < 5 * posterior[name]["sd"]
        # 8,000 members know the mean to 0.09 and half of that is lost to cuts; noise and people hardly matter.
        assert posterior[name]["sd"] < 0.4


def test_a_lost_reply_is_asked_for_with_the_same_bytes_and_charged_once(site: Site, tmp_path: Path) -> None:
    collection = site.create(member_cuts=CUTS)
    who = token(site)
    with Ledger(tmp_path / "ledger.sqlite", max_epsilon=1) as ledger:
        institution, through = client(site, ledger, who, losses=1)
        shared = institution.share(collection, values(1, 100))
        assert isinstance(shared, Shared)
        assert len(through.bodies) == 2
        assert len(set(through.bodies)) == 1
        assert ledger.spent() == 1
        with pytest.raises(AlreadyAnswered) as refused:
            institution.share(collection, values(1, 100))
        assert refused.value.receipt == shared.receipt


def test_counts_that_were_drawn_before_a_crash_are_sent_as_they_are(site: Site, tmp_path: Path) -> None:
    collection = site.create(member_cuts=CUTS)
    who = token(site)
    question = MemberCounts(CUTS, 40, 1)
    with Ledger(tmp_path / "ledger.sqlite", max_epsilon=1) as ledger:
        ledger.charge("http://127.0.0.1:1", collection, "token", question)
        ledger.draw("http://127.0.0.1:1", collection, (4, 3, 2, 1))
    with Ledger(tmp_path / "ledger.sqlite", max_epsilon=1) as ledger:
        institution, through = client(site, ledger, who)
        [sent] = institution.resume().values()
        assert isinstance(sent, Shared)
        assert sent.counts == (4, 3, 2, 1)
        assert json.loads(through.bodies[0]) == {"size": 40, "counts": [4, 3, 2, 1]}
        assert ledger.entries()[0].state == "sent"


def test_a_collection_that_does_not_ask_costs_nothing(site: Site) -> None:
    ledger = MemoryLedger()
    institution, through = client(site, ledger, token(site))
    with pytest.raises(InvalidQuery, match="member_cuts"):
        institution.share(site.create(), values(1, 100))
    assert ledger.spent() == 0
    assert through.bodies == []


NONSENSE = [
    (b'{"size": 8, "counts": [NaN, 0, 0, 0]}', (422, "invalid-body")),
    (b'{"size": 8, "counts": [Infinity, 0, 0, 0]}', (422, "invalid-body")),
    (b'{"size": 8, "counts": [1e400, 0, 0, 0]}', (422, "invalid-body")),
    (b'{"size": 8, "counts": [-1, 0, 0, 0]}', (422, "invalid-body")),
    (b'{"size": 8, "counts": [1.0, 0, 0, 0]}', (422, "invalid-body")),
    (b'{"size": 8, "counts": ["1", 0, 0, 0]}', (422, "invalid-body")),
    (b'{"size": 8, "counts": [null, 0, 0, 0]}', (422, "invalid-body")),
    (b'{"size": 8, "counts": [true, 0, 0, 0]}', (422, "invalid-body")),
    (b'{"size": 8, "counts": [1%s, 0, 0, 0]}' % (b"0" * 300), (422, "invalid-body")),
    (b'{"size": 1000001, "counts": [1, 0, 0, 0]}', (422, "invalid-body")),
    (b'{"size": -8, "counts": [1, 0, 0, 0]}', (422, "invalid-body")),
    (b'{"size": 8, "counts": 1}', (422, "invalid-body")),
    (b'{"size": 8, "counts": [%s0]}' % (b"0, " * 20_000), (422, "invalid-body")),
    (b'{"size": 8}', (422, "invalid-body")),
    # The question is the collection's: no other ε, cuts or scale.
    (b'{"size": 8, "counts": [1, 0, 0, 0], "epsilon": 5}', (422, "invalid-body")),
    (b'{"size": 8, "counts": [1, 0, 0, 0], "cuts": [1, 2, 3, 4]}', (422, "invalid-body")),
    (b'{"size": 8, "counts": [1, 0, 0, 0], "transform": "log"}', (422, "invalid-body")),
    # As many counts as cuts, and none above its group: 8 members are dealt 2, 2, 2, 2, and 9 are 3, 2, 2, 2.
    (b'{"size": 8, "counts": [1, 0, 0]}', (422, "invalid-answer")),
    (b'{"size": 8, "counts": [1, 0, 0, 0, 0]}', (422, "invalid-answer")),
    (b'{"size": 8, "counts": [0, 0, 0, 3]}', (422, "invalid-answer")),
    (b'{"size": 9, "counts": [3, 3, 0, 0]}', (422, "invalid-answer")),
    (b'{"size": 3, "counts": [1, 1, 1, 0]}', (422, "invalid-answer")),
]


def test_nonsense_is_refused_and_leaves_nothing_behind(site: Site) -> None:
    """After all of it the same token shares: nothing was stored, and the refusals told nothing of what was sent."""
    collection = site.create(member_cuts=CUTS)
    who = token(site)
    path = f"/v1/collections/{collection}/member-counts"
    for body, expected in NONSENSE:
        reply = site.client.post(path, content=body, headers=who | {"content-type": "application/json"})
        assert problem(reply) == expected, body[:60]
        assert "1000001" not in reply.text
    assert site.client.get(path, headers=ADMIN).json() == {"member_counts": []}
    assert share(site, collection, who).status_code == 201
    assert problem(share(site, collection, who, 9, (3, 2, 2, 2))) == (409, "already-shared")
    assert learnt(site, collection, 1)["members"] == 8


def test_a_server_that_changes_its_price_is_not_paid_it(site: Site) -> None:
    """Terms say ε = 1 when they are agreed to; what would cost more is refused, and nothing is drawn."""
    collection = site.create(member_cuts=CUTS, epsilon=3)
    ledger = MemoryLedger()
    institution, through = client(site, ledger, token(site))
    with pytest.raises(OverCap, match="more than the ε = 1 that you were told"):
        institution.share(collection, values(1, 100), max_epsilon=Fraction(1))
    assert ledger.spent() == 0
    assert through.bodies == []


def test_readers_of_the_posterior_read_what_it_rests_on(site: Site) -> None:
    private, public = site.create(member_cuts=CUTS), site.create(member_cuts=CUTS, visibility="public")
    for collection, status in ((private, 401), (public, 200)):
        assert site.client.get(f"/v1/collections/{collection}/member-counts").status_code == status


def test_an_exported_table_gives_the_posterior_of_the_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two institutions alike and one other, and 40 people: `dither export` and `dither estimate` on a live server.

    4,000 particles on both sides: means within 0.15 sd and sds within 12%, more than 5 Monte Carlo standard errors.
    """
    spec = {"name": "Wages", "family": "normal", "epsilon": 1, "range": [0, 100], "particles": 4000}
    database = f"sqlite:///{tmp_path / 'dither.sqlite'}"
    with serving(database) as (url, _), httpx2.Client(base_url=url, headers=ADMIN, timeout=PATIENCE) as admin:
        collection = admin.post("/v1/collections", json=spec | {"member_cuts": CUTS}).json()["id"]
        path = f"/v1/collections/{collection}"
        for size, counts in ((400, [95, 70, 30, 2]), (400, [95, 70, 30, 2]), (41, [11, 8, 2, 0])):
            secret = admin.post("/v1/tokens", json={"role": "gateway"}).json()["token"]
            body = {"size": size, "counts": counts}
            who = {"Authorization": f"Bearer {secret}"}
            assert admin.post(f"{path}/member-counts", json=body, headers=who).status_code == 201
        tickets = [admin.post(f"{path}/tickets").json()["ticket"] for _ in range(40)]
        batch = {"responses": [{"ticket": ticket, "answer": i % 2} for i, ticket in enumerate(tickets)]}
        admin.post(f"{path}/responses/batch", json=batch).raise_for_status()
        server: dict[str, Any] = {}

        def there() -> bool:
            server.update(admin.get(f"{path}/posterior").json())
            return bool(server["institutions"] == 3 and server["answers"] == 40)

        until(there)
        with Analyst(url, ADMIN["Authorization"].removeprefix("Bearer ")) as analyst:
            shared, title = analyst.member_counts(collection), analyst.posterior(collection).title
        assert title == f"Posterior of {collection} after 40 answers and counts of 841 members"
        assert Counter((one.query.size, one.counts) for one in shared) == {
            (400, (95, 70, 30, 2)): 2,
            (41, (11, 8, 2, 0)): 1,
        }
        table, dashboard = tmp_path / "counts.parquet", tmp_path / "dashboard.csv"
        options = ["--url", url, "--token", ADMIN["Authorization"].removeprefix("Bearer ")]
        assert run(["export", collection, "--counts", str(table), *options]) == 0
        dashboard.write_bytes(admin.get(f"/collections/{collection}/export/counts.csv").content)
    assert read_table(table) == read_table(dashboard)
    assert sum(len(found) for found in read_table(table).members.values()) == 8
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    capsys.readouterr()
    assert run(["estimate", "--spec", str(tmp_path / "spec.json"), "--counts", str(table), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["answers"], found["members"], server["members"]) == (40, 841, 841)
    for name, summary in server["posterior"].items():
        assert found["posterior"][name]["mean"] == pytest.approx(summary["mean"], abs=0.15 * summary["sd"])
        assert found["posterior"][name]["sd"] == pytest.approx(summary["sd"], rel=0.12)
    assert run(["estimate", "--spec", str(tmp_path / "spec.json"), "--counts", str(table)]) == 0
    assert "after 40 answers and counts of 841 members\n" in capsys.readouterr().out
