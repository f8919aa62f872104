"""How well each family describes answers that were asked without one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dither_client import Transform
from dither_client.posterior.sentences import CANNOT_TELL, NOT_COMPARED, REFUSED_LOG_ODDS
from dither_client.posterior.wire import NO_FAMILY
from dither_estimator.checks.competing_families import Comparison, compare
from dither_estimator.checks.family_fit import MOST, Description, FamilyFit, fit_family
from dither_estimator.families import Family, Normal, families, find_family
from dither_estimator.likelihood.counts import Counts, total_answers
from dither_estimator.nonparametric.base import FittedBase
from dither_estimator.nonparametric.deviations import BINS
from dither_estimator.nonparametric.distribution import Distribution
from dither_estimator.nonparametric.evidence import log_evidence
from dither_estimator.nonparametric.fitting import fit_base
from dither_estimator.nonparametric.support import Support
from dither_estimator.particles.evidence import Evidence

__all__ = ["FamilyFits", "families_on", "fit_families", "refusal"]

_NEARLY_EVERYBODY = 0.9
_FEW_VALUES = 3
"""Families have two parameters, as many as the shares of three values that are free."""
_MIN_ANSWERS = 500
"""Fewer answers than this are not held against the one family that is named."""


@dataclass(frozen=True)
class FamilyFits:
    """The evidence of no family, in nats, and the fits of those whose values lie where the population's do.

    Without fits nothing can be told.
    """

    none: float = math.nan
    fits: tuple[FamilyFit, ...] = ()
    alike: bool = False
    """Whether there are no fits because people have too few different values."""

    @property
    def comparison(self) -> Comparison:
        """All of them beside each other."""
        if not self.fits:
            return Comparison((), NOT_COMPARED if self.alike else CANNOT_TELL)
        described = [each.description for each in self.fits]
        return compare(
            [(NO_FAMILY, "identity"), *((each.family, each.transform) for each in described)],
            [Evidence(each, 0.0) for each in (self.none, *(fit.log_evidence for fit in self.fits))],
            [None, *(each.of for each in described)],
        )


def fit_families(counts: Counts, distribution: Distribution) -> FamilyFits:
    """The fits given `counts`, of which `distribution` is the posterior without a family.

    There are none while the answers only tell where the population lies, which may be that nearly everybody has one
    value, or one of the atoms and bounds; where there are so few values that any shares of them are those of some
    member of each family; and where values are so alike that some evidence is no log probability.
    """
    base, support = distribution.base, distribution.support
    if support.value_count <= _FEW_VALUES:
        return FamilyFits(alike=True)
    low, high = distribution.mean.quantile(MOST).values[0].tolist()
    if not isinstance(base, FittedBase):
        return FamilyFits(alike=low == high or bool(distribution.mean.masses[0, BINS:].sum() > _NEARLY_EVERYBODY))
    if np.abs(support.coordinate(np.array([low, high]))).min() > support.farthest / 2:
        return FamilyFits(alike=True)
    if not low < high:  # most people have one of the atoms
        low, high = support.smooth_value(base.quantile(MOST)).tolist()
    fits = tuple(fit_family(each, counts, low, high, support) for each in families_on(support))
    none = log_evidence(counts, base, support)
    if not all(-math.inf < each <= 0 for each in (none, *(fit.log_evidence for fit in fits))):
        return FamilyFits(alike=True)  # values so alike that floating point has no likelihood of them
    return FamilyFits(none, fits)


def refusal(family: Family, transform: Transform, counts: Counts) -> Comparison | None:
    """The comparison of the one family that is named with none, if the answers refuse it: at odds of 100 or more.

    None otherwise: answers to a family's own questions lie so near to each other that they seldom tell. Nor does it
    tell of integers, or of fewer than some hundreds of answers. The answers may have been asked for on either scale.
    """
    if family.discrete or total_answers(counts) < _MIN_ANSWERS:
        return None
    asked = {query.with_edges(query.edges, "identity"): row for query, row in counts.items() if row.any()}
    if len({edge for query in asked for edge in query.edges}) <= len(family.parameters):
        return None  # any shares below so few cuts are those of some member
    low, high = (None if math.isinf(end) else end for end in find_family(family.name).support)
    support = Support(minimum=low, maximum=high)
    try:
        base = fit_base(asked, support)
        none = log_evidence(asked, base, support)
        least, most = support.value(base.quantile(MOST)).tolist()
        named = fit_family(Description(family.name), asked, least, most).log_evidence
    except np.linalg.LinAlgError:  # so few different questions that they do not tell location from scale
        return None
    if not none - named >= REFUSED_LOG_ODDS:
        return None
    return compare([(NO_FAMILY, "identity"), (family.name, transform)], [Evidence(none, 0.0), Evidence(named, 0.0)])


def families_on(support: Support) -> Sequence[Description]:
    """The families of continuous values that lie where those of the support do, the likeliest to hold first.

    Beside a bound those of positive values describe the distance from it, and between two the beta describes the share
    of the way; a maximum beside a minimum may also just catch slips. The normal describes the values themselves, and so
    does the lognormal where they are positive: a bound may lie far from all of them.
    """
    low, high = support.minimum, support.maximum
    if low is None and high is None:
        return tuple(map(Description, _measured(-math.inf, math.inf)))
    normal = Description(Normal.name)
    positive: Sequence[tuple[str, Transform]] = [
        (Normal.name, "log"),
        *((name, "identity") for name in _measured(0.0, math.inf)),
    ]
    if low is None:
        return (*(Description(*each, below=high) for each in positive), normal)
    found = [Description(*each, above=low or None) for each in positive]
    if low > 0:
        found.append(Description(Normal.name, "log"))
    if high is not None:
        found = [*(Description(name, above=low, below=high) for name in _measured(0.0, 1.0)), *found]
    return (*found, normal)


def _measured(low: float, high: float) -> list[str]:
    """The families of continuous values between `low` and `high`, in the order of the table of families."""
    return [name for name, family in families.items() if not family.discrete and family.support == (low, high)]
