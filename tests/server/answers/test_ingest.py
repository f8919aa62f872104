import json
import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, delete, func, insert, literal_column, select, update

from dither_client import Laplace, parse_query
from dither_server.answers.rules import Arrival, Fate, Ingest
from dither_server.database.engine import _POSTGRES_SESSION, history_of, make_engine, reading, upgrade, writing
from dither_server.database.schema import answers, collections, counts, queries
from dither_server.tickets.packing import pack_query, unpack_query
from testing.databases import check_counts

QUERY = pack_query(Laplace(0, 1, 2, 1))
OTHER = pack_query(Laplace(0, 2, 2, 1))
NOW = 1_800_000_000_000
HASH, ANOTHER = b"h" * 16, b"i" * 16


@pytest.fixture
def engine(migrated_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """A database with collections 1 (no limits) and 2 (three answers, closing time), patient with a busy machine."""
    for limit in ("idle_in_transaction_session_timeout", "statement_timeout"):
        monkeypatch.setitem(_POSTGRES_SESSION, limit, "60s")
    engine = make_engine(migrated_url)
    row = {"specification": "{}", "state": "open", "created_at": NOW}
    with writing(engine).begin() as connection:
        connection.execute(insert(collections), [row | {"id": "first", "closes_at": None, "max_answers": None}])
        connection.execute(insert(collections), [row | {"id": "second", "closes_at": NOW + 1000, "max_answers": 3}])
    yield engine
    check_counts(engine)
    engine.dispose()


def arrival(
    collection: int = 1,
    ticket: bytes | None = None,
    answer: int = 0,
    *,
    query: bytes = QUERY,
    at: int = NOW,
    expired: bool = False,
    retry_hash: bytes | None = HASH,
) -> Arrival:
    return Arrival((collection, ticket or os.urandom(20)), query, answer, at, expired, 0, retry_hash)


def store(engine: Engine, arrivals: Sequence[Arrival], ingest: Ingest | None = None) -> list[Fate]:
    """The fates of `arrivals` in one transaction."""
    ingest = ingest or Ingest()
    with writing(engine).begin() as connection:
        stored = ingest.store(connection, arrivals)
    ingest.committed(stored)
    return stored.fates


def total(engine: Engine) -> int:
    with reading(engine).connect() as connection:
        return int(connection.execute(select(func.coalesce(func.sum(counts.c.count), 0))).scalar_one())


def set_state(engine: Engine, state: str) -> None:
    with writing(engine).begin() as connection:
        connection.execute(update(collections).values(state=state))


def test_new_answers_are_stored_and_counted(engine: Engine) -> None:
    arrivals = [arrival(answer=i % 3, query=QUERY if i % 2 else OTHER) for i in range(100)]
    assert store(engine, arrivals) == [Fate.STORED] * 100
    assert total(engine) == 100
    with reading(engine).connect() as connection:
        assert connection.execute(select(func.count()).select_from(queries)).scalar_one() == 2


def test_one_query_for_two_purposes_is_counted_apart(engine: Engine) -> None:
    check = pack_query(Laplace(0, 1, 2, 1), "check")
    ingest = Ingest()
    for _ in range(2):  # the second time from the numbers that are remembered
        assert store(engine, [arrival(answer=1, query=q) for q in (QUERY, check, check)], ingest) == [Fate.STORED] * 3
    assert store(engine, [arrival(answer=1, query=check)]) == [Fate.STORED]  # by a process that remembers none
    with reading(engine).connect() as connection:
        joined = select(queries.c.purpose, counts.c.count).join_from(
            counts, queries, counts.c.query == queries.c.number
        )
        assert sorted(map(tuple, connection.execute(joined))) == [("check", 5), ("training", 2)]
        assert connection.execute(select(func.count(func.distinct(queries.c.id)))).scalar_one() == 1


def test_a_transaction_takes_thousands_of_answers(engine: Engine) -> None:
    arrivals = [arrival() for _ in range(5_000)]
    assert store(engine, arrivals) == [Fate.STORED] * 5_000
    assert store(engine, arrivals) == [Fate.REPEATED] * 5_000
    assert total(engine) == 5_000


@pytest.mark.postgres
def test_rows_are_written_in_the_order_of_the_index(postgres_url: str) -> None:
    # Otherwise the index takes 1.6 times the bytes. The order in which rows are joined is the planner's.
    engine = make_engine(postgres_url)
    upgrade(engine)
    with writing(engine).begin() as connection:
        connection.execute(
            insert(collections), [{"id": "first", "specification": "{}", "state": "open", "created_at": NOW}]
        )
    ingest, written = Ingest(), select(answers.c.ticket).order_by(literal_column("answers.ctid"))
    for _ in range(20):
        assert set(store(engine, [arrival() for _ in range(500)], ingest)) == {Fate.STORED}
    with reading(engine).connect() as connection:
        tickets = connection.execute(written).scalars().all()
    engine.dispose()
    batches = [tickets[at : at + 500] for at in range(0, len(tickets), 500)]
    assert len(batches) == 20
    assert batches == [sorted(batch) for batch in batches]


def test_repeats_among_thousands_are_told_apart(engine: Engine) -> None:
    """Whichever of the statements that a transaction is made of they are in."""
    old, new = [arrival() for _ in range(3)], [arrival() for _ in range(2_500)]
    assert store(engine, old) == [Fate.STORED] * 3
    mixed = random.Random(1).sample(old + new, 2_503)
    assert store(engine, mixed) == [Fate.REPEATED if one in old else Fate.STORED for one in mixed]
    assert total(engine) == 2_503


def test_the_same_answer_again_is_repeated_and_another_one_contradicts(engine: Engine) -> None:
    first = arrival(answer=1)
    assert store(engine, [first]) == [Fate.STORED]
    assert store(engine, [first, first._replace(answer=2)]) == [Fate.REPEATED, Fate.TAKEN]
    assert total(engine) == 1


def test_of_one_ticket_twice_in_a_transaction_the_first_counts(engine: Engine) -> None:
    first = arrival(answer=1)
    arrivals = [first, first._replace(answer=2), first._replace(answer=1)]
    assert store(engine, arrivals) == [Fate.STORED, Fate.TAKEN, Fate.REPEATED]
    assert total(engine) == 1


def test_without_the_hash_that_it_was_stored_with_an_answer_is_not_told_of_again(engine: Engine) -> None:
    first = arrival(answer=1, retry_hash=HASH)
    guesses = [first._replace(answer=a, retry_hash=h) for a in (0, 1, 2) for h in (None, ANOTHER)]
    assert store(engine, [first, *guesses]) == [Fate.STORED] + [Fate.TAKEN] * 6  # of one transaction
    assert store(engine, guesses) == [Fate.TAKEN] * 6
    assert store(engine, [first]) == [Fate.REPEATED]
    assert total(engine) == 1


def test_a_repeat_after_the_tickets_life_does_not_refuse_the_first(engine: Engine) -> None:
    first, late = arrival(ticket=b"t" * 20), arrival(ticket=b"t" * 20, expired=True)
    assert store(engine, [first, late]) == [Fate.STORED, Fate.REPEATED]
    assert total(engine) == 1


def test_one_key_in_two_collections_is_two_tickets(engine: Engine) -> None:
    key = os.urandom(20)
    assert store(engine, [arrival(1, key), arrival(2, key)]) == [Fate.STORED, Fate.STORED]


def test_a_paused_collection_takes_answers_and_a_closed_one_does_not(engine: Engine) -> None:
    set_state(engine, "paused")
    assert store(engine, [arrival()]) == [Fate.STORED]
    set_state(engine, "closed")
    assert store(engine, [arrival()]) == [Fate.CLOSED]
    assert total(engine) == 1


def test_closing_time_closes(engine: Engine) -> None:
    before, after = arrival(2, at=NOW + 999), arrival(2, at=NOW + 1000)
    assert store(engine, [before, after]) == [Fate.STORED, Fate.CLOSED]


def test_an_expired_ticket_is_refused(engine: Engine) -> None:
    assert store(engine, [arrival(expired=True)]) == [Fate.EXPIRED]
    assert total(engine) == 0


def test_what_is_stored_already_is_settled_whatever_came_after(engine: Engine) -> None:
    stored = arrival(2, answer=1)
    assert store(engine, [stored, arrival(2), arrival(2)]) == [Fate.STORED] * 3
    set_state(engine, "closed")
    late = stored._replace(expired=True, received_at=NOW + 5000)
    assert store(engine, [late, late._replace(answer=0)]) == [Fate.REPEATED, Fate.TAKEN]


def test_state_is_looked_at_before_expiry_and_expiry_before_room(engine: Engine) -> None:
    assert store(engine, [arrival(2) for _ in range(3)]) == [Fate.STORED] * 3
    assert store(engine, [arrival(2, expired=True), arrival(2)]) == [Fate.EXPIRED, Fate.FULL]
    set_state(engine, "closed")
    assert store(engine, [arrival(2, expired=True), arrival(2)]) == [Fate.CLOSED, Fate.CLOSED]


def test_the_last_to_arrive_find_no_room(engine: Engine) -> None:
    arrivals = [arrival(2) for _ in range(5)]
    fates = [Fate.STORED] * 3 + [Fate.FULL] * 2
    assert store(engine, arrivals) == fates
    assert store(engine, arrivals) == [Fate.REPEATED] * 3 + [Fate.FULL] * 2


def test_repeats_take_no_room(engine: Engine) -> None:
    first = arrival(2)
    assert store(engine, [first]) == [Fate.STORED]
    arrivals = [first, first, arrival(2), first, arrival(2), arrival(2)]
    assert store(engine, arrivals) == [
        Fate.REPEATED, Fate.REPEATED, Fate.STORED, Fate.REPEATED, Fate.STORED, Fate.FULL,
    ]  # fmt: skip


def test_a_maximum_holds_for_processes_that_store_at_once(engine: Engine) -> None:
    # Each with a slot of its own, in many small transactions that meet.
    with writing(engine).begin() as connection:
        connection.execute(update(collections).values(max_answers=50, closes_at=None))

    def process(slot: int) -> list[Fate]:
        ingest = Ingest(slot)
        return [fate for _ in range(15) for fate in store(engine, [arrival(2), arrival(1), arrival(2)], ingest)]

    with ThreadPoolExecutor(4) as pool:
        fates = Counter(fate for found in pool.map(process, range(4)) for fate in found)
    assert fates == {Fate.STORED: 100, Fate.FULL: 80}


def test_the_totals_of_collections_with_a_maximum_are_told(engine: Engine) -> None:
    with writing(engine).begin() as connection:
        stored = Ingest().store(connection, [arrival(1), arrival(2), arrival(2)])
        assert stored.totals == {1: None, 2: 2}
        again = Ingest().store(connection, [arrival(2), arrival(2)])
        assert again.totals == {2: 3}


def test_a_rolled_back_transaction_leaves_nothing_behind(engine: Engine) -> None:
    ingest = Ingest()
    first = arrival()
    with writing(engine).connect() as connection:
        ingest.store(connection, [first])
        connection.rollback()
    assert total(engine) == 0
    assert store(engine, [first], ingest) == [Fate.STORED]  # its query is in no table, and must not be thought to be


def test_a_query_that_was_stored_is_never_unpacked_again(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    ingest = Ingest()
    store(engine, [arrival()], ingest)
    monkeypatch.setattr("dither_server.answers.sql.unpack_query", None)
    assert store(engine, [arrival(), arrival()], ingest) == [Fate.STORED] * 2


@pytest.mark.postgres
def test_one_statement_does_what_a_transaction_does(postgres_url: str) -> None:
    """The same answers to two collections, one way each: repeats, contradictions, some in one batch, then a closure."""
    engine, rng = make_engine(postgres_url), random.Random(1)
    upgrade(engine)
    row = {"specification": "{}", "state": "open", "created_at": NOW, "closes_at": NOW + 1000}
    with writing(engine).begin() as connection:
        connection.execute(insert(collections), [row | {"id": "first"}, row | {"id": "second"}])
    ingest = Ingest()
    assert (
        store(engine, [arrival(number, query=q) for number in (1, 2) for q in (QUERY, OTHER)], ingest)
        == [Fate.STORED] * 4
    )
    tickets = [os.urandom(20) for _ in range(300)]
    seen: Counter[Fate] = Counter()
    for batch in range(200):
        if batch == 150:
            set_state(engine, "closed")
        [at] = rng.choices([NOW, NOW + 999, NOW + 1000], [5, 5, 1])
        arrivals = [
            arrival(
                1,
                rng.choice(tickets[: 2 * batch + 2]),
                rng.randrange(3),
                query=rng.choice([QUERY, OTHER]),
                at=at,
                retry_hash=rng.choices([HASH, ANOTHER, None], [8, 1, 1])[0],
            )
            for _ in range(rng.randrange(1, 6))
        ]
        twins = [one._replace(key=(2, one.key[1])) for one in arrivals]
        assert ingest.all_plain(twins)
        with reading(engine).connect() as connection:
            stored = ingest.store_at_once(connection, twins)
        assert stored.fates == store(engine, arrivals, ingest)
        assert stored.added == Counter(one.key[0] for one in stored.new)
        seen.update(stored.fates)
    assert min(seen[fate] for fate in (Fate.STORED, Fate.REPEATED, Fate.TAKEN, Fate.CLOSED)) > 10
    of = select(counts.c.query, counts.c.answer, counts.c.count).order_by(counts.c.query, counts.c.answer)
    with reading(engine).connect() as connection:
        first, second = (connection.execute(of.where(counts.c.collection == number)).all() for number in (1, 2))
    assert first == second
    check_counts(engine)
    engine.dispose()


def test_what_takes_more_than_one_statement(engine: Engine) -> None:
    ingest = Ingest()
    assert not ingest.all_plain([arrival()])  # nothing is known of its collection and query
    store(engine, [arrival(), arrival(2)], ingest)
    assert ingest.all_plain([arrival(), arrival(at=NOW + 5)])
    for other in (arrival(2), arrival(query=OTHER), arrival(expired=True)):
        assert not ingest.all_plain([arrival(), other])


def test_slots_count_apart_and_add_up(engine: Engine) -> None:
    for slot in (0, 1, 1):
        assert store(engine, [arrival(answer=1)], Ingest(slot)) == [Fate.STORED]
    with reading(engine).connect() as connection:
        rows = connection.execute(select(counts.c.slot, counts.c.count).order_by(counts.c.slot)).all()
    assert [tuple(row) for row in rows] == [(0, 1), (1, 2)]


def test_nothing_is_written_when_every_answer_is_refused(engine: Engine) -> None:
    set_state(engine, "closed")
    store(engine, [arrival()])
    with reading(engine).connect() as connection:
        assert connection.execute(select(func.count()).select_from(answers)).scalar_one() == 0
        assert connection.execute(select(func.count()).select_from(queries)).scalar_one() == 0


@pytest.mark.parametrize("noticed", [True, False])
def test_a_database_with_another_history_has_other_numbers_for_queries(engine: Engine, noticed: bool) -> None:
    """A standby that lacked the latest rows gives their numbers to others. Unnoticed, answers go to other questions."""
    ingest = Ingest()
    store(engine, [arrival(query=QUERY), arrival(query=OTHER)], ingest)
    with writing(engine).begin() as connection:
        connection.execute(delete(answers))
        connection.execute(delete(counts))
        rows = connection.execute(select(queries.c.number, queries.c.id, queries.c.query)).all()
        connection.execute(update(queries).values(id=queries.c.id + " for now"))
        for (_, name, text), (number, *_) in zip(rows, reversed(rows), strict=True):
            connection.execute(update(queries).where(queries.c.number == number).values(id=name, query=text))
        if noticed:
            connection.info["timeline"] = "00000002"
    ticket = os.urandom(20)
    assert store(engine, [arrival(ticket=ticket, query=QUERY)], ingest) == [Fate.STORED]
    of_answer = select(queries.c.query).join(answers, answers.c.query == queries.c.number)
    with reading(engine).connect() as connection:
        stored = connection.execute(of_answer.where(answers.c.ticket == ticket)).scalar_one()
    assert (parse_query(json.loads(stored)) == unpack_query(QUERY)) is noticed


@pytest.mark.postgres
def test_postgres_names_its_history(postgres_url: str) -> None:
    engine = make_engine(postgres_url)
    with reading(engine).connect() as connection:
        named = history_of(connection)
        current = connection.exec_driver_sql("SELECT timeline_id FROM pg_control_checkpoint()").scalar_one()
    engine.dispose()
    assert named is not None
    assert int(named, 16) == current
