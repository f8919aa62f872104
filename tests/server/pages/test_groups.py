"""The table of groups on a collection's page."""

import re
from dataclasses import replace
from typing import Any

import pytest

from dither_client.posterior.wire import (
    Bands,
    DistributionSummary,
    GroupReply,
    ParameterSummary,
    PosteriorReply,
    from_json,
)
from dither_server.api.messages.examples import POSTERIOR
from dither_server.pages.groups import groups_view
from dither_server.pages.rendering import fragment
from testing.servers.site import Site

TERMS = {"groups": {"name": "region", "labels": ["north", "south", "east"]}, "decimals": None}


def summary(middle: float, sd: float) -> ParameterSummary:
    levels = [middle + z * sd for z in (-1.645, -0.674, 0, 0.674, 1.645)]
    return ParameterSummary(middle, sd, *levels)


def distribution(middle: float) -> DistributionSummary:
    x = tuple(middle + step for step in (-30.0, -10.0, 0.0, 10.0, 30.0))
    heights = (0.001, 0.2, 0.5, 0.8, 0.999)
    return DistributionSummary(x, Bands(*[heights] * 6), Bands(*[heights] * 6))


def group(middle: float, sd: float, answers: int, **more: Any) -> GroupReply:
    return GroupReply(
        answers=answers, posterior={}, covariance=(), quantiles={"0.5": summary(middle, sd)},
        distribution=distribution(middle), **more,
    )  # fmt: skip


def posterior(**groups: GroupReply) -> PosteriorReply:
    whole = {"quantiles": {"0.5": summary(50, 1)}, "distribution": distribution(50), "categories": None}
    return replace(from_json(PosteriorReply, POSTERIOR), answers=9, posterior={}, groups=groups or None, **whole)  # type: ignore[arg-type]


def test_lines_lie_in_the_order_of_the_medians_on_one_axis() -> None:
    view = groups_view(posterior(north=group(40, 2, 5), south=group(60, 1, 4), east=group(50, 900, 0)), TERMS)
    assert view is not None
    north, south, east = view.rows
    assert view.whole is not None
    assert 0 < north.line[0] < north.line[2] < north.line[4] < view.whole < south.line[2] < 200
    assert (east.line[0], east.line[4]) == (0, 200)  # nobody answered: it stretches no axis, and ends at its ends
    assert north.cells[4] == "40.0"
    assert not view.pooled
    assert [picture.label for picture in view.pictures] == ["north", "south"]
    for picture in view.pictures:
        places = [float(x) for x in re.findall(r"([-\d.]+),", picture.middle)]
        assert places == sorted(places)
        assert all(0 <= x <= 200 for x in places)


def test_the_ends_of_the_pictures_are_written_with_their_unit() -> None:
    """As all numbers are, and with no more decimals than values have."""
    wages = posterior(north=group(1040.4, 2, 5), south=group(2060.4, 1, 4))
    view = groups_view(wages, TERMS | {"decimals": 0})
    assert view is not None
    text = fragment("groups.html", groups=view, unit="€ per week")
    found = re.search(r"From (-?[\d,]+) on the left to ([\d,]+) € per week on the right: ", text)
    assert found
    assert found[2] == "2,090"
    assert (view.low, view.high) == ("1,010", "2,090")


def test_a_group_that_is_hardly_known_stretches_no_axis() -> None:
    known = {f"g{number}": group(50 + number, 1, 100) for number in range(4)}
    view = groups_view(posterior(**known, wild=group(50, 1e6, 1)), TERMS)
    assert view is not None
    assert float(view.high) < 100


def test_what_is_borrowed_is_told_by_the_coordinate_that_borrows_most() -> None:
    borrowed = {"mu": 0.25, "log sigma": 0.875}
    view = groups_view(posterior(north=group(40, 2, 5, borrowed=borrowed), south=group(60, 1, 4)), TERMS)
    assert view is not None
    assert view.pooled
    assert [row.own for row in view.rows] == ["12%", None]


def test_of_many_groups_those_with_most_answers_have_pictures() -> None:
    view = groups_view(posterior(**{f"g{number}": group(50, 1, number) for number in range(1, 500)}), TERMS)
    assert view is not None
    assert len(view.rows) == 499
    assert [picture.label for picture in view.pictures] == [f"g{number}" for number in range(476, 500)]


def test_without_groups_there_is_none() -> None:
    assert groups_view(posterior(), TERMS | {"groups": None}) is None


FEW = "Groups have few answers: of all of them together the lowest and highest values"
ALONE = "Each group is estimated from its own answers alone"


@pytest.mark.parametrize(
    "fields",
    [
        {"transform": "log", "range": [10, 1000]},
        {"family": "categorical"},
        {"family": "bernoulli", "range": None},
        {"family": "nonparametric"},
    ],
)
def test_the_page_of_a_collection_with_groups(site: Site, fields: dict[str, Any]) -> None:
    """Labels are escaped; a family's parameters are those of each group, so the whole has none to show."""
    labels = ["north", "<b>south</b>"]
    if fields.get("family") == "categorical":
        fields = {**fields, "categories": ["a", "b"], "range": None, "particles": 100}
    collection = site.create(**fields, groups={"name": "region", "labels": labels}, visibility="public")
    path = f"/collections/{collection}"
    assert site.client.get(path).status_code == 200
    for number, label in enumerate(labels):
        reply = site.client.post(f"/v1{path}/tickets", json={"count": 5, "group": label})
        site.batch(collection, *((item["ticket"], number) for item in reply.json()["tickets"]))
    site.learnt(collection, 10)
    page = site.client.get(path)
    assert page.status_code == 200
    assert "&lt;b&gt;south&lt;/b&gt;" in page.text
    assert "<b>south" not in page.text
    assert 'id="parameters-more"' not in page.text
    for sign in (ALONE, FEW):
        assert (sign in page.text) is (fields.get("family") == "nonparametric")
    assert ("Shares who have 1 by region" in page.text) is (fields.get("family") == "bernoulli")
    assert site.client.get(f"{path}/export/population.csv").text.startswith("what,of,mean,sd,")
    charts = site.client.get(f"{path}/charts.json").json()
    assert charts["densities"] == {}
    report = site.client.get(f"{path}/report").text
    assert "<h2>By region</h2>" in report
    assert [*re.findall('data-group="(.*?)"', report)] == ["north", "&lt;b&gt;south&lt;/b&gt;"]
    assert ("90% interval of the median" in report) is (fields.get("family") in (None, "nonparametric"))
    assert 'id="group"' in site.client.get(f"{path}/answer").text
