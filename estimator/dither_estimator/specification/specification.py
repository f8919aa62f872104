"""The statistical part of a collection's specification: what is estimated, from which answers, asked how."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither_client import DitherError, InvalidQuery, Query, Transform
from dither_client.mechanisms.query import MAX_CELLS
from dither_estimator.checks.goodness_of_fit import MisfitCheck
from dither_estimator.design.design import DesignError, optimal_design
from dither_estimator.design.goal import Goal, InvalidGoal, parse_goal
from dither_estimator.design.registry import MECHANISMS, Mechanism
from dither_estimator.families import Family
from dither_estimator.priors.prior import InvalidPrior, Prior
from dither_estimator.specification.fields import (
    Policy,
    SpecificationError,
    epsilon_of,
    given,
    only_levels,
    read_choice,
    read_discriminate,
    read_epsilon,
    read_epsilon_choices,
    read_family,
    read_integer,
    read_member_cuts,
    read_misfit_check,
    read_policy,
    read_prior,
    read_rho,
)
from dither_estimator.specification.rivals import InvalidFamilies, Rival, first_family, parse_rivals

__all__ = ["Policy", "Specification", "SpecificationError"]

SERVICE_FIELDS = frozenset({"name", "opens_at", "closes_at", "max_answers", "keep_answers", "admission", "visibility"})
"""Fields of a collection that the statistics have no use for."""

EXACT_FIELDS = frozenset({"epsilon", "epsilon_choices", "rho"})
"""Fields whose numbers are the decimals that were written, and never pass through a float."""

_FIELDS = (
    "family", "transform", "prior", "range", "epsilon", "epsilon_choices", "rho", "goal", "policy", "mechanism",
    "levels", "particles", "misfit_check", "misfit_looks", "families", "discriminate", "member_cuts",
)  # fmt: skip

DEFAULT_PARTICLES = 1_000


@dataclass(frozen=True)
class Specification:
    """A validated specification; `from_json` makes it."""

    family: Family
    transform: Transform
    prior: Prior
    epsilon: Fraction
    goal: Goal
    policy: Policy
    mechanism: Mechanism
    levels: int | None
    """Levels of `laplace`, cells less one of `randomized_response`; None leaves them to the design."""
    particles: int
    epsilon_choices: tuple[Fraction, ...]
    """What respondents may choose from, increasing: `epsilon`, which those who do not choose get, and others."""
    misfit_check: MisfitCheck | None
    """None where there is none."""
    rivals: tuple[Rival, ...]
    """Families that are compared with `family` over the same answers."""
    discriminate: float
    """The share of the questions that are chosen to tell the families apart; 0 without rivals."""
    rho: Fraction | None = None
    """Of every question of `gaussian`, if it was given in place of ε, which is then the largest of any question."""

    member_cuts: tuple[float, ...] | None = None
    """Where institutions count their members, on the transformed scale; None if they are not asked."""

    def fixed_query(self, epsilon: Fraction) -> Query | None:
        """The question of policy `fixed` at ε, whose `levels` default to the papers' noise; None for other policies."""
        if self.policy.interval is None:
            return None
        low, high = self.policy.interval
        kind = MECHANISMS[self.mechanism]
        return kind.fixed_question(low, high, self.levels, epsilon, self.rho, self.transform)

    def check_question(self, epsilon: Fraction) -> Query:
        """What a check question at ε is, to be asked `with_edges`: it has one."""
        return MECHANISMS[self.mechanism].check_question(epsilon, self.rho)

    @property
    def largest_rho(self) -> Fraction | None:
        """The ρ of zero-concentrated differential privacy that no question goes beyond; None if none is stated."""
        bounds = MECHANISMS[self.mechanism].rho_bounds
        if bounds is None or self.rho is not None:
            return self.rho
        levels = only_levels(self.levels, self.policy)
        # Beside what it is told to ask, a collection asks single thresholds.
        return max(bounds.largest_rho(epsilon, count) for epsilon in self.epsilon_choices for count in (levels, 1))

    def _check_questions(self) -> None:
        """Raises `SpecificationError` or `InvalidQuery` unless the questions that are asked for can be made."""
        _ = self.largest_rho
        for epsilon in self.epsilon_choices:
            fixed = self.fixed_query(epsilon)
            if fixed is None and self.policy.interval is not None:
                raise SpecificationError(
                    f"policy must be adaptive or thompson for {self.mechanism}, which asks about no interval"
                )
            if fixed is not None or self.levels is None:
                continue
            try:
                optimal_design(
                    self.family, self.family.standard, self.mechanism, epsilon, self.goal, self.levels, rho=self.rho
                )
            except (DesignError, InvalidQuery) as error:
                raise SpecificationError(f"levels cannot be {self.levels} here: {error}") from None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Specification":
        """The specification that a JSON object describes; service fields are passed over.

        Raises `SpecificationError`.
        """
        if not isinstance(data, Mapping):
            raise SpecificationError("a specification must be a JSON object")
        unknown = sorted(set(map(str, data)) - SERVICE_FIELDS - set(_FIELDS))
        if unknown:
            raise SpecificationError(f"unknown field in the specification; allowed are {', '.join(_FIELDS)}")
        try:
            data = first_family(data)
        except InvalidFamilies as error:
            raise SpecificationError(str(error)) from None
        family = read_family(data.get("family"))
        transform = read_choice(f"transform of {family.name}", given(data, "transform", "identity"), family.transforms)
        try:
            mechanism = read_choice("mechanism", given(data, "mechanism", "laplace"), tuple(MECHANISMS))
            prior = read_prior(family, transform, data)
            policy = read_policy(given(data, "policy", "adaptive"))
            levels = read_integer("levels", data.get("levels"), None, 1, MAX_CELLS - 1)
            rho = read_rho(data, mechanism)
            epsilon = data.get("epsilon") if rho is None else epsilon_of(mechanism, rho, only_levels(levels, policy))
            specification = cls(
                family=family,
                transform=transform,
                prior=prior,
                epsilon=read_epsilon("epsilon", epsilon),
                goal=parse_goal(given(data, "goal", "all"), family),
                policy=policy,
                mechanism=mechanism,
                levels=levels,
                particles=read_integer("particles", data.get("particles"), DEFAULT_PARTICLES, 100, 1_000_000),
                epsilon_choices=read_epsilon_choices(epsilon, data.get("epsilon_choices")),
                misfit_check=read_misfit_check(family, data.get("misfit_check"), data.get("misfit_looks")),
                rivals=parse_rivals(data, prior, transform),
                discriminate=read_discriminate(data, policy),
                rho=rho,
                member_cuts=read_member_cuts(transform, rho, data.get("member_cuts")),
            )
            specification._check_questions()
        except (InvalidPrior, InvalidGoal, InvalidFamilies, DitherError) as error:
            raise SpecificationError(str(error)) from None
        return specification
