"""An independent posterior: two-dimensional quadrature of the textbook formula, sharing no code with the estimator."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

from dither_client import Laplace, Query, RandomizedResponse, Staircase

__all__ = ["Quadrature", "answer_probability", "quadrature", "random_table"]

Array = npt.NDArray[np.float64]


def answer_probability(query: Query, answer: int, mu: Array, sigma: Array) -> Array:
    """`P(answer | μ, σ)`: cell by cell, with the channel written out from its definition."""
    epsilon = float(query.epsilon)
    if isinstance(query, Laplace):
        rung = (query.high - query.low) / query.levels
        edges = [query.low + (k - 0.5) * rung for k in range(1, query.levels + 1)]
    else:
        assert isinstance(query, RandomizedResponse | Staircase)
        edges = list(query.cuts)
    bounds = [-math.inf, *edges, math.inf]
    total = np.zeros(np.broadcast(mu, sigma).shape)
    for cell in range(len(bounds) - 1):
        share = stats.norm.cdf(bounds[cell + 1], mu, sigma) - stats.norm.cdf(bounds[cell], mu, sigma)
        total += share * _channel_entry(query, cell, answer, epsilon)
    return total


def _channel_entry(query: Query, cell: int, answer: int, epsilon: float) -> float:
    if isinstance(query, RandomizedResponse):
        cells = len(query.cuts) + 1
        return (math.exp(epsilon) if cell == answer else 1.0) / (math.exp(epsilon) + cells - 1)
    if isinstance(query, Staircase):
        entries = [
            v * (math.exp(epsilon) if cell in some else 1.0) for some, v in zip(query.sets, query.weights, strict=True)
        ]
        return entries[answer] / math.fsum(entries)
    assert isinstance(query, Laplace)
    alpha = math.exp(-epsilon / query.levels)
    # Sum the noise over everything that clips to the answer.
    span = query.levels + math.ceil(45 * query.levels / epsilon)
    noise = np.arange(-span, span + 1)
    mass = (1 - alpha) / (1 + alpha) * alpha ** np.abs(noise)
    return float(mass[np.clip(cell + noise, 0, query.levels) == answer].sum())


@dataclass(frozen=True)
class Quadrature:
    """Moments of (μ, σ) under the exact posterior, and the log evidence."""

    mean: tuple[float, float]
    sd: tuple[float, float]
    log_evidence: float


def quadrature(prior: tuple[Any, Any], table: Mapping[Query, Sequence[int]], start: tuple[float, float]) -> Quadrature:
    """Integrates over (μ, log σ) in a box about the mode that grows until its rim holds nothing.

    `prior` are scipy laws of μ and of σ; the search for the mode starts at `start`, a (μ, σ).
    """

    def negative(point: Array) -> float:
        return -float(_log_posterior(prior, table, np.array(point[0]), np.exp(np.array(point[1]))) + point[1])

    mode = optimize.minimize(negative, [start[0], math.log(start[1])], method="Nelder-Mead", options={"xatol": 1e-6}).x
    reach = np.array([1e-2 * math.exp(mode[1]), 1e-2])
    while max(rims := _grid(prior, table, mode, reach, 41)[-1]) > 1e-10:
        reach = reach * np.where(np.array(rims) < 1e-10, 1.0, 1.5)
    mu, log_sigma, weights, peak, _ = _grid(prior, table, mode, reach, 200)
    sigma = np.exp(log_sigma)
    total = weights.sum()
    means, sds = [], []
    for values in (mu, sigma):
        mean = float((weights * values).sum() / total)
        means.append(mean)
        sds.append(math.sqrt(float((weights * (values - mean) ** 2).sum() / total)))
    cell = float((mu[1, 0] - mu[0, 0]) * (log_sigma[0, 1] - log_sigma[0, 0]))
    return Quadrature((means[0], means[1]), (sds[0], sds[1]), peak + math.log(float(total) * cell))


def _grid(
    prior: tuple[Any, Any], table: Mapping[Query, Sequence[int]], mode: Array, reach: Array, size: int
) -> tuple[Array, Array, Array, float, tuple[float, float]]:
    """Coordinates, densities over the highest, its log, and the largest density on the rims in μ and in log σ."""
    mu = np.linspace(mode[0] - reach[0], mode[0] + reach[0], size)[:, None]
    log_sigma = np.linspace(mode[1] - reach[1], mode[1] + reach[1], size)[None, :]
    log_density = _log_posterior(prior, table, mu, np.exp(log_sigma)) + log_sigma
    peak = float(log_density.max())
    weights = np.exp(log_density - peak)
    rims = max(weights[0].max(), weights[-1].max()), max(weights[:, 0].max(), weights[:, -1].max())
    return mu, log_sigma, weights, peak, (float(rims[0]), float(rims[1]))


def _log_posterior(prior: tuple[Any, Any], table: Mapping[Query, Sequence[int]], mu: Array, sigma: Array) -> Array:
    total: Array = prior[0].logpdf(mu) + prior[1].logpdf(sigma)
    for query, counts in table.items():
        for answer, count in enumerate(counts):
            if count:
                total = total + count * np.log(answer_probability(query, answer, mu, sigma))
    return total


def random_table(rng: np.random.Generator, answers: int) -> tuple[tuple[float, float], dict[Query, list[int]]]:
    """A truth, and answers to a few questions of both mechanisms asked near it."""
    mu, sigma = rng.normal(0, 20), math.exp(rng.normal(1, 0.7))
    queries: dict[Query, None] = {}
    while len(queries) < 12:
        epsilon = str(rng.choice(["0.5", "1", "2", "5"]))
        centre = mu + sigma * rng.normal()
        width = sigma * rng.uniform(0.5, 4)
        if rng.random() < 0.5:
            queries[Laplace(centre - width / 2, centre + width / 2, int(rng.integers(1, 7)), epsilon)] = None
        else:
            queries[RandomizedResponse(sorted(centre + width * rng.uniform(-1, 1, rng.integers(1, 6))), epsilon)] = None
    shares = rng.multinomial(answers, np.full(len(queries), 1 / len(queries)))
    table: dict[Query, list[int]] = {}
    for query, share in zip(queries, shares, strict=True):
        law = [float(answer_probability(query, s, np.array(mu), np.array(sigma))) for s in range(query.n_answers)]
        table[query] = rng.multinomial(share, np.array(law) / sum(law)).tolist()
    return (mu, sigma), table
