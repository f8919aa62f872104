"""What an analyst reads: the posterior of one collection."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cache
from numbers import Real
from typing import TYPE_CHECKING, Any

from dither_client.extras import require_extra
from dither_client.mechanisms.query import Query
from dither_client.posterior.by_parameter import ByParameter
from dither_client.posterior.particles import Particles
from dither_client.posterior.population import quantile_at, share_at
from dither_client.posterior.sentences import basis_sentence, narrow_goal, unit_text
from dither_client.posterior.text import posterior_html, posterior_text
from dither_client.posterior.wire import (
    QUANTILES,
    ComponentReply,
    DistributionSummary,
    DriftTest,
    FamilyEvidence,
    GroupReply,
    Misfit,
    ParameterSummary,
    PeriodReply,
    PoisonBound,
    PosteriorReply,
    Regression,
    to_json,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from xarray import DataTree

    from dither_client.posterior.arviz_tree import ArvizModel

__all__ = ["Posterior", "no_group_particles", "population_fields"]


def no_group_particles(label: str) -> Particles:
    """Takes the place of fetching a group's particles where there are none. Raises `ValueError`."""
    raise ValueError("this posterior has no particles of single groups")


def _no_period_particles() -> Particles:
    raise ValueError("there are no particles of single periods: their summaries have levels 0.5 and 0.9")


def _no_component_particles() -> Particles:
    raise ValueError("there are no particles of single components: their summaries have levels 0.5 and 0.9")


@dataclass(frozen=True, repr=False)
class Posterior:
    """The posterior after `answers` answers.

    `summaries[parameter]` has the mean, the sd and the quantiles q05 to q95; `covariance` is in the order of
    `parameters`. Without a family, the first says the same of some quantiles of the population, such as
    `quantile_0.5`, or of the shares of categories, and `covariance` is empty. `log_evidence` is in nats. Where several
    families are compared, `families` has the evidence of each, and `verdict` names the one that is preferred or says
    "cannot tell yet", or "not compared" where nearly everybody has one value. `particles()` fetches the weighted
    particles once, when something first needs them, so they may rest on a few answers more.
    """

    collection: str
    summaries: dict[str, dict[str, float]]
    covariance: list[list[float]]
    answers: int
    ess: float
    log_evidence: float | None
    updated_at: str
    particles: Callable[[], Particles]
    answers_by_epsilon: dict[Fraction, int] = field(default_factory=dict)
    """How many answers came at each ε, increasing; empty if the server is too old to say."""
    families: tuple[FamilyEvidence, ...] = ()
    verdict: str | None = None
    poison: PoisonBound | None = None
    """How far off each parameter could be, were a share of the answers adversarial. None from a server that does not
    say."""
    misfit: Misfit | None = None
    """What the misfit check has found; None without one."""
    members: int = 0
    """How many members of institutions were counted."""
    quantiles: dict[float, ParameterSummary] = field(default_factory=dict)
    """Quantiles of the population by level, in the values' own units; empty from a server that does not give them."""
    above: dict[float, ParameterSummary] = field(default_factory=dict)
    """The shares of the population above the values that the collection's goal names."""
    mean_value: ParameterSummary | None = None
    """The mean of the population's values; None where it does not exist."""
    distribution: DistributionSummary | None = None
    """The population's distribution at some points; None where floating point cannot hold it."""
    atoms: dict[float, ParameterSummary] = field(default_factory=dict)
    """The share of the population at each declared atom."""
    categories: dict[str, ParameterSummary] = field(default_factory=dict)
    """The share of the population in each category."""
    groups: dict[str, GroupReply] = field(default_factory=dict, repr=False)
    """What is known of each public group, by its label; empty where there are none. `group` reads one."""
    between_groups: dict[str, ParameterSummary] = field(default_factory=dict)
    """The standard deviation between groups of each coordinate; empty where groups do not borrow from each other."""
    periods: dict[str, PeriodReply] = field(default_factory=dict, repr=False)
    """What is known of each calendar period, by its label; empty where there are none. `period` reads one."""
    step: dict[str, ParameterSummary] = field(default_factory=dict)
    """The standard deviation of the change of each coordinate from one period to the next; empty without periods."""
    drift_test: DriftTest | None = None
    """Whether one distribution explains the answers of all periods; None with drift or without periods."""
    surprise: float | None = None
    """With drift, how likely answers as far from what those before foretell as the latest period's are."""
    components: dict[str, ComponentReply] = field(default_factory=dict, repr=False)
    """What is known of each component, by its name, where people have several numbers. `component` reads one."""
    correlations: dict[str, ParameterSummary] = field(default_factory=dict)
    """The correlation of the normal scores of each two components, by names such as `wage,age`."""
    regressions: dict[str, Regression] = field(default_factory=dict, repr=False)
    """How one component goes with another. `regression` reads one."""
    group_particles: Callable[[str], Particles] = no_group_particles
    """Fetches the particles of one group."""
    counts: Callable[[], Mapping[Query, Sequence[int]]] = dict
    """Fetches how often each answer was given to each question, once, when something first needs it; empty where
    nobody says. It may have a few answers more than the rest."""
    group_counts: Callable[[], Mapping[str, Mapping[Query, Sequence[int]]]] = dict
    """The part of `counts` of each public group that has one, by its label."""
    terms: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The collection's terms, which say its family and on which scale that holds; empty where nobody says."""

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(self.summaries)

    @property
    def family(self) -> str:
        """The family as the terms say it; empty where nobody says."""
        return str(self.terms.get("family") or "")

    @property
    def transform(self) -> str:
        """The scale on which the family holds: where it is `log`, the parameters are those of logarithms."""
        return str(self.terms.get("transform") or "identity")

    @property
    def learnt(self) -> bool:
        """Whether anything was answered, or counted by institutions; before that it is only what was assumed."""
        return bool(self.answers or self.members)

    @property
    def title(self) -> str:
        """A line that says whose posterior this is, and after how many answers."""
        members = f" and counts of {self.members:,} members" if self.members else ""
        return (
            f"Posterior of {self.collection} after {self.answers:,} answer{'' if self.answers == 1 else 's'}{members}"
        )

    @property
    def basis(self) -> str:
        """What this rests on, in sentences: how many answers, what is assumed, by what groups count, and what a goal
        leaves open; empty where that is unknown.

        A part of a posterior, such as one group, does not know it.
        """
        if not self.learnt or not (self.family or self.components):
            return ""
        drifts = self.terms.get("drift") and self.periods
        latest = (str(self.terms["period"]), list(self.periods)[-1]) if drifts else None
        groups = self.terms.get("groups")
        declared = None if groups is None else groups.get("shares") is not None
        basis = basis_sentence((self.family, self.transform), self, latest, declared)
        return " ".join(filter(None, [basis, narrow_goal(self.terms)]))

    @property
    def mean(self) -> dict[str, float]:
        """The posterior mean of each parameter."""
        return ByParameter({parameter: summary["mean"] for parameter, summary in self.summaries.items()})

    @property
    def sd(self) -> dict[str, float]:
        """The posterior standard deviation of each parameter."""
        return ByParameter({parameter: summary["sd"] for parameter, summary in self.summaries.items()})

    def interval(self, level: float = 0.9) -> dict[str, tuple[float, float]]:
        """The central interval that holds `level` of the posterior, for each parameter.

        Levels 0.5 and 0.9 are the server's own quantiles, others come from the particles. Raises `ValueError`.
        """
        if not 0 < level < 1:
            raise ValueError("the level of an interval must be above 0 and below 1")
        low, high = (1 - level) / 2, (1 + level) / 2
        return ByParameter({name: (self._quantile(name, low), self._quantile(name, high)) for name in self.parameters})

    def quantile(self, level: float) -> ParameterSummary:
        """The value at or below which a share `level` of the population lies, in the values' own units.

        Exact at the levels of `quantiles`, else by interpolation of `distribution`. Raises `ValueError` if the
        posterior cannot tell, as beyond its points, and `TypeError` unless the level is a number.
        """
        level = _number("the level of a quantile", level)
        if not 0 < level < 1:
            raise ValueError("the level of a quantile must be above 0 and below 1")
        known = self.quantiles.get(level)
        return quantile_at(self._known_distribution(), level, self.atoms) if known is None else known

    def cdf(self, x: float) -> ParameterSummary:
        """The share of the population at or below `x`, by interpolation of `distribution`.

        Beyond its first and last point `interval(0.9)` goes down to 0 or up to 1, and the rest is that of this point.
        Raises `ValueError` for NaN and if the posterior cannot tell, and `TypeError` unless `x` is a number.
        """
        return share_at(self._known_distribution(), _number("the value", x), self.atoms)

    def share_above(self, x: float) -> ParameterSummary:
        """The share of the population above `x`: exact where the goal names it, else as `cdf`; raises what it does."""
        x = _number("the value", x)
        if x in self.above:
            return self.above[x]
        below = self.cdf(x)
        return ParameterSummary(
            1 - below.mean, below.sd, 1 - below.q95, 1 - below.q75, 1 - below.q50, 1 - below.q25, 1 - below.q05
        )

    def group(self, label: str) -> "Posterior":
        """The posterior of one public group, which has everything that the whole population's has.

        Raises `KeyError` for a label that is not among `groups`.
        """
        if label not in self.groups:
            raise KeyError("no group of this collection has that label: see `groups`")
        return self._part(label, self.groups[label], cache(lambda: self.group_particles(label)), self.terms)

    def period(self, label: str) -> "Posterior":
        """The posterior of one calendar period, such as `2026-W07`: its parameters, quantiles and mean.

        Raises `KeyError` for a label that is not among `periods`. It has no particles and no distribution function.
        """
        if label not in self.periods:
            raise KeyError("no period of this collection has that label: see `periods`")
        return self._part(label, self.periods[label], _no_period_particles, self.terms)

    def component(self, name: str) -> "Posterior":
        """The posterior of one component, as that of a collection of this number alone, without particles.

        Raises `KeyError` for a name that is not among `components`.
        """
        if name not in self.components:
            raise KeyError("no component of this collection has that name: see `components`")
        told = {each.get("name"): each for each in self.terms.get("components") or ()}
        return self._part(name, self.components[name], _no_component_particles, told.get(name, {}))

    def correlation(self, first: str, second: str) -> ParameterSummary:
        """The correlation of the normal scores of two components, in either order.

        Raises `KeyError` for names that are not two of `components`.
        """
        for name in (f"{first},{second}", f"{second},{first}"):
            if name in self.correlations:
                return self.correlations[name]
        raise KeyError("no two components of this collection have these names: see `correlations`")

    def regression(self, target: str, given: str) -> Regression:
        """The conditional median of a component and its bands, at values of another one, in their own units.

        Raises `KeyError` for names that are not two of `components`.
        """
        if f"{target},{given}" not in self.regressions:
            raise KeyError("no two components of this collection have these names: see `regressions`")
        return self.regressions[f"{target},{given}"]

    def to_frame(self) -> "DataFrame":
        """A pandas DataFrame of the summaries, a row for each parameter. Raises `MissingExtra`."""
        require_extra("tables", "pandas")
        import pandas

        return pandas.DataFrame.from_dict(self.summaries, orient="index").rename_axis("parameter")

    def to_arviz(self, model: "ArvizModel | None" = None) -> "DataTree":
        """ArviZ's DataTree: equally weighted draws in one chain, their particles, and the counts that are learnt.

        With a `model`, such as the estimator's `ParametricModel`, also draws of the prior and the log-likelihood of
        each count (`posterior.arviz_tree`). Public groups are a dimension. Raises `MissingExtra`.
        """
        require_extra("arviz", "arviz_base")
        from dither_client.posterior.arviz_tree import data_tree

        return data_tree(self, model)

    def plot(self, name: str | None = None, unit: str | None = None) -> "Figure":
        """A matplotlib Figure of the population's distribution and of each parameter. Raises `MissingExtra`.

        `name` is the collection's, for the title, which says the id without one; `unit` is that of its values; both are
        those of the terms unless they are given. There are no parameters where they are those of logarithms.
        """
        require_extra("plot", "matplotlib")
        from dither_client.posterior.plots import plot_posterior

        called = str(self.terms.get("name") or "") if name is None else name
        return plot_posterior(self, called, unit_text(self.terms) if unit is None else unit)

    def text(self, unit: str | None = None, decimals: int | None = None) -> str:
        """What `repr` says, where values have a unit and at most so many decimals: those of the terms, unless given.

        Where the family holds for logarithms, its parameters, which are those of logarithms, are left out: they are in
        `summaries`.
        """
        return posterior_text(self, *self._written(unit, decimals))

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        """A table for notebooks, and below it what `repr` says besides."""
        return posterior_html(self, *self._written(None, None))

    def _written(self, unit: str | None, decimals: int | None) -> tuple[str, int | None]:
        return (
            unit_text(self.terms) if unit is None else unit,
            self.terms.get("decimals") if decimals is None else decimals,
        )

    def _part(
        self,
        name: str,
        reply: GroupReply | PeriodReply | ComponentReply,
        particles: Callable[[], Particles],
        terms: Mapping[str, Any],
    ) -> "Posterior":
        """The posterior of one group, period or component."""
        return Posterior(
            collection=f"{self.collection}, {name}",
            covariance=to_json(reply.covariance),
            answers=reply.answers,
            ess=self.ess,
            log_evidence=None,
            updated_at=self.updated_at,
            particles=particles,
            terms=terms,
            **population_fields(reply),
        )

    def _known_distribution(self) -> DistributionSummary:
        if self.categories:
            raise ValueError("the answers are categories, which have shares and no distribution: see `categories`")
        if self.components:
            raise ValueError("each of several numbers has a distribution of its own: see `component`")
        if self.distribution is None:
            raise ValueError(
                "there is no distribution to tell this from: single periods have none, of more than 100 groups only "
                "the 24 with the most answers have one, and others while the posterior is not too wide; see `quantiles`"
            )
        return self.distribution

    def _quantile(self, parameter: str, probability: float) -> float:
        for name, known in QUANTILES.items():
            if math.isclose(probability, known):
                return self.summaries[parameter][name]
        return self.particles().quantile(parameter, probability)


def population_fields(reply: PosteriorReply | GroupReply | PeriodReply | ComponentReply) -> dict[str, Any]:
    """The fields of a `Posterior` that say something about the population, or about one part of it."""
    categories = (reply.categories or {}) if isinstance(reply, PosteriorReply | GroupReply) else {}
    whole = None if isinstance(reply, PeriodReply) else reply
    numbers = reply.posterior or categories or _named(reply.quantiles)
    return {
        "summaries": {name: asdict(each) for name, each in numbers.items()},
        "quantiles": _by_number(reply.quantiles),
        "above": _by_number(reply.above),
        "mean_value": reply.mean_value,
        "distribution": None if whole is None else whole.distribution,
        "atoms": {} if whole is None else _by_number(whole.atoms),
        "categories": dict(categories),
    }


def _number(what: str, given: object) -> float:
    """Raises `TypeError`, which does not repeat what was given."""
    if isinstance(given, bool) or not isinstance(given, Real | Decimal):
        raise TypeError(f"{what} must be a number, not {type(given).__name__}")
    return float(given)


def _named(quantiles: dict[str, ParameterSummary] | None) -> dict[str, ParameterSummary]:
    """Quantiles by the names that their draws have among the particles."""
    return {f"quantile_{level}": summary for level, summary in (quantiles or {}).items()}


def _by_number(summaries: dict[str, ParameterSummary] | None) -> dict[float, ParameterSummary]:
    return {float(name): summary for name, summary in (summaries or {}).items()}
