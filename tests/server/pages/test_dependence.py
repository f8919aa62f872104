"""What the pages say of how two numbers go together."""

from typing import Any

import pytest

from dither_client.posterior.wire import ParameterSummary
from dither_server.pages.dependence import pair_titles, together_sentence
from dither_server.pages.sentences import component_units


def correlation(low: float, middle: float, high: float) -> ParameterSummary:
    return ParameterSummary(mean=middle, sd=0.1, q05=low, q25=low, q50=middle, q75=high, q95=high)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ((0.55, 0.62, 0.69), "is 0.62 (90% sure: 0.55 to 0.69): where “age” is higher, “wage” tends to be higher."),
        (
            (-0.4, -0.3, -0.1),
            "is -0.30 (90% sure: -0.40 to -0.10): where “age” is higher, “wage” tends to be lower, perhaps only a",
        ),
        (
            (-0.2, -0.001, 0.3),
            "is 0.00 (90% sure: -0.20 to 0.30): whether “wage” goes up or down with “age” is not known",
        ),
    ],
)
def test_the_sentence_says_which_way_and_how_sure(found: tuple[float, float, float], said: str) -> None:
    assert f"The correlation of “wage” and “age” {said}" in together_sentence("wage,age", correlation(*found))


def test_titles_have_the_units() -> None:
    components: list[dict[str, Any]] = [
        {"name": "wage", "unit": "€", "period_of_value": "per week", "decimals": 2},
        {"name": "age"},
    ]
    wage = {"unit": "€ per week", "decimals": 2}
    age = {"unit": "", "decimals": None}
    assert pair_titles(components) == {
        "wage,age": {
            "title": "wage by age", "x": "age", "y": "wage, € per week", "given": "", "given_decimals": None, **wage
        },
        "age,wage": {
            "title": "age by wage", "x": "wage, € per week", "y": "age", "given": "€ per week", "given_decimals": 2,
            **age,
        },
    }  # fmt: skip
    assert component_units(components) == {"wage: half have at most": "€ per week"}
