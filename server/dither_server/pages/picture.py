"""The population's distribution function with its bands as an SVG picture, for a report that needs no script."""

import math
from collections.abc import Sequence
from html import escape

from dither_client.posterior.wire import DistributionSummary

__all__ = ["distribution_svg"]

_WIDTH, _HEIGHT = 640, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 54, 18, 8, 42
_TICKS = 7
"""About how many ticks a linear axis has."""
_FEW_DECADES = 2.3
"""With fewer orders of magnitude 2 and 5 get labels, too."""


def distribution_svg(
    distribution: DistributionSummary, shown: tuple[float, float], logarithmic: bool, title: str
) -> str:
    """The share of the people at or below each value between the two `shown`; `title` is that of the axis of values."""
    low, high = shown
    scale = math.log if logarithmic else float

    def across(x: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (scale(x) - scale(low)) / (scale(high) - scale(low))

    def up(share: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * share

    inside = [i for i, x in enumerate(distribution.x) if low <= x <= high]

    def points(line: Sequence[float]) -> list[str]:
        return [f"{across(distribution.x[i]):.1f},{up(line[i]):.1f}" for i in inside]

    cdf = distribution.cdf
    bands = [
        f'<polygon fill="#1a5f9e" fill-opacity="{opacity}" points="{" ".join([*points(under), *points(over)[::-1]])}"/>'
        for under, over, opacity in ((cdf.q05, cdf.q95, 0.15), (cdf.q25, cdf.q75, 0.3))
    ]
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
            f'font-family="system-ui, sans-serif" font-size="11" fill="#1a2128">'
            "<title>The share of the people at or below each value, with its 50% and 90% bands</title>",
            *(_across(up(share / 100), f"{share}%") for share in range(0, 101, 20)),
            *(_upright(across(x), text) for x, text in _ticks(low, high, logarithmic)),
            *bands,
            f'<polyline fill="none" stroke="#1a5f9e" stroke-width="2" points="{" ".join(points(cdf.q50))}"/>',
            f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 6}" text-anchor="middle">{escape(title)}</text>',
            f'<text transform="translate(12 {(_HEIGHT - _BOTTOM) / 2}) rotate(-90)" text-anchor="middle">'
            "share of the people</text></svg>",
        ]
    )


def _across(y: float, text: str) -> str:
    return (
        f'<path stroke="#d5dbe1" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>'
        f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
    )


def _upright(x: float, text: str) -> str:
    line = f'<path stroke="#d5dbe1" d="M{x:.1f} {_TOP}V{_HEIGHT - _BOTTOM}"/>'
    return line + (f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 15}" text-anchor="middle">{text}</text>' if text else "")


def _ticks(low: float, high: float, logarithmic: bool) -> list[tuple[float, str]]:
    """The places of the grid, and what is written at them; nothing where that would be too close."""
    if logarithmic:
        decades = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
        written = (1, 2, 5) if math.log10(high / low) < _FEW_DECADES else (1,)
        multiples = [(digit, float(f"{digit}e{power}")) for power in decades for digit in range(1, 10)]
        return [(x, _label(x) if digit in written else "") for digit, x in multiples if low <= x <= high]
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * digit for digit in (1, 2, 5, 10) if power * digit >= rough)
    places = [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return [(x, _label(x)) for x in places]


def _label(x: float) -> str:
    return f"{x:,.6g}" if 1e-4 <= abs(x) < 1e6 or x == 0 else f"{x:.3g}"
