"""How many respondents a given precision needs, computed before anybody is asked.

After `m` answers to the questions of an optimal design the posterior is approximately normal with covariance `V / m`,
where `V` is the inverse of the information per respondent (Bernstein & von Mises). The posterior standard deviation of
a parameter is then `S = √(v(θ̂) / m)`, where `v` is the parameter's variance per respondent as a function of θ and the
estimate θ̂ is itself normal about θ with covariance `V / m`. Let `a` be the gradient of `log v` in unconstrained
coordinates and take `v` as log-linear, which is exact in location-scale families. With `c = aᵀ V a` the delta method
gives

    log S ~ N(½ log(v / m) + c / 4m, c / 4m).

The second term of the mean is there because the posterior also averages `v` over the remaining uncertainty about θ. The
same distribution holds for raw values, with the Fisher information of a value in place of that of an answer.

The posterior of a shape, such as degrees of freedom, has a long tail while it is wide, and its standard deviation is
then larger than this. Let `v` grow with the power `p` of the shape: where the power is 2, as with a scale, the
standard deviation of its logarithm is the same everywhere, and where it is larger, that grows by a factor of
`exp((p / 2 - 1) r)` within one relative standard deviation `r`. The formula is used up to `(p - 2) r = 0.16`, and up
to a standard deviation of a quarter of the shape. Beyond, nothing is said.

A quantile is that of the values in their own units. Where the family holds on the scale of logarithms, its `v` there is
multiplied by the square of the quantile, the derivative of `exp` at its logarithm.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, rel_entr

from dither_client import Transform
from dither_estimator.design.design import Design, DesignError, NothingThere, optimal_design
from dither_estimator.design.functionals import functionals
from dither_estimator.design.goal import DISTRIBUTION, Goal
from dither_estimator.design.member import Member
from dither_estimator.design.registry import MECHANISMS
from dither_estimator.families import Family, FloatArray
from dither_estimator.policies.aims import WHOLE_SHARE
from dither_estimator.priors.prior import Prior
from dither_estimator.specification.specification import Specification

__all__ = [
    "MAX_RESPONDENTS",
    "Precision",
    "answers_to_find",
    "precise_names",
    "precision_of_answers",
    "precision_of_values",
]

MAX_RESPONDENTS = 10**15
"""Plans for more respondents than this are refused."""

_DIFFERENCE_STEP = 0.05
"""Finite-difference step for `log v`: coarser than the rounding of designs, finer than the curvature of `v`."""

_NOTHING_MORE = Goal()

_WIDEST_OF_SHAPE = 0.25
"""The largest standard deviation of a shape for which the formula holds, relative to the shape."""
_MOST_SKEW = 0.16
"""The largest `(p - 2) r` of the module docstring; at almost twice that, simulated sds are half as large again as
planned."""
_LEAST_POWER = 1.5
"""A shape whose variance grows with a smaller power has no long tail."""

_ROUNDING = 1e-9
"""Targets that differ by less, relatively, are the same."""

_SETTLING_NATS = 2.5
"""Nats needed before the questions lie where the design wants them, however narrow the prior."""
_SETTLING_NATS_OF_LOCATION, _SETTLING_NATS_OF_SCALE = 1.8, 5.2
"""The nats in location-scale families: while the scale is unknown, questions about it are badly placed."""
_WASTE, _WASTE_OF_MANY_CELLS = 3.4, 2.7
"""Answers spent on finding the population, relative to an ideal code; fewer if a mechanism may ask about many cells."""
_WASTE_REDUCTION_PER_NAT = 0.7
"""How much the waste falls per nat that an answer conveys: with less noise the search is closer to the ideal."""


@dataclass(frozen=True, eq=False)
class Precision:
    """The distribution of the posterior standard deviations as a function of the number of respondents."""

    names: tuple[str, ...]
    """The names of the family's parameters, and of what a goal about the distribution asks for (`precise_names`)."""
    variances: FloatArray
    """The variances per respondent `v`, shape (k,)."""
    spreads: FloatArray
    """The variances `c` of the module docstring, shape (k,)."""
    search: FloatArray
    """Answers spent on finding the population, shape (k,): `m` is the number of respondents less these."""
    widest: FloatArray
    """The largest standard deviations for which the formula holds, shape (k,): of parameters 1 in unconstrained
    coordinates, of `skewed` ones less."""
    fewest: FloatArray
    """The formula holds for `m` above these, shape (k,)."""
    skewed: tuple[str, ...]
    """The shapes whose posterior has a long tail while it is wide."""

    @property
    def least(self) -> int:
        """The fewest respondents for which the formula holds. Raises `DesignError` if above `MAX_RESPONDENTS`."""
        return min(self.respondents({name: math.inf}) for name in self.names)

    def sd(self, respondents: int, confidence: float | None = None) -> dict[str, float | None]:
        """The posterior standard deviation of each of `names`, averaged over runs with this many respondents.

        With `confidence`, from 0.5 to 0.9999, the value that it does not exceed with that probability. None for a
        parameter if there are too few respondents for the formula to hold: at most `search + fewest`, or a result
        above `widest`.
        """
        m, sds = self._formula(respondents, confidence)
        holds = (self.fewest < m) & (sds <= self.widest)
        found = zip(self.names, sds.tolist(), holds.tolist(), strict=True)
        return {name: sd if said else None for name, sd, said in found}

    def _formula(self, respondents: int, confidence: float | None) -> tuple[FloatArray, FloatArray]:
        """`m` and what the formula gives, whether it holds or not, shapes (k,)."""
        m = np.maximum(respondents - self.search, 1e-9)
        tail = 0.5 * self.spreads if confidence is None else 2.0 * ndtri(confidence) * np.sqrt(self.spreads * m)
        exponents = (self.spreads + tail) / (4.0 * m)
        return m, np.sqrt(self.variances / m) * np.exp(np.minimum(exponents, 50.0))

    def respondents(self, targets: Mapping[str, float], confidence: float | None = None) -> int:
        """The fewest respondents with whom `sd` is at most its target for each that is named.

        Raises `DesignError` if it is above `MAX_RESPONDENTS`.
        """

        def enough(number: int) -> bool:
            sds = self.sd(number, confidence)
            return all((sd := sds[name]) is not None and sd <= target for name, target in targets.items())

        high = 1
        while not enough(high):
            high *= 2
            if high > MAX_RESPONDENTS:
                raise DesignError(f"this precision would need more than {MAX_RESPONDENTS:,} respondents")
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high

    def largest_target(self, name: str, confidence: float | None = None) -> float:
        """The largest standard deviation of a `skewed` parameter that can be planned; infinite for any other."""
        if name not in self.skewed:
            return math.inf
        j = self.names.index(name)
        _, sds = self._formula(self.respondents({name: math.inf}, confidence) - 1, confidence)
        return float(min(sds[j], self.widest[j]))

    def check(self, targets: Mapping[str, float], confidence: float | None = None) -> None:
        """Raises `DesignError` if a target that is too large to be planned decides alone how many are needed."""
        for name, target in targets.items():
            largest = self.largest_target(name, confidence)
            if target <= largest * (1 + _ROUNDING):
                continue
            least = self.respondents({name: largest}, confidence)
            others = {other: sd for other, sd in targets.items() if other != name}
            if not others or self.respondents(others, confidence) < least:
                raise DesignError(
                    f"with fewer than {least:,} respondents the precision of {name} cannot be planned, since its "
                    f"posterior has a long tail: ask for {name}={_rounded_down(largest)} or less"
                )


def precision_of_answers(specification: Specification, theta: npt.ArrayLike) -> Precision:
    """The precision that a collection with this specification reaches in the population `theta` (d,).

    Respondents are counted by the answers that are learnt. Questions that tell families apart count as if they conveyed
    nothing about the parameters. Raises `DesignError` if `theta` is not a member, if the design does not identify all
    of it, or if the policy does not follow the design.
    """
    spec = specification
    if spec.policy.name == "fixed":
        raise DesignError("a collection that always asks the same question cannot be planned")
    if spec.discriminate == 1:
        raise DesignError("with discriminate 1 no questions are asked about the parameters: nothing can be planned")
    design = optimal_design(spec.family, theta, spec.mechanism, spec.epsilon, spec.goal, spec.levels, rho=spec.rho)
    if spec.goal.of_parameters and None in design.variances:
        missing = spec.family.names[design.variances.index(None)]
        weights = ",".join(f"{name}={weight:g}" for name, weight in spec.goal.weights)
        raise DesignError(
            f"questions for the goal {weights} alone do not identify {missing}, on which the precision depends: "
            f"give it a weight in the goal, such as {weights},{missing}=0.1"
        )
    asked = 1.0 - spec.discriminate
    search = answers_to_find(spec.prior, design) / asked
    share = 0.0 if spec.goal.of_parameters or spec.goal.distribution else WHOLE_SHARE / (1 + WHOLE_SHARE)
    whole = replace(design, goal=DISTRIBUTION)

    def information(at: list[float]) -> FloatArray:
        found = (1 - share) * design.at(at).information
        return asked * (found + share * whole.at(at).information if share else found)

    return _precision(spec.family, spec.goal, spec.transform, design.theta, information, search)


def precision_of_values(
    family: Family, theta: npt.ArrayLike, goal: Goal = _NOTHING_MORE, transform: Transform = "identity"
) -> Precision:
    """The precision that the values themselves would give, without privacy; also of what the goal asks for.

    The family holds on the scale `transform`. Raises `DesignError` where floating point cannot hold a quantile.
    """
    member = tuple(np.asarray(theta, dtype=float).tolist())

    def information(at: list[float]) -> FloatArray:
        return Member(family, tuple(at)).information

    return _precision(family, goal, transform, member, information, np.zeros(len(member)))


def precise_names(specification: Specification) -> tuple[str, ...]:
    """The parameters, and for a goal about the distribution names such as `quantile_0.5` and `above_1000`."""
    goal = specification.goal
    whole = ("distribution",) if goal.distribution else ()
    quantiles = (f"quantile_{level:.12g}" for level in goal.levels)
    return (*specification.family.names, *quantiles, *(f"above_{value:.12g}" for value in goal.values), *whole)


def answers_to_find(prior: Prior, design: Design) -> FloatArray:
    """Answers spent on finding the population before the design's questions are useful, per parameter, shape (d,).

    The prior leaves `K = -log p(θ) + ½ log det I - ½ d log 2πe` nats to learn before θ is known about as well as from
    one value, where `I` is the information of a value; both are in unconstrained coordinates. An answer to one of the
    design's questions conveys at most `C` nats about its cell if the cells are equally likely. The cost `w (K + s) / C`
    was found by simulation (`benchmarks/plan.py`), with `w = 3.4 / (1 + 0.7 C)`, or `2.7 / (1 + 0.7 C)` for mechanisms
    with many cells, and `s` 1.8 for a location, 5.2 for a scale and 2.5 for other parameters, where
    a Weibull distribution's logarithm has the location `log scale` and the scale `1 / shape`.
    """
    family = prior.family
    coordinates = family.unconstrain(np.array([design.theta]))
    jacobian = _jacobian(family, coordinates[0])
    information = Member(family, design.theta).information * np.outer(jacobian, jacobian)
    known = 0.5 * np.linalg.slogdet(information)[1] - 0.5 * len(design.theta) * math.log(2 * math.pi * math.e)
    nats = max(0.0, float(known - prior.log_density(coordinates)[0]))
    settling = np.full(len(design.theta), _SETTLING_NATS)
    if family.location_scale:
        settling[:2] = _SETTLING_NATS_OF_LOCATION, _SETTLING_NATS_OF_SCALE
    elif family.log_location_scale:
        settling[:2] = _SETTLING_NATS_OF_SCALE, _SETTLING_NATS_OF_LOCATION
    most = max(_told(np.asarray(query.channel())) for query in design.queries)
    waste = _WASTE_OF_MANY_CELLS if MECHANISMS[design.mechanism].many_cells else _WASTE
    return (nats + settling) * waste / (most * (1.0 + _WASTE_REDUCTION_PER_NAT * most))


def _told(channel: FloatArray) -> float:
    """The mutual information, in nats, between a channel's answer and its cell if the cells are equally likely."""
    surprise: FloatArray = rel_entr(channel, channel.mean(axis=0))
    return float(surprise.sum(axis=1).mean())


def _precision(
    family: Family,
    goal: Goal,
    transform: Transform,
    theta: tuple[float, ...],
    information: Callable[[list[float]], FloatArray],
    search: FloatArray,
) -> Precision:
    centre = family.unconstrain(np.array([theta]))[0]
    spread = Member(family, theta).spread

    def variances(at: list[float], covariance: npt.NDArray[np.floating[Any]]) -> FloatArray:
        asked = functionals(goal, family, tuple(at))
        with np.errstate(over="ignore"):
            units = np.square([each.unit(transform) for each in asked])
        if not (np.isfinite(units) & (units > 0)).all():
            raise DesignError("theta lies where floating point cannot hold the values' quantiles")
        more = units * np.array([np.sum(each.slopes * covariance) for each in asked])
        if not (more > 0).all():
            raise NothingThere
        return np.append(np.diag(covariance), more)

    covariance = np.linalg.inv(information(list(theta)))
    slopes = []
    for j, parameter in enumerate(family.parameters):
        shift = np.zeros(len(centre))
        shift[j] = _DIFFERENCE_STEP * (spread if parameter.support == "real" else 1.0)
        ends = [family.constrain((centre + sign * shift)[np.newaxis])[0].tolist() for sign in (1, -1)]
        above, below = (np.log(variances(end, np.linalg.inv(information(end)))) for end in ends)
        slopes.append((above - below) / (2.0 * shift[j]))
    jacobian = _jacobian(family, centre)
    gradients = np.array(slopes).T / jacobian
    spreads = np.einsum("ij,jk,ik->i", gradients, covariance, gradients)
    widest = np.where([p.support == "real" for p in family.parameters], np.inf, jacobian)
    found, fewest, skewed = variances(list(theta), covariance), spreads.copy(), []
    for j in family.shapes:
        power = slopes[j][j]
        if family.parameters[j].support == "positive" and power > _LEAST_POWER:
            skewed.append(family.names[j])
            widest[j] *= _WIDEST_OF_SHAPE
            skew = (max(power - 2.0, 0.0) / (_MOST_SKEW * jacobian[j])) ** 2 * found[j]
            fewest[j] = max(fewest[j], skew)
    more = len(found) - len(widest)
    widest, search = np.append(widest, np.full(more, np.inf)), np.append(search, np.full(more, search.max()))
    names = *family.names, *(each.name for each in functionals(goal, family, theta))
    return Precision(names, found, spreads, search, widest, fewest, tuple(skewed))


def _jacobian(family: Family, coordinates: FloatArray) -> FloatArray:
    """The derivative of each parameter by its unconstrained coordinate, shape (d,)."""
    logs = [p.log_jacobian(coordinates[[j]])[0] for j, p in enumerate(family.parameters)]
    return np.exp(np.array(logs))


def _rounded_down(number: float) -> str:
    """A number above 0 to three digits, and not above it."""
    step = 10.0 ** (math.floor(math.log10(number)) - 2)
    return f"{math.floor(number / step * (1 + _ROUNDING)) * step:.3g}"
