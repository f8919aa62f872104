"""Deleting collections: at once for everybody, restorable for a time, and then for good, with a receipt."""

from typing import Any

import pytest
from sqlalchemy import func, select

from dither_client.errors import BadResponse
from dither_client.protocol.deletion import check_receipt
from dither_server.collections.retention import DAY
from dither_server.database import purge, schema
from dither_server.database.engine import make_engine, reading
from dither_server.errors import Unavailable
from dither_server.tickets.office import SKEW, TICKET_LIFE
from testing.databases import check_counts
from testing.patience import until
from testing.servers.defaults import ADMIN
from testing.servers.site import FakeClock, Site, open_site, problem

OF_A_COLLECTION = [table for table in schema.metadata.tables.values() if "collection" in table.c]
KEPT = {"audit_log"}


def left(url: str, number: int) -> dict[str, int]:
    """The number of rows of a collection in each table that has some."""
    engine = make_engine(url)
    with reading(engine).connect() as connection:
        found = {
            table.name: connection.execute(
                select(func.count()).select_from(table).where(table.c.collection == number)
            ).scalar_one()
            for table in OF_A_COLLECTION
            if table.name not in KEPT
        }
        own = select(func.count()).select_from(schema.collections).where(schema.collections.c.number == number)
        found["collections"] = connection.execute(own).scalar_one()
    engine.dispose()
    return {name: count for name, count in found.items() if count}


def delete(site: Site, collection: str, purge: bool = False) -> Any:
    query = "?purge=true" if purge else ""
    return site.client.delete(f"/v1/collections/{collection}{query}", headers=ADMIN)


def answered(site: Site, count: int, **fields: Any) -> tuple[str, list[str]]:
    """A collection with so many answers, which are learnt, and its tickets."""
    collection = site.create(**fields)
    tickets = site.tickets(collection, count)
    site.batch(collection, *((ticket, i % 2) for i, ticket in enumerate(tickets)))
    site.learnt(collection, count)
    return collection, tickets


def test_a_deleted_collection_is_gone_for_everybody_and_is_restored_as_it_was(any_site: Site) -> None:
    site = any_site
    collection, _ = answered(site, 20, visibility="public")
    before = site.client.get(f"/v1/collections/{collection}/posterior").json()
    path = f"/v1/collections/{collection}"
    deleted = delete(site, collection)
    assert deleted.status_code == 200
    assert deleted.json()["restorable_until"] > deleted.json()["deleted_at"]
    assert delete(site, collection).json() == deleted.json()
    for end in ("", "/posterior", "/posterior/history", "/queries", "/answers", "/quality", "/member-counts"):
        assert problem(site.client.get(path + end, headers=ADMIN)) == (410, "collection-deleted"), end
    assert problem(site.client.post(f"{path}/tickets")) == (410, "collection-deleted")
    assert problem(site.set_state(collection, "closed")) == (410, "collection-deleted")
    assert site.client.get("/v1/collections", headers=ADMIN).json() == {"collections": []}
    assert site.client.get(f"/collections/{collection}/answer").status_code == 410
    assert collection not in site.client.get("/").text
    listed = site.client.get("/v1/deletions", headers=ADMIN).json()
    assert listed == {"deleted": [deleted.json()], "removed": []}
    restored = site.client.post(f"{path}/restore", headers=ADMIN)
    assert (restored.status_code, restored.json()["state"], restored.json()["answers"]) == (200, "open", 20)
    assert site.client.get(f"{path}/posterior").json() == before
    assert site.respond(collection, site.ticket(collection)).status_code == 201
    assert site.client.post(f"{path}/restore", headers=ADMIN).status_code == 200
    site.check_counts()


def test_what_a_device_hears_of_its_answer(any_site: Site) -> None:
    """An answer that is stored has its receipt. Any other waits for a day at most, and then hears what is final."""
    site = any_site
    collection, tickets = answered(site, 2)
    waiting = site.ticket(collection)
    receipt = site.respond(collection, tickets[0], 0).json()
    delete(site, collection)
    again = site.respond(collection, tickets[0], 0)
    assert (again.status_code, again.json()) == (200, receipt)
    assert problem(site.respond(collection, waiting)) == (410, "collection-deleted")
    items = site.batch(collection, (tickets[1], 1), (waiting, 0)).json()["responses"]
    assert [item["status"] for item in items] == [200, 410]
    for gone in (False, True):
        if gone:
            assert delete(site, collection, purge=True).status_code == 200
            assert problem(site.respond(collection, site.ticket(site.create()))) == (410, "collection-deleted")
            assert problem(site.respond(collection, f"{tickets[0]}x")) == (403, "ticket-invalid")
            assert problem(site.batch(collection, (waiting, 0))) == (410, "collection-deleted")
        site.clock.now += TICKET_LIFE + SKEW + 1
        assert problem(site.respond(collection, waiting)) == (410, "ticket-expired")
    site.check_counts()


def test_everything_goes_but_the_receipt(any_site: Site) -> None:
    site = any_site
    other, _ = answered(site, 10)
    collection, _ = answered(site, 30)
    number = site.service.collections.get(collection).number
    site.service.tally.flush()
    assert {"answers", "counts", "leases", "tallies"} <= left(site.url, number).keys()
    assert problem(delete(site, collection, purge=True)) == (409, "not-deleted")
    delete(site, collection)
    receipt = delete(site, collection, purge=True).json()
    assert left(site.url, number) == {}
    assert delete(site, collection, purge=True).json() == receipt
    assert (receipt["rows"]["answers"], receipt["rows"]["counted_answers"], receipt["rows"]["collections"]) == (
        30,
        30,
        1,
    )
    assert (receipt["collection"], receipt["deleted_by"], receipt["removed_by"]) == (collection, *["environment"] * 2)
    key = site.client.get("/v1/deletions/key").json()["public_key"]
    check_receipt(receipt, key)
    with pytest.raises(BadResponse, match="not signed"):
        check_receipt(receipt | {"rows": {}}, key)
    assert problem(site.client.post(f"/v1/collections/{collection}/restore", headers=ADMIN))[0] == 410
    assert problem(delete(site, collection)) == (410, "collection-deleted")
    assert site.client.get("/v1/deletions", headers=ADMIN).json() == {"deleted": [], "removed": [receipt]}
    done = [row.what for row in site.service.trail.rows(collection, 0, 100)]
    assert done == ["collection created", "collection deleted", "collection removed"]
    site.learnt(other, 10)
    assert site.respond(other, site.ticket(other)).status_code == 201
    site.learnt(other, 11)
    site.service.tally.flush()
    site.check_counts()


@pytest.mark.parametrize("fields", [{"keep_answers": False}, {"max_answers": 100}])
def test_answers_on_their_way_meanwhile_are_refused_alone(any_site: Site, fields: dict[str, Any]) -> None:
    """One transaction may hold answers to a removed collection and to others, which are stored all the same."""
    site = any_site
    collection, _ = answered(site, 3, **fields)
    found = site.service.collections.get(collection)
    ticket = site.service.tickets.open(site.ticket(collection))
    delete(site, collection)
    delete(site, collection, purge=True)
    assert not site.service.collections.known(found.number)

    async def store() -> Any:
        from dither_server.answers.rules import Arrival

        other = site.service.tickets.open(text)
        return await site.service.writer.store(
            [
                Arrival(((found.number), ticket.key), ticket.query, 0, int(site.clock() * 1000), False),
                Arrival((other.collection, other.key), other.query, 0, int(site.clock() * 1000), False),
            ]
        )

    there = site.create()
    text = site.ticket(there)
    assert site.client.portal is not None
    fates = site.client.portal.call(store)
    assert [fate.name for fate in fates] == ["DELETED", "STORED"]
    site.service.tally.refused(found.number, "collection-deleted")
    site.service.tally.issued(found.number, ticket.query, 0, 0)
    site.service.tally.flush()
    assert left(site.url, found.number) == {}
    site.check_counts()


def test_no_later_collection_has_the_number_or_takes_the_tickets_of_a_removed_one(any_site: Site) -> None:
    site = any_site
    collection = site.create()
    ticket, number = site.ticket(collection), site.service.collections.get(collection).number
    delete(site, collection)
    delete(site, collection, purge=True)
    later = site.create()
    assert site.service.collections.get(later).number > number
    assert problem(site.respond(later, ticket)) == (403, "ticket-foreign")


def test_a_question_that_another_collection_asks_stays_and_one_that_none_does_comes_again(any_site: Site) -> None:
    """Processes remember the numbers of questions: one whose row is gone is looked up again, and gets another."""
    site = any_site
    fields = {"policy": "fixed:100:200", "levels": 1}
    first, _ = answered(site, 4, **fields)
    shared, _ = answered(site, 4, **fields)
    answered(site, 4)  # its questions are newer
    delete(site, first)
    delete(site, first, purge=True)
    site.learnt(shared, 4)
    delete(site, shared)
    assert delete(site, shared, purge=True).json()["rows"]["queries"] >= 1
    again, _ = answered(site, 6, **fields)
    [query] = site.client.get(f"/v1/collections/{again}/queries", headers=ADMIN).json()["queries"]
    assert query["answers"] == 6
    assert (query["query"]["low"], query["query"]["high"]) == (100, 200)
    site.service.tally.flush()
    site.check_counts()


def test_what_nobody_restores_in_time_is_removed(any_site: Site) -> None:
    site = any_site
    collection, _ = answered(site, 5)
    delete(site, collection)
    site.clock.now += 30 * DAY / 1000 - 1
    site.service.deletions.sweep()
    assert site.client.post(f"/v1/collections/{collection}/restore", headers=ADMIN).status_code == 200
    delete(site, collection)
    site.clock.now += 30 * DAY / 1000 + 1
    site.service.deletions.sweep()
    [receipt] = site.client.get("/v1/deletions", headers=ADMIN).json()["removed"]
    assert (receipt["collection"], receipt["deleted_by"], receipt["removed_by"]) == (
        collection,
        "environment",
        "server",
    )


def test_a_collection_that_cannot_be_removed_keeps_no_other_from_it(
    any_site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither one whose removal had begun, nor one whose time has come since."""
    site = any_site
    due = [site.create(keep_days=10) for _ in range(4)]
    numbers = [site.service.collections.get(collection).number for collection in due]
    broken = {numbers[0], numbers[3]}
    step = site.service.deletions._step

    def failing(connection: Any, number: int) -> Any:
        if number in broken:
            raise ValueError("broken")
        return step(connection, number)

    monkeypatch.setattr(site.service.deletions, "_step", failing)
    delete(site, due[0])
    with pytest.raises(ValueError, match="broken"):
        site.service.deletions.purge(due[0], "ada")
    site.clock.now += 10 * 24 * 3600 + 1
    site.service.deletions.sweep()
    assert {receipt["collection"] for receipt in site.service.deletions.receipts()} == {due[1], due[2]}
    told = [vars(record) for record in caplog.records if record.levelname == "ERROR"]
    assert {(each["collection"], each["error"]) for each in told} == {
        (collection, "ValueError") for collection in (due[0], due[3])
    }
    broken.clear()
    site.service.deletions.sweep()
    assert {receipt["collection"] for receipt in site.service.deletions.receipts()} == set(due)


def test_a_removal_that_is_interrupted_is_finished_and_nothing_is_restored_meanwhile(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge, "_ROWS", 5)
    clock = FakeClock()
    with open_site(database_url, clock) as site:
        collection, _ = answered(site, 23)
        number = site.service.collections.get(collection).number
        delete(site, collection)
        step, steps = site.service.deletions._step, 0

        def stopped(*given: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == 3:
                raise Unavailable
            return step(*given)

        monkeypatch.setattr(site.service.deletions, "_step", stopped)
        assert delete(site, collection, purge=True).status_code == 503
        assert left(database_url, number)["answers"] == 13
        assert problem(site.client.post(f"/v1/collections/{collection}/restore", headers=ADMIN))[0] == 410
        assert site.client.get("/v1/deletions", headers=ADMIN).json() == {"deleted": [], "removed": []}
    with open_site(database_url, clock) as site:
        site.service.deletions.sweep()
        [receipt] = site.service.deletions.receipts()
        assert (receipt["rows"]["answers"], receipt["removed_by"]) == (23, "environment")
    assert left(database_url, number) == {}


def test_another_process_refuses_answers_at_once_and_everything_soon(database_url: str) -> None:
    clock = FakeClock()
    with open_site(database_url, clock) as one, open_site(database_url, clock) as other:
        collection, tickets = answered(one, 5)
        path = f"/v1/collections/{collection}"
        waiting = other.tickets(collection, 3)
        assert other.respond(collection, waiting[0]).status_code == 201
        delete(one, collection)
        assert problem(other.respond(collection, waiting[1])) == (410, "collection-deleted")
        until(lambda: other.client.get(path).status_code == 410, "it is still shown")
        one.client.post(f"{path}/restore", headers=ADMIN)
        until(lambda: other.client.get(path).status_code == 200, "it is not shown again")
        assert other.respond(collection, waiting[1]).status_code == 201
        delete(other, collection)
        assert delete(other, collection, purge=True).json()["rows"]["counted_answers"] == 7
        assert problem(one.respond(collection, waiting[2])) == (410, "collection-deleted")
        until(lambda: one.client.post(f"{path}/tickets").status_code == 410, "it still issues tickets")
        for site in (one, other):
            assert problem(site.respond(collection, tickets[0])) == (410, "collection-deleted")
            later = site.create()
            assert site.respond(later, site.ticket(later)).status_code == 201
            site.learnt(later, 1)
        number = one.service.tickets.open(tickets[0]).collection
        until(
            lambda: not one.service.learners.has(number) and not other.service.learners.has(number), "it is remembered"
        )
    assert left(database_url, number) == {}


def test_a_stream_ends(any_site: Site) -> None:
    site = any_site
    collection, _ = answered(site, 3)
    with site.client.stream("GET", f"/v1/collections/{collection}/posterior/stream", headers=ADMIN) as events:
        delete(site, collection)
        assert "event: posterior" in "".join(events.iter_text())


@pytest.mark.parametrize("call", ["DELETE ", "DELETE ?purge=true", "POST /restore"])
def test_only_admins_may(site: Site, call: str) -> None:
    collection = site.create()
    method, _, end = call.partition(" ")
    path = f"/v1/collections/{collection}{end}"
    assert problem(site.client.request(method, path)) == (401, "unauthorized")
    analyst = site.client.post("/v1/tokens", json={"role": "analyst"}, headers=ADMIN).json()["token"]
    own = {"Authorization": f"Bearer {analyst}"}
    assert problem(site.client.request(method, path, headers=own)) == (403, "forbidden")
    assert problem(site.client.request(method, path.replace(collection, "none"), headers=ADMIN))[0] == 404
    assert site.client.get("/v1/deletions").status_code == site.client.get("/v1/audit").status_code == 401
    check_counts(make_engine(site.url))
