"""The pictures of how-it-works.md say what the channel and the estimator say, by keyboard, in light and dark."""

import json
import re
import shutil
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from dither_client import Laplace
from dither_estimator.families import find_family
from dither_estimator.mechanisms.information import channel_information, information
from testing.browser.axe import violations
from testing.repository import DOCS, ROOT
from testing.servers.listening import serving_folder
from tests.browser.conftest import OpenPage

PLACES = re.findall(r'<div id="(\w+)-picture">(.*?)</div>', (DOCS / "how-it-works.md").read_text(), flags=re.DOTALL)
BANDS = json.loads((DOCS / "pictures" / "bands.json").read_text())
WORDS = {name: " ".join(re.sub(r"<[^>]+>", "", text).split()) for name, text in PLACES}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The pictures alone on a page, in the colours that the browser asks for."""
    folder = tmp_path_factory.mktemp("pictures")
    shutil.copytree(DOCS / "pictures", folder / "pictures")
    scripts = "".join(f'<script type="module" src="pictures/{name}.js"></script>' for name, _ in PLACES)
    places = "".join(f'<div id="{name}-picture">{text}</div>' for name, text in PLACES)
    head = f'<meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Pictures</title>{scripts}'
    page = (
        f'<!doctype html><html lang="en"><head>{head}</head><body><main><h1>Pictures</h1>{places}</main></body></html>'
    )
    (folder / "index.html").write_text(page, encoding="utf-8")
    with serving_folder(folder) as url:
        yield f"{url}/"


@pytest.fixture
def page(address: str, open_page: OpenPage) -> Page:
    page = open_page()
    page.goto(address)
    for name, _ in PLACES:
        page.wait_for_selector(f"#{name}-picture svg")
    return page


def percentages(text: str) -> list[str]:
    return re.findall(r"[\d.]+(?=%)", text)


def drawn(page: Page) -> list[str]:
    return percentages(" ".join(page.locator("#answers-picture svg text").all_text_contents()))


def channel(cell: int, levels: int, epsilon: str) -> list[str]:
    query = Laplace(low=0.0, high=1.0, levels=levels, epsilon=Fraction(epsilon))
    return [f"{100 * float(chance):.1f}" for chance in query.channel()[cell]]


def told(place: float, width: float, epsilon: str) -> list[str]:
    """What an answer on 16 levels tells of N(0, 1): shares of 1 and 2, the information of the value itself."""
    query = Laplace(low=place - width / 2, high=place + width / 2, levels=16, epsilon=Fraction(epsilon))
    known = np.diag(information(find_family("normal"), [0.0, 1.0], query)) / (1, 2)
    return [f"{float(f'{100 * share:.3g}'):g}" for share in known]


def shown(page: Page) -> list[str]:
    return percentages(page.locator("#information-picture p").inner_text())


def stage(population: str, answers: int) -> dict[str, Any]:
    """The curves of a population after so many answers, and the truth."""
    known = next(each for each in BANDS["populations"] if each["name"] == population)
    return known["stages"][BANDS["answers"].index(answers)] | {"truth": known["truth"]}


def share(curves: dict[str, Any], value: int) -> list[str]:
    """The band, mean and truth at a value."""
    return [f"{curves[name][BANDS['x'].index(value)] / 10:.1f}" for name in ("low", "high", "mean", "truth")]


def test_all_pictures_are_on_the_site() -> None:
    assert list(WORDS) == ["answers", "bands", "information"]
    for name in WORDS:
        assert f"path: pictures/{name}.js, type: module" in (DOCS.parent / "mkdocs.yml").read_text()


def test_the_chances_are_those_of_the_channel(page: Page) -> None:
    place = page.locator("#answers-picture")
    assert drawn(page) == channel(1, 1, "1")
    place.get_by_label("levels").press("End")
    assert drawn(page) == channel(4, 6, "1")
    place.get_by_label("ε").press("End")
    assert drawn(page) == channel(4, 6, "8")
    place.get_by_label("value").press("Home")
    assert drawn(page) == channel(0, 6, "8")


def test_the_information_is_the_estimators(page: Page) -> None:
    place = page.locator("#information-picture")
    assert shown(page) == told(0, 4, "1")
    place.get_by_label("middle of the interval").press("End")
    assert shown(page) == told(3, 4, "1")
    place.get_by_label("width").press("Home")
    assert shown(page) == told(3, 0.05, "1")
    place.get_by_label("middle of the interval").press("ArrowLeft")
    place.get_by_label("ε").press("End")
    assert shown(page) == told(2.95, 0.05, "10")
    assert place.get_by_label("width").get_attribute("aria-valuetext") == "0.05 σ"


@pytest.mark.parametrize(("about", "epsilon"), [("mean", "1"), ("spread", "1"), ("mean", "10"), ("spread", "10")])
def test_the_best_interval_is_the_best(page: Page, about: str, epsilon: str) -> None:
    """The estimator finds the same interval among all: narrow for small ε, and beside the mean for the spread."""
    place = page.locator("#information-picture")
    if epsilon == "10":
        place.get_by_label("ε").press("End")
    place.get_by_role("button", name=f"Best for the {about}").click()
    middle, width = (float(place.get_by_label(name).input_value()) for name in ("middle of the interval", "width"))

    query = Laplace(0.0, 1.0, 16, Fraction(epsilon))
    places, widths = np.meshgrid(np.linspace(0, 3, 31), np.linspace(0.05, 8, 160))
    lows = (places - widths / 2).ravel()
    edges = lows[:, np.newaxis] + widths.ravel()[:, np.newaxis] * np.array(query.edges)
    known = channel_information(find_family("normal"), [0.0, 1.0], edges, query.channel())
    which = ["mean", "spread"].index(about)
    most = known[:, which, which].max() / (which + 1)
    assert shown(page) == told(middle, width, epsilon)
    assert float(shown(page)[which]) == pytest.approx(100 * most, rel=0.01)
    assert (width < 0.5) == (epsilon == "1")
    assert (middle > 0.5) == ((about, epsilon) == ("spread", "1"))


def read(page: Page) -> list[str]:
    """The band, mean and truth that the words below the picture name."""
    words = page.locator("#bands-picture p").inner_text()
    return [number for number in percentages(words) if number != "90"]


def test_the_bands_are_those_of_the_file(page: Page) -> None:
    place, words = page.locator("#bands-picture"), page.locator("#bands-picture p")
    assert read(page) == share(stage("one group", 1_000), 50)
    place.get_by_label("answers").press("End")
    assert read(page) == share(stage("one group", 30_000), 50)
    assert words.inner_text().startswith("After 30,000 answers at ε = 1, ")
    place.get_by_label("one group").press("ArrowRight")
    assert place.get_by_label("two groups").is_checked()
    place.get_by_label("value").press("ArrowRight")
    assert read(page) == share(stage("two groups", 30_000), 52)
    place.get_by_label("zeros").check()
    place.get_by_label("answers").press("Home")
    place.get_by_label("value").press("Home")
    assert read(page) == share(stage("zeros", 0), 0)
    assert words.inner_text().startswith("Before any answer, ")
    assert place.get_by_label("answers").get_attribute("aria-valuetext") == "none"


@pytest.mark.parametrize("width", [360, 1024])
def test_the_bands_are_drawn_where_they_are(address: str, open_page: OpenPage, width: int) -> None:
    """On a narrow screen, too, in letters that can be read there."""
    page = open_page(viewport={"width": width, "height": 800})
    page.goto(address)
    place = page.locator("#bands-picture")
    place.get_by_label("two groups").check()
    drawn = place.locator("polyline[fill=currentColor]").get_attribute("points") or ""
    points = np.array([point.split(",") for point in drawn.split()], dtype=float)
    lines = {int((text.text_content() or "").rstrip("%")): text for text in place.locator("svg text").all()[:5]}
    bottom, top = (float(lines[share].get_attribute("y") or "nan") - 4 for share in (0, 100))
    shares = 1_000 * (bottom - points[:, 1]) / (bottom - top)
    known = stage("two groups", 1_000)
    assert shares == pytest.approx([*known["low"], *known["high"][::-1]], abs=0.5)
    assert shares != pytest.approx([*known["low"], *known["mean"][::-1]], abs=0.5)
    size = place.locator("svg text").first.bounding_box()
    assert size
    assert size["height"] > 12
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.console_errors(r"status of 404 .*/bands\.json")
def test_without_the_curves_their_words_stay(address: str, open_page: OpenPage) -> None:
    page = open_page()
    page.route("**/bands.json", lambda route: route.fulfill(status=404))
    page.goto(address)
    page.wait_for_selector("#information-picture svg")
    assert " ".join(page.locator("#bands-picture").inner_text().split()) == WORDS["bands"]


def test_the_words_without_scripts_are_true() -> None:
    assert percentages(WORDS["answers"]) == channel(1, 1, "1")[::-1]
    narrow, wide = 0.15, 4
    wanted = [told(0, width, epsilon)[0] for epsilon in ("1", "10") for width in (wide, narrow)]
    assert percentages(WORDS["information"]) == wanted
    after = (share(stage("one group", answers), 50)[:2] for answers in (1_000, 10_000))
    assert [number for number in percentages(WORDS["bands"]) if number != "90"] == list(chain.from_iterable(after))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everyone_can_use_them(address: str, open_page: OpenPage, scheme: str) -> None:
    page = open_page(color_scheme=scheme)
    page.goto(address)
    page.wait_for_selector("#information-picture button")
    page.wait_for_selector("#bands-picture svg")
    assert violations(page) == []
    ink = page.locator("#information-picture text").first.evaluate("(word) => getComputedStyle(word).fill")
    assert ink == {"light": "rgb(0, 0, 0)", "dark": "rgb(255, 255, 255)"}[scheme]
    for name, control in {"answers": "ε", "bands": "answers", "information": "ε"}.items():
        words = page.locator(f"#{name}-picture p")
        before = words.inner_text()
        page.locator(f"#{name}-picture").get_by_label(control).press("ArrowRight")
        assert words.inner_text() != before
        assert words.get_attribute("aria-live") == "polite"


def test_a_page_that_is_opened_as_a_file_says_how_to_serve_the_site(open_page: OpenPage, tmp_path: Path) -> None:
    """There are no modules there, so that the pictures stay sentences; where the site is served, nothing is said."""
    script = '<script src="pictures/opened_as_file.js"></script>'
    shutil.copytree(DOCS / "pictures", tmp_path / "pictures")
    built = f'<!doctype html><html lang="en"><title>Page</title><article><h1>Page</h1></article>{script}</html>'
    (tmp_path / "page.html").write_text(built, encoding="utf-8")
    page = open_page()
    page.goto((tmp_path / "page.html").as_uri())
    [command] = re.findall(r"python3 -m http\.server \d+", page.locator("#opened-as-file").inner_text())
    assert command in (ROOT / "Makefile").read_text().replace(" --directory site", "")
    with serving_folder(tmp_path) as url:
        page.goto(f"{url}/page.html")
        assert page.locator("article").inner_text() == "Page"
        assert page.locator("#opened-as-file").count() == 0


def test_the_home_of_the_documentation_says_in_one_picture_what_this_is(open_page: OpenPage) -> None:
    """It is readable on its own paper, in light and dark, whatever the page around it is."""
    colours = set()
    for scheme in ("light", "dark"):
        page = open_page(color_scheme=scheme)
        page.goto((DOCS / "images" / "overview.svg").as_uri())
        paper, ink = (
            page.evaluate(f"getComputedStyle(document.querySelector({place!r})).fill") for place in (".paper", ".head")
        )
        dark, light = sorted((paper, ink), key=lightness)
        assert lightness(light) - lightness(dark) > 0.6
        colours.add(paper)
    assert len(colours) == 2
    assert "](images/overview.svg)" in (DOCS / "index.md").read_text()


def lightness(colour: str) -> float:
    return sum(map(int, re.findall(r"\d+", colour))) / (3 * 255)
