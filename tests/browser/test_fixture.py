import pytest
from playwright.sync_api import Browser

from testing.browser.axe import violations
from testing.browser.console import ConsoleErrors
from tests.browser.conftest import OpenPage


def test_the_browser_runs_scripts_and_axe_finds_what_is_wrong(open_page: OpenPage) -> None:
    """A deliberately bad page, or the pages' tests would show nothing."""
    page = open_page()
    page.set_content("<html><title>T</title><body><main><h1>T</h1><img src='data:,'><input></main></body></html>")
    assert page.evaluate("() => 6n * 7n === 42n")
    found = {line.split(":")[0] for line in violations(page)}
    assert {"html-has-lang", "image-alt", "label"} <= found


@pytest.mark.parametrize(
    "script",
    ["console.error('broken')", "setTimeout(() => { throw new Error('broken'); })", "Promise.reject(Error('broken'))"],
)
def test_an_error_of_a_page_fails_the_test_that_does_not_expect_it(browser: Browser, script: str) -> None:
    errors, context = ConsoleErrors(), browser.new_context()
    errors.follow(context)
    page = context.new_page()
    page.evaluate("console.log('said'), console.warn('warned')")
    errors.check()
    page.set_content(f"<script>{script}</script>")
    page.evaluate("new Promise((done) => setTimeout(done, 50))")
    context.close()
    with pytest.raises(AssertionError, match="broken"):
        errors.check(["other"])
    errors.check(["other", "^(Error: )?broken"])


@pytest.mark.console_errors("expected")
def test_a_test_names_the_errors_that_it_expects(open_page: OpenPage) -> None:
    open_page().evaluate("console.error('an expected error')")
