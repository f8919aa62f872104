"""SVG pictures for a report without scripts.

They show the population's distribution, by period where there are several, and how two numbers go together.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from dither_client.posterior.digits import rounded
from dither_client.posterior.sentences import whole_numbers
from dither_client.posterior.wire import QUANTILES, Bands, DistributionSummary, Regression

__all__ = ["distribution_svg", "periods_svg", "regression_svg"]

_WIDTH, _HEIGHT = 480, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 32, 18, 8, 44
_LETTER = 7
"""About how wide a letter is, beside the axis of values as many as the longest number has."""
_TICKS = 6
"""About how many ticks a linear axis has."""
_MOST_LABELS = 5
"""The most periods that are written below an axis."""
_FEW_DECADES = 2.3
"""With fewer orders of magnitude 2 and 5 get labels, too."""
_STEEP = 20.0
"""Values that differ by more than this factor are on a logarithmic axis."""
_MOST_ORDERS = 1e6
"""With more than this, a logarithmic axis could not be read either."""
_LONGEST_TITLE = 24
"""Letters of the title beside the picture; more have no room."""


@dataclass(frozen=True)
class _Axis:
    """An axis from `low` to `high`; `ticks` are places in between, and what is written at them."""

    title: str
    low: float
    high: float
    logarithmic: bool
    ticks: Sequence[tuple[float, str]]

    def share(self, value: float) -> float:
        """How far along the axis the value lies: 0 at its beginning, 1 at its end."""
        scale = math.log if self.logarithmic else float
        return (scale(value) - scale(self.low)) / (scale(self.high) - scale(self.low))


def distribution_svg(
    distribution: DistributionSummary,
    shown: tuple[float, float],
    logarithmic: bool,
    title: str,
    decimals: int | None = None,
) -> str:
    """The share of the people at or below each value between the two `shown`; `title` is that of the axis of values.

    The axis ends where what is known of the distribution does, if that is within these, and has no finer ticks than
    values have `decimals`.
    """
    inside = [i for i, x in enumerate(distribution.x) if shown[0] <= x <= shown[1]]
    points = [(distribution.x[i], i) for i in inside]
    if whole_numbers(distribution):  # shares rise at each number, not between
        points = [(distribution.x[i], j) for before, i in pairwise([*inside[:1], *inside]) for j in (before, i)]
    low, high = (distribution.x[inside[0]], distribution.x[inside[-1]]) if len(inside) > 1 else shown
    cdf = distribution.cdf
    return _svg(
        "The share of the people at or below each value, with its 50% and 90% bands",
        _axis(title, (low, high), logarithmic, decimals),
        _Axis("share of the people", 0.0, 1.0, False, [(share / 100, f"{share}%") for share in range(0, 101, 20)]),
        [x for x, _ in points],
        [[getattr(cdf, name)[i] for _, i in points] for name in QUANTILES],
    )


def periods_svg(
    labels: Sequence[str],
    lines: Mapping[str, Sequence[float | None]],
    logarithmic: bool,
    titles: tuple[str, str, str],
    decimals: int | None = None,
) -> str | None:
    """The quantiles `lines` of each period; None where fewer than two periods have any.

    `titles` are those of the picture, of the axis of periods and of that of values, which have so many `decimals`.
    """
    known = [i for i in range(len(labels)) if all(line[i] is not None for line in lines.values())]
    values = [[float(line[i] or 0.0) for i in known] for line in lines.values()]
    ends = _ends(values)
    if len(known) < 2 or ends is None:
        return None
    what, across, up = titles
    places = range(0, len(labels), -(-len(labels) // _MOST_LABELS))
    return _svg(
        what,
        _Axis(across, 0.0, len(labels) - 1.0, False, [(float(place), labels[place]) for place in places]),
        _axis(up, ends, logarithmic and ends[0] > 0, decimals),
        known,
        values,
    )


def regression_svg(
    found: Regression, titles: tuple[str, str, str], decimals: tuple[int | None, int | None] = (None, None)
) -> str | None:
    """One number among people with the same value of another: the people's bands, and how sure their median is.

    `titles` are those of the picture, of the axis of the number that is given, and of that of the other one; `decimals`
    those of these two. None where floating point cannot hold what there is to show.
    """
    bands: list[Bands] = [getattr(found, name) for name in QUANTILES]
    lines = [*(band.q50 for band in bands), found.q50.q05, found.q50.q95]
    given, ends = _ends([found.x]), _ends(lines)
    if given is None or ends is None:
        return None
    what, across, up = titles
    axes = [
        _axis(title, each, _steep(each), most)
        for title, each, most in zip((across, up), (given, ends), decimals, strict=True)
    ]
    return _svg(what, axes[0], axes[1], found.x, lines)


def _ends(lines: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """The least and the largest of all; None where that is no range."""
    low, high = min(map(min, lines), default=0.0), max(map(max, lines), default=0.0)
    return (low, high) if -math.inf < low < high < math.inf else None


def _steep(ends: tuple[float, float]) -> bool:
    low, high = ends
    return low > 0 and _STEEP * low < high < _MOST_ORDERS * low


def _svg(what: str, across: _Axis, up: _Axis, x: Sequence[float], lines: Sequence[Sequence[float]]) -> str:
    """A picture of lines over `x` on a grid: those at 5, 25, 50, 75 and 95%, and any others dashed; `what` it is."""
    left = _LEFT + _LETTER * max((len(text) for _, text in up.ticks), default=0)

    def place(value: float) -> float:
        return left + (_WIDTH - left - _RIGHT) * across.share(value)

    def height(value: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * up.share(value)

    drawn = [[f"{place(at):.1f},{height(y):.1f}" for at, y in zip(x, line, strict=True)] for line in lines]
    q05, q25, q50, q75, q95, *others = drawn
    bands = [
        f'<polygon fill="#1a5f9e" fill-opacity="{opacity}" points="{" ".join([*under, *over[::-1]])}"/>'
        for under, over, opacity in ((q05, q95, 0.15), (q25, q75, 0.3))
    ]
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
            f'font-family="system-ui, sans-serif" font-size="12" fill="#1a2128"><title>{escape(what)}</title>',
            *(
                f'<path stroke="#d5dbe1" d="M{left} {height(value):.1f}H{_WIDTH - _RIGHT}"/>'
                f'<text x="{left - 6}" y="{height(value) + 4:.1f}" text-anchor="end">{escape(text)}</text>'
                for value, text in up.ticks
            ),
            *(_upright(place(value), escape(text)) for value, text in across.ticks),
            *bands,
            f'<polyline fill="none" stroke="#1a5f9e" stroke-width="2" points="{" ".join(q50)}"/>',
            *(
                f'<polyline fill="none" stroke="#1a5f9e" stroke-dasharray="5 4" points="{" ".join(line)}"/>'
                for line in others
            ),
            f'<text x="{(left + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 6}" text-anchor="middle">'
            f"{escape(across.title)}</text>",
            f'<text transform="translate(12 {(_HEIGHT - _BOTTOM + _TOP) / 2}) rotate(-90)" text-anchor="middle">'
            f"{escape(_shortened(up.title))}</text></svg>",
        ]
    )


def _shortened(title: str) -> str:
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"


def _upright(x: float, text: str) -> str:
    line = f'<path stroke="#d5dbe1" d="M{x:.1f} {_TOP}V{_HEIGHT - _BOTTOM}"/>'
    return line + (f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{text}</text>' if text else "")


def _axis(title: str, ends: tuple[float, float], logarithmic: bool, decimals: int | None) -> _Axis:
    """An axis of values with so many `decimals`, with ticks at round ones; no text where that would be too close."""
    low, high = ends
    if logarithmic:
        decades = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
        written = (1, 2, 5) if math.log10(high / low) < _FEW_DECADES else (1,)
        multiples = [(digit, float(f"{digit}e{power}")) for power in decades for digit in range(1, 10)]
        ticks = [(x, rounded(x, 6) if digit in written else "") for digit, x in multiples if low <= x <= high]
        return _Axis(title, low, high, True, ticks)
    finest = 0.0 if decimals is None else 10.0**-decimals
    rough = max((high - low) / _TICKS, finest)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * digit for digit in (1, 2, 5, 10) if power * digit >= rough * (1 - 1e-9))
    places = [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return _Axis(title, low, high, False, [(x, rounded(x, 6)) for x in places])
