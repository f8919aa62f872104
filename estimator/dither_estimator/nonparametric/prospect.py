"""What answers of a known population will tell about its distribution, beside what any ε-LDP mechanism could tell.

The unknowns are the coefficients of the deviations, a priori normal. Their base, smoothness and mean are those of the
posterior that n respondents leave whose answers come as often as is expected. An answer then has the Fisher information
`M` about the coefficients, and n of them leave the criterion

    n ∫ Var F(x) dF(x) = n tr(G (1 + n M)⁻¹),

in units in which the coefficients have the prior variance 1. It is convex in the information of the questions, which is
linear in how often each is asked, as that of any channel is in the weights of its columns. So the least criterion of
any ε-LDP mechanism is that of the best channel on fine cells (`design.channel`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq

from dither_client import Query, RandomizedResponse
from dither_client.mechanisms.query import MAX_EPSILON
from dither_estimator.design.channel import BestChannel, best_channel, intervals
from dither_estimator.design.columns import Columns, Patterns
from dither_estimator.design.convex import Criterion
from dither_estimator.design.limit import Limit
from dither_estimator.families import FloatArray
from dither_estimator.nonparametric.approximation import approximate
from dither_estimator.nonparametric.cell_design import cell_questions
from dither_estimator.nonparametric.deviations import BINS, Deviations
from dither_estimator.nonparametric.distribution import Distribution
from dither_estimator.nonparametric.fitting import fit_base
from dither_estimator.nonparametric.known import KnownPopulation
from dither_estimator.nonparametric.likelihood import MassLikelihood
from dither_estimator.nonparametric.posterior import estimate_mean
from dither_estimator.nonparametric.questions import Templates, looking_farther, quantile_questions
from dither_estimator.nonparametric.unknowns import Unknowns

__all__ = ["Certificate", "Prospect", "expect"]

_DIRECTIONS = 16
"""How many combinations of coefficients are learnt: values tell most about these, hardly anything about others."""
_MOST_POINTS = 500
_RESPONDENTS = 1_000_000
"""How many people's values say where to ask."""
_PARTS = 32
"""How many equal parts the population is cut into, in addition to the queries' own cuts."""
_COARSE_STRIDE = 4
_MIN_CELL_PROBABILITY = 1e-7
"""Cells with less are left out."""
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Certificate:
    """How near queries come to the limit. Criteria are `n ∫ Var F(x) dF(x)` after n respondents."""

    queries: tuple[Query, ...]
    """They are asked equally often."""
    respondents: int
    criterion: float
    limit: Limit
    """The limit of any mechanism at the queries' ε."""
    enough: float
    """The number of respondents that would leave as little variance with the limit's own channel."""

    @property
    def efficiency(self) -> float:
        """The least criterion, as a share of the queries'."""
        return self.limit.criterion / self.criterion

    @property
    def sd(self) -> float:
        """The root mean square of the posterior standard deviation of F(x), over the population."""
        return math.sqrt(self.criterion / self.respondents)

    def to_json(self) -> dict[str, Any]:
        """The fields of a family's design; there are no parameters whose information or variance they could say."""
        return {
            "queries": [{**query.to_json(), "weight": 1 / len(self.queries)} for query in self.queries],
            "information": [],
            "variance": {},
            "criterion": self.criterion,
            "criterion_of": {"distribution": 1.0},
            "gap": self.limit.gap,
            "limit": self.limit.criterion,
            "efficiency": self.efficiency,
            "respondents": self.respondents,
            "respondents_at_limit": self.enough,
            "sd": self.sd,
        }


@dataclass(frozen=True, eq=False)
class Prospect:
    """What a number of respondents will tell about a population."""

    unknowns: Unknowns
    """What can be learnt."""
    respondents: int
    rest: float
    """The part of the criterion that comes from what cannot be learnt."""

    @property
    def distribution(self) -> Distribution:
        """The posterior mean, as a single draw."""
        return self.unknowns.mean

    def questions(self, templates: Templates, cells: int | None = None) -> list[Query]:
        """Approximately what a collection asks, all in all; `cells` as for `quantile_questions`."""
        if not templates.cells.merges:
            return quantile_questions(self.distribution, templates, cells)
        found = cell_questions(self.unknowns, templates.cells, cells, self.respondents)
        return looking_farther(found, self.distribution)

    def criterion(self, queries: Sequence[Query]) -> float:
        """`n ∫ Var F(x) dF(x)` if these queries are asked equally often."""
        rows = np.concatenate([self._rows(query) for query in queries])
        gradients = rows @ self.unknowns.effects / np.sqrt(rows @ self._masses)[:, np.newaxis]
        return self.rest + self._criterion.value(gradients.T @ gradients / len(queries))

    def certificate(self, queries: Sequence[Query]) -> Certificate:
        """How near queries that are asked equally often come to any mechanism at their ε.

        The limit is that on fine cells, which are cut wherever a query is. They are too many to look at all columns, so
        its gap is what a search finds.
        """
        levels = np.arange(1, _PARTS) / _PARTS
        edges = np.unique(np.concatenate([self._quantiles(levels), *(query.edges for query in queries)]))
        blocks = np.arange(len(edges) + 1) // _COARSE_STRIDE
        starts = [intervals(blocks[-1] + 1)[:, blocks], *(_layers(query, edges) for query in queries)]
        best = self._best(edges, queries[0].epsilon, np.concatenate(starts))
        reached = self.criterion(queries)
        return Certificate(tuple(queries), self.respondents, reached, self._limit(best), self._enough(best, reached))

    def limit_on(self, cells: int, epsilon: Fraction) -> Limit:
        """The least criterion of any mechanism on at most so many cells, equally likely but for those of atoms."""
        support = self.distribution.support
        around = [cut for point in support.points for cut in support.around(point)]
        parts = cells - len(around)
        edges = np.unique(np.append(self._quantiles(np.arange(1, parts) / parts), around))
        return self._limit(self._best(edges, epsilon, intervals(len(edges) + 1)))

    def _best(self, edges: FloatArray, epsilon: Fraction, starts: Patterns) -> BestChannel:
        """The best channel on the cells between these edges; `starts` as for `best_channel`."""
        rows = self.unknowns.cells(edges)
        cells = rows @ self._masses
        held = cells > _MIN_CELL_PROBABILITY
        columns = Columns(cells[held], rows[held] @ self.unknowns.effects, math.exp(-epsilon))
        return best_channel(columns, self._criterion, starts[:, held])

    def _limit(self, best: BestChannel) -> Limit:
        return Limit(self.rest + best.criterion, best.gap)

    def _enough(self, best: BestChannel, reached: float) -> float:
        """How many answers to the best channel leave the variance that all respondents' leave with this criterion."""
        wanted = (reached - self.rest) / self.respondents
        aim = self._criterion.aim

        def surplus(log_number: float) -> float:
            number = math.exp(log_number)
            return Criterion(aim, np.eye(len(aim)) / number).value(best.information) / number - wanted

        most = math.log(self.respondents)
        return math.exp(brentq(surplus, 0.0, most)) if surplus(most) < 0 < surplus(0.0) else float(self.respondents)

    @property
    def _masses(self) -> FloatArray:
        return self.distribution.masses[0]

    @cached_property
    def _criterion(self) -> Criterion:
        """In the form `tr(G (M + 1 / n)⁻¹)`."""
        aim = self.unknowns.aim
        return Criterion(aim, np.eye(len(aim)) / self.respondents)

    def _rows(self, query: Query) -> FloatArray:
        """The probability of each answer given the bin or atom, shape (answers, masses)."""
        counts = {query: np.ones(query.n_answers, dtype=int)}
        return MassLikelihood.of(counts, self.distribution.base, BINS, self.distribution.support).rows

    def _quantiles(self, levels: FloatArray) -> FloatArray:
        return self.distribution.quantile(levels).values[0]


def expect(population: KnownPopulation, templates: Templates, respondents: int, cells: int | None = None) -> Prospect:
    """What so many respondents will tell who are asked questions of the templates' mechanism.

    `cells` as for `quantile_questions`.
    """
    support = population.support
    around = [cut for point in support.points for cut in support.around(point)]
    points = population.points[:: math.ceil(len(population.points) / _MOST_POINTS)]
    precise = _precise(np.unique(np.append(support.inside(points), around)))
    known = estimate_mean(population.expected([precise], _RESPONDENTS), support)
    counts = population.expected(quantile_questions(known, templates, cells), respondents)
    base = fit_base(counts, support)
    likelihood, deviations = MassLikelihood.of(counts, base, BINS, support), Deviations(base, support)
    normal, _ = approximate(likelihood, deviations)
    nodes = np.exp(normal.log_weights)
    masses = nodes @ deviations.masses(normal.means * deviations.scales)
    effects = deviations.jacobian(nodes @ (normal.means * deviations.scales)) * np.sqrt(nodes @ deviations.scales**2)
    return _prospect(Distribution(support, base, masses[np.newaxis]), respondents, effects)


def _prospect(distribution: Distribution, respondents: int, effects: FloatArray) -> Prospect:
    """The prospect, of which only the directions are learnt of which values tell most."""
    [masses] = distribution.masses
    _, directions = np.linalg.eigh((effects.T / masses) @ effects)
    everything = Unknowns(distribution, effects)
    learnt = Unknowns(distribution, effects @ directions[:, -_DIRECTIONS:])
    return Prospect(learnt, respondents, respondents * float(np.trace(everything.aim) - np.trace(learnt.aim)))


def _precise(edges: FloatArray) -> Query:
    """A question whose answer is the cell itself."""
    return RandomizedResponse(edges.tolist(), MAX_EPSILON)


def _layers(query: Query, edges: FloatArray) -> Patterns:
    """The columns of which a query's are mixtures, on the cells between edges that include its own, shape (N, cells).

    Each is 1 where the answer is more likely than in some of the query's cells.
    """
    own = np.append(0, np.searchsorted(query.edges, edges, side="right"))
    columns = np.array(query.channel())[own].T
    heights = [np.unique(column)[:-1, np.newaxis] for column in columns]
    return np.concatenate([column > some * (1 + _ROUNDING) for column, some in zip(columns, heights, strict=True)])
