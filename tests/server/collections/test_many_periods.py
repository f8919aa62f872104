"""The report on a collection that people have answered for months: its counts have a row for each ten minutes."""

import random
import time
from collections import Counter
from typing import Any

import pytest
from sqlalchemy import Engine, Integer, insert, literal, select, text

from dither_client import RandomizedResponse
from dither_server.answers.sql import number_queries
from dither_server.answers.tally import PERIOD
from dither_server.collections.quality import Quality
from dither_server.database import conduct
from dither_server.database.conduct import ConductReads
from dither_server.database.engine import writing
from dither_server.database.schema import tallies
from dither_server.tickets.packing import pack_query
from testing.servers.defaults import ADMIN
from testing.servers.site import START, Site

NOW = int(START) // PERIOD
QUESTIONS, PERIODS = 16, 17_280
"""The questions of a design, and 120 days of ten minutes."""


def engine_of(site: Site) -> Engine:
    return writing(site.service._engine)


def number_of(site: Site, collection: str) -> int:
    return int(site.service.collections.get(collection).number)


def questions(site: Site, count: int) -> list[int]:
    """The row numbers of so many questions."""
    packed = [pack_query(RandomizedResponse(cuts=(float(place),), epsilon=1)) for place in range(count)]
    with engine_of(site).begin() as connection:
        numbers = number_queries(connection, packed)
    return [numbers[one] for one in packed]


def add(site: Site, rows: list[dict[str, int]]) -> None:
    with engine_of(site).begin() as connection:
        connection.execute(insert(tallies), rows)


def tally(collection: int, query: int, period: int, tickets: int, **fields: int) -> dict[str, int]:
    counted = {"answers": tickets, "prompt": tickets, "gateway": 0, "slot": 0} | fields
    return {"collection": collection, "query": query, "period": period, "tickets": tickets} | counted


def report(site: Site, collection: str) -> dict[str, Any]:
    reply = site.client.get(f"/v1/collections/{collection}/quality", headers=ADMIN)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def fill(site: Site, collection: str) -> None:
    """Months of answers, of which each tenth one does not come."""
    number = number_of(site, collection)
    periods = select(literal(0, Integer).label("k")).cte(recursive=True)
    periods = periods.union_all(select(periods.c.k + 1).where(periods.c.k < PERIODS - 1))
    answered = 9 + periods.c.k % 3
    values = {"period": NOW - 10 - periods.c.k, "tickets": literal(11), "answers": answered, "prompt": answered}
    for query in questions(site, QUESTIONS):
        row = {
            "collection": literal(number),
            "query": literal(query),
            "gateway": literal(0),
            "slot": literal(0),
        } | values
        with engine_of(site).begin() as connection:
            connection.execute(insert(tallies).from_select(list(row), select(*row.values())))
    if engine_of(site).dialect.name == "postgresql":  # as it does by itself within a minute
        with engine_of(site).begin() as connection:
            connection.execute(text("ANALYZE tallies"))


def test_months_of_answers_are_cheap_to_report_on(any_site: Site) -> None:
    """276,480 rows. A tenth of a second of this process; eight when each row was read for each report."""
    site = any_site
    collection = site.create()
    fill(site, collection)
    total = QUESTIONS * PERIODS * 11
    first = report(site, collection)["completion"]
    assert first["tickets"] == total
    assert len(first["looks"]) == 14
    began = time.process_time()
    again = report(site, collection)["completion"]
    assert time.process_time() - began < 2
    assert again == first
    assert [item["tickets"] for item in again["questions"]] == [PERIODS * 11] * QUESTIONS


def test_closed_periods_are_summed_over_slots(any_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in steps that end within what is summed, and of the right collection alone."""
    site, rng = any_site, random.Random(5)
    collection, other = (number_of(site, site.create()) for _ in range(2))
    numbers = questions(site, 3)
    keys = [(q, g, p, s) for q in numbers for g in (0, 1) for p in range(6) for s in (0, 1, 2)]
    rows = [
        tally(collection, query, period, rng.randrange(3), gateway=gateway, slot=slot, prompt=rng.randrange(3))
        for query, gateway, period, slot in rng.sample(keys, 70)
    ]
    add(site, [*rows, *(row | {"collection": other} for row in rows[:20])])
    expected: Counter[tuple[int, ...]] = Counter()
    for row in rows:
        if row["period"] < 4:
            for name in ("tickets", "prompt"):
                expected[row["query"], row["gateway"], row["period"], name == "prompt"] += row[name]
    whole = [
        [query, period, tickets, expected[query, gateway, period, True]]
        for (query, gateway, period, prompt), tickets in sorted(expected.items())
        if tickets and not prompt
    ]
    for at_once in (1, 7, 1000):
        monkeypatch.setattr(conduct, "_AT_ONCE", at_once)
        assert site.service.conduct.closed(collection, 4).tolist() == whole
    assert site.service.conduct.closed(collection, 0).tolist() == []


def test_each_look_is_made_once(any_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What each period brought is read only when a look is due; a process that has made none tells the same."""
    site = any_site
    collection = site.create()
    number = number_of(site, collection)
    low, high = questions(site, 2)
    reads = []
    closed = site.service.conduct.closed

    def noted(*arguments: int) -> Any:
        reads.append(arguments)
        return closed(*arguments)

    monkeypatch.setattr(site.service.conduct, "closed", noted)

    def looks(period: int, tickets: int) -> list[int]:
        """The tickets of the looks that are told once so many more were issued for each question in that period."""
        dropped = {low: 20, high: 5}
        add(
            site,
            [
                tally(number, query, period, tickets, answers=tickets - gone, prompt=tickets - gone)
                for query, gone in dropped.items()
            ],
        )
        first, again = (report(site, collection)["completion"]["looks"] for _ in range(2))
        asked = site.service.collections.get(collection), site.published(collection).described, site.clock.now
        elsewhere = Quality(ConductReads(engine_of(site))).report(*asked)["completion"]["looks"]
        assert first == again == elsewhere
        return [look["tickets"] for look in first]

    assert (looks(NOW - 40, 100), len(reads)) == ([], 0)
    assert (looks(NOW - 39, 100), len(reads)) == ([400], 1)
    assert (looks(NOW - 38, 30), len(reads)) == ([400], 1)
    assert (looks(NOW - 37, 30), len(reads)) == ([400, 520], 2)
    assert (looks(NOW - 1, 1000), len(reads)) == ([400, 520], 2)  # a period that is not closed
