"""Questions and answers in words: the numbers in them, their decimals and their units."""

import json
import math
from typing import Any

import pytest

from testing.browser.answering import (
    LAPLACE,
    ODDS,
    WORDS,
)
from testing.browser.site import WebSite
from tests.browser.conftest import OpenPage


def test_cuts_are_shown_so_that_values_with_so_many_decimals_lie_where_it_says(
    open_page: OpenPage, site: WebSite
) -> None:
    """Rounded down: of whole numbers, exactly those above 12 are above 12.703125."""
    page = open_page()
    page.goto(site.page(site.create()))
    cuts = {"mechanism": "randomized_response", "cuts": [-0.25, 12.703125, 1234.5], "epsilon": 1}
    for decimals, words in {
        None: "up to −0.25; above −0.25 and up to about 12.703; above about 12.703 and up to 1234.5; above 1234.5",
        0: "up to −1; above −1 and up to 12; above 12 and up to 1,234; above 1,234",
        1: "up to −0.3; above −0.3 and up to 12.7; above 12.7 and up to 1,234.5; above 1,234.5",
        6: "up to −0.25; above −0.25 and up to 12.703125; above 12.703125 and up to 1,234.5; above 1,234.5",
    }.items():
        assert page.evaluate(WORDS, [json.dumps(cuts), decimals]).endswith(f"lie: {words}?")


IN_UNITS = """
async ([text, answer, components]) => {
  const { answerText, decodeJson, odds, parseQuery, questionText } = await import("/web/dither.js");
  const query = parseQuery(decodeJson(text));
  const told = [[], null, "en", components, components.length ? "" : "€"];
  return [questionText(query, ...told), answerText(query, answer, ...told), odds(query, answer, ...told)[0].who];
}
"""


@pytest.mark.parametrize(
    ("query", "components", "words"),
    [
        (
            {"mechanism": "laplace", "low": 20, "high": 40, "levels": 1},
            (),
            ["Is your value above 30 €?", "yes", "above 30 €"],
        ),
        (
            {"mechanism": "laplace", "low": 20, "high": 40, "levels": 2},
            (),
            ["Where between 20 € and 40 € does your value lie?", "about 30 €", "above 25 € and up to 35 €"],
        ),
        (
            {
                "mechanism": "component",
                "component": 1,
                "query": {"mechanism": "laplace", "low": 20, "high": 40, "levels": 1},
            },
            ("wage", "age"),
            ["“age”: Is your value above 30 years?", "yes", "above 30 years"],
        ),
    ],
)
def test_numbers_have_their_unit(
    open_page: OpenPage, site: WebSite, query: dict[str, Any], components: tuple[str, ...], words: list[str]
) -> None:
    page = open_page()
    page.goto(site.page(site.create()))
    described = [{"name": name, "decimals": None, "unit": "years"} for name in components]
    asked = {
        key: {**each, "epsilon": 1, "transform": "identity"} if key == "query" else each for key, each in query.items()
    }
    text = json.dumps({**asked, "epsilon": 1, "transform": "identity"})
    assert page.evaluate(IN_UNITS, [text, 1, described]) == words


def test_a_number_that_is_rounded_is_said_to_be(open_page: OpenPage, site: WebSite) -> None:
    """No more is claimed than what the edges are: 412.7 is not above 412.7031."""
    page = open_page()
    page.goto(site.page(site.create()))
    for query, decimals, words in [
        (LAPLACE | {"low": 412.6, "high": 412.80625}, None, "Is your value above about 412.7?"),
        (LAPLACE | {"low": 412, "high": 413}, None, "Is your value above 412.5?"),
        (LAPLACE | {"low": 412.6, "high": 412.80625}, 1, "Is your value above 412.7?"),  # the same for such values
        (LAPLACE | {"low": 5, "high": 6, "transform": "log"}, None, "Is your value above about 244.69?"),
        (LAPLACE | {"low": 0.25, "high": 9, "levels": 4}, 0, "Where between about 0 and 9 does your value lie?"),
    ]:
        assert page.evaluate(WORDS, [json.dumps(query), decimals]) == words
    points = LAPLACE | {"low": 0, "high": 10, "levels": 4}
    said = [page.evaluate(ODDS, [json.dumps(points), answer])[0] for answer in (0, 1, 4)]
    assert said == ["about 0 or below", "about 2.5", "about 10 or above"]


def test_a_point_that_many_people_have_is_told_as_that(open_page: OpenPage, site: WebSite) -> None:
    """A value equal to a cut lies below it: a point's cell is between the float before it and itself."""
    page = open_page()
    page.goto(site.page(site.create()))

    def asked(*cuts: float, decimals: int | None = None, **more: Any) -> str:
        query = {"mechanism": "randomized_response", "cuts": cuts, "epsilon": 1} | more
        text: str = page.evaluate(WORDS, [json.dumps(query), decimals])
        return text.partition(": ")[2].rstrip("?") or text

    wage, zero, most = (math.nextafter(point, -math.inf) for point in (450.5, 0, 1000))
    for decimals, exactly, rounded in ((None, "450.5", "450.5"), (2, "450.5", "450.5"), (0, "450.5", "451")):
        assert asked(wage, 450.5, 600, decimals=decimals) == (
            f"below {rounded}; exactly {exactly}; above {450 if decimals == 0 else exactly} and up to 600; above 600"
        )
    assert asked(zero, 0, 5) == "below 0; exactly 0; above 0 and up to 5; above 5"
    assert asked(300, wage, 600) == "up to 300; above 300 and below 450.5; at least 450.5 and up to 600; above 600"
    assert asked(500, most) == "up to 500; above 500 and below 1000; at least 1000"
    assert asked(12.7031, 12.70312, 15) == (
        "up to 12.7031; above 12.7031 and up to 12.70312; above 12.70312 and up to 15; above 15"
    )
    cuts = {"mechanism": "randomized_response", "cuts": [300, wage, 450.5, 600], "epsilon": 1}
    assert page.evaluate(ODDS, [json.dumps(cuts), 2]) == [
        "exactly 450.5",
        "exactly 450.5",
        "below 450.5 or above 450.5",
    ]
    sets = {
        "mechanism": "staircase",
        "cuts": [wage, 450.5],
        "sets": [[0], [1], [2]],
        "weights": [1, 1, 1],
        "epsilon": 1,
    }
    assert page.evaluate(ODDS, [json.dumps(sets), 0])[2] == "at least 450.5"


def test_no_number_is_shown_that_nobody_would_write(open_page: OpenPage, site: WebSite) -> None:
    """As the first questions have them, where nobody knows yet where values lie."""
    page = open_page()
    page.goto(site.page(site.create()))
    large, low = "an enormous number", "an enormous negative number"
    wide = f"up to nearly 0; above nearly 0 and up to {large}; above {large}"
    for cuts, transform, decimals, words in [
        ((5e-324, 9.99e299), "identity", None, wide),
        ((-800, 800), "log", None, wide),
        ((1e-200, 1e-100), "identity", None, "up to nearly 0; nearly 0; above nearly 0"),
        ((1e-200, 3), "identity", 0, "up to 0; above 0 and up to 3; above 3"),
        ((-9.99e299, 1e299), "identity", 2, f"up to {low}; above {low} and up to {large}; above {large}"),
    ]:
        query = {"mechanism": "randomized_response", "cuts": cuts, "epsilon": 1, "transform": transform}
        assert page.evaluate(WORDS, [json.dumps(query), decimals]).endswith(f": {words}?")
    threshold = {"mechanism": "randomized_response", "cuts": [1e-250], "epsilon": 1}
    assert "up to nearly 0; above nearly 0" in page.evaluate(WORDS, [json.dumps(threshold), None])
