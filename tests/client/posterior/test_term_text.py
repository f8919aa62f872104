"""Terms of a collection as people write them."""

from typing import Any

import pytest

from dither_client.posterior.names import term_text


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (True, "yes"),
        (0.0, "0"),
        (-2.5, "-2.5"),
        (1e300, "1e+300"),
        ([100.0, 200], "100, 200"),
        ([100.0, 2000], "100; 2,000"),
        (10_000, "10,000"),
        ("2026-11-27T22:20:27.891Z", "2026-11-27 22:20 UTC"),
        (["Süd", "north"], "Süd, north"),
        ({"answers": 2, "shares": [0.5, 1.0]}, '{"answers": 2, "shares": [0.5, 1]}'),
        ([{"name": "wage", "minimum": 0.0}], '[{"name": "wage", "minimum": 0}]'),
    ],
)
def test_terms_are_written_as_people_do(term: Any, text: str) -> None:
    assert term_text(term) == text
