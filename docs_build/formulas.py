"""A hook of MkDocs: formulas become MathML when the site is built.

The sources have LaTeX between dollars, as GitHub shows it. Browsers draw MathML themselves, so that a page needs no
script, no font and no other host for it.
"""

import html
import re
from typing import Any

from latex2mathml.converter import convert

__all__ = ["on_page_content", "rendered"]

_FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[]\s*(?P<latex>.*?)\s*\\[)\]]</(?P=tag)>', flags=re.DOTALL
)


def on_page_content(content: str, **_: Any) -> str:
    return rendered(content)


def rendered(content: str) -> str:
    """The HTML of a page, with MathML in place of what `pymdownx.arithmatex` marked as LaTeX."""
    return _FORMULA.sub(_mathml, content)


def _mathml(formula: re.Match[str]) -> str:
    latex = html.unescape(formula["latex"])
    if formula["tag"] == "span":
        return convert(latex)
    return f'<div class="formula" tabindex="0">{convert(latex, display="block")}</div>'
