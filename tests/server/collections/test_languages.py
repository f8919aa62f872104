"""The words of a collection in several languages: respondents get the one that they prefer, others the first."""

from typing import Any

import pytest

from testing.servers.site import Site, problem

WORDS = {
    "name": {"en": "Food spending", "de": "Ausgaben für Essen"},
    "question": {"en": "How much did you spend?", "de": "Wie viel haben Sie ausgegeben?", "fr": "Combien ?"},
    "unit": "€",
    "period_of_value": {"en": "per week", "de": "pro Woche"},
    "organisation": {"en": "The office", "de": "Das Amt"},
    "thank_you": {"en": "Thanks", "de": "Danke"},
}


def terms(site: Site, collection: str, language: str | None) -> dict[str, Any]:
    headers = {} if language is None else {"Accept-Language": language}
    reply = site.client.get(f"/v1/collections/{collection}", headers=headers)
    assert "Accept-Language" in reply.headers["vary"]
    found: dict[str, Any] = reply.json()
    return found


def test_the_terms_are_in_the_language_that_is_preferred(any_site: Site) -> None:
    collection = any_site.create(**WORDS)
    for language, name, question in [
        (None, "Food spending", "How much did you spend?"),
        ("de-AT,en;q=0.5", "Ausgaben für Essen", "Wie viel haben Sie ausgegeben?"),
        ("fr,de;q=0.5", "Ausgaben für Essen", "Combien ?"),
        ("it", "Food spending", "How much did you spend?"),
    ]:
        found = terms(any_site, collection, language)
        assert (found["name"], found["question"], found["unit"]) == (name, question, "€")
    [listed] = any_site.client.get("/v1/collections", headers=any_site.admin).json()["collections"]
    assert listed["name"] == "Food spending"


def test_words_in_one_language_are_as_they_were(site: Site) -> None:
    collection = site.create(question="How much?")
    before, german = (terms(site, collection, language) for language in (None, "de"))
    assert before == german
    assert before["question"] == "How much?"


def test_the_page_has_the_words_in_its_readers_language(site: Site) -> None:
    collection = site.create(**WORDS)

    def page(language: str) -> str:
        return site.client.get(f"/collections/{collection}/answer", headers={"Accept-Language": language}).text

    assert '<h2 id="ask">Wie viel haben Sie ausgegeben?</h2>' in page("de")
    assert '<span id="value-unit">€ pro Woche</span>' in page("de")
    assert '<p id="thanks">Danke</p>' in page("de")
    french = page("fr")
    assert '<html lang="en">' in french
    assert '<h2 id="ask" lang="fr">Combien ?</h2>' in french
    assert '<p id="thanks">Thanks</p>' in french
    assert "Food spending" in site.client.get(f"/collections/{collection}", headers={"Accept-Language": "de"}).text


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ({}, "must name 1 to 20 languages"),
        ({"English": "How much?"}, "by two or three letters, such as en and de"),
        ({"en": 5}, "must be a text"),
        ({"en": "How\nmuch?"}, "must be printable text in one line"),
        ({"en": "x" * 501}, "must have at most 500 characters"),
        (["How much?"], "must be a text, or an object with a text for each language"),
    ],
)
def test_words_that_cannot_be_shown_are_refused(site: Site, question: object, says: str) -> None:
    spec = {"name": "Wages", "family": "normal", "epsilon": 1, "question": question}
    reply = site.client.post("/v1/collections", json=spec, headers=site.admin)
    assert problem(reply)[0] == 422
    assert says in reply.json()["detail"]
