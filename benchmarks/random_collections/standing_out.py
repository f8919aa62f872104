"""What stands out among many random collections: settings, alone or in pairs, and single collections."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from math import log10
from typing import Any

import numpy as np
from scipy import stats

from dither_estimator.families import FloatArray

__all__ = ["SLOW", "false_claims", "far_off", "figures", "pairs", "promises", "slow", "troubles"]

_Found = Mapping[str, Any]
SLOW = 20.0
_FALSE_ALARMS = 0.05
"""How often anything is printed of right posteriors whose intervals hold the truth in 90%."""
_FEWEST = 8
_LOWEST, _HIGHEST = 0.75, 0.99
_FARTHEST = 4.5
_MISSED = 5.0
_PROMISED = 1.5
_FAR = 4.0
"""No error counts as more than so many of those that are promised: single ones are listed by themselves."""


def troubles(found: Sequence[_Found]) -> Iterator[tuple[object, ...]]:
    """Errors, warnings and refusals, how often each came, and the seeds of the first."""
    seeds: dict[tuple[str, str], list[int]] = defaultdict(list)
    for each in found:
        for kind in ("error", "refused"):
            if kind in each:
                seeds[kind, each[kind]].append(each["seed"])
        for warning in each["warnings"]:
            seeds["warning", warning].append(each["seed"])
    for (kind, text), those in sorted(seeds.items(), key=lambda item: (item[0][0], -len(item[1]))):
        yield kind, text, len(those), " ".join(map(str, those[:5]))


def false_claims(found: Sequence[_Found]) -> Iterator[tuple[object, ...]]:
    """For each kind of claim: collections where it could be made, where it was, where falsely, and which those are."""
    by_kind: dict[str, list[tuple[int, Mapping[str, Any]]]] = defaultdict(list)
    for each in found:
        for claim in each["said"]:
            by_kind[claim["kind"]].append((each["seed"], claim))
    for kind, those in sorted(by_kind.items()):
        made = [(seed, claim) for seed, claim in those if claim["said"]]
        false = [f"{seed}: {claim['said']}" for seed, claim in made if not claim["true"]]
        yield kind, len(those), len(made), len(false), "; ".join(false)


def slow(found: Sequence[_Found]) -> Iterator[tuple[object, ...]]:
    """Collections that took more than `SLOW` seconds of processor time."""
    for each in sorted(found, key=lambda one: -one["seconds"]):
        if each["seconds"] > SLOW:
            yield each["seed"], f"{each['seconds']:.0f}", _words(each)


def far_off(found: Sequence[_Found]) -> Iterator[tuple[object, ...]]:
    """Collections of which an interval is far from the truth, or whose answers no draw of the posterior explains."""
    for each in found:
        smooth = [told for told in each["told"] if told["kind"] != "step"]
        worst = max(smooth, key=lambda told: abs(told["z"]), default=None)
        if worst is not None and (abs(worst["z"]) > _FARTHEST or each["missed"] > _MISSED):
            where = f"{worst['part']} {worst['name']}".strip()
            yield each["seed"], where, f"{worst['z']:.1f}", f"{each['missed']:.1f}", _words(each)


def figures(found: Sequence[_Found]) -> Iterator[tuple[object, ...]]:
    """For each value of each setting: collections, coverage, error beside the promise, and seconds."""
    for words, those in sorted(_by_setting(found, 1).items()):
        told = [one for each in those for one in each["told"]]
        errors = np.array([one["promised"] for one in told if one["promised"] is not None])
        promised = f"{np.sqrt(np.mean(errors**2)):.2f}" if len(errors) else ""
        covered = np.mean([one["holds"] for one in told]) if told else np.nan
        seconds = np.median([each["seconds"] for each in those])
        yield " ".join(words), len(those), f"{covered:.0%}", promised, f"{seconds:.1f}"


def pairs(found: Sequence[_Found]) -> Iterator[tuple[object, ...]]:
    """Settings whose intervals hold the truth too rarely or always.

    Intervals of one collection are alike, so their share counts as one trial. The p-value is that of the binomial
    distribution, and the limit is Bonferroni's, for all settings and kinds that were looked at.
    """

    def share(each: _Found, kind: str) -> float | None:
        holds = [told["holds"] for told in each["told"] if told["kind"] == kind]
        return float(np.mean(holds)) if holds else None

    def pvalue(shares: FloatArray) -> float | None:
        covered, size = shares.mean(), len(shares)
        if covered < _LOWEST:
            return float(stats.binom.cdf(np.ceil(shares.sum()), size, 0.9))
        return float(stats.binom.sf(np.floor(shares.sum()) - 1, size, 0.9)) if covered > _HIGHEST else None

    kinds = ("parameter", "quantile", "mean", "share", "correlation")
    for words, kind, values, p in _standing_out(found, kinds, share, pvalue):
        yield " & ".join(words), kind, len(values), f"{values.mean():.0%}", f"{p:.1g}"


def promises(found: Sequence[_Found]) -> Iterator[tuple[object, ...]]:
    """Settings whose errors are more than `_PROMISED` times what the design promises.

    Squared errors of one collection count as one, with the chi-squared distribution of a single one.
    """

    def squared(each: _Found, kind: str) -> float | None:
        errors = [
            min(abs(told["promised"]), _FAR)
            for told in each["told"]
            if told["promised"] is not None and told["kind"] == kind
        ]
        return float(np.mean(np.square(errors))) if errors else None

    def pvalue(squares: FloatArray) -> float | None:
        large = np.sqrt(squares.mean()) > _PROMISED
        return float(stats.chi2.sf(squares.sum(), len(squares))) if large else None

    for words, kind, values, p in _standing_out(found, ("parameter", "quantile", "share"), squared, pvalue):
        yield " & ".join(words), kind, len(values), f"{np.sqrt(values.mean()):.2f}", f"{p:.1g}"


def _standing_out(
    found: Sequence[_Found],
    kinds: Sequence[str],
    measure: Callable[[_Found, str], float | None],
    pvalue: Callable[[FloatArray], float | None],
) -> Iterator[tuple[tuple[str, ...], str, FloatArray, float]]:
    looked = 0
    out = []
    for words, those in {**_by_setting(found, 1), **_by_setting(found, 2)}.items():
        for kind in kinds:
            values = np.array([value for each in those if (value := measure(each, kind)) is not None])
            if len(values) < _FEWEST:
                continue
            looked += 1
            p = pvalue(values)
            if p is not None:
                out.append((words, kind, values, p))
    yield from sorted(
        (each for each in out if each[3] * looked < _FALSE_ALARMS), key=lambda each: log10(each[3] + 1e-300)
    )


def _by_setting(found: Sequence[_Found], size: int) -> dict[tuple[str, ...], list[_Found]]:
    """The collections with each combination of so many settings."""
    those: dict[tuple[str, ...], list[_Found]] = defaultdict(list)
    for each in found:
        words = [f"{name}={value}" for name, value in sorted(each["settings"].items())]
        for some in combinations(words, size):
            those[some].append(each)
    return those


def _words(each: _Found) -> str:
    return ", ".join(f"{name}={value}" for name, value in each["settings"].items() if value != "none")
