"""A population that changes from one calendar period to the next.

A server cannot be told what time it is, so over HTTP all people belong to the period in which they answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from dither_client import Transform
from dither_client.mechanisms.panel import Panel
from dither_estimator.families import Family, FloatArray
from dither_estimator.specification.periods import Period
from dither_server.simulate.population import InvalidPopulation, draw_population, parse_truth

__all__ = ["PeopleOfPeriods", "draw_periods", "parse_walk"]

_BEGINNING = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
"""A time in the first period of every simulation."""


@dataclass(frozen=True)
class PeopleOfPeriods:
    """People in the order in which they are asked."""

    values: FloatArray = field(repr=False)
    """In their own units; shape (n,)."""
    labels: list[str] = field(repr=False)
    """The label of each one's period."""
    truth: Mapping[str, Mapping[str, float]]
    """The parameters in each period, by its label."""


def parse_walk(text: str | None, family: Family) -> FloatArray:
    """The sd of one period's step of each unconstrained coordinate (d,), from a text such as `mu=0.5,sigma=0.02`.

    Parameters that are not named stay as they are. Raises `InvalidPopulation`.
    """
    form = f"the walk must be the standard deviations of its steps, such as {family.names[0]}=0.1"
    found = dict.fromkeys(family.names, 0.0)
    for part in text.split(",") if text else ():
        name, _, number = (piece.strip() for piece in part.partition("="))
        if name not in found:
            raise InvalidPopulation(f"{form}: the parameters of {family.name} are {', '.join(family.names)}")
        try:
            found[name] = float(number)
        except ValueError:
            raise InvalidPopulation(f"{form}, with a number for each") from None
        if not 0 <= found[name] < np.inf:
            raise InvalidPopulation(f"{form}, and none of them below 0")
    return np.array(list(found.values()))


def draw_periods(
    rng: np.random.Generator,
    family: Family,
    text: str,
    period: Period,
    number: int,
    walk: FloatArray,
    transform: Transform,
    size: int,
    panel: Panel | None = None,
) -> PeopleOfPeriods:
    """`size` people, as many in each of `number` periods, one after the other.

    With a panel all of them join in the first period, and each is there in every period in which it answers. Somebody's
    place in the population, the share of it that lies below, is then the same in all periods.

    `text` has one or more sets of parameters, separated by semicolons, that hold in turn for as many periods each; from
    period to period a random walk with steps of the sds `walk` is added to the unconstrained coordinates. Raises
    `InvalidPopulation`.
    """
    sets = [parse_truth(part, family) for part in text.split(";")]
    if not len(sets) <= number <= size:
        raise InvalidPopulation(
            f"there must be as many periods as sets of parameters ({len(sets)}) or more, and a respondent for each"
        )
    first = period.number(_BEGINNING)
    labels = [period.label(first + place) for place in range(number)]
    turns = [sets[place * len(sets) // number] for place in range(number)]
    steps = walk * rng.standard_normal((number, len(walk)))
    steps[0] = 0
    theta = np.array([[turn[name] for name in family.names] for turn in turns])
    theta = family.constrain(family.unconstrain(theta) + steps.cumsum(axis=0))
    truth = {
        label: dict(zip(family.names, row, strict=True)) for label, row in zip(labels, theta.tolist(), strict=True)
    }
    if panel is None:
        sizes = [len(part) for part in np.array_split(np.arange(size), number)]
        values = [
            draw_population(rng, family, here, transform, count).values
            for here, count in zip(truth.values(), sizes, strict=True)
        ]
    else:
        values = _draw_panel(rng, family, theta, transform, size, panel)
    of_each = [label for label, here in zip(labels, values, strict=True) for _ in here]
    return PeopleOfPeriods(np.concatenate(values), of_each, truth)


def _draw_panel(
    rng: np.random.Generator, family: Family, theta: FloatArray, transform: Transform, size: int, panel: Panel
) -> list[FloatArray]:
    """The values of those who answer in each period, where the population has the parameters `theta` (periods, d)."""
    places = rng.random(size)
    turns = np.array([panel.draw(0, lambda below: int(rng.integers(below))) for _ in range(size)])
    here = [(turns == period).any(axis=1) for period in range(len(theta))]
    values = [
        family.quantiles(theta[period : period + 1], places[who])[0] if who.any() else np.empty(0)
        for period, who in enumerate(here)
    ]
    return [np.exp(some) for some in values] if transform == "log" else values
