"""Five strangers' first walks (`testing.walks`), with what each took; only the first answer has a bound of time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from testing.browser.chromium import CHROMIUMS, TIMEOUT_MS, launch
from testing.browser.site import open_web_site
from testing.reader import Shell, reading
from testing.tools import find_tool, skip_or_fail
from testing.walks import analyst, developer, operator, respondent, student
from testing.walks.walk import Walk

pytestmark = pytest.mark.slow


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with reading(tmp_path) as shell:
        yield shell


def test_an_analyst(shell: Shell) -> None:
    stranger = Walk("analyst", shell)
    analyst.walk(stranger)
    assert (stranger.commands, stranger.clicks) == (7, 0), stranger.ended()


def test_a_developer(shell: Shell) -> None:
    find_tool("curl")
    stranger = Walk("developer", shell)
    developer.walk(stranger)
    assert (stranger.commands, stranger.clicks) == (4, 0), stranger.ended()


def test_an_operator_has_the_first_answer_within_five_minutes_of_a_fresh_install(shell: Shell) -> None:
    find_tool("curl")
    shell.environment["PIP_NO_COMPILE"] = "1"  # most of NumPy and SciPy is never imported
    stranger = Walk("operator", shell)
    if operator.index_is_missing(shell):
        skip_or_fail("no package index to install from")
    first_answer = operator.walk(stranger)
    assert stranger.commands == 12, stranger.ended()
    assert first_answer < operator.FIRST_ANSWER_SECONDS, stranger.ended()


def test_a_respondent_with_a_narrow_screen_and_a_slow_network(tmp_path: Path, shell: Shell) -> None:
    from playwright.sync_api import sync_playwright

    chromium = find_tool(*CHROMIUMS)
    (tmp_path / "site").mkdir()
    with open_web_site(tmp_path / "site") as site, sync_playwright() as playwright:
        browser = launch(playwright, chromium)
        context = browser.new_context(viewport=respondent.NARROW)
        context.set_default_timeout(TIMEOUT_MS)
        collection = site.create()
        stranger = Walk("respondent", shell)
        respondent.walk(stranger, context.new_page(), site.page(collection), lambda: site.answers(collection))
        browser.close()
    assert stranger.commands == 0
    assert stranger.clicks <= 5, stranger.ended()


def test_a_student(shell: Shell) -> None:
    stranger = Walk("student", shell)
    student.walk(stranger)
    assert (stranger.commands, stranger.clicks) == (5, 0), stranger.ended()
