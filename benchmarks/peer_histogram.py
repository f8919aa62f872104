"""Dither's posterior against a histogram of the PyPI package `pure-ldp`: same people, ε and number of answers.

    python -m benchmarks.peer_histogram [SEEDS [RESPONDENTS]]

Each person answers once at ε = 1. The histogram has 32 bins of equal width over a range that is fixed beforehand, by
optimised unary encoding, the best of the package for so many bins, with its estimates projected on the probabilities;
values beyond the range go into the end bins. Its mean and sd are those of the bins' middles, its quantiles are
interpolated. Dither learns a normal distribution, told the same range, with its defaults, but for the mechanism; and
then without a family, told the same range. Errors are root mean squares over the seeds, in sd of the population; the
last column is the largest distance between estimated and true distribution function. Makes a virtual environment for
the peer in `benchmarks/.peer` on first use.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats
from threadpoolctl import threadpool_limits

from benchmarks.peers.environments import peer_python
from dither_estimator.learning.learners import new_learner
from dither_estimator.learning.population import DistributionPopulation, Population
from dither_estimator.specification.specification import Specification
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.in_process import simulate_in_process
from testing.tables import print_table

__all__ = ["main"]

HERE = Path(__file__).parent
BINS = 32
_UNDECLARED = ("scikit-learn", "statsmodels")
"""What the peer imports and does not ask for."""
PROBABILITIES = (0.1, 0.5, 0.9)
COLUMNS = ("people", "range", "from", "mean", "sd", "10%, 50% and 90% quantile", "distribution function")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Mixture:
    """A population: normal parts of equal size."""

    name: str
    means: tuple[float, ...]
    sd: float

    def cdf(self, x: Floats | float) -> Floats:
        return np.asarray(sum(stats.norm.cdf(x, mean, self.sd) for mean in self.means)) / len(self.means)

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        return rng.choice(self.means, size) + self.sd * rng.standard_normal(size)

    def truth(self) -> "Findings":
        mean = float(np.mean(self.means))
        sd = float(np.hypot(self.sd, np.std(self.means)))
        quantiles = [optimize.brentq(lambda x, p=p: float(self.cdf(x)) - p, -1e3, 1e3) for p in PROBABILITIES]
        return Findings(mean, sd, np.array(quantiles), self.cdf)


@dataclass(frozen=True)
class Findings:
    """What one collection says of the population."""

    mean: float
    sd: float
    quantiles: Floats
    cdf: Callable[[Floats], Floats]

    def errors(self, truth: "Findings") -> Floats:
        """Errors of mean, sd and quantiles in sds of the population, and the largest of the distribution function."""
        grid = np.linspace(truth.mean - 5 * truth.sd, truth.mean + 5 * truth.sd, 2001)
        apart = np.abs(self.cdf(grid) - truth.cdf(grid)).max()
        near = [self.mean - truth.mean, self.sd - truth.sd, *(self.quantiles - truth.quantiles)]
        return np.array([*(np.array(near) / truth.sd), apart])


PEOPLE = (
    Mixture("normal, N(50, 10²)", (50.0,), 10.0),
    Mixture("two groups, N(35, 5²) and N(65, 5²)", (35.0, 65.0), 5.0),
)
MECHANISMS = ("laplace", "randomized_response")
RANGES = ((0.0, 100.0), (-450.0, 550.0))


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the arguments are the number of seeds and of respondents."""
    seeds, respondents = [*map(int, arguments), *(10, 20_000)[len(arguments) :]]
    print_table(f"Beside a histogram: ε = 1, {respondents:,} people, {seeds} seeds", COLUMNS, _rows(seeds, respondents))


def _rows(seeds: int, respondents: int) -> Iterator[Sequence[object]]:
    for people, limits in product(PEOPLE, RANGES):
        rngs = [np.random.default_rng(seed) for seed in range(seeds)]
        values = [people.draw(rng, respondents) for rng in rngs]
        found = {
            "histogram": _histograms(values, limits),
            **{
                f"Dither, `{mechanism}`": _posteriors(values, limits, {"family": "normal", "mechanism": mechanism})
                for mechanism in MECHANISMS
            },
            "Dither, no family": _posteriors(values, limits, {}),
        }
        for name, all_findings in found.items():
            errors = np.array([findings.errors(people.truth()) for findings in all_findings])
            mean, sd, *quantiles, distance = np.sqrt((errors**2).mean(axis=0))
            shown = "; ".join(f"{error:.3f}" for error in quantiles)
            span = f"{limits[0]:g} to {limits[1]:g}"
            yield people.name, span, name, f"{mean:.3f}", f"{sd:.3f}", shown, f"{distance:.3f}"


def _histograms(values: Sequence[Floats], limits: tuple[float, float]) -> list[Findings]:
    """What the peer makes of each run."""
    edges = np.linspace(*limits, BINS + 1)
    bins = np.clip(np.digitize(np.array(values), edges) - 1, 0, BINS - 1)
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "bins.npz"
        np.savez(archive, bins=bins, count=BINS, epsilon=1.0)
        python = peer_python("pure-ldp", "pure-ldp==1.2.0", *_UNDECLARED)
        command = [str(python), str(HERE / "peers" / "peer_oue.py"), str(archive)]
        shares = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return [_histogram(np.array(run), edges) for run in shares]


def _histogram(shares: Floats, edges: Floats) -> Findings:
    middles = (edges[1:] + edges[:-1]) / 2
    mean = float(shares @ middles)
    sd = float(np.sqrt(shares @ (middles - mean) ** 2))
    below = np.concatenate([[0.0], np.cumsum(shares)])
    rising = np.concatenate([[True], shares > 0])
    quantiles = np.interp(PROBABILITIES, below[rising], edges[rising])
    return Findings(mean, sd, quantiles, lambda x: np.interp(x, edges, below))


def _posteriors(values: Sequence[Floats], limits: tuple[float, float], fields: Mapping[str, str]) -> list[Findings]:
    """What Dither makes of each run."""
    spec = Specification.from_json({"epsilon": 1, "range": list(limits), **fields})
    with threadpool_limits(1):
        return [_posterior(spec, run, seed) for seed, run in enumerate(values)]


def _posterior(spec: Specification, values: Floats, seed: int) -> Findings:
    noise, learning, coming = np.random.SeedSequence(seed).spawn(3)
    roles = draw_roles(np.random.default_rng(coming), Behaviours(), len(values))
    learner = new_learner(spec, learning)
    outcome = simulate_in_process(learner, values, roles, np.random.default_rng(noise))
    if spec.nonparametric:
        population = learner.posterior().population
        assert isinstance(population, DistributionPopulation)
        return _distribution(population)
    found = outcome.posterior.posterior
    member = stats.norm(found["mu"].mean, found["sigma"].mean)
    return Findings(member.mean(), member.std(), member.ppf(PROBABILITIES), member.cdf)


def _distribution(population: Population) -> Findings:
    """The posterior means of a distribution without a family; its sd is that of the mean distribution."""
    levels = (np.arange(2_000) + 0.5) / 2_000
    points = population.points(levels)
    quantiles = population.quantile(np.array(PROBABILITIES)).mean
    return Findings(points.mean(), points.std(), quantiles, lambda x: population.cdf(x).mean)


if __name__ == "__main__":
    main(sys.argv[1:])
