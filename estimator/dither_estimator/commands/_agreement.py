"""How far two posteriors of the same answers lie apart, in standard deviations."""

import math
from collections.abc import Iterator

from dither_client.posterior.posterior import Posterior
from dither_client.posterior.wire import ParameterSummary

__all__ = ["differences"]

_WIDTH_OF_HALF = 1.349
"""The interquartile range of a normal distribution, in standard deviations."""


def differences(one: Posterior, other: Posterior) -> dict[str, float]:
    """How far the three quartiles of each number lie apart at most, in standard deviations.

    A standard deviation is that of a normal distribution with the wider one's interquartile range: it hardly has a
    Monte Carlo error, where those of tails are large.
    The numbers are parameters, or without a family quantiles of the population or shares of categories, also those of
    each group, period and component, and correlations. One that either posterior lacks is infinitely far off.
    """
    ours, theirs = dict(_numbers(one)), dict(_numbers(other))
    return {
        name: _distance(ours[name], theirs[name]) if name in ours and name in theirs else math.inf
        for name in ours | theirs
    }


def _numbers(posterior: Posterior) -> Iterator[tuple[str, ParameterSummary]]:
    for name, summary in posterior.summaries.items():
        yield name, ParameterSummary(**summary)
    for pair, correlation in posterior.correlations.items():
        yield f"correlation of {pair}", correlation
    for parts, part in (
        (posterior.groups, posterior.group),
        (posterior.periods, posterior.period),
        (posterior.components, posterior.component),
    ):
        for label in parts:
            for name, number in _numbers(part(label)):
                yield f"{name} of {label}", number


def _distance(one: ParameterSummary, other: ParameterSummary) -> float:
    sd = max(one.q75 - one.q25, other.q75 - other.q25) / _WIDTH_OF_HALF
    apart = max(abs(one.q25 - other.q25), abs(one.q50 - other.q50), abs(one.q75 - other.q75))
    return apart / sd if sd > 0 else (0.0 if apart == 0 else math.inf)
