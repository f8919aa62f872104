"""The pages for reading: the list of collections, one collection with its charts, the HTTP interface."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.concurrency import run_in_threadpool

from dither_client.posterior.names import distribution_name
from dither_client.posterior.sentences import unit_text
from dither_estimator.design.design import DesignError
from dither_estimator.specification.specification import Specification
from dither_server.answers.tally import PERIOD
from dither_server.api.callers import LONG_READ, CollectionOf, ServiceOf, check_reader, knows, may_read, signed_in
from dither_server.clock import milliseconds
from dither_server.collections.collection import Collection
from dither_server.errors import NotFound
from dither_server.pages.addresses import shown_address
from dither_server.pages.charts import charts, parameter_names
from dither_server.pages.compressed import static_response
from dither_server.pages.dependence import correlation_rows, pair_titles
from dither_server.pages.groups import groups_view
from dither_server.pages.pace import pace
from dither_server.pages.page_results import halves, page_results
from dither_server.pages.periods import minutes_left, periods_view
from dither_server.pages.precision import Plans
from dither_server.pages.privacy import privacy_sentences
from dither_server.pages.qr import qr_svg
from dither_server.pages.rendering import fragment, page
from dither_server.pages.sentences import citation, component_units, roles, shape_of, shown_numbers
from dither_server.pages.shown_number import narrow_goals, shown
from dither_server.pages.tables import Tables
from dither_server.pages.views import Views
from dither_server.service.service import Service

__all__ = ["add_routes", "add_state", "collection_page"]

_HOUR = 3600
_PER_PAGE = 100
"""The number of collections on a page of the overview."""
_LONGEST_DRAWN = 120
"""The longest address, in characters, that has a QR code: that of a longer one is too dense for a screen."""
_PARTS = (
    "summary", "numbers", "groups", "periods", "period_table", "correlations", "parameters", "course", "trust",
    "citation",
)  # fmt: skip
"""The templates of what changes as answers come, in the order in which the page has them."""


def add_state(app: FastAPI) -> None:
    """Gives an application what its pages keep between requests."""
    app.state.plans, app.state.views, app.state.tables, app.state.docs = Plans(), Views(), Tables(), None


def add_routes(app: FastAPI) -> None:
    """Adds the pages, and what their scripts fetch."""
    fetched: dict[str, Any] = {"methods": ["GET"], "include_in_schema": False}
    shown: dict[str, Any] = fetched | {"response_class": HTMLResponse}
    long: dict[str, Any] = {"dependencies": [LONG_READ]}
    path = "/collections/{collection_id}"
    app.add_api_route("/", show_index, **shown, **long)
    app.add_api_route(path, show_page, **shown, **long)
    app.add_api_route("/docs", show_docs, **shown)
    app.add_api_route(f"{path}/findings.json", show_findings, **fetched, **long)
    app.add_api_route(f"{path}/charts.json", show_charts, **fetched, **long)
    app.add_api_route(f"{path}/precision.json", show_precision, **fetched, **long)


async def show_index(request: Request, service: ServiceOf) -> Response:
    """Shows the collections whose posterior the visitor may read."""
    return await service.compute(_index, request, service)


def _index(request: Request, service: Service) -> Response:
    token = signed_in(request)
    recent = service.conduct.recent_answers((int(service.clock()) - _HOUR) // PERIOD)
    after = request.query_params.get("after")
    listed, following = service.collections.listed(lambda one: knows(request, token, one), after, _PER_PAGE)
    rows = [
        (terms, shape_of(one.specification), recent.get(one.number, 0))
        for one, terms in zip(listed, service.collections.all_terms(listed), strict=True)
    ]
    return page(request, "index.html", collections=rows, after=after, following=following)


async def show_page(request: Request, collection: CollectionOf, service: ServiceOf) -> Response:
    """Shows a collection's terms, and its posterior to those who may read it."""
    return await collection_page(request, collection, service)


async def collection_page(
    request: Request, collection: Collection, service: Service, status: int = 200, **values: Any
) -> Response:
    """The page of a collection; `values` hold the outcome of a form on it."""
    terms = await run_in_threadpool(service.collections.terms, collection)
    readable = await run_in_threadpool(may_read, request, collection)
    found, answered = None, False
    if readable:
        found = await _findings(request.app.state.views, collection, service, terms)
        answered = (await service.learners.published(collection)).answers > 0
    full = collection.full(terms["answers"])
    token = signed_in(request)
    if not knows(request, token, collection):
        terms = terms | {"answers": None}
    admin = token is not None and token.role == "admin"
    invitations = None
    if admin and collection.admission == "invite":
        invitations = await run_in_threadpool(service.invitations.tally, collection.number)
    link = shown_address(request, service, f"/collections/{collection.id}/answer")
    given = {"codes": None, "refused": None} | values
    return await service.compute(
        page,
        request,
        "collection.html",
        status,
        terms=terms,
        taking=terms["state"] == "open" and not full,
        link=link,
        code=qr_svg(link) if len(link) <= _LONGEST_DRAWN else None,
        privacy=privacy_sentences(collection.specification, terms),
        findings=found,
        answered=answered,
        roles=roles(collection.specification),
        parameters=parameter_names(collection.specification),
        family=distribution_name(collection.specification.family.name, collection.specification.transform),
        yes_or_no=collection.specification.family.values == "yes-no",
        pairs=pair_titles(terms.get("components") or ()),
        planned=_planned(collection.specification),
        pages=(pages := await page_results(request, service, terms)),
        halves=halves(pages),
        shown=shown_numbers(collection.specification),
        numbers=shown(collection.specification, terms),
        narrow_goals=narrow_goals(collection.specification, terms),
        transform=collection.specification.transform,
        unit=unit_text(terms),
        value=unit_text(terms) or "value",
        parquet=find_spec("pyarrow") is not None,
        admin=admin,
        invitations=invitations,
        **given,
    )


def _planned(specification: Specification) -> tuple[str, ...]:
    """The parameters for which the page asks how many more answers a precision takes; none if there is no plan."""
    return parameter_names(specification) if specification.policy.interval is None else ()


async def show_findings(request: Request, collection: CollectionOf, service: ServiceOf) -> Response:
    """The parts of a collection's page that change as answers come: a JSON object of HTML by name."""
    await run_in_threadpool(check_reader, request, collection)
    terms = await run_in_threadpool(service.collections.terms, collection)
    found = await _findings(request.app.state.views, collection, service, terms)
    return await service.compute(JSONResponse, found)


async def show_charts(
    request: Request, collection: CollectionOf, service: ServiceOf, number: str | None = None
) -> Response:
    """The numbers behind a collection's charts; of several numbers, those of `number` or of the first.

    Raises `NotFound` if there is no such number.
    """
    await run_in_threadpool(check_reader, request, collection)
    several = [part.name for part in collection.specification.components]
    if number is not None and number not in several:
        raise NotFound("This collection asks about no number of that name.")
    view = await request.app.state.views.view(collection, service)
    rows = await service.compute(service.store.history, collection.number)
    names, now = shown_numbers(collection.specification), milliseconds(service.clock())
    chosen = number or next(iter(several), None)
    found = view.curves if chosen is None else view.curves | view.numbers.get(chosen, {})
    left = {"minutes_left": minutes_left(collection.specification, now)}
    return await service.compute(lambda: JSONResponse(charts(names, rows, view.posterior, found, now, chosen) | left))


async def show_precision(request: Request, collection: CollectionOf, service: ServiceOf) -> Response:
    """How many more answers each of several precisions takes. Raises `NotFound` if there is no plan."""
    await run_in_threadpool(check_reader, request, collection)
    posterior = (await service.descriptions.of(collection)).described
    plans = request.app.state.plans
    try:
        async with plans.turn:
            return JSONResponse(await service.compute(plans.more_answers, collection, posterior))
    except DesignError as error:
        raise NotFound(f"There is no plan for this collection: {error}.") from None


def show_docs(request: Request) -> Response:
    """Shows every call of the HTTP interface."""
    state, known = request.app.state, signed_in(request) is not None
    shown = page(request, "docs.html", document=request.app.openapi()) if known or state.docs is None else state.docs
    if not known:  # the same for everyone who is not signed in, and slow to render
        state.docs = shown
    headers = {name: text for name, text in shown.headers.items() if name not in ("content-length", "content-type")}
    return static_response(request, bytes(shown.body), "text/html", headers)


async def _findings(views: Views, collection: Collection, service: Service, terms: Mapping[str, Any]) -> dict[str, str]:
    view = await views.view(collection, service)
    posterior = view.posterior

    def write() -> dict[str, str]:
        now = service.clock()
        rows = service.store.history(collection.number)
        values = {
            "terms": terms,
            "posterior": posterior,
            "findings": view.findings,
            "unit": unit_text(terms),
            "units": component_units(terms.get("components") or ()),
            "pace": next(reversed(pace(rows, posterior, milliseconds(now))["said"]), "none"),
            "warnings": service.quality.warnings(collection, posterior, now),
            "citation": citation(collection.specification, terms, posterior),
            "groups": groups_view(posterior, terms),
            "correlations": correlation_rows(posterior),
            "periods": periods_view(posterior, terms),
        }
        return {name: fragment(f"{name}.html", **values) for name in _PARTS}

    return await service.compute(view.recent, "findings", write)
