"""What a respondent reads of a collection: what is asked, in which unit, by whom, and what is done with the answers."""

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, Field

from dither_client.typed_numbers import MAX_DECIMALS

__all__ = ["Survey"]

_MAX_WORDS = 80
_MAX_SENTENCES = 500
_ASCII = re.compile(r"[!-~]+")


def _printable(value: str) -> str:
    if not value.isprintable() or not value.strip():
        raise ValueError("must be printable text in one line")
    return value


def _https(value: str) -> str:
    try:
        parts = urlsplit(value)
    except ValueError:
        parts = urlsplit("")
    if not (_ASCII.fullmatch(value) and value.startswith("https://") and parts.hostname and "@" not in parts.netloc):
        raise ValueError("must be an address that begins with https:// and a host")
    return value


_Words = Annotated[str, Field(max_length=_MAX_WORDS), AfterValidator(_printable)]
_Sentences = Annotated[str, Field(max_length=_MAX_SENTENCES), AfterValidator(_printable)]


class Survey(BaseModel):
    """The words about a collection. Every one but its name may be left out."""

    name: Annotated[str, AfterValidator(_printable)] = Field(
        min_length=1, max_length=200, description="The title shown to respondents.", examples=["Weekly wages"]
    )
    question: _Sentences | None = Field(
        default=None,
        description="The words that ask for the value.",
        examples=["How much did you spend on food last week?"],
    )
    unit: _Words | None = Field(default=None, description="The unit of the value.", examples=["€"])
    period_of_value: _Words | None = Field(
        default=None, description="The period that the value is of.", examples=["per week"]
    )
    decimals: Annotated[int, Field(ge=0, le=MAX_DECIMALS, strict=True)] | None = Field(
        default=None,
        description="How many decimals may be typed, and are shown in questions and results; by default any. Values "
        "are not rounded.",
        examples=[2],
    )
    organisation: _Sentences | None = Field(
        default=None, description="Who asks.", examples=["The statistical office of Exampleland"]
    )
    contact: _Sentences | None = Field(
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
