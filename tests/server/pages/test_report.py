"""The report is a file that needs no other, with the numbers of the API and what they rest on."""

import re
from importlib.metadata import version
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from dither_client.posterior.reading import parse_posterior
from dither_client.posterior.wire import QUANTILES, Bands, DistributionSummary, Regression
from dither_server.pages.picture import distribution_svg, periods_svg, regression_svg
from testing.servers.pages import sign_in
from testing.servers.site import Site, problem


def learnt(site: Site, answers: int = 40, **fields: Any) -> str:
    collection = site.create(**fields)
    site.batch(collection, *((ticket, i % 2) for i, ticket in enumerate(site.tickets(collection, answers))))
    site.learnt(collection, answers)
    return collection


def test_the_report_has_the_numbers_and_what_they_rest_on(site: Site) -> None:
    fields: dict[str, Any] = {
        "transform": "log",
        "range": [1, 1000],
        "unit": "€",
        "decimals": 0,
        "question": "How <much>?",
    }
    collection = learnt(site, **fields)
    path = f"/collections/{collection}/report"
    assert problem(site.client.get(path)) == (401, "unauthorized")
    sign_in(site)
    reply = site.client.get(path)
    median = site.client.get(f"/v1/collections/{collection}/posterior").json()["quantiles"]["0.5"]
    text = reply.text
    assert f"Half of the people have {median['q50']:,.0f} € or less" in text
    assert "This rests on 40 answers at ε = 1, and holds if the values follow a lognormal distribution." in text
    assert "How &lt;much&gt;?" in text
    assert f"Dither {version('dither')}" in text
    assert f"Dither collection {collection}, " in text
    assert f"{site.client.base_url}/collections/{collection}" in text
    assert "logarithm" not in text
    assert re.search(r"written at \d{4}-\d\d-\d\d \d\d:\d\d UTC", text)


def test_the_report_needs_nothing_else(site: Site) -> None:
    reply = site.client.get(f"/collections/{learnt(site, visibility='public')}/report")
    assert reply.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert not re.search(r"<(script|link|img)|\s(src|href|style|on\w+)=|url\(|@import", reply.text)
    svg = re.search(r"<svg.*?</svg>", reply.text, flags=re.DOTALL)
    assert svg
    assert ElementTree.fromstring(svg[0]).tag.endswith("svg")


@pytest.mark.parametrize(
    "fields", [{"family": "categorical", "categories": ["a", "b <c>"], "range": None}, {"family": "bernoulli"}]
)
def test_what_has_no_curve_has_no_picture(site: Site, fields: dict[str, Any]) -> None:
    text = site.client.get(f"/collections/{learnt(site, visibility='public', **fields)}/report").text
    assert "<svg" not in text
    assert ("b &lt;c&gt;" in text) == ("categories" in fields)


def test_before_any_answer_the_report_says_so(site: Site) -> None:
    text = site.client.get(f"/collections/{site.create(visibility='public')}/report").text
    assert "Nobody has answered yet." in text
    assert "<svg" not in text


def test_the_picture_is_the_distribution() -> None:
    """Linear and logarithmic: each point of the median lies where its axes say."""
    x = np.geomspace(1, 1000, 61)
    line = tuple(np.linspace(0, 1, 61).tolist())
    found = DistributionSummary(tuple(x.tolist()), *[Bands(line, line, line, line, line, line)] * 2)
    for logarithmic in (True, False):
        svg = ElementTree.fromstring(distribution_svg(found, (1.0, 1000.0), logarithmic, "€ & more"))
        [median] = [each for each in svg if each.tag.endswith("polyline")]
        points = np.array([point.split(",") for point in median.attrib["points"].split()], dtype=float)
        share = (points[0, 1] - points[:, 1]) / (points[0, 1] - points[-1, 1])
        place = (points[:, 0] - points[0, 0]) / (points[-1, 0] - points[0, 0])
        assert share == pytest.approx(line, abs=2e-3)
        assert place == pytest.approx(np.log10(x) / 3 if logarithmic else (x - 1) / 999, abs=2e-3)
        texts = {each.text for each in svg if each.tag.endswith("text")}
        assert {"€ & more", "share of the people", "100%", "1,000"} <= texts
        assert ("10" in texts) == logarithmic


def test_shares_of_whole_numbers_rise_in_steps() -> None:
    line = (0.2, 0.7, 1.0)
    found = DistributionSummary((0.0, 1.0, 2.0), *[Bands(line, line, line, line, line, line)] * 2)
    svg = ElementTree.fromstring(distribution_svg(found, (0.0, 2.0), False, "children"))
    [median] = [each for each in svg if each.tag.endswith("polyline")]
    x, y = zip(*(point.split(",") for point in median.attrib["points"].split()), strict=True)
    assert x[0] == x[1] != x[2] == x[3] != x[4] == x[5]
    assert y[1] == y[2] != y[3] == y[4] != y[5]


def test_the_picture_ends_where_the_distribution_is_known() -> None:
    """With an atom at 0, points are above it: the rest of a logarithmic axis would be empty."""
    x = (0.0, 0.001, *np.geomspace(0.01, 1000, 59).tolist())
    line = tuple(np.linspace(0.5, 1, 61).tolist())
    found = DistributionSummary(x, *[Bands(line, line, line, line, line, line)] * 2)
    pictures = [distribution_svg(found, (low, 1000.0), True, "€") for low in (1e-6, 0.001)]
    assert pictures[0] == pictures[1]


def test_several_numbers_have_their_units(site: Site) -> None:
    sign_in(site)
    wage = {"name": "wage", "family": "normal", "range": [100, 2000], "unit": "€", "period_of_value": "per week"}
    several = [wage, {"name": "age", "family": "normal", "range": [18, 80]}]
    fields: dict[str, Any] = {"family": None, "range": None, "components": several}
    text = site.client.get(f"/collections/{learnt(site, **fields)}/report").text
    assert "wage: half have at most (€ per week)</th>" in text
    assert "age: half have at most</th>" in text
    assert re.search(
        r'data-pair="wage and age".*?<circle.*?</td>\s*<td class="number">-?\d\.\d\d</td>', text, re.DOTALL
    )
    assert re.search(r">wage, € per week</text>.*>share of the people</text></svg></figure>", text)
    assert re.search(r"<title>wage by age</title>.*>wage, € per week</text></svg>", text)
    assert "The correlation of “wage” and “age” is " in text
    assert re.search(r"wage median -?[\d.,]+ € per week \(90% interval [^)]*\), age median -?[\d.,]+ \(90%", text)


def test_the_citation_of_groups_names_the_family_in_each(site: Site) -> None:
    """Which is assumed, unless there is none."""
    sign_in(site)
    groups = {"name": "region", "labels": ["north", "south"]}
    for family, said in (("normal", "a normal distribution in each group"), (None, "a distribution of any shape")):
        collection = site.create(family=family, groups=groups)
        asked = site.client.post(f"/v1/collections/{collection}/tickets", json={"count": 20, "group": "north"})
        site.batch(collection, *((each["ticket"], i % 2) for i, each in enumerate(asked.json()["tickets"])))
        site.learnt(collection, 20)
        text = site.client.get(f"/collections/{collection}/report").text
        assert f"; posterior medians of {said}, from 20 answers" in text


@pytest.mark.parametrize(
    "fields", [{}, {"family": None}, {"family": "categorical", "categories": ["no", "yes"], "range": None}]
)
def test_it_is_told_by_what_groups_count(site: Site, fields: dict[str, Any]) -> None:
    """Wherever the whole population is: on the page, in the report, and in Python and its command."""
    sign_in(site)
    shares = {"north": 3, "south": 1}
    for given, said in (({}, "number of answers"), ({"shares": shares}, "declared share of the population")):
        groups = {"name": "region", "labels": list(shares), **given}
        collection = site.create(**{"family": "normal", "groups": groups, "particles": 100, **fields})
        asked = site.client.post(f"/v1/collections/{collection}/tickets", json={"count": 20, "group": "north"})
        site.batch(collection, *((each["ticket"], i % 2) for i, each in enumerate(asked.json()["tickets"])))
        posterior = site.learnt(collection, 20)
        terms = site.client.get(f"/v1/collections/{collection}").json()
        texts = [site.client.get(f"/collections/{collection}{page}").text for page in ("", "/report")]
        texts.append(parse_posterior(collection, posterior, pytest.fail, terms=terms).text())
        for text in texts:
            assert f" Each group counts by its {said}." in text


def test_the_picture_of_periods_leaves_out_what_is_not_known() -> None:
    """Linear and logarithmic: the median of each period lies where its axes say, and one period is no picture."""
    labels = ["2026-W01", "2026-W02", "<W03>", "2026-W04"]
    medians = [10.0, None, 1000.0, 100.0]
    lines = {name: [None if x is None else x + 1e-9 * level for x in medians] for name, level in QUANTILES.items()}
    for logarithmic in (True, False):
        svg = periods_svg(labels, lines, logarithmic, ("The median", "week (UTC)", "€"))
        assert svg
        picture = ElementTree.fromstring(svg)
        [median] = [each for each in picture if each.tag.endswith("polyline")]
        points = np.array([point.split(",") for point in median.attrib["points"].split()], dtype=float)
        across, down = ((points - points[0]) / [points[-1, 0] - points[0, 0], points[1, 1] - points[0, 1]]).T
        assert across == pytest.approx([0, 2 / 3, 1], abs=2e-3)
        assert down == pytest.approx([0, 1, 0.5 if logarithmic else 90 / 990], abs=2e-3)
        assert {"€", "week (UTC)", *labels} <= {each.text for each in picture if each.tag.endswith("text")}
    assert periods_svg(labels[:2], {name: line[:2] for name, line in lines.items()}, False, ("", "", "")) is None


@pytest.mark.parametrize("orders", [False, True])
def test_one_number_by_another_is_a_picture_with_both_units(orders: bool) -> None:
    """Linear, or logarithmic where values differ much: each point of the median lies where its axes say."""
    x = np.array([18.0, 40.0, 62.0])
    middle = np.array([10.0, 100.0, 1000.0]) if orders else np.array([500.0, 550.0, 700.0])
    levels = {name: tuple((middle * (1 + 0.1 * (level - 0.5))).tolist()) for name, level in QUANTILES.items()}
    one = Bands(mean=tuple(middle.tolist()), **levels)
    svg = regression_svg(
        Regression(tuple(x.tolist()), one, one, one, one, one), ("wage by age", "age, years", "wage, €")
    )
    assert svg
    picture = ElementTree.fromstring(svg)
    median, *edges = [each for each in picture if each.tag.endswith("polyline")]
    assert [each.attrib["stroke-dasharray"] for each in edges] == ["5 4", "5 4"]
    points = np.array([point.split(",") for point in median.attrib["points"].split()], dtype=float)
    across, down = ((points - points[0]) / (points[-1] - points[0])).T
    assert across == pytest.approx([0, 0.5, 1], abs=2e-3)
    assert down == pytest.approx([0, 0.5 if orders else 0.25, 1], abs=5e-3)
    texts = {each.text for each in picture if each.tag.endswith("text")}
    assert {"age, years", "wage, €", "40", "100" if orders else "550"} <= texts


def test_a_number_that_floating_point_cannot_hold_has_no_picture() -> None:
    one = Bands(*[(1.0, float("inf"))] * 6)
    assert regression_svg(Regression((1.0, 2.0), one, one, one, one, one), ("", "", "")) is None


def test_ticks_are_no_finer_than_values() -> None:
    """Where people have 0 to 3 children, there are no halves; an axis of millions has room for its numbers."""
    labels, lines = ["2026-W01", "2026-W02"], {name: [1.0, 3.0] for name in QUANTILES}
    for decimals, written in ((0, {"1", "2", "3"}), (1, {"1", "1.5", "2", "2.5", "3"})):
        svg = periods_svg(labels, lines, False, ("", "week", "children"), decimals)
        assert svg
        texts = {each.text for each in ElementTree.fromstring(svg) if each.tag.endswith("text")}
        assert texts - {*labels, "week", "children"} == written
    millions = periods_svg(labels, {name: [1e6, 3e6] for name in QUANTILES}, False, ("", "week", "€"))
    assert millions
    [number] = [each for each in ElementTree.fromstring(millions) if each.text == "3,000,000"]
    assert float(number.attrib["x"]) > 7 * len("3,000,000") + 20
