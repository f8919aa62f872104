"""QR codes, drawn on this server: no other host learns an address."""

import segno

__all__ = ["qr_svg"]

_QUIET_ZONE = 4
"""The modules of white around a code, as ISO/IEC 18004 asks for."""
_MASK = 3
"""To find the best of the eight masks takes three times as long as all the rest, and readers know them all."""


def qr_svg(text: str) -> str:
    """The QR code of `text` as an SVG element, black on white in either colour scheme, as large as its place.

    It has no name of its own: whatever holds it says what it is. Raises `ValueError` if the text is too long.
    """
    code = segno.make(text, micro=False, error="m", mask=_MASK)
    return code.svg_inline(border=_QUIET_ZONE, dark="#000", light="#fff", omitsize=True, svgclass="qr", lineclass=None)
