"""What axe-core finds wrong with a page for people who do not see it, or use no mouse."""

from functools import cache
from importlib.resources import files

from playwright.sync_api import Page

__all__ = ["check_looks", "violations"]


def violations(page: Page) -> list[str]:
    """A line for each rule that the page as it is now breaks, with the elements that do."""
    page.evaluate(_source())  # by the debugger: the page's own policy would not let it in
    found = page.evaluate("() => axe.run()")
    return [
        f"{violation['id']}: {violation['help']}: {[node['target'] for node in violation['nodes']]}"
        for violation in found["violations"]
    ]


def check_looks(page: Page) -> None:
    """The page as it is now breaks no rule, and is no wider than its window."""
    assert violations(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


@cache
def _source() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
