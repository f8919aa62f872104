"""The documentation as a site: links lead where pages are, and nothing is loaded from another host."""

import html
import re
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import PluginError

from docs_build.formulas import rendered
from docs_build.pages import ROOT, relink
from docs_build.reference import REFERENCE

_LOADS = r'<(?:script|img|iframe|source)[^>]* src="((?:https?:)?//[^"]+)"|<link[^>]* href="((?:https?:)?//[^"]+)"'


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder)))
    return folder


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    """Mermaid's diagrams are what the theme would fetch a script for."""
    pages = list(site.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        text = page.read_text()
        assert not re.findall(_LOADS, text), page.name
        assert 'class="mermaid"' not in text
    for style in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:)?//|@import", style.read_text()), style.name


def test_every_page_is_in_the_navigation(site: Path) -> None:
    start = (site / "index.html").read_text()
    for page in ROOT.glob("docs/*.md"):
        assert f'href="{page.stem}.html"' in start or page.stem == "index", page.name


def test_the_reference_is_built(site: Path) -> None:
    for page, text in REFERENCE.items():
        built = html.unescape((site / page).with_suffix(".html").read_text())
        headings = [line.lstrip("# ").strip("`") for line in text().splitlines() if line.startswith("#")]
        assert len(headings) > 0
        assert all(heading in built for heading in headings), page
    assert 'href="reference/http.html"' in (site / "reference.html").read_text()


def test_what_would_be_loaded_is_found() -> None:
    assert re.findall(_LOADS, '<link rel="stylesheet" href="https://fonts.example/a.css">')
    assert re.findall(_LOADS, '<script async src="//cdn.example/a.js">')


@pytest.mark.parametrize(
    ("page", "written", "becomes"),
    [
        ("start.md", "[x](docs/limits.md#contamination)", "[x](limits.md#contamination)"),
        ("start.md", "![x](docs/images/demo.png)", "![x](images/demo.png)"),
        ("limits.md", "[x](../benchmarks/README.md#memory)", "[x](benchmarks.md#memory)"),
        ("benchmarks.md", "[x](../docs/papers.md)", "[x](papers.md)"),
        ("reference.md", "[x](reference/http.md)", "[x](reference/http.md)"),
        ("papers/ops-figure-1.md", "[x](../limits.md)", "[x](../limits.md)"),
        ("threat-model.md", "[`test_sampling`](../tests/client/mechanisms/test_sampling.py)", "`test_sampling`"),
        ("index.md", "[x](https://example.org/a)", "[x](https://example.org/a)"),
        ("index.md", "```\n[x](nowhere.md)\n```\n", "```\n[x](nowhere.md)\n```\n"),
    ],
)
def test_links_lead_where_pages_are(page: str, written: str, becomes: str) -> None:
    assert relink(written, page) == becomes


def test_a_link_to_nothing_stops_the_build() -> None:
    with pytest.raises(PluginError, match="nowhere"):
        relink("[x](nowhere.md)", "index.md")


def test_formulas_are_drawn_by_the_browser_alone(site: Path) -> None:
    for page in ("how-it-works", "statistics"):
        built = (site / f"{page}.html").read_text()
        assert built.count('display="block"') >= 5
        assert "arithmatex" not in built
        assert "$$" not in built
    assert ".formula {" in (site / "styles" / "site.css").read_text()


def test_a_formula_becomes_mathml() -> None:
    marked = '<p>ab <span class="arithmatex">\\(a &lt; b\\)</span></p><div class="arithmatex">\\[\nx^2\n\\]</div>'
    text = rendered(marked)
    assert re.findall(r'<math [^>]*display="(\w+)"', text) == ["inline", "block"]
    assert "<mo>&lt;</mo>" in text or "<mo>&#x0003C;</mo>" in text
    assert "<msup>" in text
    assert text.count('class="formula"') == 1
    assert rendered("<p><code>$x$</code></p>") == "<p><code>$x$</code></p>"
