"""How the pages for respondents did: how many sent the check of each, and how many of them had understood it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from scipy.special import betainc

from dither_client.posterior.digits import rounded
from dither_client.posterior.wire import ParameterSummary
from dither_server.api.callers import may_read
from dither_server.errors import CollectionDeleted, NotFound
from dither_server.service.service import Service

__all__ = ["PageResult", "halves", "page_results"]


@dataclass(frozen=True)
class PageResult:
    """What is known of one page."""

    page: str
    check: str
    """The id of the collection that counts right replies."""
    answers: int
    """How many have sent its check."""
    understood: ParameterSummary | None
    """The share of these whose replies were all right; None before any is learnt."""


async def page_results(request: Request, service: Service, terms: Mapping[str, Any]) -> list[PageResult]:
    """The results of the pages with a check whose collection the caller may read."""
    found = []
    for page in terms["pages"] or ():
        try:
            check = await service.collections.find(page["check"] or "")
        except (NotFound, CollectionDeleted):
            continue
        if may_read(request, check):
            known = (await request.app.state.views.view(check, service)).posterior
            shares = list((known.categories or {}).values()) if known.answers else []
            found.append(PageResult(page["page"], check.id, known.answers, shares[-1] if shares else None))
    return found


def halves(results: Sequence[PageResult]) -> str | None:
    """Whether one of two pages lost more people; None unless both are known and somebody has sent a check.

    Visitors see either by chance, so that either has half of the checks if as many go on to the end on both: an exact
    binomial test.
    """
    if len(results) != 2 or not any(each.answers for each in results):
        return None
    first, second = (each.answers for each in results)
    p_value = _two_sided(first, second)
    more = results[0 if first > second else 1].page
    verdict = f"more people went on to the end on the page “{more}”" if p_value <= 0.05 else "no difference was found"
    return (
        f"Each visitor sees one of the two pages by chance, and {first:,} and {second:,} sent the check of one: "
        f"{verdict} (p = {rounded(p_value, 2)})."
    )


def _two_sided(first: int, second: int) -> float:
    """The p-value of the exact test that a coin is fair. `scipy.stats` has one, and takes half a second to import."""
    return min(1.0, 2 * float(betainc(max(first, second), min(first, second) + 1, 0.5)))
