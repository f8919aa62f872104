"""What all commands share: JSON on standard output, one sentence for an error, and its exit status."""

from decimal import Decimal
from fractions import Fraction

import pytest
import typer

from dither_client.commands._shared import fail, print_json, status_of
from dither_client.errors import InvalidTable, OverCap, Problem, Unreachable
from dither_client.extras import MissingExtra


def test_print_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"epsilon": Fraction(1, 10), "levels": Decimal(3), "names": ("µ",), "none": None})
    assert capsys.readouterr().out == '{"epsilon": 0.1, "levels": 3, "names": ["\\u00b5"], "none": null}\n'
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="not JSON compliant"):
            print_json(bad)
    with pytest.raises(TypeError):
        print_json(object())


def test_fail(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as caught:
        fail("one\nlong   sentence [with] brackets " + "x" * 300, 2)
    assert caught.value.exit_code == 2
    assert capsys.readouterr().err == "dither: one long sentence [with] brackets " + "x" * 300 + "\n"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InvalidTable("x"), 2),
        (ValueError("x"), 2),
        (MissingExtra("x"), 2),
        (FileNotFoundError("x"), 2),
        (Problem(422, "t", "x"), 2),
        (Problem(404, "t", "x"), 2),
        (Problem(409, "t", "x"), 1),
        (Problem(503, "t", "x"), 1),
        (Unreachable("x"), 1),
        (OverCap("x"), 1),
        (OSError("x"), 1),
    ],
)
def test_statuses(error: Exception, status: int) -> None:
    assert status_of(error) == status
