"""Questions of one member of a family, asked of another: moved, and rounded to the lattice.

In a location-scale family a question moves with the member (Theorem 3 of Yıldırım 2024). In any other the cuts go to
the points at which the other member has the same probability below; what is lost by a change of shape is little, and
designs are made afresh where the shape has changed much (`anchor`).
"""

import math
from collections.abc import Sequence

import numpy as np

from dither_client import InvalidQuery, Laplace, Query, RandomizedResponse, Staircase, Transform
from dither_estimator.families import Family, FloatArray
from dither_estimator.lattice import address, query_at, threshold

__all__ = ["anchor", "transported"]

_KNOWN = 0.5
"""A shape is known when the standard deviation of its unconstrained coordinate is below this; until then the standard
member's shape serves."""
_SHAPE_STEP = 0.5
"""Shapes are rounded to this step of the unconstrained coordinate, so that designs can be cached."""
_RIM = 1e-6


def anchor(family: Family, coordinates: FloatArray, weights: FloatArray) -> FloatArray:
    """The member whose optimal questions are asked, given particles: the standard one but for shapes that are known."""
    base = family.unconstrain(family.standard[None])
    mean = weights @ coordinates
    sd = np.sqrt(weights @ (coordinates - mean) ** 2)
    for j in family.shapes:
        if sd[j] < _KNOWN:
            base[0, j] = round(mean[j] / _SHAPE_STEP) * _SHAPE_STEP
    member: FloatArray = family.constrain(base)[0]
    return member


def transported(
    family: Family, home: FloatArray, questions: Sequence[Query], members: FloatArray, transform: Transform
) -> list[list[Query]]:
    """For each of `members` (n, d) the questions of the member `home` (d,), less what floating point cannot hold."""
    if family.location_scale:
        return [_moved(questions, location, scale, transform) for location, scale in members.tolist()]
    edges = [np.asarray(question.edges) for question in questions]
    below = family.cdf(home[None], np.concatenate(edges))[0]
    levels = np.concatenate([np.clip(below, _RIM, 1 - _RIM), [0.16, 0.84]])
    ends = np.cumsum([len(some) for some in edges])
    asked = []
    for points in family.quantiles(members, levels):
        step = _step(float(points[-1] - points[-2]) / 2)
        cuts = [_rounded(x, step, family.discrete) for x in points[:-2].tolist()]
        by_question = [cuts[end - len(some) : end] for some, end in zip(edges, ends, strict=True)]
        asked.append(_rebuilt(questions, by_question, step, transform))
    return asked


def _moved(questions: Sequence[Query], location: float, scale: float, transform: Transform) -> list[Query]:
    moved = []
    for question in questions:
        try:
            moved.append(query_at(question, address(question, location, scale), transform))
        except InvalidQuery:
            continue
    return moved


def _rebuilt(
    questions: Sequence[Query], cuts: Sequence[Sequence[float]], step: float, transform: Transform
) -> list[Query]:
    rebuilt = []
    for question, some in zip(questions, cuts, strict=True):
        try:
            rebuilt.append(_query(question, some, step, transform))
        except InvalidQuery:
            continue
    return rebuilt


def _query(question: Query, cuts: Sequence[float], step: float, transform: Transform) -> Query:
    """A query of the question's kind with these edges, or with equally spaced ones between the first and the last."""
    if isinstance(question, RandomizedResponse):
        return RandomizedResponse(sorted(set(cuts)), question.epsilon, transform)
    if isinstance(question, Staircase):  # refused if cuts fall together: its sets need every cell
        return Staircase(cuts, question.sets, question.weights, question.epsilon, transform)
    if not isinstance(question, Laplace):
        raise TypeError(f"no lattice for {type(question).__name__}")
    if question.levels == 1:
        return threshold(cuts[0], question.epsilon, transform)
    # A power of two, so that every edge is dyadic.
    rung = 2.0 ** round(math.log2(max(cuts[-1] - cuts[0], step) / (question.levels - 1)))
    low = cuts[0] - rung / 2
    return Laplace(low, low + rung * question.levels, question.levels, question.epsilon, transform)


def _step(spread: float) -> float:
    return 2.0 ** round(math.log2(spread / 10)) if spread > 0 else 2.0**-20


def _rounded(value: float, step: float, discrete: bool) -> float:
    """The lattice point for a cut: halfway behind a whole number; for others by the step, or finer close to 0."""
    if discrete:
        return math.floor(value) + 0.5
    if 0 < abs(value) < 8 * step:
        step = 2.0 ** (math.frexp(value)[1] - 4)
    return round(value / step) * step
