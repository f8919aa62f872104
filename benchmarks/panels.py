"""The same people in thirty waves: how sure the waves are, and a panel beside memoisation.

    python -m benchmarks.panels [SEEDS]

2,000 people, 30 waves, 2 or 10 answers each at ε = 1 in waves that are drawn by chance: about 133 or 667 answers a
wave. The population is normal with σ = 10, and mu walks with steps of the given sd, in units of σ. Each person's place
in the population is the same in all waves (constant), or drawn anew in each (changing), so that all answers are
independent.

First table: the share of waves whose 90% interval of mu holds mu, of sigma too, and mean squared errors in units of σ²,
from the posterior of all waves (`dither_estimator.drift`), which takes answers as independent.

Second table: the share of people above 50, which is mu in the first wave, with 2 answers each. Memoisation, as in
RAPPOR and the longitudinal protocols of multi-freq-ldpy, without their second round of noise: randomised response on
the two sides of 50, the answer for each side drawn once and repeated in every wave, so at most two draws, which their
authors count as 2 ε; everybody answers in all 30 waves. Its estimate of a wave is unbiased and uses that wave alone,
and it assumes no family, while Dither's does. `seen` is the share of the people whose answers changed, which proves
that they crossed 50.

Third table: the largest log ratio of the chances of a history of answers between somebody who stays and somebody who
crosses once, half way, exactly; with a second round of noise on each report, at ε = 0.5. Each has at most two draws at
ε = 1, so that a promise of 2 ε for life would be a ratio of at most 2.
"""

import sys
from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np
import numpy.typing as npt
from scipy.special import expit, gammaln, logsumexp
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from dither_client import Query
from dither_client.mechanisms.calendar_period import CalendarPeriod
from dither_client.mechanisms.panel import Panel
from dither_estimator.design.design import optimal_design
from dither_estimator.drift.tracking import track
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.specification.specification import Specification
from testing.tables import print_table

__all__ = ["main"]

_SEEDS = 16
_WAVES, _PEOPLE, _ANSWERS = 30, 2_000, 2
_MORE_ANSWERS = 10
_SIGMA, _CUT = 10.0, 50.0
_DRAWS = 300
_STEPS = (0.0, 0.05, 0.2)
_KINDS = ("changing", "constant")
_SPEC = Specification.from_json({"family": "normal", "epsilon": 1, "range": [0, 100]})
_DESIGN = optimal_design(_SPEC.family, np.array([_CUT, _SIGMA]), _SPEC.mechanism, _SPEC.epsilon, _SPEC.goal)
_Case = tuple[int, float, str]
_SECOND_ROUND = 0.5
"""ε of the fresh noise on a memoised answer."""


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else _SEEDS
    runs = {
        (answers, step, kind): np.array([_run(seed, answers, step, kind) for seed in range(seeds)])
        for answers, step, kind in product((_ANSWERS, _MORE_ANSWERS), _STEPS, _KINDS)
    }
    for title, columns, rows in (
        (
            f"{_PEOPLE:,} people, {_WAVES} waves, ε = 1: {seeds} seeds",
            ("answers", "sd of a step, σ", "people", "coverage of mu", "of sigma", "error of mu"),
            _covered(runs),
        ),
        (
            "The share above 50, root mean squared errors",
            ("sd of a step, σ", "people", "panel, error", "memoised, error", "seen"),
            _compared(runs),
        ),
        (
            "The largest log ratio of two histories",
            ("waves", "one round", "two rounds", "a panel"),
            _revealed(),
        ),
    ):
        print_table(title, columns, rows)


def _covered(runs: Mapping[_Case, FloatArray]) -> Iterator[tuple[str, ...]]:
    for (answers, step, kind), found in runs.items():
        mu, sigma = (f"{np.mean(each):.1%} ± {np.std(each) / len(found) ** 0.5:.1%}" for each in found[:, :2].T)
        yield (str(answers), f"{step:g}", kind, mu, sigma, f"{found[:, 2].mean():.4f}")


def _compared(runs: Mapping[_Case, FloatArray]) -> Iterator[tuple[str, ...]]:
    for (answers, step, kind), found in runs.items():
        if answers == _ANSWERS:
            ours, memoised = found[:, 3:5].mean(axis=0) ** 0.5
            yield (f"{step:g}", kind, f"{ours:.4f}", f"{memoised:.4f}", f"{found[:, 5].mean():.0%}")


def _run(seed: int, answers: int, step: float, kind: str) -> FloatArray:
    """Coverage of mu and of sigma, squared errors of mu and of the share, those of memoisation, and who is seen."""
    rng = np.random.default_rng([seed, answers, round(1_000 * step), _KINDS.index(kind)])
    mu = _CUT + _SIGMA * np.concatenate([[0.0], step * rng.standard_normal(_WAVES - 1)]).cumsum()
    places = rng.standard_normal((_PEOPLE, 1 if kind == "constant" else _WAVES))
    values = mu + _SIGMA * np.broadcast_to(places, (_PEOPLE, _WAVES))
    tables = [_asked(rng, values[here, wave]) for wave, here in enumerate(_turns(rng, answers))]
    found = track(rng, _SPEC.prior, tables, _DRAWS).coordinates
    low, high = np.quantile(found, [0.05, 0.95], axis=0)
    truth = np.column_stack([mu, np.full(_WAVES, np.log(_SIGMA))])
    covered = ((truth >= low) & (truth <= high)).mean(axis=0)
    error = np.mean((found[:, :, 0].mean(axis=0) - mu) ** 2) / _SIGMA**2
    above = norm.sf(_CUT, mu, _SIGMA)
    estimated = np.mean(norm.sf(_CUT, found[:, :, 0], np.exp(found[:, :, 1])), axis=0)
    repeated, seen = _memoised(rng, values > _CUT)
    return np.array([*covered, error, np.mean((estimated - above) ** 2), np.mean((repeated - above) ** 2), seen])


def _turns(rng: np.random.Generator, answers: int) -> list[npt.NDArray[np.intp]]:
    """Who answers in each wave."""
    panel = Panel(answers, _WAVES, CalendarPeriod("week"))
    turns = np.array([panel.draw(0, lambda below: int(rng.integers(below))) for _ in range(_PEOPLE)])
    return [np.flatnonzero((turns == wave).any(axis=1)) for wave in range(_WAVES)]


def _asked(rng: np.random.Generator, values: FloatArray) -> Counts:
    """The answers of people with these values, each to one question of the design."""
    table: dict[Query, npt.NDArray[np.int64]] = {}
    asked = rng.choice(len(_DESIGN.queries), len(values), p=_DESIGN.weights)
    for number, query in enumerate(_DESIGN.queries):
        cells = np.searchsorted(np.array(query.edges), values[asked == number])
        cumulative = np.cumsum(channel_of(query).matrix, axis=1)[cells, :-1]
        answers = (rng.random(len(cells))[:, None] > cumulative).sum(axis=1)
        table[query] = np.bincount(answers, minlength=query.n_answers)
    return table


def _memoised(rng: np.random.Generator, sides: npt.NDArray[np.bool_]) -> tuple[FloatArray, float]:
    """Memoisation's estimate of the share above in each wave, and the share of people whose answers changed."""
    true = expit(1.0)
    kept = rng.random((len(sides), 2)) < np.array([1 - true, true])  # each one's answers for below and above
    answers = np.where(sides, kept[:, 1:], kept[:, :1])
    return (answers.mean(axis=0) - (1 - true)) / (2 * true - 1), float((answers != answers[:, :1]).any(axis=1).mean())


def _revealed() -> Iterator[tuple[str, ...]]:
    for waves in (2, 6, 30, 100):
        yield (str(waves), "infinite", f"{_log_ratio(waves):.1f}", f"{_ANSWERS:.1f}")


def _log_ratio(waves: int) -> float:
    """The ratio for somebody who is above from half way on, and somebody who stays below; over all numbers of ones."""
    half = waves // 2
    first, then = np.arange(half + 1)[:, None], np.arange(waves - half + 1)[None, :]

    def chance(answers: tuple[int, int]) -> FloatArray:
        flipped = [expit(_SECOND_ROUND) if answer else expit(-_SECOND_ROUND) for answer in answers]
        sizes = (half, waves - half)
        logs = [
            gammaln(size + 1) - gammaln(k + 1) - gammaln(size - k + 1) + k * np.log(p) + (size - k) * np.log1p(-p)
            for p, size, k in zip(flipped, sizes, (first, then), strict=True)
        ]
        return np.asarray(logs[0] + logs[1])

    true = np.log(expit(np.array([-1.0, 1.0])))  # of answering "above" from below, and from above
    false = np.log(expit(np.array([1.0, -1.0])))
    stays = logsumexp([true[0] + chance((1, 1)), false[0] + chance((0, 0))], axis=0)
    crosses = logsumexp(
        [
            (true[0] if r0 else false[0]) + (true[1] if r1 else false[1]) + chance((r0, r1))
            for r0, r1 in product((0, 1), repeat=2)
        ],
        axis=0,
    )
    return float(np.abs(crosses - stays).max())


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
