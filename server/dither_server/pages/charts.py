"""The numbers behind a collection's charts, ready for JSON."""

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dither_client import parse_query
from dither_client.posterior.wire import QUANTILES, PosteriorReply, to_json
from dither_estimator.learning.curves import parameter_density, population_curve
from dither_estimator.specification.specification import Specification
from dither_server.database.reads import HistoryRow
from dither_server.owner.collection_learner import Particles

__all__ = ["charts", "curves", "pace", "rate"]

_SLICES = 48
"""Of the time from the first answer to now."""
_RECENT = 60_000
"""Milliseconds that the present pace is measured over, where there was so much time."""


def charts(
    rows: Sequence[HistoryRow], posterior: PosteriorReply, curves: Mapping[str, Any], now: int
) -> dict[str, Any]:
    """Everything that is drawn of a collection at `now` (milliseconds); `curves` are those of the posterior."""
    return {
        "answers": posterior.answers,
        "updated_at": posterior.updated_at,
        "parameters": _trajectories(rows, posterior),
        "questions": _questions(rows),
        "pace": pace(rows, posterior.answers, now),
        **curves,
    }


def curves(specification: Specification, particles: Particles) -> dict[str, Any]:
    """The densities of the parameters and of the population; `population` is None where there is no such curve."""
    family = specification.family
    theta, weights = particles
    population = population_curve(family, specification.transform, theta, weights)
    return {
        "densities": {
            parameter.name: {"x": _plain(curve.x), "density": _plain(curve.density)}
            for j, parameter in enumerate(family.parameters)
            for curve in [parameter_density(parameter, theta[:, j], weights)]
        },
        "population": population
        and {"x": _plain(population.x)} | {name: _plain(line) for name, line in population.quantiles.items()},
        "discrete": family.discrete,
    }


def pace(rows: Sequence[HistoryRow], answers: int, now: int) -> dict[str, list[float]]:
    """Answers a minute in equal slices of the time since the first row of the history; `time` (seconds) is their end.

    Between rows, answers count as spread evenly. Before there are any, there are no slices.
    """
    if not rows or now <= rows[0].at:
        return {"time": [], "per_minute": []}
    ends = np.linspace(rows[0].at, now, _SLICES + 1)
    arrived = np.interp(ends, [*(row.at for row in rows), now], [*(row.answers for row in rows), answers])
    per_minute = np.diff(arrived) / ((ends[1] - ends[0]) / 60_000)
    return {"time": (ends[1:] / 1000).tolist(), "per_minute": _plain(per_minute)}


def rate(rows: Sequence[HistoryRow], answers: int, began: int, now: int) -> float:
    """Answers a minute since the last row that is a minute old, or over that minute, or since the beginning."""
    old = bisect_right(rows, now - _RECENT, key=lambda row: row.at)
    known, at = (rows[old - 1].answers, rows[old - 1].at) if old else (0, max(began, now - _RECENT))
    return (answers - known) * 60_000 / max(1, now - at)


def _trajectories(rows: Sequence[HistoryRow], posterior: PosteriorReply) -> dict[str, Any]:
    """Of each parameter, mean and quantiles after so many answers; the last are the present ones."""
    points = [(row.answers, json.loads(row.posterior)) for row in rows if row.answers < posterior.answers]
    points.append((posterior.answers, to_json(posterior.posterior)))
    return {
        name: {
            "answers": [answers for answers, _ in points],
            **{part: [summaries[name][part] for _, summaries in points] for part in ("mean", *QUANTILES)},
        }
        for name in posterior.posterior
    }


def _questions(rows: Sequence[HistoryRow]) -> dict[str, Any]:
    """Where the questions cut the line, on the transformed scale: of each row, one question's edges."""
    edges = [parse_query(json.loads(row.query)).edges for row in rows]
    most = max(map(len, edges), default=0)
    return {
        "answers": [row.answers for row in rows],
        "edges": [[cuts[i] if i < len(cuts) else None for cuts in edges] for i in range(most)],
    }


def _plain(numbers: Any) -> list[float]:
    """Seven digits are more than a screen has."""
    return [float(f"{x:.7g}") for x in numbers]
