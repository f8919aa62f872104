"""How many respondents a precision takes, before anybody is asked.

After `m` answers to the questions of an optimal design the posterior is about normal with covariance `V / m`, `V` the
inverse of the information per respondent (Bernstein & von Mises). The posterior standard deviation of a parameter is
then `S = √(v(θ̂) / m)`, with `v` the parameter's variance per respondent as a function of θ, at an estimate θ̂ that is
itself normal about θ with covariance `V / m`. With `a` the gradient of `log v` in unconstrained coordinates, and `v`
taken as exactly log-linear, as it is in location-scale families, `c = aᵀ V a` gives (delta method)

    log S ~ N(½ log(v / m) + c / 4m, c / 4m),

where the mean's second term is there because the posterior, too, averages `v` over what is not yet known of θ. The same
law holds for raw values, with the Fisher information of a value for that of an answer.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, rel_entr

from dither_estimator.design.design import Design, DesignError, optimal_design
from dither_estimator.design.member import Member
from dither_estimator.design.registry import MECHANISMS
from dither_estimator.families import Family, FloatArray
from dither_estimator.priors.prior import Prior
from dither_estimator.specification.specification import Specification

__all__ = ["MAX_RESPONDENTS", "Precision", "answers_to_find", "precision_of_answers", "precision_of_values"]

MAX_RESPONDENTS = 10**15
"""A plan for more people than this is refused."""

_STEP = 0.05
"""Step of differences of `log v`: above the coarseness of designs, below the curvature of `v`."""

_SETTLING = 2.5
"""Nats that go before questions lie where the design wants them, however narrow the prior."""
_SETTLING_OF_LOCATION, _SETTLING_OF_SCALE = 1.8, 5.2
"""The same in location-scale families: until the scale is known, the questions that would tell it are ill placed."""
_WASTE, _WASTE_OF_MANY_CELLS = 3.4, 2.7
"""Answers that are spent on finding the population, to those that an ideal code would need; where a mechanism may ask
of many cells, fewer are."""
_LESS_WASTE = 0.7
"""By so much a nat that an answer tells: with less noise the search is nearer to the ideal."""


@dataclass(frozen=True, eq=False)
class Precision:
    """The law of the posterior standard deviations, as a function of the number of respondents."""

    names: tuple[str, ...]
    variances: FloatArray
    """`v`, shape (d,)."""
    spreads: FloatArray
    """`c`, shape (d,)."""
    search: FloatArray
    """How many answers are spent on finding the population, shape (d,): `m` is the respondents less these."""
    widest: FloatArray
    """What the standard deviations are while the law holds, at most, shape (d,): one of unconstrained coordinates."""

    @property
    def least(self) -> int:
        """The fewest respondents of which the law says anything. Raises `DesignError` if above `MAX_RESPONDENTS`."""
        return min(self.respondents({name: math.inf}) for name in self.names)

    def sd(self, respondents: int, confidence: float | None = None) -> dict[str, float | None]:
        """The posterior standard deviation of each parameter, its mean over runs with so many respondents.

        With `confidence`, from 0.5 to 0.9999, what it stays below with that probability. None for a parameter if the
        respondents are so few that the law does not hold: not above `search + c`, or what it says above `widest`.
        """
        m = np.maximum(respondents - self.search, 1e-9)
        tail = 0.5 * self.spreads if confidence is None else 2.0 * ndtri(confidence) * np.sqrt(self.spreads * m)
        exponents = (self.spreads + tail) / (4.0 * m)
        sds = np.sqrt(self.variances / m) * np.exp(np.minimum(exponents, 50.0))
        holds = (self.spreads < m) & (sds <= self.widest)
        found = zip(self.names, sds.tolist(), holds.tolist(), strict=True)
        return {name: sd if said else None for name, sd, said in found}

    def respondents(self, targets: Mapping[str, float], confidence: float | None = None) -> int:
        """The least number that brings the posterior standard deviation of each parameter named below its target.

        In the sense of `sd`. Raises `DesignError` if it is above `MAX_RESPONDENTS`.
        """

        def enough(number: int) -> bool:
            sds = self.sd(number, confidence)
            return all((sd := sds[name]) is not None and sd <= target for name, target in targets.items())

        high = 1
        while not enough(high):
            high *= 2
            if high > MAX_RESPONDENTS:
                raise DesignError(f"this precision would take more than {MAX_RESPONDENTS:,} respondents")
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high


def precision_of_answers(specification: Specification, theta: npt.ArrayLike) -> Precision:
    """The precision that a collection of that specification reaches in the population `theta` (d,).

    In the number of answers that are learnt. Those to questions that tell families apart count as if they said nothing
    of the parameters. Raises `DesignError` if `theta` is no member, or unless the design identifies all of it and the
    policy follows it.
    """
    spec = specification
    if spec.policy.name == "fixed":
        raise DesignError("a collection that always asks the same question has no plan")
    if spec.discriminate == 1:
        raise DesignError("with discriminate 1 no question is asked for the parameters, and there is no plan")
    design = optimal_design(spec.family, theta, spec.mechanism, spec.epsilon, spec.goal, spec.levels, rho=spec.rho)
    if None in design.variances:
        missing = spec.family.names[design.variances.index(None)]
        weights = ",".join(f"{name}={weight:g}" for name, weight in spec.goal.weights)
        raise DesignError(
            f"questions for the goal {weights} alone say nothing of {missing}, on which the precision depends: "
            f"give it a weight in the goal, such as {weights},{missing}=0.1"
        )
    asked = 1.0 - spec.discriminate
    search = answers_to_find(spec.prior, design) / asked
    return _precision(spec.family, design.theta, lambda at: asked * design.at(at).information, search)


def precision_of_values(family: Family, theta: npt.ArrayLike) -> Precision:
    """The precision that the values themselves would give, without any privacy."""
    member = tuple(np.asarray(theta, dtype=float).tolist())
    return _precision(family, member, lambda at: Member(family, tuple(at)).information, np.zeros(len(member)))


def answers_to_find(prior: Prior, design: Design) -> FloatArray:
    """How many answers are spent on finding the population before the design's questions help, by parameter (d,).

    The prior leaves `K = -log p(θ) + ½ log det I - ½ d log 2πe` nats to find before θ is known about as well as from
    one value, `I` the information of a value; both in unconstrained coordinates. An answer to one of the design's
    questions tells at most `C` nats of its cell, the cells being equally likely. That the cost is `w (K + s) / C`,
    `w = 3.4 / (1 + 0.7 C)`, of mechanisms with many cells `2.7 / (1 + 0.7 C)`, and `s` 1.8 for a location, 5.2 for a
    scale and 2.5 for others, was found by simulation (`benchmarks/plan.py`).
    """
    family = prior.family
    coordinates = family.unconstrain(np.array([design.theta]))
    jacobian = _jacobian(family, coordinates[0])
    information = Member(family, design.theta).information * np.outer(jacobian, jacobian)
    known = 0.5 * np.linalg.slogdet(information)[1] - 0.5 * len(design.theta) * math.log(2 * math.pi * math.e)
    nats = max(0.0, float(known - prior.log_density(coordinates)[0]))
    settling = np.full(len(design.theta), _SETTLING)
    if family.location_scale:
        settling[:2] = _SETTLING_OF_LOCATION, _SETTLING_OF_SCALE
    most = max(_told(np.asarray(query.channel())) for query in design.queries)
    waste = _WASTE_OF_MANY_CELLS if MECHANISMS[design.mechanism].many_cells else _WASTE
    return (nats + settling) * waste / (most * (1.0 + _LESS_WASTE * most))


def _told(channel: FloatArray) -> float:
    """The mutual information, in nats, of a channel's answer and a cell of equally likely ones."""
    surprise: FloatArray = rel_entr(channel, channel.mean(axis=0))
    return float(surprise.sum(axis=1).mean())


def _precision(
    family: Family,
    theta: tuple[float, ...],
    information: Callable[[list[float]], FloatArray],
    search: FloatArray,
) -> Precision:
    centre = family.unconstrain(np.array([theta]))[0]
    spread = Member(family, theta).spread
    covariance = np.linalg.inv(information(list(theta)))
    slopes = []
    for j, parameter in enumerate(family.parameters):
        shift = np.zeros(len(centre))
        shift[j] = _STEP * (spread if parameter.support == "real" else 1.0)
        ends = [family.constrain((centre + sign * shift)[np.newaxis])[0].tolist() for sign in (1, -1)]
        above, below = (np.log(np.diag(np.linalg.inv(information(end)))) for end in ends)
        slopes.append((above - below) / (2.0 * shift[j]))
    jacobian = _jacobian(family, centre)
    gradients = np.array(slopes).T / jacobian
    spreads = np.einsum("ij,jk,ik->i", gradients, covariance, gradients)
    widest = np.where([p.support == "real" for p in family.parameters], np.inf, jacobian)
    return Precision(family.names, np.diag(covariance), spreads, search, widest)


def _jacobian(family: Family, coordinates: FloatArray) -> FloatArray:
    """The derivative of each parameter in its unconstrained coordinate, shape (d,)."""
    logs = [p.log_jacobian(coordinates[[j]])[0] for j, p in enumerate(family.parameters)]
    return np.exp(np.array(logs))
