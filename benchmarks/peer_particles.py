"""Dither's learner against IBIS of the PyPI package `particles` 0.4: same model, prior, questions, answers and N.

    python -m benchmarks.peer_particles [RUNS [ANSWERS ...]]

Each run has a population, questions and answers of its own, and a posterior that quadrature knows. The effective sample
size is what the errors against that say, over all runs: how many independent draws from the posterior would err by as
much. It is found for the posterior means, and for the shares of the posterior below its medians; the lesser ratio
counts.

The peer gets the answers twice: one by one, as its users write a model, and with a likelihood from counts, which is
Dither's own idea written for the peer. It moves twice: as a standard SMC sampler, and waste-free. It has a virtual
environment, since it needs NumPy below 2, in `benchmarks/.peer`, made on first use. One core each, one after the other,
BLAS threads off; processor time, the least of all runs, without what either does once in a process: Dither's design,
the peer's compiling. Dither's time has the choice of every question in it; the peer's has not.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.peers.environments import peer_python
from dither_client import Query
from dither_estimator.families import FloatArray
from dither_estimator.learning.learner import Learner
from dither_estimator.likelihood.table import CountLikelihood
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.specification.specification import Specification
from testing.tables import print_table

__all__ = ["main"]

HERE = Path(__file__).parent
SPEC = Specification.from_json(
    {
        "family": "normal",
        "epsilon": 1,
        "prior": {
            "mu": {"dist": "norm", "loc": 0, "scale": 100},
            "sigma": {"dist": "invgamma", "a": 1, "scale": 1, "of": "variance"},
        },
    }
)
_AIMS = {1_000: 8, 10_000: 15, 100_000: 40}
"""At equal effective sample size."""
_SINGLY = 50_000
"""A peer is given so many single answers in all, and three runs at least: they take long, and their errors are those of
the runs from counts."""
_POINTS = 241
_REACH = 12
"""Posterior standard deviations to either side that quadrature covers."""


@dataclass(frozen=True)
class _Exact:
    """A posterior by quadrature: its means, and its shares below a point near each median, (2 d,)."""

    medians: FloatArray
    figures: FloatArray
    sds: FloatArray
    """The posterior sds of the quantities whose means `figures` are."""

    @classmethod
    def about(cls, learner: Learner) -> "_Exact":
        """The posterior of what a learner has learnt."""
        theta, weights = learner.particles()
        coordinates = SPEC.family.unconstrain(theta)
        mean = weights @ coordinates
        sd = np.sqrt(weights @ (coordinates - mean) ** 2)
        axes = mean[:, None] + sd[:, None] * np.linspace(-_REACH, _REACH, _POINTS)
        points = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, len(axes))
        members = SPEC.family.constrain(points)
        log_density = SPEC.prior.log_density(points)
        log_density += CountLikelihood.of(SPEC.family, learner.counts).log_likelihood(members)
        density = np.exp(log_density - log_density.max())
        density /= density.sum()
        # Between two points of the grid, so that the sum of those below is their share.
        halves = (axes[:, _POINTS // 2] + axes[:, _POINTS // 2 + 1])[None] / 2
        medians = SPEC.family.constrain(halves)[0]
        figures = _figures(members, density, medians)
        sds = np.sqrt(_figures((members - figures[:2]) ** 2, density, medians)[:2])
        shares = figures[2:]
        return cls(medians, figures, np.concatenate([sds, np.sqrt(shares * (1 - shares))]))

    def errors(self, figures: FloatArray) -> FloatArray:
        """The errors of one implementation's figures, in standard deviations."""
        errors: FloatArray = (figures - self.figures) / self.sds
        return errors


def _figures(theta: FloatArray, weights: FloatArray, medians: FloatArray) -> FloatArray:
    return np.concatenate([weights @ theta, weights @ (theta < medians)])


@dataclass(frozen=True)
class _Run:
    """One run of Dither, and what its peers are given and judged by."""

    asked: Sequence[Query]
    answers: Sequence[int]
    seconds: float
    exact: _Exact
    errors: FloatArray


def ours(n: int, seed: int) -> _Run:
    """Asks and learns n answers one by one, twice: to find the answers, and for the time of asking and learning."""
    rng = np.random.default_rng(seed)
    values, uniforms = rng.normal(50, 10**0.5, n).tolist(), rng.random(n).tolist()
    learner = Learner(SPEC, seed)
    asked, answers = [], []
    for value, uniform in zip(values, uniforms, strict=True):
        query = learner.ask()
        answer = int(uniform < channel_of(query).matrix[query.cell(value), 1])
        learner.learn(query, answer)
        asked.append(query)
        answers.append(answer)
    learner = Learner(SPEC, seed)
    began = time.process_time()
    for answer in answers:
        learner.learn(learner.ask(), answer)
    posterior = learner.posterior()
    seconds = time.process_time() - began
    assert posterior.queries == len(set(asked))
    exact = _Exact.about(learner)
    return _Run(asked, answers, seconds, exact, exact.errors(_figures(*learner.particles(), exact.medians)))


def main(runs: int = 30, sizes: Sequence[int] = (1_000, 10_000, 100_000)) -> None:
    """Prints the table."""
    ours(200, 0)  # the first call of anything is slow, and neither side's time is to have it
    columns = ["answers", "program", "moves", "is given", "seconds", "ESS of means", "of shares"]
    columns += ["times Dither's", "at equal ESS", "aim"]
    print_table(f"One by one, against IBIS of the package particles, {runs} runs", columns, _rows(runs, sizes))


def _rows(runs: int, sizes: Sequence[int]) -> Iterator[list[str]]:
    for n in sizes:
        with threadpool_limits(1):
            own = [ours(n, seed) for seed in range(runs)]
        seconds, ess = min(run.seconds for run in own), _ess([run.errors for run in own])
        yield [f"{n:,}", "Dither", "", "", f"{seconds:.3f}", *(f"{size:,.0f}" for size in ess), "", "", ""]
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder) / "answers.npz"
            np.savez(
                archive,
                cuts=[[query.edges[0] for query in run.asked] for run in own],
                answers=[run.answers for run in own],
                medians=[run.exact.medians for run in own],
            )
            for moves in ("standard", "waste-free"):
                its_seconds, figures = _theirs(archive, "counts", moves, runs)
                its_ess = _ess([run.exact.errors(found) for run, found in zip(own, figures, strict=True)])
                for given in ("counts", "answers"):
                    if given == "answers":
                        its_seconds, same = _theirs(archive, given, moves, min(runs, max(3, _SINGLY // n)))
                        assert np.allclose(same, figures[: len(same)], rtol=1e-3)
                    ratio = its_seconds / seconds
                    yield [
                        *(f"{n:,}", "particles 0.4", moves, given, f"{its_seconds:.3f}"),
                        *(f"{size:,.0f}" for size in its_ess),
                        f"{ratio:.1f}",
                        f"{ratio * (ess / its_ess).min():.0f}",
                        str(_AIMS.get(n, "")),
                    ]


def _ess(errors: Sequence[FloatArray]) -> FloatArray:
    """The effective sample sizes that errors in standard deviations show: of the means, and of the shares, (2,)."""
    by_kind = np.square(errors).reshape(len(errors), 2, -1)
    return np.asarray(1 / by_kind.mean(axis=(0, 2)))


def _theirs(archive: Path, given: str, moves: str, runs: int) -> tuple[float, FloatArray]:
    """The least time, and the figures of each run, (runs, 2 d)."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    python = peer_python("particles", "numpy<2", "particles==0.4")
    command = [str(python), str(HERE / "peers" / "peer_ibis.py"), str(archive), given, moves, str(runs)]
    printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    results = [json.loads(line) for line in printed.splitlines()]
    return min(result["seconds"] for result in results), np.array([r["figures"] for r in results])


if __name__ == "__main__":
    runs, *sizes = map(int, sys.argv[1:] or ["30"])
    main(runs, sizes or (1_000, 10_000, 100_000))
