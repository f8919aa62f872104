"""What is told of a random collection's people, held against the truth."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any

import numpy as np

from benchmarks.random_collections.collection import RandomCollection
from benchmarks.random_collections.truths import Truth
from dither_client.posterior.wire import ComponentReply, GroupReply, ParameterSummary, PeriodReply, PosteriorReply
from dither_estimator.design.design import DesignError, optimal_design
from dither_estimator.design.functionals import functionals
from dither_estimator.design.goal import Goal
from dither_estimator.families import FloatArray
from dither_estimator.learning.any_learner import AnyLearner
from dither_estimator.learning.grouped_learner import GroupedLearner
from dither_estimator.learning.learner import Learner
from dither_estimator.learning.nonparametric_learner import NonparametricLearner
from dither_estimator.likelihood.institutions import Members
from dither_estimator.likelihood.table import CountLikelihood
from dither_estimator.nonparametric.deviations import BINS
from dither_estimator.nonparametric.likelihood import MassLikelihood
from dither_estimator.planning.precision import answers_to_find
from dither_estimator.specification.specification import Specification

__all__ = ["Told", "judge", "nats_missed"]

_LEVELS = ("0.25", "0.5", "0.75")
_ROUNDING = 1e-9
_NORMAL_Q95 = 1.645
_Reply = PosteriorReply | GroupReply | PeriodReply | ComponentReply


@dataclass(frozen=True)
class Told:
    """One interval. `kind`: parameter, quantile, mean, share or correlation; `step`: a quantile where many are equal.

    `width` and `error` are relative to the truth's scale; `z` is the error of the median, as a normal score (`_score`),
    and `promised` that of the mean in the standard deviations that the design promises, None where it promises none.
    """

    part: str
    name: str
    kind: str
    holds: bool
    width: float
    error: float
    z: float
    promised: float | None = None


def judge(collection: RandomCollection, specification: Specification, reply: PosteriorReply) -> list[Told]:
    """Every interval that the posterior has of what is known; none if the family does not hold."""
    return [] if collection.misspecified else list(_judge(collection, specification, reply))


def _judge(collection: RandomCollection, spec: Specification, reply: PosteriorReply) -> Iterator[Told]:
    if collection.shares:
        for label, shares in collection.shares.items():
            told = (reply.groups or {})[label].categories if label else reply.categories
            for category, share in zip(spec.categories, shares, strict=True):
                yield _told(label, category, "share", (told or {})[category], share, 1.0)
        return
    for pair, summary in (reply.correlations or {}).items():
        yield _told("", pair, "correlation", summary, collection.correlation, 1.0)
    parts = reply.components or reply.groups or reply.periods
    if not parts:
        yield from _of_number(spec, "", reply, collection.truths[""], 0 if reply.members else reply.answers)
        return
    of_each = {each.name: each.specification for each in spec.components}
    for label, part in parts.items():
        truth = collection.truths[label]
        yield from _of_number(of_each.get(label, spec), label, part, truth, 0 if spec.components else part.answers)
    if reply.groups:
        weights = [part.answers / reply.answers for part in reply.groups.values()]
        if spec.groups is not None and spec.groups.shares is not None:
            weights = list(spec.groups.shares)
        whole = Truth.together(list(collection.truths.values()), weights)
        yield from _of_number(spec, "all", reply, whole, reply.answers)


def _of_number(spec: Specification, part: str, reply: _Reply, truth: Truth, answers: int) -> Iterator[Told]:
    promises = _promised(spec, truth, answers)
    spread = truth.spread
    for name, summary in reply.posterior.items():
        value = truth.members[0].theta[spec.family.names.index(name)]
        scale = abs(value) if name != "mu" else truth.members[0].theta[1]
        yield _told(part, name, "parameter", summary, value, scale, promises.get(name))
    whole = truth.stepwise
    for level in _LEVELS:
        if reply.quantiles and level in reply.quantiles:
            value = truth.quantile(float(level))
            kind = "step" if whole or value in truth.atoms else "quantile"
            promise = None if kind == "step" else promises.get(f"quantile_{level}")
            yield _told(part, level, kind, reply.quantiles[level], value, spread, promise)
    if reply.mean_value is not None and isfinite(truth.mean):
        yield _told(part, "mean", "mean", reply.mean_value, truth.mean, spread)
    for value_text, summary in (reply.above or {}).items():
        share = 1 - truth.cdf(np.array([float(value_text)]))[0]
        yield _told(part, "above", "share", summary, share, 1.0, promises.get("above"))
    if not isinstance(reply, PeriodReply):
        own = truth.shares[len(truth.members) :]
        for atom, share in zip(truth.atoms, own, strict=True) if part != "all" else ():
            yield _told(part, "atom", "share", (reply.atoms or {})[f"{atom:.12g}"], share, 1.0)


def _told(
    part: str, name: str, kind: str, summary: ParameterSummary, truth: float, scale: float, promise: float | None = None
) -> Told:
    low, high = summary.interval(0.9)
    room = _ROUNDING * (abs(truth) + scale)
    error = summary.mean - truth
    return Told(
        part,
        name,
        kind,
        bool(low - room <= truth <= high + room),
        (high - low) / scale,
        error / scale,
        _score(summary, truth, room),
        error / promise if promise else None,
    )


def _score(summary: ParameterSummary, truth: float, room: float) -> float:
    """How far the truth lies from the median, in distances from there to the 5 or 95% quantile, as a normal score.

    Between positive numbers the distances are those of logarithms.
    """
    ends = np.array([summary.q05, summary.q50, summary.q95, truth])
    if abs(summary.q50 - truth) <= room:
        return 0.0
    if (ends > 0).all():
        ends, room = np.log(ends), _ROUNDING
    low, middle, high, there = ends.tolist()
    towards = high - middle if there > middle else middle - low
    return float(_NORMAL_Q95 * (middle - there) / max(towards, room))


def _promised(spec: Specification, truth: Truth, answers: int) -> dict[str, float]:
    """The standard deviations that the design's variance at the truth promises for this many answers.

    Those that are spent on finding the people, as plans have it, are left out; if they are more than half, if several ε
    are mixed, or if all are asked one question, nothing is promised. Nor is it of components, of which answers about
    several tell, too.
    """
    several = len(spec.epsilon_choices) > 1 or len(truth.members) > 1
    if not (spec.parametric and answers) or several or spec.policy.interval is not None:
        return {}
    theta = truth.members[0].theta
    try:
        design = optimal_design(spec.family, theta, spec.mechanism, spec.epsilon, spec.goal, spec.levels, rho=spec.rho)
        left = answers - float(np.max(answers_to_find(spec.prior, design)))
        covariance = np.linalg.inv(design.information)
    except (DesignError, np.linalg.LinAlgError):
        return {}
    if left < answers / 2 or None in design.variances or not (np.diag(covariance) > 0).all():
        return {}
    found = dict(zip(spec.family.names, np.sqrt(np.diag(covariance) / left).tolist(), strict=True))
    more = Goal(
        quantiles=tuple((float(level), 1.0) for level in _LEVELS), above=spec.goal.above, transform=spec.transform
    )
    for each in functionals(more, spec.family, theta):
        sd = sqrt(float(np.sum(each.slopes * covariance)) / left) * each.unit(spec.transform)
        found["above" if each.name.startswith("above") else each.name] = sd
    return found


def nats_missed(collection: RandomCollection, learner: AnyLearner) -> float:
    """By how many nats the answers are likelier given the truth than given any draw of the posterior, at least 0."""
    spec = learner.specification
    if collection.misspecified:
        return 0.0
    if isinstance(learner, NonparametricLearner):
        return _missed_without_family(collection.truths[""], learner)
    if not spec.parametric:
        return 0.0
    if isinstance(learner, GroupedLearner):
        counts: Mapping[str, Any] = learner.group_counts
        draws = {label: learner.group_particles(label)[1] for label in counts}
    elif isinstance(learner, Learner):
        counts, draws = {"": learner.counts}, {"": learner.particles()[0]}
    else:
        return 0.0
    members = learner.members if isinstance(learner, Learner) else {}
    return max(_missed(spec, collection.truths[label], counts[label], members, draws[label]) for label in counts)


def _missed(spec: Specification, truth: Truth, counts: Any, members: Members, draws: FloatArray) -> float:
    if not (counts or members):
        return 0.0
    theta = np.concatenate([[truth.members[0].theta], draws])
    found = CountLikelihood.of(spec.family, counts, members).log_likelihood(theta)
    return max(0.0, float(found[0] - found[1:].max()))


def _missed_without_family(truth: Truth, learner: NonparametricLearner) -> float:
    counts, found = learner.counts, learner.distribution
    height = 0.0
    for query, row in counts.items():
        shares = np.diff(truth.cdf(np.array(query.edges)), prepend=0.0, append=1.0)
        height += float(row @ np.log(np.maximum(shares @ np.array(query.channel()), 1e-300)))
    heights = MassLikelihood.of(counts, found.base, BINS, found.support)(found.masses)
    return max(0.0, height - float(heights.max()))
