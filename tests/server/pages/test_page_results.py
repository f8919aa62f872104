"""Two pages for respondents: who sees which, what a check counts, and what an analyst reads."""

import re
from typing import Any

import pytest
from scipy import stats

from dither_client.posterior.wire import ParameterSummary
from dither_server.pages.page_results import PageResult, halves
from testing.servers.defaults import ADMIN
from testing.servers.pages import sign_in
from testing.servers.site import Site, problem

CHECK = {
    "name": "Understood",
    "family": "categorical",
    "categories": ["none right", "one right", "two right", "all right"],
    "epsilon": 0.5,
}


def create(site: Site, **fields: Any) -> Any:
    return site.client.post("/v1/collections", json={"name": "Wages", "epsilon": 1, **fields}, headers=ADMIN)


def made(site: Site, **fields: Any) -> str:
    reply = create(site, **fields)
    assert reply.status_code == 201, reply.text
    return str(reply.json()["id"])


def test_each_visitor_sees_one_of_two_pages_by_chance_and_keeps_it(site: Site) -> None:
    """60 visits: that all see the same page comes once in 10^17. The label stands before the field, or after it."""
    collection = made(site, pages=[{"page": "short"}, {"page": "label"}])
    address = f"/collections/{collection}/answer"
    seen = {page_shown(site.client.get(address)) for _ in range(60)}
    assert seen == {"short", "label"}
    for name in ("short", "label"):
        assert {page_shown(site.client.get(f"{address}?page={name}")) for _ in range(10)} == {name}
    assert {page_shown(site.client.get(f"{address}?page=other")) for _ in range(60)} == {"short", "label"}
    plain = site.client.get(f"/collections/{made(site)}/answer")
    assert "data-page" not in plain.text


def page_shown(reply: Any) -> str:
    [page] = re.findall(r'data-page="(\w+)"', reply.text)
    assert reply.headers["cache-control"] == "no-store"
    assert "set-cookie" not in reply.headers
    first = reply.text.index('<details id="exposure"') < reply.text.index('<form id="form"')
    assert first == (page == "label") == ('<details id="exposure" open>' in reply.text)
    return str(page)


@pytest.mark.parametrize(
    ("pages", "says"),
    [
        ([], "at least 1 item"),
        ([{"page": "short"}] * 2, "must be different pages"),
        ([{"page": "blank"}], "'short' or 'label'"),
        ([{"page": "short", "check": "nosuchthing"}], "There is no collection with the id of a check"),
        ([{"page": "short", "cookie": "yes"}], "There is an unknown field"),
    ],
)
def test_pages_that_cannot_be(site: Site, pages: Any, says: str) -> None:
    reply = create(site, pages=pages)
    assert problem(reply) == (422, "invalid-body")
    assert says in reply.json()["detail"]


def test_a_check_counts_right_replies(site: Site) -> None:
    reply = create(site, pages=[{"page": "short", "check": made(site)}])
    assert "must have 4 categories, of 0 to 3 right replies" in reply.json()["detail"]
    check = made(site, **CHECK)
    collection = made(site, pages=[{"page": "label", "check": check}])
    address = f"/collections/{collection}/answer"
    assert check in site.client.get(address).text
    site.client.patch(f"/v1/collections/{check}", json={"state": "paused"}, headers=ADMIN)
    assert check not in site.client.get(address).text


def test_analysts_read_how_many_understood_and_visitors_do_not(site: Site) -> None:
    checks = [made(site, **CHECK), made(site, **CHECK)]
    pages = [{"page": page, "check": check} for page, check in zip(("short", "label"), checks, strict=True)]
    collection = made(site, visibility="public", pages=pages)
    for count, check in ((30, checks[0]), (12, checks[1])):
        site.answer(check, [3] * count)
        site.learnt(check, count)
    assert "Which page people understand" not in site.client.get(f"/collections/{collection}").text
    sign_in(site)
    shown = site.client.get(f"/collections/{collection}").text
    assert re.search(r">short</a></th><td class=\"number\">30</td>\s*<td class=\"number\">[\d.]+%", shown)
    assert "30 and 12 sent the check of one: more people went on to the end on the page “short” (p = 0.0079)" in shown


@pytest.mark.parametrize(("first", "second"), [(8, 2), (9, 1), (30, 12), (100, 97), (5, 5), (1, 0)])
def test_halves_are_tested_exactly(first: int, second: int) -> None:
    """The p-value is the sum of the probabilities of all splits that are no likelier."""
    known = ParameterSummary(0.5, 0.1, 0.3, 0.4, 0.5, 0.6, 0.7)
    said = halves([PageResult("short", "a", first, known), PageResult("label", "b", second, known)]) or ""
    chances = stats.binom(first + second, 0.5).pmf(range(first + second + 1))
    p_value = chances[chances <= chances[first] * (1 + 1e-9)].sum()
    assert f"(p = {p_value:.2g})" in said
    assert ("no difference was found" in said) == (p_value > 0.05)


def test_one_page_is_not_compared() -> None:
    assert halves([PageResult("short", "a", 5, None)]) is None
    assert halves([PageResult("short", "a", 0, None), PageResult("label", "b", 0, None)]) is None
