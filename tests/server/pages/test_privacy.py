"""What an answer costs is told to respondents and to readers of results, also where people choose or come again."""

from collections.abc import Sequence
from html import unescape
from typing import Any

import pytest

from testing.servers.site import Site

PANEL: dict[str, Any] = {"period": "week", "panel": {"answers": 3, "periods": 30}}
CHOICE: dict[str, Any] = {"epsilon": 0.1, "epsilon_choices": [0.1, 6]}


def told(site: Site, path: str) -> str:
    return unescape(site.client.get(f"/collections/{path}").text)


@pytest.mark.parametrize(
    ("fields", "said", "unsaid"),
    [
        (
            PANEL,
            ["one answer is sent each time.", "Each answer costs ε = 1: whatever it is", "That costs ε = 3 in all"],
            ["You can answer once", "The answer costs"],
        ),
        (
            CHOICE,
            [
                "The answer costs ε = 0.1 to 6, as you choose: whatever it is, it is at most 1.11 to 400 times as",
                "You can answer once.",
            ],
            ["costs ε = 0.1:"],
        ),
        (
            {"epsilon": 2},
            ["The answer costs ε = 2: whatever it is, it is at most 7.39 times as likely", "You can answer once."],
            ["each time", "as you choose"],
        ),
    ],
)
def test_respondents_are_told_what_they_spend(
    site: Site, fields: dict[str, Any], said: Sequence[str], unsaid: Sequence[str]
) -> None:
    page = told(site, site.create(**fields)).partition("What respondents are told</h2>")[2].partition("</ul>")[0]
    assert all(each in page for each in said)
    assert not any(each in page for each in unsaid)


def test_the_page_for_answers_has_the_same_figures(site: Site) -> None:
    assert "no answer is more than 400 times as likely" in told(site, f"{site.create(epsilon=6)}/answer")
    panel = told(site, f"{site.create(**PANEL)}/answer")
    assert "no answer is more than 2.72 times as likely" in panel
    assert "That costs ε = 3 in all" in panel


def test_the_report_of_a_panel_tells_answers_and_what_a_person_spends(site: Site) -> None:
    collection = site.create(**PANEL, visibility="public")
    site.answer_in_turns(collection, 60)
    site.learnt(collection, 60)
    report = told(site, f"{collection}/report")
    assert "60 answers were given, up to 3 by each person, each to one question about themselves, with noise" in report
    assert "with ε = 1 for each answer and 3 in all for each person, by the Laplace mechanism" in report
    assert "60 people" not in report
    cited = "under ε-local differential privacy (ε = 1 for each answer and 3 in all for each person, Laplace mechanism)"
    assert cited in report
    assert cited in told(site, collection)
    once = site.answered([40.0] * 9)
    assert "9 people each answered one question about themselves, with noise" in told(site, f"{once}/report")


def test_it_is_told_how_many_chose_each_epsilon(site: Site) -> None:
    collection = site.create(**CHOICE, visibility="public")
    for epsilon, count in ((0.1, 5), (6, 2)):
        asked = site.client.post(f"/v1/collections/{collection}/tickets", json={"count": count, "epsilon": epsilon})
        site.batch(collection, *((each["ticket"], i % 2) for i, each in enumerate(asked.json()["tickets"])))
    site.learnt(collection, 7)
    for page in (told(site, collection), told(site, f"{collection}/report")):
        assert "This rests on 7 answers at ε = 0.1, 6" in page
        assert "a normal distribution. Answers at ε = 0.1: 5, 6: 2.</p>" in page
    assert "Answers at ε" not in told(site, site.answered([40.0] * 9))
