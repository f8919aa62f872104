"""The outermost function: which calls it answers itself, and what it does for all requests."""

import asyncio
import logging
from typing import Any

import pytest
from fastapi import FastAPI, Request
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.types import Receive, Scope, Send

from dither_server.errors import NotFound
from dither_server.http.front_door import BusyCall, FrontDoor
from dither_server.http.replies import Reply
from dither_server.metrics import Metrics
from dither_server.tickets.office import TicketOffice
from testing.servers.site import Site, problem


@pytest.mark.parametrize(
    ("method", "path", "prefix", "status"),
    [
        ("POST", "/v1/collections/abc/tickets", "", 404),
        ("POST", "/behind/v1/collections/abc/tickets", "/behind", 404),
        ("GET", "/v1/collections/abc/tickets", "", 405),
        ("OPTIONS", "/v1/collections/abc/tickets", "", 405),
        ("POST", "/v1/collections/abc/tickets/", "", None),
        ("POST", "/v1/collections//tickets", "", None),
        ("POST", "/v1/collections/abc/def/tickets", "", None),
        ("POST", "/v1/collections/abc/posterior", "", None),
        ("POST", "/behind/v1/collections/abc/tickets", "", None),
    ],
)
def test_busy_calls_are_answered_and_everything_else_is_handed_on(
    method: str, path: str, prefix: str, status: int | None
) -> None:
    scope = {"type": "http", "method": method, "path": path, "root_path": prefix, "headers": [], "scheme": "http"}
    assert asyncio.run(_status_at_the_door(scope | {"query_string": b""})) == status


async def _status_at_the_door(scope: dict[str, Any]) -> int | None:
    """The status of the front door's own reply; None if the framework was asked."""
    statuses: list[int] = []

    async def call(request: Request, collection_id: str) -> Reply:
        assert collection_id == "abc"
        raise NotFound

    async def framework(scope: Scope, receive: Receive, send: Send) -> None:
        pass

    async def send(message: Any) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    async def receive() -> Any:
        return {"type": "http.request"}

    await FrontDoor(FastAPI(), framework, [BusyCall("tickets", call, {}, ())], Metrics())(scope, receive, send)
    return statuses[0] if statuses else None


def test_a_refusal_is_a_problem_and_other_methods_are_refused(site: Site) -> None:
    assert problem(site.client.post("/v1/collections/nowhere/tickets", json={})) == (404, "not-found")
    assert problem(site.client.post("/v1/collections/nowhere/responses", content=b"{")) == (404, "not-found")
    refused = site.client.get(f"/v1/collections/{site.create()}/responses")
    assert problem(refused) == (405, "method-not-allowed")
    assert refused.headers["Allow"] == "POST"


def test_busy_calls_do_not_pass_through_the_framework(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    collection = site.create()
    seen: list[Scope] = []
    above = ServerErrorMiddleware.__call__

    async def note(self: ServerErrorMiddleware, scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)
        await above(self, scope, receive, send)

    monkeypatch.setattr(ServerErrorMiddleware, "__call__", note)
    assert site.respond(collection, site.ticket(collection), 1).status_code == 201
    assert not seen
    assert site.client.get(f"/v1/collections/{collection}").status_code == 200
    assert seen


def test_an_unforeseen_error_is_a_problem_that_says_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(self: TicketOffice, text: str) -> None:
        raise RuntimeError(f"no use for {text}")

    monkeypatch.setattr(TicketOffice, "open", fail)
    with caplog.at_level(logging.DEBUG):
        reply = site.respond(site.create(), "zebra17", 1)
    assert problem(reply) == (500, "internal")
    assert "zebra17" not in reply.text
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert vars(record)["error"] == "RuntimeError"
    assert "in fail" in vars(record)["where"]
    assert "zebra17" not in str([vars(record) for record in caplog.records])


def test_the_line_of_a_request_holds_nothing_that_was_sent(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    collection = site.create()
    ticket = site.ticket(collection)
    with caplog.at_level(logging.DEBUG):
        site.respond(collection, ticket, 1)
        site.client.get("/v1/zebra17?zebra18=zebra19", headers={"X-Request-ID": "zebra20", "User-Agent": "zebra21"})
    written = str([vars(record) for record in caplog.records if record.name.startswith("dither")])
    assert "'call': 'respond'" in written
    assert ticket not in written
    assert "zebra" not in written
