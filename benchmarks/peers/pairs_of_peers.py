"""Two numbers of each person by the PyPI package `multi-freq-ldpy`, for the people of `benchmarks.several_numbers`.

Two of its ways to report cells of both numbers, by randomised response over `CELLS` cells of equal width in the range
that is known beforehand:
- splitting (SPL): each number's cell at ε/2;
- RS+FD (Arcolezi et al. 2021, *Random sampling plus fake data*, CIKM): the cell of one number, drawn at random, at the
  amplified ε `log(2 (e^ε - 1) + 1)`, and a made-up cell of the other. Its ε bounds what a report says if one number
  changes; where both do, it is the amplified one. Reports tell nothing of the correlation.

The package ends with histograms. What is compared here is the maximum of the likelihood of its reports if both numbers
are normal, which is more than it gives: of each number's reports, and of the table of both given these.
"""

import json
import math
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from benchmarks.pairs import randomized_response, split_epsilon_channel
from benchmarks.peers.environments import peer_python
from dither_client import RandomizedResponse
from dither_estimator.dependence.normals import EqualNormals
from dither_estimator.dependence.questions import PairCells
from dither_estimator.families import FloatArray

__all__ = ["CELLS", "Estimate", "estimates_of_peers"]

CELLS = (4, 8, 12)
"""Into how many cells the range is divided; the best one is chosen with the truth in hand, for the peer's good."""
_LARGEST = 0.99

Estimate = tuple[float, float, float, float, float]
"""Both means, both standard deviations, and the correlation, which is NaN where reports tell nothing of it."""


def estimates_of_peers(
    people: Sequence[FloatArray], limits: tuple[float, float], cells: int, epsilon: int
) -> dict[str, list[Estimate]]:
    """What each way finds in each population, whose values have the shape (n, 2)."""
    edges = np.linspace(*limits, cells + 1)[1:-1]
    tables = _reported(np.searchsorted(edges, np.array(people)).astype(np.int64), cells, epsilon)
    own = {
        "splitting": randomized_response(cells, math.exp(epsilon / 2)),
        "RS+FD": (randomized_response(cells, 2 * math.expm1(epsilon) + 1) + 1 / cells) / 2,
    }
    found: dict[str, list[Estimate]] = {}
    for name, runs in tables.items():
        splitting = name == "splitting"
        margins = [[_margin(table.sum(axis=1 - axis), own[name], edges, limits) for axis in (0, 1)] for table in runs]
        found[name] = [
            (mu, other_mu, sigma, other_sigma, _correlation(table, each, edges, epsilon) if splitting else math.nan)
            for table, each in zip(runs, margins, strict=True)
            for (mu, sigma), (other_mu, other_sigma) in [each]
        ]
    return found


def _reported(cells: NDArray[np.int64], count: int, epsilon: int) -> dict[str, list[FloatArray]]:
    """How often each pair of cells was reported in each run, by the package itself."""
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "cells.npz"
        np.savez(archive, cells=cells, count=count, epsilon=float(epsilon))
        python = peer_python("multi-freq-ldpy", "multi-freq-ldpy==0.2.5")
        command = [str(python), str(Path(__file__).parent / "peer_rsfd.py"), str(archive)]
        tables = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return {name: [np.array(table) for table in runs] for name, runs in tables.items()}


def _margin(
    counts: FloatArray, channel: FloatArray, edges: FloatArray, limits: tuple[float, float]
) -> tuple[float, float]:
    """The mean and the standard deviation of a normal number under which its reports are most likely."""
    width = limits[1] - limits[0]

    def surprise(theta: FloatArray) -> float:
        below = np.concatenate([[0.0], stats.norm.cdf(edges, theta[0], np.exp(theta[1])), [1.0]])
        return -float(counts @ np.log(np.diff(below) @ channel))

    bounds = [limits, (math.log(width / 100), math.log(width))]
    start = [sum(limits) / 2, math.log(width / 6)]
    best = optimize.minimize(surprise, start, method="L-BFGS-B", bounds=bounds)
    return float(best.x[0]), float(np.exp(best.x[1]))


def _correlation(table: FloatArray, margins: Sequence[tuple[float, float]], edges: FloatArray, epsilon: int) -> float:
    """The correlation under which the pairs of reports are most likely, given both margins."""
    first, second = (((edges - mu) / sigma).tolist() for mu, sigma in margins)
    cells = PairCells.at((0, 1), (first, second), RandomizedResponse(range(table.size - 1), "1"))
    channel = split_epsilon_channel(len(edges) + 1, epsilon)

    def surprise(rho: float) -> float:
        chances, _ = EqualNormals(2, rho).states(cells)
        return -float(table.ravel() @ np.log(np.maximum(chances @ channel, 1e-300)))

    return float(optimize.minimize_scalar(surprise, bounds=(-_LARGEST, _LARGEST), method="bounded").x)
