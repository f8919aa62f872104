"""An independent posterior: quadrature of the textbook formula, sharing no code with the estimator.

Distribution functions and priors are SciPy's, channels are written out from their definitions.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from exact_channels import exact_channel
from questions import random_question
from scipy import optimize, stats
from scipy_families import ORACLES, Oracle

from dither_client import Query
from dither_estimator.design.registry import MECHANISMS

__all__ = ["Quadrature", "answer_probabilities", "laws", "quadrature", "random_table"]

Array = npt.NDArray[np.float64]

_SIZES = {1: 400, 2: 80, 3: 48}
"""Points along each of 1, 2 or 3 coordinates: less than half a standard deviation apart, where the trapezoidal rule is
exact to 1e-8 or so for densities such as these."""
_RIM = 1e-9


def answer_probabilities(query: Query, law: Any) -> Array:
    """`P(answer | θ)`, shape (answers, ...), cell by cell, for SciPy's `law` with parameters of shape (...)."""
    shape = np.broadcast_shapes(*(np.shape(parameter) for parameter in (*law.args, *law.kwds.values())))
    with np.errstate(over="ignore"):  # SciPy's Gumbel, far to the left
        cdf = np.asarray(law.cdf(np.array(query.edges).reshape(-1, *(1 for _ in shape))))
    below = np.concatenate([np.zeros((1, *shape)), cdf, np.ones((1, *shape))])
    probabilities: Array = np.tensordot(_channel(query).T, np.diff(below, axis=0), 1)
    return probabilities


@lru_cache(maxsize=1024)
def _channel(query: Query) -> Array:
    return np.array([[float(p.low) for p in row] for row in exact_channel(query)])


@dataclass(frozen=True)
class Quadrature:
    """Moments of each parameter under the exact posterior, and the log evidence."""

    mean: Array
    sd: Array
    kurtosis: Array
    """`E (θ - mean)⁴ / sd⁴`: how well a sample knows its sd."""
    log_evidence: float


@dataclass(frozen=True)
class _Posterior:
    """The log density over the coordinates, with the change of variable, up to the evidence."""

    family: Oracle
    prior: Sequence[Any]
    table: Mapping[Query, Sequence[int]]

    def __call__(self, coordinates: Sequence[Array]) -> Array:
        theta = self.family.constrain(coordinates)
        total: Array = np.zeros(np.broadcast(*theta).shape)
        for part, x, slope in zip(self.prior, theta, self.family.slopes(theta), strict=True):
            total = total + part.logpdf(x) + np.log(slope)
        law = self.family.law(*np.broadcast_arrays(*theta))
        for query, counts in self.table.items():
            asked = np.array(counts) > 0
            shares = answer_probabilities(query, law)[asked]
            with np.errstate(divide="ignore", invalid="ignore"):
                total = total + np.tensordot(np.array(counts)[asked], np.log(shares), 1)
        return np.where(np.isnan(total), -np.inf, total)


@dataclass(frozen=True)
class _Root:
    """The law of the root of a variable with the given law."""

    square: Any

    def logpdf(self, x: Array) -> Array:
        return np.asarray(self.square.logpdf(x**2) + np.log(2 * x))

    def rvs(self, random_state: np.random.Generator) -> float:
        return math.sqrt(self.square.rvs(random_state=random_state))


def laws(prior: Mapping[str, Mapping[str, Any]]) -> list[Any]:
    """The laws, with `logpdf` and `rvs`, of a prior as specifications write it."""
    found: list[Any] = []
    for terms in prior.values():
        numbers = {name: value for name, value in terms.items() if name not in ("dist", "of")}
        law = getattr(stats, terms["dist"])(**numbers)
        found.append(_Root(law) if "of" in terms else law)
    return found


def quadrature(
    prior: Sequence[Any],
    table: Mapping[Query, Sequence[int]],
    start: Sequence[float],
    family: Oracle = ORACLES["normal"],
) -> Quadrature:
    """Integrates over the coordinates in a box about the mode that grows until its rim holds nothing.

    `prior`: the laws of the parameters. The search for the mode starts at the member `start`.
    """
    log_density = _Posterior(family, prior, table)

    def negative(point: Array) -> float:
        return -float(log_density([np.array(x) for x in point]))

    found = optimize.minimize(negative, family.unconstrain(start), method="Nelder-Mead", options={"xatol": 1e-4})
    low, high = _box(log_density, found.x)
    axes = [np.linspace(a, b, _SIZES[len(low)]) for a, b in zip(low, high, strict=True)]
    grid = np.meshgrid(*axes, indexing="ij", sparse=True)
    logs = log_density(grid)
    peak = float(logs.max())
    weights = np.exp(logs - peak)
    total = float(weights.sum())

    moments = []
    for x in family.constrain(grid):
        mean = float((weights * x).sum() / total)
        variance, fourth = (float((weights * (x - mean) ** power).sum() / total) for power in (2, 4))
        moments.append((mean, math.sqrt(variance), fourth / variance**2))
    cell = math.prod(float(axis[1] - axis[0]) for axis in axes)
    means, sds, kurtoses = np.array(moments).T
    return Quadrature(means, sds, kurtoses, peak + math.log(total * cell))


def _box(log_density: _Posterior, mode: Array) -> tuple[Array, Array]:
    """Ends of a box with less than `_RIM` of the highest density on each of its sides, and little to spare."""
    low, high = mode - 1e-2, mode + 1e-2
    for _ in range(200):
        axes = [np.linspace(a, b, 15) for a, b in zip(low, high, strict=True)]
        logs = log_density(np.meshgrid(*axes, indexing="ij", sparse=True))
        density = np.exp(logs - logs.max())
        sides = [np.moveaxis(density, j, 0) for j in range(len(mode))]
        wide = np.array([[side[0].max() > _RIM, side[-1].max() > _RIM] for side in sides])
        if not wide.any():
            return low, high
        width = high - low
        low, high = low - 0.25 * width * wide[:, 0], high + 0.25 * width * wide[:, 1]
    raise ArithmeticError("the posterior has no end")


def random_table(
    rng: np.random.Generator, family: Oracle, theta: Sequence[float], answers: int, questions: int = 12
) -> dict[Query, list[int]]:
    """Answers of the member `theta` to a few random questions, of every mechanism in turn."""
    law = family.law(*theta)
    points = np.unique(np.asarray(law.ppf(np.linspace(0.02, 0.98, 40)), dtype=float))
    if float(law.cdf(points[-1])) - float(law.cdf(np.nextafter(points[-1], -np.inf))) > 0:  # whole numbers
        points = np.arange(points[0] - 2, max(points[-1], points[0] + 6) + 1) + 0.5
    kinds = list(MECHANISMS)
    queries: dict[Query, None] = {}
    while len(queries) < questions:
        epsilon = Fraction(str(rng.choice(["0.5", "1", "2", "5"])))
        queries[random_question(rng, kinds[len(queries) % len(kinds)], points, epsilon)] = None
    shares = rng.multinomial(answers, np.full(len(queries), 1 / len(queries)))
    table: dict[Query, list[int]] = {}
    for query, share in zip(queries, shares, strict=True):
        probabilities = answer_probabilities(query, law)
        table[query] = rng.multinomial(share, probabilities / probabilities.sum()).tolist()
    return table
