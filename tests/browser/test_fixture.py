from testing.browser.axe import violations
from tests.browser.conftest import OpenPage


def test_the_browser_runs_scripts_and_axe_finds_what_is_wrong(open_page: OpenPage) -> None:
    """A deliberately bad page, or the pages' tests would show nothing."""
    page = open_page()
    page.set_content("<html><title>T</title><body><main><h1>T</h1><img src='data:,'><input></main></body></html>")
    assert page.evaluate("() => 6n * 7n === 42n")
    found = {line.split(":")[0] for line in violations(page)}
    assert {"html-has-lang", "image-alt", "label"} <= found
