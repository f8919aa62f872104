"""What a respondent reads of a collection: what is asked, in which unit, by whom, and what is done with the answers.

Words are a text, or a text for each of some languages; the first one is for readers who prefer none of them.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema

from dither_client.typed_numbers import MAX_DECIMALS
from dither_estimator.specification.texts import is_line
from dither_server.http.languages import best_language

__all__ = [
    "AnswerPage",
    "Survey",
    "ValueWords",
    "component_in_languages",
    "component_words",
    "in_languages",
    "languages_of",
    "printable",
]

_MAX_NAME = 200
_MAX_WORDS = 80
_MAX_SENTENCES = 500
_MAX_LANGUAGES = 20
_LANGUAGE = re.compile("[a-z]{2,3}")
_ASCII = re.compile(r"[!-~]+")


def printable(value: str) -> str:
    """`value`, if it is a text of one line. Raises `ValueError` for control characters and blanks alone."""
    if not is_line(value):
        raise ValueError("must be printable text in one line, without control characters")
    return value


def _https(value: str) -> str:
    try:
        parts = urlsplit(value)
    except ValueError:
        parts = urlsplit("")
    if not (_ASCII.fullmatch(value) and value.startswith("https://") and parts.hostname and "@" not in parts.netloc):
        raise ValueError("must be an address that begins with https:// and a host")
    return value


def _line(value: object, most: int) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a text, or an object with a text for each language, such as en and de")
    if len(value) > most:
        raise ValueError(f"must have at most {most} characters")
    return printable(value)


def _spoken(most: int) -> PlainValidator:
    """Accepts a text of at most `most` characters, or one for each of some languages."""

    def check(value: object) -> str | dict[str, str]:
        if not isinstance(value, dict):
            return _line(value, most)
        if not (1 <= len(value) <= _MAX_LANGUAGES and all(map(_LANGUAGE.fullmatch, value))):
            raise ValueError(f"must name 1 to {_MAX_LANGUAGES} languages by two or three letters, such as en and de")
        return {language: _line(text, most) for language, text in value.items()}

    return PlainValidator(check)


def _schema(most: int) -> WithJsonSchema:
    """The schema of what `_spoken` accepts."""
    text = {"type": "string", "minLength": 1, "maxLength": most}
    languages = {
        "type": "object",
        "propertyNames": {"pattern": f"^{_LANGUAGE.pattern}$"},
        "additionalProperties": text,
        "minProperties": 1,
        "maxProperties": _MAX_LANGUAGES,
    }
    return WithJsonSchema({"anyOf": [text, languages]})


_Name = Annotated[str | dict[str, str], _spoken(_MAX_NAME), _schema(_MAX_NAME)]
_Words = Annotated[str | dict[str, str], _spoken(_MAX_WORDS), _schema(_MAX_WORDS)]
_Sentences = Annotated[str | dict[str, str], _spoken(_MAX_SENTENCES), _schema(_MAX_SENTENCES)]
_Contact = Annotated[str, Field(max_length=_MAX_SENTENCES), AfterValidator(printable)]


def in_languages(words: Mapping[str, Any], preferred: Sequence[str]) -> dict[str, Any]:
    """The words in the first of these languages in which they exist; those in a single language as they are."""
    chosen = languages_of(words, preferred)
    return {name: given[chosen[name]] if name in chosen else given for name, given in words.items()}


def languages_of(words: Mapping[str, Any], preferred: Sequence[str]) -> dict[str, str]:
    """The language in which `in_languages` gives each of the words that exist in several."""
    several = {name: list(given) for name, given in words.items() if isinstance(given, dict)}
    return {name: best_language(preferred, offered) for name, offered in several.items()}


def component_in_languages(component: Mapping[str, Any], preferred: Sequence[str]) -> dict[str, Any]:
    """What the terms say of one of several numbers, with its words in the first of these languages that they are in."""
    return {**component, **in_languages(component_words(component), preferred)}


def component_words(component: Mapping[str, Any]) -> dict[str, Any]:
    """The words about one of several numbers, as they were given."""
    return {name: component[name] for name in ValueWords.model_fields if name in component}


class AnswerPage(BaseModel):
    """A page for respondents, and who counts how many understood it."""

    model_config = ConfigDict(extra="forbid")

    page: Literal["short", "label"] = Field(
        description="`short` has the consequences of an answer one tap away, `label` above the field."
    )
    check: Annotated[str, Field(max_length=_MAX_WORDS)] | None = Field(
        default=None,
        description="The id of a collection of four categories, of 0 to 3 right replies: once an answer is sent, three "
        "questions about the page are offered, and how many were right is an answer to that collection.",
    )


def _different(pages: list[AnswerPage] | None) -> list[AnswerPage] | None:
    if pages is not None and len({each.page for each in pages}) < len(pages):
        raise ValueError("must be different pages")
    return pages


class _Titled(BaseModel):
    name: _Name = Field(
        description="The title shown to respondents; like other words, a text or one for each of some languages.",
        examples=["Weekly wages"],
    )


class ValueWords(BaseModel):
    """The words about one value, all of them optional."""

    question: _Sentences | None = Field(
        default=None,
        description="The words that ask for the value.",
        examples=[
            "How much did you spend on food last week?",
            {"en": "How much did you spend last week?", "de": "Wie viel haben Sie letzte Woche ausgegeben?"},
        ],
    )
    unit: _Words | None = Field(default=None, description="The unit of the value.", examples=["€"])
    period_of_value: _Words | None = Field(
        default=None, description="The period that the value is of.", examples=["per week"]
    )
    decimals: Annotated[int, Field(ge=0, le=MAX_DECIMALS, strict=True)] | None = Field(
        default=None,
        description="How many decimals may be typed, and are shown in questions and results; by default any. Values "
        "are not rounded; without a family they count as the nearest one with so many.",
        examples=[2],
    )


class Survey(ValueWords, _Titled):
    """The words about a collection, all of them optional but its name."""

    organisation: _Sentences | None = Field(
        default=None, description="Who asks.", examples=["The statistical office of Exampleland"]
    )
    contact: _Contact | None = Field(
        default=None, description="How to reach whoever asks.", examples=["survey@example.org"]
    )
    privacy_url: Annotated[str, Field(max_length=_MAX_SENTENCES), AfterValidator(_https)] | None = Field(
        default=None,
        description="Where it says what is done with answers: an address that begins with https.",
        examples=["https://example.org/privacy"],
    )
    thank_you: _Sentences | None = Field(
        default=None, description="What to say once the answer is sent.", examples=["Thank you for taking part."]
    )
    pages: Annotated[list[AnswerPage], Field(min_length=1, max_length=2), AfterValidator(_different)] | None = Field(
        default=None,
        description="The page for respondents, by default `short`; of two, each visitor sees one by chance.",
        examples=[[{"page": "short"}, {"page": "label"}]],
    )
