"""The answer page says of this collection and this server who could learn what."""

import re
from typing import Any

import pytest

from testing.servers.site import Site


def table(page: str) -> dict[str, list[str]]:
    """Whether each of those who may try could learn the value, and see the answer."""
    [body] = re.findall(r'<details id="exposure">.*?<tbody>(.*?)</tbody>', page, re.DOTALL)
    rows = re.findall(r"<tr><th[^>]*>(.*?)</th>(.*?)</tr>", body)
    return {who: re.findall(r"<td>(.*?)</td>", cells) for who, cells in rows}


def page_of(site: Site, address: str = "", **fields: Any) -> str:
    return site.client.get(f"{address}/collections/{site.create(**fields)}/answer").text


def test_nobody_learns_the_number(site: Site) -> None:
    page = page_of(site, organisation="An office")
    assert table(page) == {
        "An office": ["No", "Yes"],
        "Its staff": ["No", "Yes"],
        "The analysts": ["No", "Yes"],
        "Somebody who steals the database": ["No", "Yes"],
        "Somebody who watches the network": ["No", "Yes"],  # over http
    }
    assert "The organisation that asks" in page_of(site)
    assert "at most about 73 of 100" in page
    assert "50 of 100" in page


def test_with_https_the_network_shows_no_answer(site: Site) -> None:
    page = page_of(site, "https://testserver")
    assert table(page)["Somebody who watches the network"] == ["No", "No"]


def test_answers_that_are_not_kept_are_only_counted(site: Site) -> None:
    page = page_of(site, keep_answers=False)
    assert table(page)["Somebody who steals the database"] == ["No", "Only counted among all"]
    assert "Your answer is counted and then dropped." in page
    assert "Your answer is counted and then dropped." not in page_of(site)


@pytest.mark.parametrize("fields", [{"epsilon": 3}, {"epsilon_choices": [1, 3]}])
def test_an_answer_that_tells_nearly_all_is_said_to(site: Site, fields: dict[str, Any]) -> None:
    page = page_of(site, **fields)
    assert table(page)["The analysts"] == ["Almost", "Yes"]
    assert "“Almost”: at ε = 3, whoever sees your answer can guess very well." in page
    assert "“Almost”" not in page_of(site, epsilon=2)


def test_what_is_not_hidden_is_said(site: Site) -> None:
    def unhidden(**fields: Any) -> str:
        return page_of(site, **fields).partition("What is not hidden")[2].partition("</ul>")[0]

    plain, other = unhidden(), unhidden(visibility="public", admission="invite", epsilon_choices=[0.5, 1])
    for says, differently in [
        ("That you took part, and when.", "That somebody with your invitation took part."),
        ("The analysts of this collection see the results.", "Anyone may see the results."),
        ("Your network address", "The ε that you choose."),
    ]:
        assert says in plain
        assert differently in other
        assert differently not in plain
    limited = unhidden(keep_answers_days=30, keep_days=365)
    assert "Your answer is kept for 30 days" in limited
    assert "Everything is removed 365 days after" in limited
    assert "for as long as the collection is" not in limited


def test_each_epsilon_has_its_odds_beside_it(site: Site) -> None:
    page = page_of(site, epsilon_choices=[0.5, 1, 2])
    for epsilon, right in (("0.5", 62), ("1", 73), ("2", 88)):
        assert f"ε = {epsilon}: about {right} of 100" in page
        assert re.search(rf"at ε = {re.escape(epsilon)}</th><td>at most about {right} of 100", page)
