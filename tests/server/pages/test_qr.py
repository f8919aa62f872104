"""The drawing of a QR code has the modules of the code, and may stand on a page of this server."""

import re

import pytest
import segno

from dither_server.pages.qr import qr_svg


def drawn(svg: str) -> list[list[bool]]:
    """The dark modules of the code, from the strokes of its path, one module high each."""
    side = int((re.search(r'viewBox="0 0 (\d+) \1"', svg) or ["", "0"])[1])
    cells = [[False] * side for _ in range(side)]
    paths = re.findall(r'\bd="([^"]+)"', svg)
    x = y = 0.0
    for command, numbers in re.findall(r"([MmHh])([-\d. ]+)", paths[-1]):
        given = [float(number) for number in re.findall(r"-?[\d.]+", numbers)]
        if command in "Mm":
            x, y = (given[0], given[1]) if command == "M" else (x + given[0], y + given[1])
        else:
            end = given[0] if command == "H" else x + given[0]
            for column in range(int(x), int(end)):
                cells[int(y)][column] = True
            x = end
    return cells


def test_the_drawing_is_the_code_in_its_quiet_zone() -> None:
    text = "https://survey.example.org/collections/k3xw8c2nqa/answer"
    cells = drawn(qr_svg(text))
    code = segno.make(text, micro=False, error="m", mask=3)
    wanted = [[bool(cell) for cell in row] for row in code.matrix]
    assert [row[4:-4] for row in cells[4:-4]] == wanted
    assert not any(any(row) for row in (*cells[:4], *cells[-4:]))


def test_it_may_stand_on_a_page_that_allows_no_style() -> None:
    svg = qr_svg("https://survey.example.org/?a=1&b=<2>")
    assert svg.startswith("<svg")
    assert "style" not in svg
    assert 'fill="#fff"' in svg  # a code in dark colours is not read by all


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="data"):
        qr_svg("x" * 5_000)
