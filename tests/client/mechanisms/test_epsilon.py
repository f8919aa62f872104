"""ε is exact from the text that writes it to the charge in the ledger."""

import json
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither_client import InvalidEpsilon
from dither_client.mechanisms.epsilon import (
    MICRO,
    epsilon_text,
    json_epsilon,
    micro_epsilon,
    parse_epsilon,
    wire_epsilon,
)

micro = st.integers(min_value=1, max_value=50 * MICRO)


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        ("0.1", Fraction(1, 10)),
        (0.1, Fraction(1, 10)),
        ("1e-06", Fraction(1, MICRO)),
        (1e-06, Fraction(1, MICRO)),
        (1e21, Fraction(10**21)),
        (Decimal("1E-6"), Fraction(1, MICRO)),
        (Fraction(7, 3), Fraction(7, 3)),
        (3, Fraction(3)),
        ("1e2", Fraction(100)),
    ],
)
def test_reads_what_is_written(written: str | float | Decimal | Fraction, exact: Fraction) -> None:
    assert parse_epsilon(written) == exact


@pytest.mark.parametrize(
    "bad",
    [
        *("", "x", "0", "-1", "1/3", "nan", "inf", "-inf", "1" * 65, "1e9999", b"1"),
        *("1_0", "١", " 1", "1 ", "1\n", "5.", ".5", "+1", "01", "1,5", "1e400"),
        *(0, -0.5, float("nan"), float("inf"), Decimal("sNaN"), True, None, []),
    ],
)
def test_refuses_what_is_no_epsilon(bad: object) -> None:
    with pytest.raises(InvalidEpsilon):
        parse_epsilon(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "vast",
    ["1" * 10**7, "0." + "1" * 10**7, "1e" + "9" * 10**7, 10**1_000_000, Decimal("1" * 10**6), Decimal("1e-100000")],
    ids=type,
)
def test_what_is_too_long_is_refused_before_any_arithmetic(vast: str | int | Decimal) -> None:
    """`Fraction` of these takes from seconds to for ever, and so does printing the integer."""
    with pytest.raises(InvalidEpsilon, match="64 characters"):
        parse_epsilon(vast)


@pytest.mark.parametrize("fine", ["0.0000001", Fraction(1, 3), 1e-7])
def test_the_wire_takes_six_decimals(fine: str | float | Fraction) -> None:
    with pytest.raises(InvalidEpsilon, match="six decimals"):
        wire_epsilon(fine)


@given(st.fractions(min_value=Fraction(1, 10**9), max_value=50))
def test_a_charge_is_never_below_epsilon(epsilon: Fraction) -> None:
    charged = Fraction(micro_epsilon(epsilon), MICRO)
    assert epsilon <= charged < epsilon + Fraction(1, MICRO)


@given(micro)
def test_wire_forms_are_exact(amount: int) -> None:
    epsilon = Fraction(amount, MICRO)
    assert micro_epsilon(epsilon) == amount
    assert wire_epsilon(epsilon_text(epsilon)) == epsilon
    assert wire_epsilon(json_epsilon(epsilon)) == epsilon
    assert wire_epsilon(json.loads(json.dumps(json_epsilon(epsilon)), parse_float=Decimal)) == epsilon


def test_amounts_are_written_alike_in_every_decimal_context() -> None:
    """A program around the library may have set another precision."""
    with localcontext(prec=2):
        assert parse_epsilon("12.345678") == Fraction(12_345_678, MICRO)
        assert epsilon_text(Fraction(12_345_678, MICRO)) == "12.345678"
