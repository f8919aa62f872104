"""The texts of the answer page in each language: one file a language, with the same names in each."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markupsafe import Markup

__all__ = ["ENDS", "LANGUAGES", "Catalogue", "catalogue"]

LANGUAGES = ("en", "de")
"""English is for those who prefer none of these."""

_FILES = Path(__file__).parent / "answering"
_MARKS = {"en": ".,", "de": ",."}
"""What begins the decimals, and what separates thousands."""
ENDS = {"number": "", "choice": "_choice", "numbers": "_numbers"}
"""The ends of the names of texts by what a respondent gives, where they differ from those for one number."""


@dataclass(frozen=True)
class Catalogue:
    """The texts in one language."""

    language: str
    page: Mapping[str, str]
    """Those of the template: markup, with places for what `say` is given."""
    script: Mapping[str, str]
    """Those of the page's script, which is given them with the page."""
    problems: Mapping[str, str]
    """What the script says of the server's problems, by their names."""
    given: str = "number"
    """What a respondent gives: a number, a choice of some categories, or numbers."""

    def say(self, name: str, /, **given: object) -> Markup:
        """The text with this name. What is given is escaped, and takes the places with its names."""
        return Markup(self.page.get(name + ENDS[self.given]) or self.page[name]).format(**given)

    def number(self, text: str) -> str:
        """A number that is written as in English, as it is written in this language."""
        return re.sub("[.,]", lambda mark: _MARKS[self.language][".,".index(mark[0])], text)

    def count(self, count: int) -> str:
        """A whole number in digits, in this language."""
        return self.number(f"{count:,}")


@cache
def catalogue(language: str, given: str = "number") -> Catalogue:
    """The catalogue of one of `LANGUAGES`, for a collection where respondents give a number, a choice or numbers."""
    texts = json.loads((_FILES / f"{language}.json").read_text(encoding="utf-8"))
    return Catalogue(language, texts["page"], texts["script"], texts["problems"], given)
