"""Numbers as people type them, against a table that is written by hand; the vectors hold the browser to the same."""

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither_client import InvalidValue
from dither_client.typed_numbers import read_typed, written

NO_NUMBER = r"^the value must be a finite number, such as 42 or -3\.5$"
UNDERSTOOD = {
    "1250": 1250, "1,250.50": 1250.5, "1.250,00": 1250, "1.250,5": 1250.5, "1 250": 1250, "1'250": 1250,
    "1’250,5": 1250.5, "1,250,000": 1.25e6, "1.250.000": 1.25e6, "12,34,567.5": 1234567.5, "1,00,000": 1e5,
    "12,5": 12.5, "0,125": 0.125, "0.125": 0.125, "1250,500": 1250.5, "12345.678": 12345.678, "120 €": 120,
    "€120": 120, "$1,250.50": 1250.5, "-$5": -5, "$-5": -5, "−5": -5, "１２": 12, "１，２５０．５": 1250.5,
    "1\u202f250,5\u00a0€": 1250.5, ".5": 0.5, ",5": 0.5, "5.": 5, "-.5e-3": -0.0005, "1E5": 1e5, " 42\n": 42, "+7": 7,
}  # fmt: skip
REFUSED = [
    "", " ", "abc", "nan", "inf", "1e999", "1,25,00", "1.2.3", "1,2,3", "1..5", "1 25", "--5", "5-", "$$5", "$5$", "€",
    "-", ".", "1_0", "٣", "0x1", "1/2", "12%", "1,250e3", "1 250.500,5", "½", "12,500,", "1" * 400,
]  # fmt: skip


@pytest.mark.parametrize("text", UNDERSTOOD)
def test_what_people_type_has_one_reading(text: str) -> None:
    typed = read_typed(text)
    assert (typed.value, typed.other) == (UNDERSTOOD[text], None)


@pytest.mark.parametrize(
    ("text", "decimals", "value", "other"),
    [
        ("1,250", None, 1250, 1.25),
        ("1.250", None, 1.25, 1250),
        ("-999.999", None, -999.999, -999999),
        ("$1,250", None, 1250, 1.25),
        ("1.250", 3, 1.25, 1250),
        ("1.250", 2, 1250, 1.25),
        ("1.250", 0, 1250, 1.25),
        ("1,250", 2, 1250, 1.25),
    ],
)
def test_one_mark_before_three_digits_has_two(text: str, decimals: int | None, value: float, other: float) -> None:
    typed = read_typed(text, decimals)
    assert (typed.value, typed.other) == (value, other)


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match=NO_NUMBER):
        read_typed(text)


@pytest.mark.parametrize(
    ("text", "decimals", "says"),
    [
        ("12.5", 0, "the value must be a whole number"),
        ("12,55", 1, "the value must have at most 1 decimal"),
        ("12.5555", 2, "the value must have at most 2 decimals"),
        ("1e-7", 6, "the value must have at most 6 decimals"),
    ],
)
def test_a_field_has_so_many_decimals(text: str, decimals: int, says: str) -> None:
    with pytest.raises(InvalidValue, match=f"^{says}$"):
        read_typed(text, decimals)
    assert read_typed("12.00", decimals).value == 12


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_as_it_is_shown_is_that_number(value: float) -> None:
    assert read_typed(written(value)).value == value


@given(st.decimals(-(10**9), 10**9, places=2))
def test_marks_the_other_way_round_are_the_same_number(amount: object) -> None:
    english = f"{amount:,}"
    german = english.translate(str.maketrans(",.", ".,"))
    spaced = english.replace(",", " ").replace(".", ",")
    assert read_typed(english).value == read_typed(german).value == read_typed(spaced).value == float(str(amount))


@given(st.text(max_size=12))
def test_any_text_is_a_number_or_refused_without_being_repeated(text: str) -> None:
    if re.search("[0-9０-９]", text):
        with suppress(InvalidValue):
            assert repr(read_typed(text)) == "Typed()"
    else:
        with pytest.raises(InvalidValue, match=NO_NUMBER):
            read_typed(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1250.0, "1,250"),
        (-1250.5, "-1,250.5"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1e21, "1e+21"),
    ],
)
def test_numbers_are_shown_with_commas(value: float, text: str) -> None:
    assert written(value) == text
