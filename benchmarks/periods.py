"""What is known of each calendar period beside an oracle, and how soon a shift is found.

    python -m benchmarks.periods [SEEDS]

A normal population, σ = 10 at first, ε = 1. In the first table mu and log σ walk with steps of the same standard
deviation, in units of σ for mu, and people are asked what was best in the period before; the oracle is told that
standard deviation. Errors are mean squared errors of the posterior means of (mu / σ, log σ), summed, over all periods.
In the second table nothing changes, and the test of drift looks at the answers of each of 52 weeks (goal `all`).
In the third 2,000 people answer in each of 52 weeks, mu shifts by 0.2 σ before one of the weeks 9 to 49, and the
test of drift looks at the end of each. Scores of so many answers are normal, and are drawn as such; false alarms are
those of years without a shift. `evidence alone` is the Bayes factor of drift by itself, at 8, below which 5% of years
without change remain. `told` is a test that knows all but the date and the sign of the shift, also with 5% of false
alarms: the parameters before it, its size, and that σ stays (cumulative sums of log likelihood ratios; Moustakides
1986).
"""

import sys
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from dither_client import Query
from dither_estimator.design.design import optimal_design
from dither_estimator.drift.constancy import THRESHOLD, change_threshold, changes_of, constant_sites, evidence_of
from dither_estimator.drift.tracking import PeriodLikelihood, track
from dither_estimator.families import FloatArray
from dither_estimator.hierarchy.collapsed import Sites
from dither_estimator.hierarchy.pooled_fit import Units
from dither_estimator.likelihood.counts import Counts
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.specification.specification import Specification
from testing.tables import print_table

__all__ = ["answers", "main"]

_SEEDS = 8
_PERIODS = 26
_SIGMA = 10.0
_MEMBER = np.array([50.0, _SIGMA])
_SPEC = Specification.from_json({"family": "normal", "epsilon": 1, "range": [0, 100]})
_UNITS = Units(np.array([50.0, np.log(_SIGMA)]), np.array([_SIGMA, 1.0]))
_WEEKS, _PEOPLE, _SHIFT = 52, 2_000, 0.2
_YEARS_A_SEED = 250
_YEARS_OF_ANSWERS = 40
"""Years of answers, rather than of normal scores, for each seed."""


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else _SEEDS
    columns = ("people", "sd of a step, σ", "error", "oracle", "error / oracle", "coverage of mu", "of sigma")
    print_table(f"{_PERIODS} periods, ε = 1: {seeds} seeds", columns, _followed(seeds))
    alarms = ("people a week", "false alarms", "of the evidence")
    print_table(f"Nothing changes: {_YEARS_OF_ANSWERS * seeds:,} years each", alarms, _unchanged(seeds))
    tests = (
        "goal",
        "sd of a week, σ",
        "false alarms",
        "found in two weeks",
        "evidence alone",
        "told",
        "in four",
        "evidence alone",
        "told",
    )
    print_table(f"A shift of {_SHIFT} σ: {_YEARS_A_SEED * seeds:,} years each", tests, _shifts(seeds))


def _followed(seeds: int) -> Iterator[tuple[str, ...]]:
    for people in (200, 1_000, 2_000):
        for step in (0.02, 0.05, 0.1, 0.2):
            errors, oracle, *covered = np.mean([_follow(seed, people, step) for seed in range(seeds)], axis=0)
            cells = (f"{errors:.4f}", f"{oracle:.4f}", f"{errors / oracle:.2f}")
            yield (f"{people:,}", f"{step:g}", *cells, *(f"{share:.0%}" for share in covered))


def _follow(seed: int, people: int, step: float) -> FloatArray:
    """The error, the oracle's, and the shares of mu and of log σ within their 90% intervals."""
    rng = np.random.default_rng([seed, people, round(1_000 * step)])
    walk = step * rng.standard_normal((_PERIODS, 2))
    walk[0] = 0
    truth = _UNITS.centre + _UNITS.unit * walk.cumsum(axis=0)
    members = np.column_stack([truth[:, 0], np.exp(truth[:, 1])])
    tables = [answers(rng, members[max(week - 1, 0)], member, people) for week, member in enumerate(members)]
    found = track(rng, _SPEC.prior, tables, 500).coordinates
    told = track(rng, _SPEC.prior, tables, 500, units=_UNITS, log_scales=np.full(2, np.log(step))).coordinates
    errors = [float((((each.mean(axis=0) - truth) / _UNITS.unit) ** 2).sum(axis=1).mean()) for each in (found, told)]
    low, high = np.quantile(found, [0.05, 0.95], axis=0)
    return np.array([*errors, *((truth >= low) & (truth <= high)).mean(axis=0)])


def answers(rng: np.random.Generator, before: FloatArray, now: FloatArray, people: int) -> Counts:
    """Answers of people who are `now` as this (mu, σ), and are asked what was best `before`."""
    design = optimal_design(_SPEC.family, before, _SPEC.mechanism, _SPEC.epsilon, _SPEC.goal)
    table: dict[Query, npt.NDArray[np.int64]] = {}
    for query, size in zip(design.queries, rng.multinomial(people, design.weights), strict=True):
        cells = np.searchsorted(np.array(query.edges), rng.normal(now[0], now[1], size))
        cumulative = np.cumsum(channel_of(query).matrix, axis=1)[cells, :-1]
        table[query] = np.bincount((rng.random(size)[:, None] > cumulative).sum(axis=1), minlength=query.n_answers)
    return table


def _unchanged(seeds: int) -> Iterator[tuple[str, ...]]:
    for least, most in ((200, 200), (500, 500), (2_000, 2_000), (200, 2_000)):
        rng, alarms = np.random.default_rng([seeds, least, most]), []
        for _ in range(_YEARS_OF_ANSWERS * seeds):
            people = rng.integers(least, most + 1, _WEEKS)
            tables = [answers(rng, _MEMBER, _MEMBER, each) for each in people.tolist()]
            sites = constant_sites(PeriodLikelihood.of(_SPEC.prior, tables, _UNITS))
            evidence = bool(evidence_of(sites).max() >= np.log(THRESHOLD))
            alarms.append((evidence or bool(changes_of(sites).max() >= change_threshold(2)), evidence))
        both, alone = np.mean(alarms, axis=0)
        yield (f"{least:,}" if least == most else f"{least:,} to {most:,}", f"{both:.1%}", f"{alone:.1%}")


def _shifts(seeds: int) -> Iterator[tuple[str, ...]]:
    years = _YEARS_A_SEED * seeds
    for goal in ("all", "mu"):
        spec = Specification.from_json({"family": "normal", "epsilon": 1, "range": [0, 100], "goal": goal})
        design = optimal_design(spec.family, _MEMBER, spec.mechanism, spec.epsilon, spec.goal)
        information = _PEOPLE * _SIGMA**2 * design.information
        if goal == "mu":
            information = information[:1, :1]  # a single cut at the middle tells nothing of the spread
        rng = np.random.default_rng(seeds)
        unchanged, shifted = _scores(rng, information, years), _scores(rng, information, years)
        weeks = rng.integers(8, 49, years)
        for score, week in zip(shifted, weeks, strict=True):
            score[:, week:] += _SHIFT * information[:, :1]
        either, _ = _alarms(unchanged, information)
        found, alone = _alarms(shifted, information)
        told = _known_shift(shifted, information) >= np.quantile(_known_shift(unchanged, information).max(axis=1), 0.95)
        shares = [
            np.mean([alarm[week : week + after].any() for alarm, week in zip(test, weeks, strict=True)])
            for after in (2, 4)
            for test in (found, alone, told)
        ]
        sd = information[0, 0] ** -0.5
        yield (goal, f"{sd:.3f}", f"{either.any(axis=1).mean():.1%}", *(f"{share:.0%}" for share in shares))


def _scores(rng: np.random.Generator, information: FloatArray, years: int) -> FloatArray:
    """Scores of weeks without change, shape (years, d, weeks)."""
    noise = rng.standard_normal((years, len(information), _WEEKS))
    return np.einsum("ij,yjt->yit", np.linalg.cholesky(information), noise)


def _alarms(scores: FloatArray, information: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Whether each week is an alarm, of the test and of the evidence alone at 8, shape (years, weeks)."""
    precision = np.repeat(information[:, :, None], _WEEKS, axis=2)
    sites = [Sites(precision, score) for score in scores]
    evidence = np.array([evidence_of(each) for each in sites])
    changes = np.array([changes_of(each) for each in sites])
    return (evidence >= np.log(THRESHOLD)) | (changes >= change_threshold(len(information))), evidence >= np.log(8)


def _known_shift(scores: FloatArray, information: FloatArray) -> FloatArray:
    """The larger cumulative sum, of a shift up and of one down, after each week, shape (years, weeks)."""
    found = np.zeros((len(scores), _WEEKS))
    for shift in (_SHIFT, -_SHIFT):
        total = np.zeros(len(scores))
        for week in range(_WEEKS):
            ratio = shift * scores[:, 0, week] - shift**2 * information[0, 0] / 2
            total = np.maximum(total, 0.0) + ratio
            found[:, week] = np.maximum(found[:, week], total)
    return found


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
