"""How two of several numbers go together, on the dashboard in a real browser while people answer."""

import math
import random
import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from dither_client.posterior.digits import median_and_band
from dither_client.posterior.wire import ParameterSummary
from testing.browser.axe import violations
from testing.browser.dashboard import picture, told
from testing.browser.survey import Survey
from tests.browser.conftest import OpenPage

COMPONENTS: list[dict[str, Any]] = [
    {
        "name": "wage", "family": "normal", "transform": "log", "range": [150, 2000], "unit": "€",
        "period_of_value": "per week",
    },
    {"name": "age", "family": "normal", "range": [15, 90], "unit": "years", "decimals": 0},
    {"name": "hours", "family": "normal", "range": [10, 60]},
]  # fmt: skip
PAIRS = ["wage by age", "wage by hours", "age by wage", "age by hours", "hours by wage", "hours by age"]


def of_two_numbers(survey: Survey) -> str:
    """A collection without answers."""
    return survey.create(
        family=None,
        transform=None,
        range=None,
        components=COMPONENTS[:2],
        epsilon=8,
        particles=200,
        visibility="public",
    )


def held(rng: random.Random) -> tuple[float, float, float]:
    """Wages that rise with age (correlation 0.8), and hours that go with neither."""
    first, second, third = (rng.gauss(0, 1) for _ in range(3))
    return (math.exp(6 + 0.5 * first), 45 + 12 * (0.8 * first + 0.6 * second), 38 + 6 * third)


@pytest.fixture(scope="module")
def collection(survey: Survey) -> str:
    found = survey.create(
        family=None, transform=None, range=None, components=COMPONENTS, epsilon=8, particles=400, visibility="public"
    )
    survey.arrive(found, 2_000, held)
    return found


def show(page: Page, survey: Survey, collection: str) -> None:
    page.goto(f"{survey.url}/collections/{collection}")
    expect(page.locator('[data-answers="2000"]')).to_be_visible()
    expect(page.locator("#regression canvas")).to_be_visible()


@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1280)])
def test_one_number_by_another_is_a_picture_with_a_sentence(
    survey: Survey, collection: str, open_page: OpenPage, scheme: str, width: int
) -> None:
    """The picture has the numbers of the API and follows the choice; the sentence says which way they go."""
    page, troubles = open_page(color_scheme=scheme, viewport={"width": width, "height": 800}), list[str]()
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    show(page, survey, collection)
    expect(page.get_by_role("row", name="wage: half have at most (€ per week)")).to_be_visible()
    check_correlations(page, survey.call("GET", f"/collections/{collection}/posterior")["correlations"])
    pair = page.get_by_label("Show", exact=True)
    assert pair.locator("option").all_inner_texts() == PAIRS
    posterior = survey.call("GET", f"/collections/{collection}/posterior")
    regression = posterior["regressions"]["wage,age"]
    expect(page.locator("#regression-title")).to_have_text("wage by age")
    middle = len(regression["x"]) // 2
    words = told(page, "regression")
    assert re.match(
        r"Where “age” is \d+ years, “wage” is [\d.,]+ € per week or less for half of the people \(90% sure: ", words
    )
    numbers = [float(number.replace(",", "")) for number in re.findall(r"[\d,]*\d(?:\.\d+)?", words.replace("90%", ""))]
    wanted = [regression["q50"][part][middle] for part in ("q50", "q05", "q95")]
    assert numbers[0] == pytest.approx(regression["x"][middle], abs=0.5)
    assert numbers[1:4] == pytest.approx(wanted, abs=0.5)
    assert numbers[4:] == pytest.approx([regression[part]["q50"][middle] for part in ("q05", "q95")], abs=0.5)
    expect(page.locator("#together")).to_contain_text("where “age” is higher, “wage” tends to be higher.")
    correlation = posterior["correlations"]["wage,age"]
    expect(page.locator("#together")).to_contain_text(
        f"is {correlation['q50']:.2f} (90% sure: {correlation['q05']:.2f} to"
    )
    before = picture(page, "regression")
    pair.select_option("age by hours")
    expect(page.locator("#regression-title")).to_have_text("age by hours")
    expect(page.locator("#together")).to_contain_text("The correlation of “age” and “hours” is")
    assert picture(page, "regression") != before
    pair.select_option("age by wage")
    expect(page.locator("#together")).to_contain_text("where “wage” is higher, “age” tends to be higher.")
    expect(page.locator("#regression")).to_have_attribute("data-x", "wage, € per week")
    page.locator("#regression").press("End")
    last = posterior["regressions"]["age,wage"]["x"][-1]
    assert told(page, "regression").startswith(f"Where “wage” is {float(f'{last:.4g}'):,g}")
    page.locator("#regression").blur()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert troubles == []


@pytest.mark.parametrize(("scheme", "width"), [("dark", 360), ("light", 1280)])
def test_each_number_has_the_pictures_and_words_of_a_single_one(
    survey: Survey, collection: str, open_page: OpenPage, scheme: str, width: int
) -> None:
    """The chosen one: its distribution, its questions and its median over time, in its unit and with its decimals."""
    page, troubles = open_page(color_scheme=scheme, viewport={"width": width, "height": 800}), list[str]()
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    show(page, survey, collection)
    components = survey.call("GET", f"/collections/{collection}/posterior")["components"]
    choice = page.get_by_label("Show the distribution of")
    assert choice.locator("option").all_inner_texts() == ["wage", "age", "hours"]
    expect(page.get_by_label("More than")).not_to_have_value("")
    pictures, asked = set(), set()
    for name, title, unit in (
        ("age", "age, years", " years"),
        ("hours", "hours", ""),
        ("wage", "wage, € per week", " € per week"),
    ):
        choice.select_option(name)
        found = components[name]
        for chart in ("distribution", "population"):
            expect(page.locator(f"#{chart}")).to_have_attribute("aria-label", re.compile(f", “{name}”,"))
            assert page.locator(f"#{chart}").get_attribute("data-x") == title
        words = re.match(rf"([\d.]+)% have ([\d.,]+){unit} or less \(50% sure: ", told(page, "distribution"))
        assert words
        share, value = float(words[1]) / 100, float(words[2].replace(",", ""))
        cdf, x = found["distribution"]["cdf"]["q50"], found["distribution"]["x"]
        assert share == pytest.approx(
            np.interp(value, x, cdf), abs=0.03
        )  # half a year, where ages have no decimals, has 1.7%
        middle, band = median_and_band(ParameterSummary(**found["quantiles"]["0.5"]), 0 if name == "age" else 12, set())
        expect(page.locator("#summary")).to_contain_text(
            f"{name}: Half of the people have {middle}{unit} or less (90% sure: {band})."
        )
        page.get_by_label("At or below it").fill("50")
        expect(page.locator("#level-said")).to_contain_text(f"50% of the people have {middle.split('.')[0]}")
        expect(page.locator("#above-said")).to_have_text(
            re.compile(rf"of the people have more than [\d.,]+{unit} \(90% sure: ")
        )
        over_time = page.locator("[id='trajectory-quantile_0.5']")
        expect(over_time).to_have_attribute("aria-label", re.compile(rf"^Half have at most after 2,000 .*{unit}$"))
        assert over_time.get_attribute("data-y") == title
        pictures.add(picture(page, "distribution"))
        asked.add(page.get_by_label("More than").input_value())
        assert violations(page) == []
    assert (len(pictures), len(asked)) == (3, 3)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert troubles == []


def test_the_number_that_was_chosen_stays_while_answers_come(survey: Survey, open_page: OpenPage) -> None:
    page = open_page()
    coming = of_two_numbers(survey)
    survey.arrive(coming, 400, lambda rng: held(rng)[:2])
    page.goto(f"{survey.url}/collections/{coming}")
    page.get_by_label("Show the distribution of").select_option("age")
    chart = page.locator("#distribution")
    expect(chart).to_have_attribute("aria-label", re.compile(", “age”,"))
    page.get_by_label("More than").fill("50")
    before = picture(page, "distribution")
    survey.arrive(coming, 400, lambda rng: held(rng)[:2])
    expect(page.locator('[data-answers="800"]')).to_be_visible()
    expect(page.locator("[id='trajectory-quantile_0.5']")).to_have_attribute(
        "aria-label", re.compile("after 800 answers")
    )
    assert picture(page, "distribution") != before
    expect(chart).to_have_attribute("aria-label", re.compile(", “age”,"))
    expect(page.locator("#above-said")).to_contain_text("more than 50 years")


def check_correlations(page: Page, correlations: dict[str, dict[str, float]]) -> None:
    """Each correlation is a dot and a line, labelled by the names, where the scale from -1 to 1 has them."""
    rows = page.locator("tr[data-pair]")
    assert rows.locator("th").all_inner_texts() == [pair.replace(",", " and ") for pair in correlations]
    for row, found in zip(rows.all(), correlations.values(), strict=True):
        written = [f"{round(found[part], 2) + 0.0:.2f}" for part in ("q50", "q05", "q95")]  # 0.00, not -0.00
        assert row.locator("td.number").all_inner_texts() == [written[0], f"{written[1]} to {written[2]}"]
        dot = float(row.locator("circle").get_attribute("cx") or "nan")
        assert dot / 100 - 1 == pytest.approx(found["q50"], abs=1e-3)
        low, high = re.findall(r"[\d.]+", (row.locator(".whisker").get_attribute("d") or "").replace(" 8H", " "))
        assert [float(low) / 100 - 1, float(high) / 100 - 1] == pytest.approx([found["q05"], found["q95"]], abs=1e-3)


@pytest.mark.parametrize("width", [360, 1280])
def test_the_report_shows_them_to_print_and_to_read(
    survey: Survey, collection: str, open_page: OpenPage, width: int
) -> None:
    """All fits on a narrow screen, in letters that can be read there; every axis of a number with a unit names it."""
    page = open_page(viewport={"width": width, "height": 800})
    page.goto(f"{survey.url}/collections/{collection}/report")
    check_correlations(page, survey.call("GET", f"/collections/{collection}/posterior")["correlations"])
    pictures = page.locator(".pictures svg")
    titles = [picture.locator("title").text_content() for picture in pictures.all()]
    assert titles[3:] == ["wage by age", "wage by hours", "age by hours"]
    axes = [picture.locator("text").all_text_contents()[-2:] for picture in pictures.all()]
    assert [across for across, _ in axes] == ["wage, € per week", "age, years", "hours", "age, years", "hours", "hours"]
    assert [up for _, up in axes[3:]] == ["wage, € per week", "wage, € per week", "age, years"]
    size = pictures.first.locator("text").first.bounding_box()
    assert size
    assert size["height"] > 9
    for text in pictures.locator("text").all():
        inside, around = text.bounding_box(), text.locator("xpath=ancestor::*[name()='svg']").bounding_box()
        assert inside
        assert around
        assert around["x"] - 1 <= inside["x"] <= inside["x"] + inside["width"] <= around["x"] + around["width"] + 1
    assert page.evaluate(
        "[...document.querySelectorAll('.scroll')].every((each) => each.scrollWidth <= each.clientWidth)"
    )
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_page_of_several_numbers_is_light(survey: Survey, collection: str, open_page: OpenPage) -> None:
    page = open_page()
    sizes = []
    page.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
    show(page, survey, collection)
    assert 20_000 < sum(sizes) < 150_000


def test_without_answers_there_is_no_picture_and_a_burst_brings_it(survey: Survey, open_page: OpenPage) -> None:
    page = open_page()
    empty = of_two_numbers(survey)
    page.goto(f"{survey.url}/collections/{empty}")
    expect(page.get_by_role("heading", name="No answers yet: share this link")).to_be_visible()
    expect(page.get_by_role("heading", name="How two numbers go together")).to_be_hidden()
    survey.arrive(empty, 400, lambda rng: held(rng)[:2])
    expect(page.locator("#regression canvas")).to_be_visible()
    expect(page.locator("#together")).to_contain_text("The correlation of “wage” and “age” is")


def test_long_names_of_numbers_fit(survey: Survey, open_page: OpenPage) -> None:
    names = ("age_of_the_person_who_answers_today", "hours_of_the_person_who_answers_today")
    asked = [{"name": name, "family": "normal", "range": [15, 90]} for name in names]
    plain = dict.fromkeys(("family", "transform", "range"))
    collection = survey.create(**plain, components=asked, epsilon=8, visibility="public")
    survey.arrive(collection, 400, lambda rng: (rng.gauss(45, 12), rng.gauss(38, 6)))
    page = open_page(viewport={"width": 360, "height": 800})
    page.goto(f"{survey.url}/collections/{collection}")
    expect(page.locator("#regression canvas")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
