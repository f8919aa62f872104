"""The statistical part of a collection's specification: what is estimated, from which answers, by which questions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dither_client import DitherError, InvalidQuery, Query, Transform
from dither_client.mechanisms.grouped_randomized_response import GroupedRandomizedResponse
from dither_client.mechanisms.panel import Panel
from dither_client.mechanisms.query import MAX_CELLS
from dither_client.tables.file_errors import unknown_field
from dither_estimator.checks.goodness_of_fit import MisfitCheck
from dither_estimator.design.design import DesignError, optimal_design
from dither_estimator.design.functionals import SCORE_STEP, goal_at
from dither_estimator.design.goal import Goal, InvalidGoal
from dither_estimator.design.registry import MECHANISMS, WITH_FAMILY, WITHOUT_FAMILY, Mechanism
from dither_estimator.families import Family, FloatArray
from dither_estimator.nonparametric.questions import Templates
from dither_estimator.nonparametric.support import ANYWHERE, Support
from dither_estimator.priors.prior import InvalidPrior, Prior
from dither_estimator.specification.competing_families import (
    CompetingFamily,
    InvalidFamilies,
    first_family,
)
from dither_estimator.specification.components import component_fields, refuse_fields_beside_components
from dither_estimator.specification.fields import (
    CATEGORICAL,
    DEFAULT_PARTICLES,
    MAX_LEVELS,
    NONPARAMETRIC,
    SEVERAL,
    Policy,
    SpecificationError,
    epsilon_of,
    given,
    only_levels,
    read_around,
    read_categories,
    read_choice,
    read_epsilon,
    read_epsilon_choices,
    read_family,
    read_goal,
    read_integer,
    read_policy,
    read_rho,
    read_support,
    refuse_fields_of_families,
    refuse_fields_of_numbers,
)
from dither_estimator.specification.groups import Groups, read_groups, refuse_fields_beside_groups
from dither_estimator.specification.periods import (
    Period,
    read_drift,
    read_panel,
    read_period,
    refuse_fields_beside_periods,
)
from dither_estimator.specification.with_family import default_prior, fields_of_family

__all__ = ["ComponentSpecification", "Policy", "Specification", "SpecificationError"]

SERVICE_FIELDS = frozenset({
    "name", "question", "unit", "period_of_value", "organisation", "contact", "privacy_url", "thank_you",
    "pages", "opens_at", "closes_at", "max_answers", "keep_answers", "keep_answers_days", "keep_days",
    "retention_days", "admission", "visibility",
})  # fmt: skip
"""Fields of a collection that the statistics do not use."""

EXACT_FIELDS = frozenset({"epsilon", "epsilon_choices", "rho"})
"""Fields whose numbers are exact decimals and never pass through a float."""

_FIELDS = (
    "family", "transform", "prior", "range", "epsilon", "epsilon_choices", "rho", "goal", "policy", "mechanism",
    "levels", "particles", "misfit_check", "misfit_looks", "families", "discriminate", "member_cuts",
    "minimum", "maximum", "atoms", "decimals", "categories", "groups", "period", "drift", "panel", "components",
)  # fmt: skip

MAX_DRAWS = 10_000
"""The most particles of a distribution without a family, each of which has the mass of every bin."""
_PRIOR_DRAWS = 500
_DEFAULT_LEVELS = 4
"""The levels of a question about a distribution, where neither the specification nor the mechanism says how many."""


@dataclass(frozen=True)
class ComponentSpecification:
    """One of the several numbers of each person: its name, and the specification of a collection of it alone."""

    name: str
    specification: "Specification"


@dataclass(frozen=True)
class Specification:
    """A validated specification, made by `from_json`."""

    family: Family
    transform: Transform
    prior: Prior
    epsilon: Fraction
    goal: Goal
    policy: Policy
    mechanism: Mechanism
    levels: int | None
    """The levels of `laplace`, or the cells less one of `randomized_response`; None if the design chooses."""
    particles: int
    epsilon_choices: tuple[Fraction, ...]
    """The values of ε that respondents may choose from, increasing; `epsilon` is the default among them."""
    misfit_check: MisfitCheck | None
    """None if the collection has no goodness-of-fit check."""
    rivals: tuple[CompetingFamily, ...]
    """Families that compete with `family` to describe the same answers."""
    discriminate: float
    """The share of the questions that are chosen to tell the families apart; 0 without competing families."""
    rho: Fraction | None = None
    """ρ of every `gaussian` question, if given instead of ε; `epsilon` is then the largest ε of any question."""
    member_cuts: tuple[float, ...] | None = None
    """Where institutions count their members, on the transformed scale; None if institutions are not asked."""
    support: Support = ANYWHERE
    """Between which public bounds values lie; of a distribution without a family, also its atoms."""
    around: tuple[float, float] | None = None
    """Where most values are expected, of a distribution without a family, in their own units."""
    categories: tuple[str, ...] = ()
    """The texts of the categories, of which each person has one; empty where people have numbers."""
    groups: Groups | None = None
    """The public groups that people belong to, each with a posterior of its own; None without groups."""
    period: Period | None = None
    """How answers are told apart by the time of their question; None if they are not."""
    drift: bool = False
    """Whether the distribution may change from period to period."""
    panel: Panel | None = None
    """In which periods each person answers, where people answer in several; None if everybody answers once."""
    components: tuple[ComponentSpecification, ...] = ()
    """The several numbers of each person, in the order of the terms; empty where people have one."""

    @property
    def nonparametric(self) -> bool:
        """Whether there is no family: what is learnt is the distribution itself."""
        return self.family is NONPARAMETRIC

    @property
    def has_default_prior(self) -> bool:
        """Whether neither a prior nor a range says where to expect parameters."""
        return self.prior == default_prior(self.family, self.transform, self.support)

    @property
    def shares_below(self) -> FloatArray:
        """The share that the prior expects below each value of which the goal asks for the share above, shape (k,)."""
        if not self.goal.above:
            return np.empty(0)
        theta = self.family.constrain(self.prior.sample(np.random.default_rng(0), _PRIOR_DRAWS))
        return np.asarray(self.family.cdf(theta, np.array(self.goal.cuts)).mean(axis=0))

    @property
    def standard_goal(self) -> Goal:
        """The goal as it would be in the standard member, if the shares above its values were about the same."""
        return goal_at(self.goal, self.family, self.family.standard, self.shares_below, SCORE_STEP)

    def templates(self, epsilon: Fraction) -> Templates:
        """Templates for questions about a distribution: of the mechanism, at this ε, with the given levels if any."""
        kind = MECHANISMS[self.mechanism]
        cells = kind.question(self.levels or _DEFAULT_LEVELS, epsilon, self.rho)
        return Templates(cells, kind.question(1, epsilon, self.rho))

    @property
    def parametric(self) -> bool:
        """Whether what is learnt are the parameters of a family."""
        return not (self.nonparametric or self.categories or self.components)

    def fixed_query(self, epsilon: Fraction) -> Query | None:
        """The question of policy `fixed` at ε, with the papers' `levels` by default; None for other policies."""
        if self.policy.interval is None:
            return None
        low, high = self.policy.interval
        kind = MECHANISMS[self.mechanism]
        return kind.fixed_question(low, high, self.levels, epsilon, self.rho, self.transform)

    def check_question(self, epsilon: Fraction) -> Query:
        """A template for check questions at ε, used `with_edges`; it has one edge."""
        return MECHANISMS[self.mechanism].check_question(epsilon, self.rho)

    @property
    def largest_rho(self) -> Fraction | None:
        """The largest ρ (zero-concentrated differential privacy) of any question; None if the mechanism states none."""
        return self._derived_rho()

    def _derived_rho(self) -> Fraction | None:
        """Computes `largest_rho`. Raises `InvalidQuery` if an ε is too small for any ρ."""
        if self.categories or self.components:
            return None
        bounds = MECHANISMS[self.mechanism].rho_bounds
        if bounds is None or self.rho is not None:
            return self.rho
        levels = only_levels(self.levels, self.policy)
        # Besides the questions that the specification asks for, a collection asks single thresholds.
        return max(bounds.largest_rho(epsilon, count) for epsilon in self.epsilon_choices for count in (levels, 1))

    def _check_rho(self) -> None:
        """Raises `InvalidQuery` if an ε is too small for the mechanism to state a ρ."""
        self._derived_rho()

    def _check_questions(self) -> None:
        """Raises `SpecificationError` or `InvalidQuery` unless every specified question can be made."""
        self._check_rho()
        for epsilon in self.epsilon_choices:
            fixed = self.fixed_query(epsilon)
            if fixed is None and self.policy.interval is not None:
                raise SpecificationError(
                    f"policy must be adaptive or thompson for {self.mechanism}, which does not ask about an interval"
                )
            if fixed is not None or self.levels is None:
                continue
            if self.nonparametric:
                self.templates(epsilon)
                continue
            try:
                optimal_design(
                    self.family,
                    self.family.standard,
                    self.mechanism,
                    epsilon,
                    self.standard_goal,
                    self.levels,
                    rho=self.rho,
                )
            except (DesignError, InvalidQuery) as error:
                raise SpecificationError(f"levels cannot be {self.levels} here: {error}") from None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Specification":
        """The specification that a JSON object describes; service fields are ignored.

        Raises `SpecificationError`.
        """
        if not isinstance(data, Mapping):
            raise SpecificationError("a specification must be a JSON object")
        known = (*_FIELDS, *sorted(SERVICE_FIELDS))
        if unknown := sorted(set(map(str, data)) - set(known)):
            raise SpecificationError(f"the specification has {unknown_field(unknown[0], known)}")
        try:
            data = first_family(data)
        except InvalidFamilies as error:
            raise SpecificationError(str(error)) from None
        if data.get("components") is not None:
            return cls._of_components(data)
        groups = read_groups(data.get("groups"))
        if groups is not None:
            refuse_fields_beside_groups(data)
        period = read_period(data.get("period"))
        drift = read_drift(data.get("drift"), period)
        panel = read_panel(data, period)
        if period is not None:
            refuse_fields_beside_periods(data)
        specification = replace(cls._without_groups(data), groups=groups, period=period, drift=drift, panel=panel)
        if period is not None and not specification.parametric:
            raise SpecificationError("period needs a family with parameters, such as normal: leave period out")
        return specification

    @classmethod
    def _without_groups(cls, data: Mapping[str, Any]) -> "Specification":
        family = read_family(data.get("family"))
        if family is CATEGORICAL:
            return cls._of_categories(data)
        if data.get("categories") is not None:
            raise SpecificationError(f"categories need the family {CATEGORICAL.name}")
        try:
            usual = WITH_FAMILY if family is not NONPARAMETRIC else WITHOUT_FAMILY
            mechanism = read_choice("mechanism", given(data, "mechanism", usual), tuple(MECHANISMS))
            policy = read_policy(given(data, "policy", "adaptive"))
            if family is NONPARAMETRIC:
                levels = read_integer("levels without a family", data.get("levels"), None, 1, MAX_LEVELS)
            else:
                levels = read_integer("levels", data.get("levels"), None, 1, MAX_CELLS - 1)
            rho = read_rho(data, mechanism)
            epsilon = data.get("epsilon") if rho is None else epsilon_of(mechanism, rho, only_levels(levels, policy))
            model = _without_family(data) if family is NONPARAMETRIC else fields_of_family(data, family, policy, rho)
            specification = cls(
                family=family,
                epsilon=read_epsilon("epsilon", epsilon),
                policy=policy,
                mechanism=mechanism,
                levels=levels,
                epsilon_choices=read_epsilon_choices(epsilon, data.get("epsilon_choices")),
                rho=rho,
                **model,
            )
            specification._check_questions()
        except (InvalidPrior, InvalidGoal, InvalidFamilies, DitherError) as error:
            raise SpecificationError(str(error)) from None
        return specification

    @classmethod
    def _of_components(cls, data: Mapping[str, Any]) -> "Specification":
        refuse_fields_beside_components(data)
        parts = []
        for name, fields in component_fields(data).items():
            try:
                parts.append(ComponentSpecification(name, cls.from_json(fields)))
            except SpecificationError as error:
                raise SpecificationError(f"the component {name}: {error}") from None
        first = parts[0].specification
        if any(part.specification.categories for part in parts):
            raise SpecificationError("a component must be a number: categories cannot go with components")
        if first.policy.interval is not None:
            raise SpecificationError("policy must be adaptive or thompson with components")
        if MECHANISMS[first.mechanism].rho_bounds is not None:
            raise SpecificationError(f"mechanism must be another than {first.mechanism} with components")
        return cls(
            family=SEVERAL,
            transform="identity",
            prior=Prior(SEVERAL, ()),
            epsilon=first.epsilon,
            goal=Goal(()),
            policy=first.policy,
            mechanism=first.mechanism,
            levels=None,
            particles=min(first.particles, MAX_DRAWS),
            epsilon_choices=first.epsilon_choices,
            misfit_check=None,
            rivals=(),
            discriminate=0.0,
            components=tuple(parts),
        )

    @classmethod
    def _of_categories(cls, data: Mapping[str, Any]) -> "Specification":
        refuse_fields_of_numbers(data)
        epsilon = data.get("epsilon")
        try:
            return cls(
                family=CATEGORICAL,
                transform="identity",
                prior=Prior(CATEGORICAL, ()),
                epsilon=read_epsilon("epsilon", epsilon),
                goal=Goal(()),
                policy=Policy("adaptive"),
                mechanism=GroupedRandomizedResponse.mechanism,
                levels=None,
                particles=read_integer("particles", data.get("particles"), DEFAULT_PARTICLES, 100, MAX_DRAWS),
                epsilon_choices=read_epsilon_choices(epsilon, data.get("epsilon_choices")),
                misfit_check=None,
                rivals=(),
                discriminate=0.0,
                categories=read_categories(data),
            )
        except DitherError as error:
            raise SpecificationError(str(error)) from None


def _without_family(data: Mapping[str, Any]) -> dict[str, Any]:
    """What is learnt of a distribution itself, whose questions are in the values' own units."""
    refuse_fields_of_families(data)
    support = read_support(data)
    return {
        "transform": "identity",
        "prior": Prior(NONPARAMETRIC, ()),
        "goal": read_goal(support, data.get("goal")),
        "particles": read_integer("particles", data.get("particles"), DEFAULT_PARTICLES, 100, MAX_DRAWS),
        "misfit_check": None,
        "rivals": (),
        "discriminate": 0.0,
        "support": support,
        "around": read_around(support, data),
    }
