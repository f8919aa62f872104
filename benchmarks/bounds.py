"""People who lie between two public bounds, with the prior that follows from these and with the wide one.

    python -m benchmarks.bounds [SEEDS]

Normal populations at ε = 1 (`laplace`), without a range. Errors are those of posterior medians of mu, in standard
deviations of the people; a question tells nothing if all its cuts lie beyond the bounds.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from dither_estimator.families import find_family
from dither_estimator.learning.learner import Learner
from dither_estimator.specification.specification import Specification
from dither_server.simulate.in_process import simulate_in_process
from testing.tables import print_table

__all__ = ["main"]

_SEEDS = 32
_CASES = ((0.0, 1.0, 0.4, 0.1), (0.0, 120.0, 40.0, 12.0), (0.0, 10_000.0, 3_000.0, 1_000.0), (0.0, 1e8, 3_000.0, 1e3))
"""The bounds, and the mean and standard deviation of the people."""
_SIZES = ((200, 1), (1_000, 1), (1_000, 64))
"""Respondents, and how many at once."""
_WIDE = find_family("normal").default_prior("identity")


def main(arguments: Sequence[str]) -> None:
    """Prints the table; the argument is that of the command."""
    seeds = int(arguments[0]) if arguments else _SEEDS
    both = ("RMS error", "median error", "interval holds", "answers that tell nothing")
    columns = ("bounds", "people", "respondents", "at once", *both)
    print_table(
        f"Between two bounds, {seeds} seeds: with the wide prior; with that of the bounds", columns, _rows(seeds)
    )


def _rows(seeds: int) -> Iterator[tuple[object, ...]]:
    for low, high, mean, sd in _CASES:
        for respondents, outstanding in _SIZES:
            found = []
            for prior in ({"prior": _WIDE}, {}):
                fields = {"family": "normal", "epsilon": 1, "minimum": low, "maximum": high, **prior}
                runs = Parallel(n_jobs=-1)(
                    delayed(_run)(fields, mean, sd, respondents, outstanding, seed) for seed in range(seeds)
                )
                errors, holds, wasted = np.array(runs).T
                rms, middle = np.sqrt(np.mean(errors**2)), np.median(np.abs(errors))
                found.append((f"{rms:.3g}", f"{middle:.2g}", f"{holds.mean():.0%}", f"{wasted.mean():.1%}"))
            figures = ("; ".join(pair) for pair in zip(*found, strict=True))
            yield f"{low:g} to {high:g}", f"N({mean:g}, {sd:g}²)", f"{respondents:,}", outstanding, *figures


def _run(
    fields: dict[str, Any], mean: float, sd: float, respondents: int, outstanding: int, seed: int
) -> tuple[float, float, float]:
    low, high = fields["minimum"], fields["maximum"]
    rng = np.random.default_rng(seed)
    learner = Learner(Specification.from_json(fields), seed, outstanding=outstanding)
    values = rng.normal(mean, sd, respondents).clip(low, high)
    simulate_in_process(learner, values, None, rng, outstanding=outstanding)
    mu = learner.posterior().parameters["mu"]
    wasted = sum(row.sum() for asked, row in learner.counts.items() if asked.edges[-1] <= low or asked.edges[0] >= high)
    return (mu.q50 - mean) / sd, float(mu.q05 <= mean <= mu.q95), wasted / respondents


if __name__ == "__main__":
    main(sys.argv[1:])
