"""Errors over HTTP as RFC 9457 problem documents, and the only map from exceptions to problems.

A problem never repeats a part of the request: its detail is the exception's text, which is written here or in
`errors.py`, or the place and the rule of a validation error.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, ValidationError
from starlette.exceptions import HTTPException

from dither_estimator.specification.specification import SpecificationError
from dither_server import errors
from dither_server.database.engine import DATABASE_TROUBLE

__all__ = [
    "MEDIA_TYPE",
    "Problem",
    "ProblemDocument",
    "add_problem_handlers",
    "invalid",
    "problem_of",
    "problem_response",
    "problems",
]

MEDIA_TYPE = "application/problem+json"


class ProblemDocument(BaseModel):
    """Why a request was refused (RFC 9457)."""

    type: str = Field(description="A stable name of the cause.", examples=["urn:dither:ticket-expired"])
    title: str = Field(description="The cause in words.", examples=["The ticket has expired"])
    status: int = Field(description="The HTTP status.", examples=[410])
    detail: str = Field(description="What to do about it.", examples=[errors.TicketExpired.default])
    fields: list[str] = Field(
        default=[], description="Where the body has an unknown field: every field that there is. Else left out."
    )


@dataclass(frozen=True)
class Problem:
    """One kind of problem."""

    status: int
    name: str
    title: str
    uri: str = ""
    """Its type, where another document than ours defines it."""

    @property
    def type(self) -> str:
        """The URI by which programs recognise it."""
        return self.uri or f"urn:dither:{self.name}"

    def document(self, detail: str, fields: Sequence[str] = ()) -> dict[str, Any]:
        """The problem document; `fields` are those that there are, where one is unknown."""
        known = {"fields": list(fields)} if fields else {}
        return {"type": self.type, "title": self.title, "status": self.status, "detail": detail, **known}


Show = Callable[[Problem, str], Response]
"""Renders a problem and its detail as a page."""

_MAX_BUILT_ERRORS = 16
"""The most validation errors to build for the sake of the first: pydantic can only build all of them."""

_INTERNAL = Problem(500, "internal", "The server failed")

_PROBLEMS: dict[type[Exception], Problem] = {
    errors.MalformedJson: Problem(400, "malformed-json", "The body is not JSON"),
    errors.InvalidAnswer: Problem(422, "invalid-answer", "Not an answer to the ticket's query"),
    errors.InvalidGroup: Problem(422, "invalid-group", "Not a group of the collection"),
    errors.InvalidBody: Problem(422, "invalid-body", "The request has the wrong shape"),
    SpecificationError: Problem(422, "invalid-body", "The request has the wrong shape"),
    errors.AddressTooLong: Problem(414, "address-too-long", "The address is too long"),
    errors.HeadTooLarge: Problem(431, "head-too-large", "The headers are too large"),
    errors.BodyTooLarge: Problem(413, "body-too-large", "The body is too large"),
    errors.BodyTooSlow: Problem(408, "body-too-slow", "The body took too long"),
    errors.Unauthorized: Problem(401, "unauthorized", "A token is needed"),
    errors.Forbidden: Problem(403, "forbidden", "The token's role may not do this"),
    errors.NotRelayed: Problem(403, "not-relayed", "Not a request that goes through a relay"),
    errors.RelayKeyUnknown: Problem(
        400,
        "ohttp-key",
        "The key of the encapsulated request is unknown",
        uri="https://iana.org/assignments/http-problem-types#ohttp-key",
    ),
    errors.InvitationInvalid: Problem(403, "invitation-invalid", "An invitation is needed"),
    errors.InvitationUsed: Problem(409, "invitation-used", "The invitation has been used"),
    errors.NotFound: Problem(404, "not-found", "Not found"),
    errors.MethodNotAllowed: Problem(405, "method-not-allowed", "The method is not allowed"),
    errors.TicketInvalid: Problem(403, "ticket-invalid", "The ticket is not genuine"),
    errors.TicketForeign: Problem(403, "ticket-foreign", "The ticket is for another collection"),
    errors.TicketExpired: Problem(410, "ticket-expired", "The ticket has expired"),
    errors.AlreadyAnswered: Problem(409, "already-answered", "The ticket has been used"),
    errors.AlreadyShared: Problem(409, "already-shared", "The institution has already shared"),
    errors.NoMemberCounts: Problem(409, "no-member-counts", "The collection does not ask institutions"),
    errors.CollectionNotOpen: Problem(409, "collection-not-open", "The collection has not opened yet"),
    errors.CollectionPaused: Problem(409, "collection-paused", "The collection is paused"),
    errors.CollectionClosed: Problem(409, "collection-closed", "The collection is closed"),
    errors.CollectionFull: Problem(409, "collection-full", "The collection is full"),
    errors.CollectionDeleted: Problem(410, "collection-deleted", "The collection was deleted"),
    errors.NotDeleted: Problem(409, "not-deleted", "The collection is not deleted"),
    errors.NotByInvitation: Problem(409, "not-by-invitation", "The collection takes no invitations"),
    errors.TooManyTickets: Problem(429, "too-many-tickets", "Too many tickets at once"),
    errors.TooManyStreams: Problem(429, "too-many-streams", "Too many event streams"),
    errors.Overloaded: Problem(503, "overloaded", "The server is busy"),
    errors.Unavailable: Problem(503, "unavailable", "The service is not available now"),
}

FORESEEN = (errors.Refusal, SpecificationError, *DATABASE_TROUBLE)
"""The exceptions that any call may raise and that are not failures of the server."""


_COMMON_PROBLEMS = (errors.AddressTooLong, errors.HeadTooLarge, errors.Overloaded, errors.Unavailable)


def problem_of(error: Exception) -> tuple[Problem, str]:
    """The problem for `error`, and its detail."""
    if isinstance(error, DATABASE_TROUBLE):
        error = errors.Unavailable()
    for kind in type(error).__mro__:
        if kind in _PROBLEMS:
            return _PROBLEMS[kind], f"{str(error).removesuffix('.')}."
    return _INTERNAL, "The server failed; its operator can find the cause in its log."


def problem_response(error: Exception, show: Show | None = None) -> Response:
    """The response for `error`: a problem document, or the page that `show` makes of it."""
    problem, detail = problem_of(error)
    headers = {}
    if isinstance(error, errors.TryLater) or problem.status == 503:
        headers["Retry-After"] = str(getattr(error, "retry_after", errors.Unavailable.retry_after))
    if problem.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if problem.status in (408, 413):
        headers["Connection"] = "close"  # the rest of the body is not read
    if show is not None:
        response = show(problem, detail)
        response.headers.update(headers)
        return response
    fields = error.fields if isinstance(error, errors.InvalidBody) else ()
    return Response(json.dumps(problem.document(detail, fields)), problem.status, headers, MEDIA_TYPE)


def invalid(
    error: ValidationError | RequestValidationError, model: type[BaseModel] | None = None
) -> errors.InvalidBody | errors.MalformedJson:
    """The error for the first thing that is wrong: the field, if it is one of `model`, and what is allowed.

    If very much is wrong, it lists only the fields of `model`, so that the work is bounded whatever was sent.
    """
    known = ", ".join(model.model_fields) if model else ""
    if isinstance(error, ValidationError):
        if error.error_count() > _MAX_BUILT_ERRORS:
            return errors.InvalidBody(f"There are more than {_MAX_BUILT_ERRORS} errors; the fields are: {known}.")
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    else:
        first = error.errors()[0]
    if first["type"] == "json_invalid":
        return errors.MalformedJson()
    place = ".".join(_place(first["loc"], model))
    if first["type"] == "extra_forbidden":
        return errors.InvalidBody(
            f"There is an unknown field; the fields are: {known}.", model.model_fields if model else ()
        )
    rule = str(first["msg"]).removeprefix("Value error, ")
    if first["type"] == "string_pattern_mismatch":
        rule = "Input should be printable ASCII without blanks"
    if first["type"] == "timezone_aware":
        rule = "Input should have a time zone, such as 2026-12-01T09:00:00Z"
    return errors.InvalidBody(f"{place}: {rule}." if place else f"{rule}.")


def problems(*kinds: type[Exception]) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI responses for these problems and for those that any call may end in."""
    by_status: dict[int, list[type[Exception]]] = {}
    for kind in dict.fromkeys([*kinds, *_COMMON_PROBLEMS]):
        by_status.setdefault(_PROBLEMS[kind].status, []).append(kind)
    described = {status: _described(same) for status, same in by_status.items()}
    described[_INTERNAL.status] = _reply("The server failed unexpectedly; its log says where.", [_INTERNAL])
    return dict(sorted(described.items()))


def add_problem_handlers(app: FastAPI, show: Show) -> None:
    """Turns every refusal of the application into a problem document, or a page by `show` if a browser asks for one."""

    async def refuse(request: Request, error: Exception) -> Response:
        return problem_response(error, show if _wants_page(request) else None)

    async def refuse_parameters(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return problem_response(invalid(error))

    async def refuse_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        kind = {404: errors.NotFound, 405: errors.MethodNotAllowed}.get(error.status_code)
        response = await refuse(request, kind() if kind else error)
        if error.status_code == 405:
            response.headers["Allow"] = ", ".join(_allowed(app, request))
        return response

    async def refuse_unforeseen(request: Request, error: Exception) -> Response:
        return problem_response(error)  # `Observer` logs it

    for kind in FORESEEN:
        app.add_exception_handler(kind, refuse)
    app.add_exception_handler(Exception, refuse_unforeseen)
    app.add_exception_handler(RequestValidationError, refuse_parameters)
    app.add_exception_handler(HTTPException, refuse_http)


def _wants_page(request: Request) -> bool:
    """Whether a browser asks for a page, rather than a program for data."""
    return not request.url.path.startswith("/v1/") and "text/html" in request.headers.get("accept", "")


def _place(location: Sequence[str | int], model: type[BaseModel] | None) -> Iterable[str]:
    """The parts of a location that are known: names of fields and positions, never a key from the body."""
    parts = list(location)
    if model is None:  # a parameter: the first part is its place
        return [str(part) for part in parts[1:2]]
    known = [part for part in parts if isinstance(part, int) or part in _names(model)]
    return [str(part) for part in known]


@cache
def _names(model: type[BaseModel]) -> frozenset[str]:
    """The names of the fields of `model` and of the models inside it."""
    schema: Mapping[str, Any] = model.model_json_schema()
    inner = schema.get("$defs", {}).values()
    return frozenset(name for part in (schema, *inner) for name in part.get("properties", {}))


def _described(same: Sequence[type[Exception]]) -> dict[str, Any]:
    found = [(_PROBLEMS[kind], str(kind.__doc__).splitlines()[0]) for kind in same]
    described = _reply(" ".join(f"`{problem.name}`: {when}" for problem, when in found), [one for one, _ in found])
    if all(issubclass(kind, errors.TryLater) for kind in same):
        seconds = {"description": "Seconds to wait before trying again.", "schema": {"type": "integer"}}
        described["headers"] = {"Retry-After": seconds}
    return described


def _reply(when: str, same: Sequence[Problem]) -> dict[str, Any]:
    examples = {problem.name: {"value": problem.document(problem.title + ".")} for problem in same}
    schema = {"$ref": "#/components/schemas/ProblemDocument"}
    return {"description": when, "content": {MEDIA_TYPE: {"schema": schema, "examples": examples}}}


def _allowed(app: FastAPI, request: Request) -> list[str]:
    """The methods that the request's address accepts."""
    methods: set[str] = set()
    for route in app.routes:
        pattern = getattr(route, "path_regex", None)
        if pattern is not None and pattern.match(request.url.path):
            methods |= getattr(route, "methods", None) or set()
    return sorted(methods)
