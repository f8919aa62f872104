"""An answer that was sent, in words: what it says of a value, whether or not that is so.

    answer_words(query, answer, terms)   `no, to whether your value is above 500`, or `your value is at most 500 €`

It says what the page on which people answer says (`web/words.js`).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import groupby

from dither_client.mechanisms.components import Component
from dither_client.mechanisms.query import Query
from dither_client.posterior.digits import rounded
from dither_client.protocol.messages import Terms
from dither_client.typed_numbers import written

__all__ = ["answer_words"]

_ENORMOUS = 1e12
"""From here on a number is told in a few digits, whatever decimals values have."""
_FEWEST_DIGITS, _MOST_DIGITS = 5, 12
"""The digits of a number where values may have any decimals: more than the fewest only to tell edges apart."""
_ALIKE = 1e-12
"""Probabilities that are closer than this are the same, and numbers whose ratio is so close to 1."""


def answer_words(query: Query, answer: int, terms: Terms | None) -> str:
    """What the answer says of the value, or of the numbers that the question is about.

    Without the `terms`, as of an answer that is sent again, values have no unit and any number of decimals.
    """
    cells = _likeliest(query, answer)
    numbers = [_number(query, place, terms) for place in range(len(query.cuts_of_numbers))]
    if query.states:
        return _of_several(query.states, cells, numbers)
    if query.of_categories:
        texts = () if terms is None else terms.categories
        return f"you chose {' or '.join(f'“{texts[cell]}”' if texts else f'category {cell + 1}' for cell in cells)}"
    [number] = numbers
    if query.n_cells == query.n_answers == 2:
        return f"{'yes' if cells == [1] else 'no'}, to whether {number.name} is {number.above(query.edges[0])}"
    return f"{number.name} is {number.ranges(cells)}"


def _likeliest(query: Query, answer: int) -> list[int]:
    """The cells, increasing, whose people give this answer most often."""
    chances = [row[answer] for row in query.channel()]
    return [cell for cell, chance in enumerate(chances) if chance >= max(chances) - _ALIKE]


@dataclass(frozen=True)
class _Number:
    """One of the numbers that a question is about: what it is called, where it is cut, and how values are written."""

    name: str
    edges: Sequence[float]
    transform: str
    decimals: int | None
    unit: str

    def above(self, edge: float) -> str:
        """The values above a cut. One just below a point counts the point as above."""
        point = self._point(edge)
        return f"above {self._written(edge)}" if point is None else f"at least {self._written(point, ROUND_CEILING)}"

    def ranges(self, cells: Iterable[int]) -> str:
        """The values in these cells, which increase; adjacent ones are one range."""
        runs = [[cell for _, cell in run] for _, run in groupby(enumerate(cells), lambda each: each[1] - each[0])]
        return " or ".join(self._range(run[0], run[-1]) for run in runs)

    def _range(self, first: int, last: int) -> str:
        low = self.edges[first - 1] if first else None
        high = self.edges[last] if last < len(self.edges) else None
        if low is not None and self._point(low) == high is not None:
            return f"exactly {self._exact(high)}"
        parts = [] if low is None else [self.above(low)]
        if high is not None:
            parts.append(self._up_to(high))
        return " and ".join(parts) or "anything"

    def _up_to(self, edge: float) -> str:
        """The values up to a cut."""
        point = self._point(edge)
        return f"at most {self._written(edge)}" if point is None else f"below {self._written(point, ROUND_CEILING)}"

    def _point(self, edge: float) -> float | None:
        """The point that many people have exactly, if this edge only divides it from what lies below."""
        point = math.nextafter(edge, math.inf)
        divides = point in self.edges or not point or point == float(f"{edge:.12g}")
        return point if divides and self.transform != "log" else None

    def _exact(self, point: float) -> str:
        return self._in_unit(written(float(f"{point:.{_MOST_DIGITS}g}")))

    def _written(self, edge: float, rounding: str = ROUND_FLOOR) -> str:
        """The number at an edge: values with so many decimals are above it exactly if they are above its floor.

        They are at or above a point exactly if they are at or above its ceiling.
        """
        value = self._value(edge)
        if self.decimals is None or abs(value) >= _ENORMOUS:
            digits = self._digits()
            exact = abs(float(f"{value:.{digits}g}") - value) <= _ALIKE * abs(value)
            return self._in_unit(f"{'' if exact else 'about '}{rounded(value, digits)}")
        step = Decimal(1).scaleb(-self.decimals)
        return self._in_unit(written(float(Decimal(f"{value:.12g}").quantize(step, rounding))))

    def _digits(self) -> int:
        """How many digits keep the edges apart, as far as any do."""
        points = {edge: self._point(edge) for edge in self.edges}
        values = {self._value(edge if point is None else point) for edge, point in points.items()}
        several = range(_FEWEST_DIGITS, _MOST_DIGITS)
        return next((n for n in several if len({f"{value:.{n}g}" for value in values}) == len(values)), _MOST_DIGITS)

    def _value(self, edge: float) -> float:
        return math.exp(edge) if self.transform == "log" else edge

    def _in_unit(self, text: str) -> str:
        return f"{text} {self.unit}" if self.unit else text


def _number(query: Query, place: int, terms: Terms | None) -> _Number:
    """The number of the respondent that stands at this place among those that the question is about."""
    about: Terms | Component | None = terms
    name = "your value"
    if query.about:
        about = terms.components[query.about[place]] if terms is not None and terms.components else None
        name = f"your number {query.about[place] + 1}" if about is None else f"your {about.name}"
    unit = "" if about is None else " ".join(filter(None, (about.unit, about.period_of_value)))
    decimals = None if about is None else about.decimals
    edges, transform = query.cuts_of_numbers[place]
    return _Number(name, edges, transform, decimals, unit)


def _of_several(kind: str, states: Sequence[int], numbers: Sequence[_Number]) -> str:
    """What an answer says of two or three numbers together: that they are in one of these states of the `kind`."""
    if kind == "cells":
        return _combinations(states, *numbers)
    listed = "; ".join(f"{number.name} is {number.above(number.edges[0])}" for number in numbers)
    if kind == "same_side":
        return f"{'yes' if states == [1] else 'no'}, to whether these are both true or both false: {listed}"
    alone = " or ".join(numbers[state - 1].name if state else "none" for state in states)
    return f"{alone}, to which of these is true while the others are false, or the other way round: {listed}"


def _combinations(states: Sequence[int], first: _Number, second: _Number) -> str:
    """The cells of a plane. Cells of the first number with the same ones of the second are told together."""
    columns = len(second.edges) + 1
    rows: dict[tuple[int, ...], list[int]] = {}
    for row in range(len(first.edges) + 1):
        beside = tuple(state % columns for state in states if state // columns == row)
        if beside:
            rows.setdefault(beside, []).append(row)
    return "; or ".join(
        f"{first.name} is {first.ranges(some)}"
        + ("" if len(beside) == columns else f", and {second.name} is {second.ranges(beside)}")
        for beside, some in rows.items()
    )
