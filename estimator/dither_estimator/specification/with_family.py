"""The fields of a specification that only a family has: its scale and prior, the check of its fit, and its rivals."""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from dither_client import Transform
from dither_client.mechanisms.member_counts import MAX_CUTS
from dither_estimator.checks.goodness_of_fit import MisfitCheck
from dither_estimator.design.goal import parse_goal
from dither_estimator.families import Family
from dither_estimator.nonparametric.support import Support
from dither_estimator.priors.prior import InvalidPrior, Prior, parse_prior
from dither_estimator.specification.competing_families import parse_competing
from dither_estimator.specification.fields import (
    DEFAULT_PARTICLES,
    Policy,
    SpecificationError,
    given,
    read_bounds,
    read_choice,
    read_integer,
    read_range,
)

__all__ = ["default_prior", "fields_of_family"]

_MAX_PARTICLES = 1_000_000
_DEFAULT_CHECK_SHARE = 0.2
_DEFAULT_LOOKS = (500, 5_000, 50_000)
"""Numbers of check answers: at a share of 0.2, about 2,500, 25,000 and 250,000 answers in all."""
_MAX_LOOKS = 20
_MAX_LOOK = 1_000_000_000
_DEFAULT_DISCRIMINATE = 0.3


def fields_of_family(data: Mapping[str, Any], family: Family, policy: Policy, rho: Fraction | None) -> dict[str, Any]:
    """What is learnt of a family, by the names of the fields of a `Specification`.

    Raises `SpecificationError`, `InvalidPrior`, `InvalidGoal` and `InvalidFamilies`.
    """
    transform = read_choice(f"transform of {family.name}", given(data, "transform", "identity"), family.transforms)
    support = read_bounds(data)
    prior = _prior(family, transform, support, data)
    return {
        "transform": transform,
        "prior": prior,
        "goal": parse_goal(given(data, "goal", "all"), family, transform),
        "particles": read_integer("particles", data.get("particles"), DEFAULT_PARTICLES, 100, _MAX_PARTICLES),
        "misfit_check": _misfit_check(family, data.get("misfit_check"), data.get("misfit_looks")),
        "rivals": parse_competing(data, prior, transform),
        "discriminate": _discriminate(data, policy),
        "member_cuts": _member_cuts(transform, rho, data.get("member_cuts")),
        "support": support,
    }


def _misfit_check(family: Family, share: Any, looks: Any) -> MisfitCheck | None:
    """The goodness-of-fit check with this share of the respondents and these looks; None if there is no check."""
    if share is None or share is False:
        if looks is not None:
            raise SpecificationError("misfit_looks needs misfit_check")
        return None
    if family.values == "yes-no":
        raise SpecificationError(
            f"misfit_check must be left out for {family.name}, which fits every population of zeros and ones"
        )
    if share is True:
        share = _DEFAULT_CHECK_SHARE
    if isinstance(share, str) or not isinstance(share, int | float | Decimal) or not 0 < share <= 0.5:
        raise SpecificationError("misfit_check must be true, false, or a share above 0 and at most 0.5")
    return MisfitCheck(float(share), _looks(looks))


def _looks(values: Any) -> tuple[int, ...]:
    if values is None:
        return _DEFAULT_LOOKS
    wrong = SpecificationError(
        f"misfit_looks must be a list of 1 to {_MAX_LOOKS} numbers of check answers, whole, above 0 and increasing"
    )
    if not isinstance(values, list | tuple) or not 1 <= len(values) <= _MAX_LOOKS:
        raise wrong
    if any(isinstance(x, bool) or not isinstance(x, int) or not 0 < x <= _MAX_LOOK for x in values):
        raise wrong
    if any(low >= high for low, high in pairwise(values)):
        raise wrong
    return tuple(values)


def _member_cuts(transform: Transform, rho: Fraction | None, values: Any) -> tuple[float, ...] | None:
    """Where institutions count their members: read in the values' own units, returned on the transformed scale."""
    if values is None:
        return None
    if rho is not None:
        raise SpecificationError("member_cuts needs epsilon: counts of members have no rho")
    wrong = SpecificationError(f"member_cuts must be a list of 1 to {MAX_CUTS} strictly increasing finite numbers")
    if not isinstance(values, list | tuple) or not 1 <= len(values) <= MAX_CUTS:
        raise wrong
    if any(isinstance(x, bool) or not isinstance(x, int | float | Decimal) for x in values):
        raise wrong
    try:
        cuts = np.array([float(x) for x in values])
    except OverflowError:
        raise wrong from None
    if transform == "log":
        if not (cuts > 0).all():
            raise SpecificationError("member_cuts must lie above 0 when transform is log")
        cuts = np.log(cuts)
    if not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any():
        raise wrong
    return tuple(cuts.tolist())


def _discriminate(data: Mapping[str, Any], policy: Policy) -> float:
    """The share of the questions that are chosen to tell the `families` apart; 0 if there is only one."""
    value = data.get("discriminate")
    if value is None:
        return 0.0 if data.get("families") is None or policy.name == "fixed" else _DEFAULT_DISCRIMINATE
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not 0 <= value <= 1:
        raise SpecificationError("discriminate must be a number from 0 to 1, the share of the questions")
    if data.get("families") is None:
        raise SpecificationError("discriminate needs families to compare")
    if value > 0 and policy.name == "fixed":
        raise SpecificationError("discriminate must be 0 with a fixed policy, which always asks the same question")
    return float(value)


def default_prior(family: Family, transform: Transform, support: Support) -> Prior:
    """The family's prior where nothing is said but between which bounds values lie."""
    return parse_prior(family, family.bounded_prior(transform, *support.bounds(transform)))


def _prior(family: Family, transform: Transform, support: Support, data: Mapping[str, Any]) -> Prior:
    """The given prior, the prior for the given `range`, or the default. Raises `InvalidPrior` too."""
    prior, limits = data.get("prior"), data.get("range")
    if prior is not None and limits is not None:
        raise SpecificationError("give either prior or range, not both")
    if prior is not None:
        return parse_prior(family, prior)
    if limits is None:
        return default_prior(family, transform, support)
    terms = family.range_prior(*read_range(transform, limits), guessed=transform == "identity")
    try:
        return parse_prior(family, terms)
    except InvalidPrior:
        raise SpecificationError("range must be of numbers that are at most about 1e99 and not all but equal") from None
