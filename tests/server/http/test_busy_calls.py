import asyncio
from typing import Any

import pytest
from fastapi import Request, Response
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.types import Receive, Scope, Send

from dither_server.errors import NotFound
from dither_server.http.busy_calls import BusyCall, Shortcut
from testing.servers.site import Site, problem


@pytest.mark.parametrize(
    ("method", "path", "prefix", "early"),
    [
        ("POST", "/v1/collections/abc/tickets", "", True),
        ("GET", "/v1/collections/abc/tickets", "", False),
        ("POST", "/v1/collections/abc/tickets/", "", False),
        ("POST", "/v1/collections//tickets", "", False),
        ("POST", "/v1/collections/abc/def/tickets", "", False),
        ("POST", "/v1/collections/abc/posterior", "", False),
        ("POST", "/v1/collections/abc/tickets", "/behind", False),
    ],
)
def test_only_the_busiest_calls_are_answered_early(method: str, path: str, prefix: str, early: bool) -> None:
    scope = {"type": "http", "method": method, "path": path, "root_path": prefix, "headers": []}
    assert asyncio.run(_answered_early(scope)) is early
    assert ("endpoint" in scope) is early


def test_a_refusal_is_a_problem_and_other_methods_are_refused_as_before(site: Site) -> None:
    assert problem(site.client.post("/v1/collections/nowhere/tickets", json={})) == (404, "not-found")
    assert problem(site.client.post("/v1/collections/nowhere/responses", content=b"{")) == (404, "not-found")
    refused = site.client.get(f"/v1/collections/{site.create()}/responses")
    assert problem(refused) == (405, "method-not-allowed")
    assert refused.headers["Allow"] == "POST"


def test_the_busiest_calls_do_not_pass_through_the_framework(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
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


async def _answered_early(scope: dict[str, Any]) -> bool:
    statuses: list[int] = []

    async def call(request: Request) -> Response:
        raise NotFound

    async def rest(scope: Scope, receive: Receive, send: Send) -> None:
        statuses.append(0)

    async def send(message: Any) -> None:
        statuses.append(message.get("status", 404))

    async def receive() -> Any:
        return {"type": "http.request"}

    await Shortcut(rest, [BusyCall("tickets", call, {}, ())])(scope, receive, send)
    return statuses[0] == 404
