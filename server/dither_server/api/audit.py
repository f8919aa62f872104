"""`/v1/audit`: admins read who did what, and when."""

from typing import Annotated, Any

from fastapi import FastAPI, Query

from dither_server.api.callers import TOKEN, ServiceOf, needs
from dither_server.api.messages.examples import AUDIT
from dither_server.api.messages.operating import AuditReply
from dither_server.errors import Forbidden, InvalidBody, Unauthorized
from dither_server.http.openapi import reply
from dither_server.http.problems import problems

__all__ = ["add_routes"]

_MAX_NUMBER = 2**31 - 1


def add_routes(app: FastAPI) -> None:
    """Adds the call."""
    app.add_api_route(
        "/v1/audit",
        list_audit,
        methods=["GET"],
        tags=["operators"],
        dependencies=[needs("admin")],
        response_model=AuditReply,
        responses={
            200: reply("A page of actions, oldest first; `next` is null on the last one.", one=AUDIT),
            **problems(Unauthorized, Forbidden, InvalidBody),
        },
        openapi_extra=TOKEN,
    )


def list_audit(
    service: ServiceOf,
    collection: Annotated[
        str | None, Query(description="Only what was done to this one.", max_length=128, pattern=r"^[^\x00]*$")
    ] = None,
    after: Annotated[int, Query(description="`next` of the previous page.", ge=0, le=_MAX_NUMBER)] = 0,
    limit: Annotated[int, Query(description="Actions per page.", ge=1, le=1_000)] = 1_000,
) -> dict[str, Any]:
    """Lists every action that a token authorised, and what the server did by itself. Nothing is ever removed here."""
    rows = service.trail.rows(collection, after, limit)
    following = rows[-1].number if len(rows) == limit else None
    return {"audit": [row.to_json() for row in rows], "next": following}
