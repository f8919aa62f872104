"""The population's distribution, and what there is of it by period, as SVG pictures for a report without scripts."""

import math
from collections.abc import Mapping, Sequence
from html import escape

from dither_client.posterior.wire import DistributionSummary

__all__ = ["distribution_svg", "periods_svg"]

_WIDTH, _HEIGHT = 640, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 54, 18, 8, 42
_TICKS = 7
"""About how many ticks a linear axis has."""
_FEW_DECADES = 2.3
"""With fewer orders of magnitude 2 and 5 get labels, too."""


def distribution_svg(
    distribution: DistributionSummary, shown: tuple[float, float], logarithmic: bool, title: str
) -> str:
    """The share of the people at or below each value between the two `shown`; `title` is that of the axis of values.

    The axis ends where what is known of the distribution does, if that is within these.
    """
    inside = [i for i, x in enumerate(distribution.x) if shown[0] <= x <= shown[1]]
    low, high = (distribution.x[inside[0]], distribution.x[inside[-1]]) if len(inside) > 1 else shown
    scale = math.log if logarithmic else float

    def across(x: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (scale(x) - scale(low)) / (scale(high) - scale(low))

    def up(share: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * share

    def points(line: Sequence[float]) -> list[str]:
        return [f"{across(distribution.x[i]):.1f},{up(line[i]):.1f}" for i in inside]

    cdf = distribution.cdf
    return _svg(
        "The share of the people at or below each value, with its 50% and 90% bands",
        [
            *(_across(up(share / 100), f"{share}%") for share in range(0, 101, 20)),
            *(_upright(across(x), text) for x, text in _ticks(low, high, logarithmic)),
        ],
        [points(line) for line in (cdf.q05, cdf.q25, cdf.q50, cdf.q75, cdf.q95)],
        (title, "share of the people"),
    )


def periods_svg(
    labels: Sequence[str], lines: Mapping[str, Sequence[float | None]], logarithmic: bool, titles: tuple[str, str, str]
) -> str | None:
    """The quantiles `lines` of each period; None where fewer than two periods have any.

    `titles` are those of the picture, of the axis of periods and of that of values.
    """
    known = [i for i in range(len(labels)) if all(line[i] is not None for line in lines.values())]
    values = [[float(line[i] or 0.0) for i in known] for line in lines.values()]
    if len(known) < 2:
        return None
    low, high = min(map(min, values)), max(map(max, values))
    scale = math.log if logarithmic and low > 0 else float
    if not scale(low) < scale(high) < math.inf:
        return None

    def across(place: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * place / (len(labels) - 1)

    def up(value: float) -> float:
        return _TOP + (_HEIGHT - _BOTTOM - _TOP) * (scale(high) - scale(value)) / (scale(high) - scale(low))

    every = -(-len(labels) // _TICKS)
    what, *axes = titles
    return _svg(
        what,
        [
            *(_across(up(value), text) for value, text in _ticks(low, high, scale is math.log)),
            *(_upright(across(place), escape(labels[place])) for place in range(0, len(labels), every)),
        ],
        [[f"{across(i):.1f},{up(value):.1f}" for i, value in zip(known, line, strict=True)] for line in values],
        (axes[0], axes[1]),
    )


def _svg(what: str, grid: Sequence[str], lines: Sequence[Sequence[str]], axes: tuple[str, str]) -> str:
    """A picture of the points of the lines at 5, 25, 50, 75 and 95%, on a grid; `what` it is, and its axes' titles."""
    q05, q25, q50, q75, q95 = lines
    across, upward = map(escape, axes)
    bands = [
        f'<polygon fill="#1a5f9e" fill-opacity="{opacity}" points="{" ".join([*under, *over[::-1]])}"/>'
        for under, over, opacity in ((q05, q95, 0.15), (q25, q75, 0.3))
    ]
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
            f'font-family="system-ui, sans-serif" font-size="11" fill="#1a2128"><title>{escape(what)}</title>',
            *grid,
            *bands,
            f'<polyline fill="none" stroke="#1a5f9e" stroke-width="2" points="{" ".join(q50)}"/>',
            f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 6}" text-anchor="middle">{across}</text>',
            f'<text transform="translate(12 {(_HEIGHT - _BOTTOM) / 2}) rotate(-90)" text-anchor="middle">'
            f"{upward}</text></svg>",
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
