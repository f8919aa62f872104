"""The report on a collection: one page to print or to keep, a file that needs no other."""

from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from starlette.concurrency import run_in_threadpool

from dither_client.posterior.names import distribution_name
from dither_client.posterior.sentences import title_with_unit, unit_text
from dither_client.posterior.wire import DistributionSummary, PosteriorReply
from dither_server.api.callers import LONG_READ, CollectionOf, ServiceOf, check_reader
from dither_server.clock import iso_time, milliseconds
from dither_server.collections.collection import Collection
from dither_server.pages.addresses import shown_address
from dither_server.pages.dependence import correlation_rows, regression_pictures
from dither_server.pages.groups import groups_view
from dither_server.pages.periods import period_charts, periods_view
from dither_server.pages.picture import distribution_svg, periods_svg
from dither_server.pages.privacy import panel_cost
from dither_server.pages.rendering import STATIC, content_source, fragment
from dither_server.pages.sentences import citation, component_units
from dither_server.pages.shown_number import narrow_goals
from dither_server.pages.views import View
from dither_server.service.service import Service

__all__ = ["add_routes"]

_STYLE = (STATIC / "report.css").read_text(encoding="utf-8")
_POLICY = f"default-src 'none'; style-src {content_source(_STYLE)}; frame-ancestors 'none'; base-uri 'none'"
_TWO_VALUES = frozenset((0.0, 1.0))
_PEOPLE = "The line is the median; half of the people lie in the dark band, and nine in ten in the light one."
_SURE = "The light band contains the truth with a probability of 90%, and the dark one with 50%."


def add_routes(app: FastAPI) -> None:
    """Adds the report."""
    app.add_api_route(
        "/collections/{collection_id}/report",
        show_report,
        methods=["GET"],
        dependencies=[LONG_READ],
        response_class=HTMLResponse,
        include_in_schema=False,
    )


async def show_report(request: Request, collection: CollectionOf, service: ServiceOf) -> Response:
    """Shows what is known of the population now, how, and how far to trust it."""
    await run_in_threadpool(check_reader, request, collection)
    terms = await run_in_threadpool(service.collections.terms, collection)
    view = await request.app.state.views.view(collection, service)
    address = shown_address(request, service, f"/collections/{collection.id}")
    write = partial(_report, collection, service, terms, view, address)
    text = await service.compute(view.recent, "report", write, address)
    return HTMLResponse(text, headers={"Content-Security-Policy": _POLICY})


def _report(collection: Collection, service: Service, terms: dict[str, Any], view: View, address: str) -> str:
    specification, posterior, now = collection.specification, view.posterior, service.clock()
    return fragment(
        "report.html",
        style=_STYLE,
        terms=terms,
        posterior=posterior,
        findings=view.findings,
        family=distribution_name(specification.family.name, specification.transform),
        parameters=posterior.posterior if specification.transform == "identity" else {},
        unit=unit_text(terms),
        units=component_units(terms.get("components") or ()),
        picture=_picture(view, unit_text(terms) or "value", terms["decimals"]),
        groups=groups_view(posterior, terms),
        narrow_goals=narrow_goals(specification, terms),
        numbers=_numbers(view, terms.get("components") or ()),
        correlations=correlation_rows(posterior),
        together=regression_pictures(posterior, terms.get("components") or ()),
        periods=periods_view(posterior, terms),
        over_time=_over_time(view, terms),
        warnings=service.quality.warnings(collection, posterior, now),
        panel_cost=panel_cost(specification),
        citation=citation(specification, terms, posterior),
        address=address,
        version=version("dither"),
        written=iso_time(milliseconds(now)),
    )


def _picture(view: View, title: str, decimals: int | None) -> str | None:
    """The picture of the population; None without answers, and for categories, zeros and ones, or too wide a range."""
    posterior: PosteriorReply = view.posterior
    return _drawn(posterior.distribution, view.curves, title, decimals) if posterior.answers else None


def _numbers(view: View, components: Sequence[Mapping[str, Any]]) -> list[str]:
    """The picture of each of several numbers; none without answers."""
    posterior: PosteriorReply = view.posterior
    parts = posterior.components if posterior.components and posterior.answers else {}
    drawn = [
        _drawn(
            parts[each["name"]].distribution, view.numbers[each["name"]], title_with_unit(each), each.get("decimals")
        )
        for each in components
        if each["name"] in parts and each["name"] in view.numbers
    ]
    return [picture for picture in drawn if picture is not None]


def _drawn(
    found: DistributionSummary | None, curves: Mapping[str, Any], title: str, decimals: int | None
) -> str | None:
    population = curves["population"]
    if found is None or population is None or set(found.x) <= _TWO_VALUES:
        return None
    shown = (population["x"][0], population["x"][-1])
    return distribution_svg(found, shown, curves["logarithmic"], title, decimals) if shown[0] < shown[1] else None


def _over_time(view: View, terms: dict[str, Any]) -> list[tuple[str, str]]:
    """The pictures of the periods, each with what it shows; none before two periods are known."""
    posterior: PosteriorReply = view.posterior
    charts = period_charts(posterior)
    if charts is None or not posterior.answers:
        return []
    name, value = terms["period"], unit_text(terms) or "value"
    of_shares = charts["people"] is None
    middle = ("The share who have 1", "share of the people") if of_shares else ("The median", value)
    decimals, orders = None if of_shares else terms["decimals"], bool(view.curves["logarithmic"])
    drawn = [
        (charts["people"], f"How the values are distributed, by {name}", value, _PEOPLE),
        (charts["middle"], f"{middle[0]}, by {name}", middle[1], _SURE),
    ]
    pictures = [
        (periods_svg(charts["labels"], lines, orders, (what, f"{name} (UTC)", axis), decimals), what, said)
        for lines, what, axis, said in drawn
        if lines is not None
    ]
    return [(picture, f"{what}. {said}") for picture, what, said in pictures if picture is not None]
