import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

import dither_client
from dither_client.ledger import protocol
from dither_server.pages import answer as answer_page
from testing.servers.site import Site, open_site, problem


def test_the_page_to_answer_on_runs_scripts_of_this_server_alone(site: Site) -> None:
    reply = site.client.get(f"/collections/{site.create(name='Wages <b>')}/answer")
    policies = reply.headers.get_list("content-security-policy")
    assert len(policies) == 1
    [style, script] = (
        base64.b64encode(hashlib.sha256(within.encode()).digest()).decode()
        for name in ("style", "script")
        for within in re.findall(rf"<{name}>(.*?)</{name}>", reply.text, re.DOTALL)
    )
    allowed = f"script-src 'self' 'sha256-{script}'; style-src 'sha256-{style}'; connect-src 'self'; form-action 'none'"
    assert allowed in policies[0]
    assert "unsafe" not in policies[0]
    assert re.findall(r"<script[^>]*>", reply.text) == ["<script>", '<script type="module" src="/answer/answer.js">']
    assert not re.search(r"(src|href)=.?(https?:)?//", reply.text)
    assert not re.search(r" (style|on[a-z]+)=", reply.text)
    assert "Wages &lt;b&gt;" in reply.text
    assert "<strong>73 of 100</strong>" in reply.text


def test_only_the_embedded_page_may_be_framed_and_only_where_allowed(sqlite_url: str) -> None:
    with open_site(sqlite_url, embed_origins="https://a.example,https://b.example") as site:
        path = f"/collections/{site.create()}/answer"
        plain, embedded = site.client.get(path), site.client.get(f"{path}?embed")
        assert "frame-ancestors 'none'" in plain.headers["content-security-policy"]
        assert "frame-ancestors https://a.example https://b.example;" in embedded.headers["content-security-policy"]
        assert "<nav" in plain.text
        assert "<nav" not in embedded.text


def test_without_the_setting_nobody_frames_it(site: Site) -> None:
    reply = site.client.get(f"/collections/{site.create()}/answer?embed")
    assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]


def test_the_page_to_answer_on_does_not_know_the_question(site: Site) -> None:
    """It is the same for everyone, before and after questions were asked."""
    collection = site.create()
    before = site.client.get(f"/collections/{collection}/answer").text
    site.respond(collection, site.ticket(collection), 1)
    assert site.client.get(f"/collections/{collection}/answer").text == before


def test_the_page_shows_who_asks_for_what(site: Site) -> None:
    words = {
        "question": "How much <i>did</i> you spend?", "unit": "€", "period_of_value": "per week", "decimals": 2,
        "minimum": 0, "maximum": 10_000, "organisation": "An <b>office</b>", "contact": "a@b.example",
        "privacy_url": 'https://b.example/"onclick="x', "thank_you": "Thanks <3",
    }  # fmt: skip
    page = site.client.get(f"/collections/{site.create(**words)}/answer").text
    assert '<h2 id="ask">How much &lt;i&gt;did&lt;/i&gt; you spend?</h2>' in page
    assert '<span id="value-unit">€ per week</span>' in page
    assert '<small id="value-hint">From 0 to 10,000, with up to 2 decimals.</small>' in page
    assert 'data-minimum="0.0" data-maximum="10000.0" data-decimals="2"' in page
    assert "An &lt;b&gt;office&lt;/b&gt;" in page
    assert '<a href="https://b.example/&#34;onclick=&#34;x" rel="noreferrer">' in page
    assert '<p id="thanks">Thanks &lt;3</p>' in page
    plain = site.client.get(f"/collections/{site.create()}/answer").text
    assert not re.search('id="(ask|value-unit|who)"|data-(minimum|maximum|decimals)', plain)
    assert "For example 417.5 or 1,250." in plain


def test_what_the_page_would_refuse_to_pay_it_does_not_ask(site: Site) -> None:
    """A browser's ledger allows ε = 2 for one answer; of several, the largest of those that it allows is chosen."""

    def page(**fields: Any) -> str:
        return site.client.get(f"/collections/{site.create(**fields)}/answer").text

    costly = page(epsilon=2.5)
    assert 'id="closed">One answer to this collection costs ε = 2.5, and this page spends at most 2' in costly
    assert "--max-epsilon 2.5</code>" in costly
    assert 'id="form"' not in costly
    assert 'id="form"' in page(epsilon=2)
    chosen = page(epsilon=4, epsilon_choices=[0.5, 1, 4])
    assert re.findall(r'<option value="([\d.]+)"( selected| disabled|)>', chosen) == [
        ("0.5", ""), ("1", " selected"), ("4", " disabled")
    ]  # fmt: skip
    assert 'id="form"' not in page(epsilon=4, epsilon_choices=[3, 4])


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"minimum": 0}, "At least 0."),
        ({"maximum": 1e6, "decimals": 0}, "At most 1,000,000, a whole number."),
        ({"decimals": 1}, "With up to one decimal."),
        ({"decimals": 0}, "A whole number."),
        ({"family": "bernoulli", "range": None}, "1 for yes, 0 for no."),
        ({"family": "poisson"}, "At least 0, a whole number."),
        ({"family": "poisson", "maximum": 9}, "From 0 to 9, a whole number."),
    ],
)
def test_the_page_says_what_may_be_typed(site: Site, fields: dict[str, Any], hint: str) -> None:
    assert f'id="value-hint">{hint}</small>' in site.client.get(f"/collections/{site.create(**fields)}/answer").text


def test_the_module_is_served_and_nothing_beside_it(site: Site) -> None:
    for name, kind in (("web/dither.js", "javascript"), ("web/dither.d.ts", "plain"), ("answer/answer.css", "css")):
        reply = site.client.get(f"/{name}")
        assert reply.headers["content-type"].startswith(f"text/{kind}")
        assert reply.headers["cache-control"] == "no-store"
    for name in ("web/missing.js", "web/..%2F__init__.py", "web/%2e%2e", "answer/answer.html"):
        assert problem(site.client.get(f"/{name}"))[0] == 404


def test_the_page_is_compressed_in_each_language(site: Site) -> None:
    path = f"/collections/{site.create()}/answer"
    for language in ("en", "de"):
        plain, small = (
            site.client.get(path, headers={"accept-encoding": coding, "accept-language": language})
            for coding in ("identity", "gzip")
        )
        assert "content-encoding" not in plain.headers
        assert small.headers["content-encoding"] == "gzip"
        assert plain.headers["vary"] == small.headers["vary"] == "Accept-Language, Accept-Encoding"
        assert small.text == plain.text
        assert f'<html lang="{language}">' in small.text


def test_files_are_compressed_for_whoever_takes_it(site: Site) -> None:
    for path in ("/style.css", "/answer/answer.js", "/web/dither.js"):
        plain = site.client.get(path, headers={"accept-encoding": "identity"})
        small = site.client.get(path, headers={"accept-encoding": "gzip"})
        assert "content-encoding" not in plain.headers
        assert small.headers["content-encoding"] == "gzip"
        assert plain.headers["vary"] == small.headers["vary"] == "Accept-Encoding"
        assert small.content == plain.content
        for weight, taken in (("gzip;q=0", False), ("br, gzip; q=0.0", False), ("br;q=1, gzip;q=0.5", True)):
            known = site.client.get(path, headers={"accept-encoding": weight}).headers
            assert ("content-encoding" in known) is taken, weight


def test_the_page_says_the_cap_of_the_ledgers() -> None:
    """The browser's, and that of Python."""
    entries = (Path(dither_client.__file__).parent / "web" / "entries.js").read_text(encoding="utf-8")
    [per_answer] = re.findall(r'PER_ANSWER\] = \["\d+", "\d+", "(\d+)"\]', entries)
    assert per_answer == protocol._PER_ANSWER == str(answer_page._MOST_EPSILON)
