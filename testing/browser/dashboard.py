"""What tests do on the dashboard, and what they read there."""

import re

from playwright.sync_api import Page, expect

from testing.browser.survey import Survey
from testing.servers.defaults import ADMIN_TOKEN

__all__ = ["MEDIAN", "WRITING", "band", "open_parameters", "picture", "sign_in", "told", "wait_learnt"]

MEDIAN = "Half have at most"
"""The heading of the median's chart."""

WRITING = """
    const write = CanvasRenderingContext2D.prototype.fillText;
    globalThis.written = {};
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
        const { a, b, e, f } = this.getTransform();
        const turned = Math.abs(b) > 0.5;
        const long = this.measureText(text).width;
        const before = { left: 0, start: 0, center: long / 2, right: long, end: long }[this.textAlign];
        const from = turned ? f + b * x - before : a * x + e - before;
        const fits = from >= -1 && from + long <= 1 + (turned ? this.canvas.height : this.canvas.width);
        const id = this.canvas.closest(".plot")?.id;
        if (text) (globalThis.written[id] ??= {})[text] = { fits, turned, from, to: from + long };
        write.call(this, text, x, y);
    };
    const clear = CanvasRenderingContext2D.prototype.clearRect;
    CanvasRenderingContext2D.prototype.clearRect = function (x, y, width, height) {
        if (width >= this.canvas.width && height >= this.canvas.height) {
            delete globalThis.written[this.canvas.closest(".plot")?.id];
        }
        clear.call(this, x, y, width, height);
    };
"""
"""A script that keeps the texts that stand in each chart: whether each fits, whether it is turned, and where it is."""


def sign_in(page: Page, survey: Survey, following: str) -> None:
    """Signs in as an admin, and goes to the path `following`."""
    page.goto(f"{survey.url}/sign-in?next={following}")
    page.get_by_label("Token").fill(ADMIN_TOKEN)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{survey.url}{following}")


def wait_learnt(page: Page, answers: int, number: str = MEDIAN) -> None:
    """Waits until the words and the charts have so many answers."""
    expect(page.locator(f'[data-answers="{answers}"]')).to_be_visible()
    expect(page.get_by_role("slider", name=f"{number} after {answers:,} answers")).to_be_visible()


def open_parameters(page: Page) -> None:
    """Shows the parameters, which are folded away where they are those of a logarithm."""
    page.locator("#parameters-more > summary").click()
    expect(page.locator("#trajectory-mu canvas")).to_be_visible()


def band(page: Page, parameter: str) -> float:
    """The width of the 90% band that the chart says it shows."""
    label = page.locator(f'[id="trajectory-{parameter}"]').get_attribute("aria-label") or ""
    found = re.search(r"from (\S+) to (\S+)(?: € per week)?$", label.replace(",", ""))
    assert found, label
    return float(found[2]) - float(found[1])


def picture(page: Page, chart: str) -> str:
    """The chart's pixels, as an address."""
    return str(page.evaluate("(id) => document.querySelector(`#${id} canvas`).toDataURL()", chart))


def told(page: Page, chart: str) -> str:
    """What a screen reader is told of the chart, which is written below it, too."""
    words = page.locator(f'[id="{chart}"]').get_attribute("aria-valuetext") or ""
    assert page.locator(f'[id="{chart}-reading"]').inner_text() == words
    return words
