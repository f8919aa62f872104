"""The data of a collection's charts, ready for JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from dither_client import parse_query
from dither_client.posterior.names import has_log_median
from dither_client.posterior.sentences import only_zeros_and_ones, zeros_and_ones
from dither_client.posterior.wire import QUANTILES, ComponentReply, ParameterSummary, PosteriorReply, to_json
from dither_estimator.learning.curves import parameter_density, population_curve
from dither_estimator.learning.description import Unscaled
from dither_estimator.learning.population import Population
from dither_estimator.learning.several_numbers import SeveralNumbers
from dither_estimator.specification.specification import Specification
from dither_server.database.reads import HistoryRow
from dither_server.owner.published import Particles
from dither_server.pages.dependence import regression_charts
from dither_server.pages.pace import pace
from dither_server.pages.periods import period_charts

__all__ = ["MEDIAN", "charts", "component_curves", "curves", "has_median", "parameter_names", "raised"]

MEDIAN = "quantile_0.5"

_LARGEST_LOGARITHM = 700.0
"""From here on floating point cannot hold the number."""
_TINIEST = 1e-300
"""A threshold nearer to 0 is shown as 0."""


def parameter_names(specification: Specification) -> tuple[str, ...]:
    """The parameters of the whole population: none without a family, and with groups only each group has some."""
    return specification.family.names if specification.parametric and specification.groups is None else ()


def has_median(specification: Specification) -> bool:
    """Whether the history of the parameters is also one of the population's median, in the values' own units."""
    known = has_log_median(specification.family.name, specification.transform)
    return bool(parameter_names(specification)) and known


def charts(
    names: Sequence[str],
    rows: Sequence[HistoryRow],
    posterior: PosteriorReply,
    curves: Mapping[str, Any],
    now: int,
    number: str | None = None,
) -> dict[str, Any]:
    """The data of all charts of a collection at `now` (milliseconds).

    `names` are those of the numbers that are shown over time, `curves` those of the posterior. `MEDIAN` beside
    parameters is of a family for which `has_median`. The distribution is that of `number`, if it is one of several
    that the posterior describes.
    """
    described = _described(posterior, number)
    return {
        "answers": posterior.answers,
        "updated_at": posterior.updated_at,
        "parameters": _trajectories(names, rows, posterior, number),
        "questions": _questions([] if posterior.categories or posterior.components else rows),
        "pace": pace(rows, posterior, now),
        "atoms": [{"x": float(atom), "share": share.q50} for atom, share in (described.atoms or {}).items()],
        "distribution": _distribution(described),
        "quantiles": _exact("level", described.quantiles),
        "above": _exact("x", described.above),
        "periods": period_charts(posterior),
        "regressions": regression_charts(posterior),
        **curves,
    }


def curves(specification: Specification, particles: Particles, decimals: int | None = None) -> dict[str, Any]:
    """The densities of the parameters and of the population, whose values have so many `decimals`.

    `population` is None if it has no such curve.
    """
    family = specification.family
    shown = particles.population
    return {
        "densities": {
            parameter.name: {"x": _plain(curve.x), "density": _plain(curve.density)}
            for j, parameter in enumerate(family.parameters if specification.groups is None else ())
            for curve in [parameter_density(parameter, particles.values[:, j], particles.weights)]
        },
        **_population(None if isinstance(shown, Unscaled) else shown, decimals),
    }


def component_curves(particles: Particles, components: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """What `curves` has of the population, of each of several numbers by its name."""
    shown = particles.population
    if not isinstance(shown, SeveralNumbers):
        return {}
    return {
        each["name"]: _population(population, each.get("decimals"))
        for each, population in zip(components, shown.populations, strict=True)
    }


def _population(population: Population | None, decimals: int | None) -> dict[str, Any]:
    found = None if population is None else population_curve(population, decimals)
    return {
        "population": found and {"x": _plain(found.x)} | {name: _plain(line) for name, line in found.quantiles.items()},
        "logarithmic": found is not None and found.logarithmic,
        "discrete": population is not None and population.discrete,
    }


def _described(posterior: PosteriorReply, number: str | None) -> PosteriorReply | ComponentReply:
    return posterior if number is None else (posterior.components or {}).get(number, posterior)


def _distribution(described: PosteriorReply | ComponentReply) -> dict[str, Any] | None:
    """The distribution function with its bands; None where there is none, of zeros and ones, and of either alone."""
    found = described.distribution
    if found is None or only_zeros_and_ones(found):
        return None
    return {"x": found.x, **{name: _plain(getattr(found.cdf, name)) for name in QUANTILES}}


def _exact(name: str, summaries: Mapping[str, ParameterSummary] | None) -> list[dict[str, float]]:
    """The quantiles of each summary, with the number that it is about as `name`."""
    return [
        {name: float(number), **{level: getattr(summary, level) for level in QUANTILES}}
        for number, summary in (summaries or {}).items()
    ]


def _trajectories(
    names: Sequence[str], rows: Sequence[HistoryRow], posterior: PosteriorReply, number: str | None
) -> dict[str, Any]:
    """Mean and quantiles of each of `names` after each number of answers; the last are the present ones.

    They are those of `number`, if it is one of several, and none if it is 0 or 1.
    """
    described = _described(posterior, number)
    quantiles = {f"quantile_{level}": each for level, each in (described.quantiles or {}).items()}
    points = [(row.answers, json.loads(row.posterior)) for row in rows if row.answers < posterior.answers]
    if number is not None:
        if zeros_and_ones(described.distribution):
            return {}
        points = [
            (answers, {name: summaries.get(f"{number}.{name}", {}) for name in names}) for answers, summaries in points
        ]
    points.append((posterior.answers, to_json(posterior.posterior or quantiles)))
    if MEDIAN in names and posterior.posterior:
        points = [(answers, summaries | {MEDIAN: raised(summaries.get("mu", {}))}) for answers, summaries in points]
    return {
        name: {
            "answers": [answers for answers, _ in points],
            **{part: [summaries.get(name, {}).get(part) for _, summaries in points] for part in ("mean", *QUANTILES)},
        }
        for name in names
    }


def raised(summary: Mapping[str, float]) -> dict[str, float | None]:
    """The quantiles of a number whose logarithm has those of `summary`; its mean does not follow from them."""
    return {part: _power(summary[part]) for part in QUANTILES if part in summary}


def _power(logarithm: float) -> float | None:
    return math.exp(logarithm) if logarithm < _LARGEST_LOGARITHM else None


def _questions(rows: Sequence[HistoryRow]) -> dict[str, Any]:
    """Where the questions cut the line, in the values' own units: the edges of one question for each row."""
    edges = [_asked(json.loads(row.query)) for row in rows]
    most = max(map(len, edges), default=0)
    return {
        "answers": [row.answers for row in rows],
        "edges": [[cuts[i] if i < len(cuts) else None for cuts in edges] for i in range(most)],
    }


def _asked(query: Mapping[str, Any]) -> list[float]:
    edges = _shown_edges(parse_query(query).edges)
    if query["transform"] != "log":
        return edges
    return [value for edge in edges if (value := _power(edge)) is not None]


def _shown_edges(edges: Sequence[float]) -> list[float]:
    """The edges, of which the two around a single point are one, and what no picture tells from 0 is 0."""
    points = (math.nextafter(edge, math.inf) for edge in edges)
    short = {edge: point for edge, point in zip(edges, points, strict=True) if float(f"{edge:.12g}") == point}
    return sorted({short.get(edge, edge) if abs(edge) > _TINIEST else 0.0 for edge in edges})


def _plain(numbers: Any) -> list[float]:
    """The numbers to seven digits, which is more than a screen shows."""
    return [float(f"{x:.7g}") for x in numbers]
