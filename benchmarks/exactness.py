"""Are draws without a family from the posterior? Beside Markov chains of the model itself, without approximations.

    python -m benchmarks.exactness [SEEDS [RESPONDENTS,… [EPSILON,…]]]

The estimator takes log masses to second order in the base's coefficients, and the log-likelihood to second order in the
masses. Here Markov chains go on for long, and each move that they would make is made only if it is accepted once more,
by the ratio of the exact density, with the base moved and each answer counted, to the approximate one (delayed
acceptance: Christen & Fox 2005). So they leave the exact posterior invariant, whatever the approximations.

The columns have F at levels of its posterior mean: by how many posterior sds the mean of the estimator's draws is off,
and their sd over that of the exact draws, on average over collections. Families have no part in either.
"""

import sys
from collections.abc import Iterator, Sequence

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.any_distribution import FIRST_SEED, collection, populations
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.nonparametric.approximation import Approximation, approximate_around
from dither_estimator.nonparametric.base import FittedBase
from dither_estimator.nonparametric.deviations import BINS, Deviations, Nodes
from dither_estimator.nonparametric.fitting import fit_base
from dither_estimator.nonparametric.likelihood import Expansion, MassLikelihood
from dither_estimator.nonparametric.posterior import estimate_around
from dither_estimator.nonparametric.sampler import Chains
from dither_estimator.nonparametric.support import Support
from testing.tables import print_table

__all__ = ["compared", "main"]

_SEEDS = 4
_RESPONDENTS = (2_000, 20_000)
_EPSILONS = ("1", "2")
_DRAWS, _RUNS = 1_000, 2
_SWEEPS = 30
_LEVELS = (0.02, 0.1, 0.5, 0.9, 0.98)
_LEAST = 1e-300


class _ExactChains(Chains):
    """Chains of the exact posterior."""

    def __init__(
        self,
        rng: np.random.Generator,
        likelihood: MassLikelihood,
        base: FittedBase,
        approximated: tuple[Deviations, Approximation, Expansion],
    ) -> None:
        deviations, normal, expansion = approximated
        super().__init__(rng, deviations, normal, expansion)
        self._likelihood = likelihood
        self._base = base
        self._edges = base.quantile(np.arange(1, BINS) / BINS)

    def masses(self) -> FloatArray:
        return self._exact(self._own)

    def _exact(self, own: FloatArray) -> FloatArray:
        """The masses (n, masses) of coefficients (n, size) in their own units, without expansion."""
        deviations, around_fit = self._deviations, own.copy()
        of_base = slice(deviations.atoms, deviations.atoms + len(self._base.sds))
        around_fit[:, of_base] = deviations.fitted[of_base]
        beside = deviations.masses(around_fit)
        steps = own[:, of_base] - deviations.fitted[of_base]
        below = np.array([self._base.moved(step).cdf(self._edges) for step in steps])
        bins = np.diff(below, prepend=0.0, append=1.0, axis=1) * beside[:, :BINS]
        all_else = beside[:, :BINS].sum(axis=1, keepdims=True)
        bins *= all_else / np.maximum(bins.sum(axis=1, keepdims=True), _LEAST)
        return np.concatenate([bins, beside[:, BINS:]], axis=1)

    def _excess(self, own: FloatArray, height: FloatArray) -> FloatArray:
        """How much greater the exact log-likelihood is."""
        return self._likelihood(self._exact(own)) - height

    def _accept(self, gain: FloatArray, nodes: Nodes, x: FloatArray, height: FloatArray, slope: FloatArray) -> None:
        promising = np.log(self._rng.random(len(gain))) < gain
        proposed, now = (x * self._scales(nodes))[promising], self._own[promising]
        more = np.full(len(gain), -np.inf)
        more[promising] = self._excess(proposed, height[promising]) - self._excess(now, self._height[promising])
        super()._accept(more, nodes, x, height, slope)


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the arguments are those of the command."""
    seeds = int(arguments[0]) if arguments else _SEEDS
    respondents = [int(text) for text in arguments[1].split(",")] if len(arguments) > 1 else _RESPONDENTS
    epsilons = arguments[2].split(",") if len(arguments) > 2 else _EPSILONS
    columns = (
        *("population", "respondents", "ε"),
        *(f"{what} at {level:.0%}" for what in ("mean", "sd") for level in _LEVELS),
    )
    print_table(f"Draws beside exact ones: {seeds} seeds", columns, _rows(seeds, respondents, epsilons))


def _rows(seeds: int, respondents: Sequence[int], epsilons: Sequence[str]) -> Iterator[tuple[object, ...]]:
    for name in populations():
        for size in respondents:
            for epsilon in epsilons:
                each = range(FIRST_SEED, FIRST_SEED + seeds)
                runs = Parallel(n_jobs=-1)(delayed(_run)(name, size, epsilon, seed) for seed in each)
                means, sds = np.mean(runs, axis=0)
                yield name, f"{size:,}", epsilon, *(f"{mean:+.2f}" for mean in means), *(f"{sd:.2f}" for sd in sds)


def _run(name: str, size: int, epsilon: str, seed: int) -> FloatArray:
    """How far means are off, and the ratios of sds, shape (2, levels)."""
    population = populations()[name]
    with threadpool_limits(1):
        learner, _ = collection(population, size, epsilon, seed)
        return compared(learner.counts, population.support)


def compared(counts: Counts, support: Support, draws: int = _DRAWS, runs: int = _RUNS) -> FloatArray:
    """How far means of F are off, in sds of exact draws, and ratios of sds; shape (2, levels)."""
    base = fit_base(counts, support)
    likelihood = MassLikelihood.of(counts, base, BINS, support)
    approximated = approximate_around(likelihood, base, support)
    told, exact = [], []
    for run in range(runs):
        told.append(estimate_around(np.random.default_rng(run), counts, base, support, draws).masses)
        chains = _ExactChains(np.random.default_rng(runs + run), likelihood, base, approximated)
        chains.begin(draws)
        for _ in range(_SWEEPS):
            chains.move_coefficients()
            chains.draw_nodes()
            chains.move_nodes()
        exact.append(chains.masses())
    of_told, of_exact = (np.cumsum(np.concatenate(masses)[:, :BINS], axis=1) for masses in (told, exact))
    places = [int(np.abs(of_exact.mean(axis=0) - level).argmin()) for level in _LEVELS]
    of_told, of_exact = of_told[:, places], of_exact[:, places]
    sds = of_exact.std(axis=0)
    return np.array([(of_told.mean(axis=0) - of_exact.mean(axis=0)) / sds, of_told.std(axis=0) / sds])


if __name__ == "__main__":
    main(sys.argv[1:])
