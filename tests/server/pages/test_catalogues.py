"""The catalogues say the same in every language, and a browser gets the one that it asks for."""

import re

import pytest

from dither_server.http.languages import best_language, preferred_languages
from dither_server.pages.answer import FILES
from dither_server.pages.catalogues import ENDS, LANGUAGES, Catalogue, catalogue
from testing.servers.site import Site

CATALOGUES = {language: catalogue(language) for language in LANGUAGES}


def places(text: str) -> list[str]:
    return sorted(re.findall(r"\{\w+\}|<\w+>", text))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", ["page", "script", "problems"])
def test_every_language_has_the_same_texts_with_the_same_places(language: str, kind: str) -> None:
    english, other = getattr(CATALOGUES["en"], kind), getattr(CATALOGUES[language], kind)
    assert list(other) == list(english)
    for name, text in other.items():
        assert places(text) == places(english[name]), name
        assert text.strip(), name
        if language != "en":
            assert text != english[name], name


def test_every_text_is_said_somewhere() -> None:
    template, script = (FILES / "answer.html").read_text(), "".join(file.read_text() for file in FILES.glob("*.js"))
    sources = "".join(file.read_text() for file in FILES.parent.glob("*.py"))
    english = CATALOGUES["en"]
    for name in english.page:
        stems = [name.removesuffix(end) for end in ENDS.values() if name.removesuffix(end) in english.page]
        known = min(stems, key=len)
        stem = known.rpartition("_")[0] or known
        by_stem = f'"{stem}_{{' in sources or f'"{stem}_" ~' in template
        assert f'"{known}"' in template + sources or by_stem or known in ("paused", "closed"), name
    for name in english.script:
        stem = name.rpartition("_")[0]
        assert (
            f'"{name}"' in script or f"`{stem}_${{" in script or name in ("reserved", "charged", "drawn", "expired")
        ), name
    for said in re.findall(r'\bsay\("(\w+)"', script):
        assert said in english.script


@pytest.mark.parametrize(
    ("header", "languages"),
    [
        (None, []),
        ("", []),
        ("de-AT, en;q=0.8", ["de", "en"]),
        ("fr;q=0.5, de;q=0.9 ,en", ["en", "de", "fr"]),
        ("de;q=0, en", ["en"]),
        ("*, de", ["de"]),
        ("de;q=2, <script>, en;q=0.1", ["en"]),
        ("DE-de-1996", ["de"]),
        ("x" * 10_000, []),
    ],
)
def test_what_a_browser_prefers(header: str | None, languages: list[str]) -> None:
    assert preferred_languages(header) == languages


def test_a_language_that_nobody_has_is_english() -> None:
    assert best_language(["fr", "de"], LANGUAGES) == "de"
    assert best_language(["fr"], LANGUAGES) == "en"


def test_numbers_are_written_as_the_language_does() -> None:
    german: Catalogue = CATALOGUES["de"]
    assert german.number("1,250.5") == "1.250,5"
    assert german.count(10_000) == "10.000"
    assert CATALOGUES["en"].number("1,250.5") == "1,250.5"


def test_what_is_said_is_escaped() -> None:
    assert CATALOGUES["en"].say("title", name="<b>{x}</b>") == "Answer: &lt;b&gt;{x}&lt;/b&gt; · Dither"


@pytest.mark.parametrize(
    ("asked", "language", "says"),
    [("de-DE,de;q=0.9,en;q=0.8", "de", "Ihre Zahl bleibt auf Ihrem Gerät."), ("fr", "en", "Your number stays on")],
)
def test_the_page_is_in_the_language_that_is_asked_for(site: Site, asked: str, language: str, says: str) -> None:
    path = f"/collections/{site.create(minimum=0, maximum=10_000, decimals=2)}/answer"
    reply = site.client.get(path, headers={"Accept-Language": asked})
    assert reply.headers["content-language"] == language
    assert "Accept-Language" in reply.headers["vary"]
    assert f'<html lang="{language}">' in reply.text
    assert says in reply.text


def test_the_german_page_has_no_english(site: Site) -> None:
    collection = site.create(
        minimum=0, maximum=10_000, decimals=1, epsilon_choices=[0.5, 1], admission="invite", misfit_check=True
    )
    page = site.client.get(f"/collections/{collection}/answer", headers={"Accept-Language": "de"}).text
    assert "Von 0 bis 10.000, mit höchstens einer Nachkommastelle." in page
    assert "ε = 0,5: 62 von 100 raten richtig" in page
    assert "nämlich eines von 0,5; 1, bevor" in page
    words = re.sub(
        r"(?s:<style>.*?</style>|<script>.*?</script>)|<code>.*?</code>|data-texts='[^']*'|<[^>]*>", " ", page
    )
    assert not re.findall(r"\b(the|your|you|and|of|is|answer|number|who|with)\b", words)


def test_the_english_notice_is_that_of_the_terms(site: Site) -> None:
    collection = site.create(epsilon_choices=[0.5, 1], misfit_check=0.25)
    terms = site.client.get(f"/v1/collections/{collection}").json()
    english = CATALOGUES["en"]
    said = [english.say("notice_epsilon", choices="0.5, 1"), english.say("notice_check", share="0.25")]
    assert terms["notice"] == " ".join(said)
    page = site.client.get(f"/collections/{collection}/answer").text
    assert all(sentence in page for sentence in said)
