"""A hook of MkDocs: pages from outside docs/, the reference, and links that lead where a page is on the site.

The sources are written to be read in the repository, where links are paths of files. On the site a link to a page leads
to it, and a link to any other file of the repository becomes its words. A link to nothing stops the build.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs_build.reference import REFERENCE

__all__ = ["PAGES", "on_files", "on_page_markdown", "relink"]

ROOT = Path(__file__).parent.parent

PAGES = {
    "README.md": "start.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "benchmarks.md",
    "client/vectors/README.md": "vectors.md",
}
"""Files outside docs/ and the page that each becomes."""

_SOURCES = {page: source for source, page in PAGES.items()}
_LINK = re.compile(r"(?P<picture>!?)\[(?P<words>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_CODE = re.compile(r"```.*?```", re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    for page, text in REFERENCE.items():
        files.append(File.generated(config, page, content=text()))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    return relink(markdown, page.file.src_uri)


def relink(markdown: str, page: str) -> str:
    """The text of a page, by its path on the site, with its links as the site needs them. Raises `PluginError`."""
    source = _SOURCES.get(page, f"docs/{page}")

    def replace(link: re.Match[str]) -> str:
        target, hash_mark, anchor = link["target"].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return link[0]
        file = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if not (ROOT / file).exists() and file.removeprefix("docs/") not in REFERENCE:
            raise PluginError(f"{source} has a link to {target}, which does not exist.")
        there = PAGES.get(file) or (file.removeprefix("docs/") if file.startswith("docs/") else None)
        if there is None:
            return link["words"]
        relative = posixpath.relpath(there, posixpath.dirname(page) or ".")
        return f"{link['picture']}[{link['words']}]({relative}{hash_mark}{anchor})"

    parts, end = [], 0
    for block in _CODE.finditer(markdown):
        parts += [_LINK.sub(replace, markdown[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, _LINK.sub(replace, markdown[end:])])
