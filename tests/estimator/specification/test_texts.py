"""What people may read in one line, in their own script."""

import pytest

from dither_estimator.specification.texts import is_line


@pytest.mark.parametrize(
    "text",
    [
        "How much?",
        "Combien gagnez-vous\u00a0?",
        "Combien\u202f?",
        "\u0686\u0642\u062f\u0631 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u06cc\u062f",
        "\u5148\u9031\u306e\u3000\u53ce\u5165",
        "\U0001f469\u200d\U0001f52c",
        "\u200f\u20aa",
        "Ein\u00adkommen",
    ],
)
def test_every_script_is_taken(text: str) -> None:
    assert is_line(text)


@pytest.mark.parametrize(
    "text", ["", " ", "a\nb", "a\x00", "\u202eabc", "\u2066a", "\u00a0", "\u3164", "\u2800", "\u2028a"]
)
def test_controls_other_lines_and_what_is_not_seen_are_refused(text: str) -> None:
    assert not is_line(text)
