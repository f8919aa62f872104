"""What a text may have that people read in one line: a name, a label, a question."""

__all__ = ["is_line"]

_OF_SCRIPTS = str.maketrans(dict.fromkeys("\u00a0\u00ad\u2009\u200c\u200d\u200e\u200f\u202f\u3000", " "))
"""Blanks before French marks and between Japanese words, hyphens that may show, what joins or parts Persian letters and
emoji, and which way a single sign is read."""
_BLANK = str.maketrans(dict.fromkeys("\u115f\u1160\u2800\u3164\uffa0", " "))
"""Signs that Python takes for printable, and of which nothing is seen."""


def is_line(text: str) -> bool:
    """Whether a text has no control characters and no other line, and something in it is seen."""
    plain = text.translate(_OF_SCRIPTS)
    return plain.isprintable() and bool(plain.translate(_BLANK).strip())
