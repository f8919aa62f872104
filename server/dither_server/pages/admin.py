"""What admins do in a browser: create a collection with advice, change its state, invite."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, get_args

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from threadpoolctl import threadpool_limits

from dither_client import InvalidEpsilon, InvalidQuery
from dither_estimator.design.design import DesignError
from dither_estimator.specification.specification import SpecificationError
from dither_server.api.callers import CollectionOf, ServiceOf, done
from dither_server.api.messages.common import MAX_COUNT
from dither_server.api.terms_text import check_told
from dither_server.collections.collection import State
from dither_server.errors import CollectionClosed, InvalidBody, NotByInvitation, Unauthorized
from dither_server.pages.addresses import shown_address
from dither_server.pages.advice import advise
from dither_server.pages.collection import collection_page
from dither_server.pages.component_advice import advise_on_components
from dither_server.pages.component_form import COMPONENT_FIELDS, numbers_in
from dither_server.pages.form_words import in_words
from dither_server.pages.forms import form_admin, read_form
from dither_server.pages.new_collection import COMPETING, COMPONENT_FAMILIES, LABELS, TITLES, specification_of
from dither_server.pages.prior_fields import PARAMETERS
from dither_server.pages.qr import qr_svg
from dither_server.pages.rendering import fragment, page
from dither_server.pages.wrong_fields import wrong_fields

__all__ = ["add_routes", "add_state"]

_SEE_OTHER = 303
_MOST_DRAWN = 100
"""Links of which a page shows QR codes: each adds 5 kB to it."""
_REFUSED = 422


def add_state(app: FastAPI) -> None:
    """Gives an application what these pages keep between requests."""
    app.state.advice_turn = asyncio.Lock()


def add_routes(app: FastAPI) -> None:
    """Adds the pages."""
    hidden: dict[str, Any] = {"include_in_schema": False, "response_class": HTMLResponse}
    path = "/collections/{collection_id}"
    app.add_api_route("/new", show_new, methods=["GET"], **hidden)
    app.add_api_route("/new", create, methods=["POST"], **hidden)
    app.add_api_route("/new/advice", show_advice, methods=["GET"], **hidden)
    app.add_api_route(f"{path}/state", set_state, methods=["POST"], **hidden)
    app.add_api_route(f"{path}/invitations", invite, methods=["POST"], **hidden)


def show_new(request: Request) -> Response:
    """The form for a new collection."""
    try:
        form_admin(request)
    except Unauthorized:
        return RedirectResponse("/sign-in?next=/new", _SEE_OTHER)
    return _form(request, {})


async def create(request: Request, service: ServiceOf) -> Response:
    """Creates the collection that the form describes, or says what is wrong with it."""
    form_admin(request)
    form = await read_form(request)
    try:
        body = json.dumps(specification_of(form)).encode()
        collection = await service.create_collection(body, check_told)
        await done(request, "collection created", collection=collection.id)
    except (InvalidBody, SpecificationError) as error:
        wrong = await service.compute(wrong_fields, form, str(error))
        return _form(request, form, _REFUSED, str(error), wrong)
    return RedirectResponse(f"/collections/{collection.id}", _SEE_OTHER)


def _form(
    request: Request,
    form: Mapping[str, str],
    status: int = 200,
    refused: str | None = None,
    wrong: Mapping[str, str] | None = None,
) -> Response:
    """The form as it was filled in, with what is `wrong` beside each field, or else the error `refused` above it."""
    return page(
        request,
        "new.html",
        status,
        form=form,
        labels=LABELS,
        component_families=COMPONENT_FAMILIES,
        parameters=PARAMETERS,
        competing=COMPETING,
        titles=TITLES,
        component_fields=COMPONENT_FIELDS,
        numbers=numbers_in(form),
        refused=refused and in_words(refused, form),
        wrong={field: in_words(sentence, form) for field, sentence in (wrong or {}).items()},
    )


async def show_advice(request: Request, service: ServiceOf) -> Response:
    """The precision to expect of the collection that the form describes.

    It takes a core for a moment, so there is one at a time, and others wait for it in no thread.
    """
    form_admin(request)
    form = {name: value.strip() for name, value in request.query_params.items() if value.strip()}
    async with request.app.state.advice_turn:
        if await request.is_disconnected():  # the form has asked for something else since
            return HTMLResponse("")
        return HTMLResponse(await service.compute(_advice, form))


def _advice(form: dict[str, str]) -> str:
    try:
        with threadpool_limits(1, user_api="blas"):
            advice = advise_on_components(form) if numbers_in(form) else advise(form)
            return fragment("advice.html", advice=advice, wrong=None)
    except (SpecificationError, DesignError, InvalidQuery, InvalidEpsilon) as error:
        return fragment("advice.html", advice=None, wrong=in_words(str(error), form))


async def set_state(request: Request, collection: CollectionOf, service: ServiceOf) -> Response:
    """Opens, pauses or closes the collection."""
    form_admin(request)
    wanted: dict[str, State] = {state: state for state in get_args(State)}
    state = wanted.get((await read_form(request)).get("state", ""))
    if state is None:
        raise InvalidBody(f"state must be one of {', '.join(wanted)}.")
    try:
        await service.collections.set_state(collection.id, state)
        await done(request, "state changed", collection=collection.id, state=state)
    except CollectionClosed as error:
        return await collection_page(request, collection, service, 409, refused=str(error))
    return RedirectResponse(f"/collections/{collection.id}", _SEE_OTHER)


async def invite(request: Request, collection: CollectionOf, service: ServiceOf) -> Response:
    """Creates invitations; their codes and links are shown on this page only; hashes alone are stored."""
    form_admin(request)
    count = (await read_form(request)).get("count", "")
    if collection.admission != "invite":
        raise NotByInvitation
    if not (count.isascii() and count.isdigit() and len(count) < 8 and 1 <= int(count) <= MAX_COUNT):
        refused = f"The number of invitations must be from 1 to {MAX_COUNT:,}."
        return await collection_page(request, collection, service, _REFUSED, refused=refused)
    address = shown_address(request, service, f"/collections/{collection.id}/answer")
    codes = await service.invitations.make(collection.number, int(count))
    await done(request, "invitations made", collection=collection.id, count=len(codes))
    links = [f"{address}#{code}" for code in codes]
    drawn = await service.compute(lambda: [*map(qr_svg, links)]) if len(links) <= _MOST_DRAWN else []
    return await collection_page(request, collection, service, codes=codes, links=links, drawn=drawn)
