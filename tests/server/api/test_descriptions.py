"""Describing a population may take seconds, and anybody may read a public collection and answer it."""

import asyncio
import json
import math
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from types import SimpleNamespace
from typing import Any
from zipfile import ZipFile

import pytest

from dither_client.posterior.wire import PosteriorReply
from dither_estimator.learning.summary import Posterior
from dither_server.owner.persistence import PersistedLearner
from dither_server.owner.published import REST
from dither_server.pages import views
from dither_server.pages.views import View
from dither_server.service import descriptions
from testing.patience import until
from testing.servers.defaults import ADMIN
from testing.servers.site import Site

SECONDS = 10.0
"""How long a description takes, and a view."""


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time on the clock of reads, which descriptions and views take their time of."""
    now = [1000.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr(descriptions, "time", clock)
    monkeypatch.setattr(views, "time", clock)
    describe, view = Posterior.described, views._view

    def slow_describe(posterior: Posterior, reply: PosteriorReply) -> PosteriorReply:
        now[0] += SECONDS
        return describe(posterior, reply)

    def slow_view(*given: object) -> View:
        now[0] += SECONDS
        return view(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(PersistedLearner, "description_due", lambda *_: math.inf)  # else the owner does it, too
    monkeypatch.setattr(Posterior, "described", slow_describe)
    monkeypatch.setattr(views, "_view", slow_view)
    return now


def answers(site: Site, collection: str) -> int:
    """How many answers the posterior has that anybody reads."""
    return int(site.client.get(f"/v1/collections/{collection}/posterior").json()["answers"])


def answered(site: Site, collection: str, expected: int) -> None:
    site.respond(collection, site.ticket(collection))
    until(lambda: site.published(collection).answers == expected)


def test_reads_after_each_answer_do_not_describe_without_a_rest(site: Site, now: list[float]) -> None:
    collection = site.create(visibility="public")
    assert answers(site, collection) == 0
    answered(site, collection, 1)
    assert answers(site, collection) == 0
    now[0] += 0.9 * REST * SECONDS
    assert answers(site, collection) == 0
    now[0] += 0.2 * REST * SECONDS
    assert answers(site, collection) == 1


def test_curves_are_a_part_of_what_a_description_takes(site: Site, now: list[float]) -> None:
    """And are always those of the description that the event stream has sent."""
    collection = site.create(visibility="public")
    answered(site, collection, 1)
    charts = f"/collections/{collection}/charts.json"
    first = site.client.get(charts).json()
    assert first["answers"] == 1
    answered(site, collection, 2)
    now[0] += 1.5 * REST * SECONDS
    charted = site.client.get(charts).json()
    assert charted["answers"] == answers(site, collection) == 1
    assert charted["densities"] == first["densities"]
    now[0] += REST * SECONDS
    assert answers(site, collection) == 2
    charted = site.client.get(charts).json()
    assert charted["answers"] == 2
    assert charted["densities"] != first["densities"]


def test_an_archive_has_the_last_answer_at_once(site: Site, now: list[float]) -> None:
    collection = site.create(visibility="public")
    assert answers(site, collection) == 0
    answered(site, collection, 1)
    reply = site.client.get(f"/v1/collections/{collection}/archive", headers=ADMIN)
    with ZipFile(BytesIO(reply.content)) as archive:
        assert json.loads(archive.read("posterior.json"))["answers"] == 1
    assert answers(site, collection) == 0


GROUPS = {"name": "town", "labels": [str(number) for number in range(51)]}


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Descriptions of groups and periods last until this is set."""
    free, describe = threading.Event(), Posterior.described

    def held_describe(posterior: Posterior, reply: PosteriorReply) -> PosteriorReply:
        if posterior.groups is not None or posterior.over_time is not None:
            free.wait(60)
        return describe(posterior, reply)

    monkeypatch.setattr(PersistedLearner, "description_due", lambda *_: math.inf)
    monkeypatch.setattr(Posterior, "described", held_describe)
    yield free
    free.set()


@pytest.mark.parametrize("of_many", [{"groups": GROUPS}, {"period": "day", "drift": True}])
@pytest.mark.parametrize(("at_once", "path"), [(2, ""), (2, "/particles"), (4, "")])
def test_what_takes_long_does_not_hold_up_others(
    site: Site, held: threading.Event, monkeypatch: pytest.MonkeyPatch, of_many: dict[str, Any], at_once: int, path: str
) -> None:
    """Were as many described at once as there are threads, nobody else's questions or posterior could be read."""

    def read(collection: str, path: str = "") -> int:
        return site.client.get(f"/v1/collections/{collection}/posterior{path}").status_code

    monkeypatch.setattr(site.service.descriptions, "_long", asyncio.Semaphore(at_once))
    heavy = [site.create(visibility="public", **of_many) for _ in range(5)]
    light = site.create(visibility="public")
    with ThreadPoolExecutor(8) as readers:
        waiting = [readers.submit(read, collection, path) for collection in heavy]
        until(lambda: site.service._long_threads.borrowed_tokens == at_once)
        other = readers.submit(read, light)
        if at_once == 2:
            assert other.result(20) == 200
        else:
            with pytest.raises(TimeoutError):
                other.result(2)
        assert not any(each.done() for each in waiting)
        held.set()
        assert [each.result(60) for each in (*waiting, other)] == [200] * 6
