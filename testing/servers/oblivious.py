"""Requests to a server's gateway of Oblivious HTTP, as a client behind a relay sends them."""

import json
from typing import Any

import httpx2

from dither_client.oblivious.binary_http import Request, Response, read_response, write_request
from dither_client.oblivious.encapsulation import (
    KEYS_TYPE,
    REPLY_TYPE,
    REQUEST_TYPE,
    KeyConfiguration,
    encapsulate,
    read_configurations,
)

__all__ = ["JSON", "ask", "configuration", "post", "refusal"]

JSON = (("content-type", "application/json"), ("accept", "application/json"))


def configuration(client: Any, path: str = "/ohttp-keys") -> KeyConfiguration:
    reply = client.get(path)
    assert (reply.status_code, reply.headers["content-type"]) == (200, KEYS_TYPE)
    assert reply.headers["cache-control"] == "public, max-age=3600"
    return read_configurations(reply.content)


def post(client: Any, content: bytes, media: str = REQUEST_TYPE) -> httpx2.Response:
    reply: httpx2.Response = client.post("/ohttp", content=content, headers={"Content-Type": media})
    return reply


def ask(
    client: Any,
    method: str,
    path: str,
    body: object = None,
    headers: tuple[tuple[str, str], ...] = JSON,
    key: KeyConfiguration | None = None,
) -> Response:
    """The response to an encapsulated request."""
    content = b"" if body is None else json.dumps(body).encode()
    message = write_request(Request(method, "https", "survey.example.org", path, headers, content), 256)
    request, exchange = encapsulate(key or configuration(client), message)
    reply = post(client, request)
    assert (reply.status_code, reply.headers["content-type"]) == (200, REPLY_TYPE)
    return read_response(exchange.open(reply.content))


def refusal(response: Response) -> tuple[int, str]:
    document = json.loads(response.body)
    assert dict(response.headers)["content-type"] == "application/problem+json"
    assert document["status"] == response.status
    return response.status, document["type"].removeprefix("urn:dither:")
