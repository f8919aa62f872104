"""Questions about a distribution from the first answer on, and the support that they are asked within."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dither_client import Gaussian, Laplace, Query, RandomizedResponse, Staircase
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import merge_counts
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.nonparametric.posterior import estimate_distribution
from dither_estimator.nonparametric.questions import Templates, whole_questions
from dither_estimator.nonparametric.support import ANYWHERE, Support

TEMPLATES: list[Query] = [
    RandomizedResponse((0.0,), 1),
    Staircase((0.0, 1.0, 2.0), ((0, 1), (0, 3), (1, 2), (2, 3)), (1, 1, 1, 1), 1),
    Laplace(0.0, 1.0, 1, 1),
    Laplace(0.0, 1.0, 6, 2),
    Gaussian(0.0, 1.0, 4, Fraction("0.1"), 5),
]


def learnt(rng: np.random.Generator, values: FloatArray, support: Support, template: Query) -> dict[Query, Any]:
    """Counts of these people's answers, asked what is best to ask next."""
    counts: dict[Query, Any] = {}
    at = 0
    while at < len(values):
        known = estimate_distribution(rng, counts, support, 200)
        queries = whole_questions(known, Templates.of(template), None, 8, counts)
        size = max(8, at // 4)
        for number, query in enumerate(queries):
            held = values[at : at + size][number :: len(queries)]
            people = np.bincount([query.cell(value) for value in held], minlength=query.n_cells)
            row = rng.multinomial(people, channel_of(query).matrix).sum(axis=0)
            counts = merge_counts(counts, {query: row} if row.any() else {})
        at += size
    return counts


def first_questions(support: Support, template: Query) -> list[Query]:
    """What is asked before there are answers."""
    prior = estimate_distribution(np.random.default_rng(0), {}, support, 200)
    return whole_questions(prior, Templates.of(template), None, 8, {})


def inside(cut: float, support: Support) -> bool:
    above = support.minimum is None or support.minimum < cut
    return above and (support.maximum is None or cut < support.maximum)


SUPPORTS = [
    Support(),
    Support(minimum=-3.0),
    Support(maximum=1e6),
    Support(0.0, 1.0),
    Support(1e15, 1e15 + 4),
    Support(minimum=0.0, atoms=(0.0, 100.0)),
    Support(0.0, 1.0, (0.0, 1.0)),
    Support(atoms=(-1.0, 0.0, math.nextafter(0.0, 1.0))),
]


@pytest.mark.parametrize("support", SUPPORTS)
class TestSupport:
    def test_coordinates_increase_and_values_invert_them(self, support: Support) -> None:
        y = np.linspace(-3.0, 3.0, 31)
        x = support.value(y)
        assert (np.diff(x) >= 0).all()
        assert support.coordinate(x) == pytest.approx(y, abs=1e-6 if abs(x[0]) < 1e14 else 1)
        slope = (support.coordinate(x + 1e-6) - support.coordinate(x - 1e-6)) / 2e-6
        if abs(x[0]) < 1e5:
            assert support.slope(x) == pytest.approx(slope, rel=1e-3)

    @pytest.mark.parametrize("template", TEMPLATES)
    def test_the_first_questions_are_inside_it(self, support: Support, template: Query) -> None:
        queries = first_questions(support, template)
        assert len(queries) == 8
        assert {query.epsilon for query in queries} == {template.epsilon} or isinstance(template, Gaussian)
        for query in queries:
            assert all(low < high for low, high in pairwise(query.edges))
            cuts = set(query.edges) - {cut for point in support.points for cut in support.around(point)}
            assert all(inside(cut, support) for cut in cuts)

    @pytest.mark.parametrize("template", TEMPLATES)
    def test_some_question_separates_each_atom(self, support: Support, template: Query) -> None:
        edges = {cut for q in first_questions(support, template) for cut in q.edges}
        assert all(set(support.around(atom)) <= edges for atom in support.atoms)

    @pytest.mark.parametrize("template", TEMPLATES)
    def test_some_question_separates_a_bound(self, support: Support, template: Query) -> None:
        edges = {cut for q in first_questions(support, template) for cut in q.edges}
        bounds = [point for point in support.points if point not in support.atoms]
        assert not bounds or any(set(support.around(bound)) <= edges for bound in bounds)


@pytest.mark.parametrize(
    "fields",
    [(1.0, 1.0), (2.0, 1.0), (math.nan, None), (None, math.inf), (0.0, 1.0, (2.0,)), (None, None, (1.0, 1.0))],
)
def test_a_support_that_is_none_is_refused(fields: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match="must"):
        Support(*fields)


def test_a_cell_around_an_atom_holds_the_atom_alone() -> None:
    query = RandomizedResponse(Support(minimum=0.0).around(5.0), 1)
    assert [query.cell(x) for x in (math.nextafter(5.0, 0.0), 5.0, math.nextafter(5.0, 9.0))] == [0, 1, 2]


def test_shares_of_atoms_and_quantiles_are_found() -> None:
    """With one seed in ten a few draws have so large a mean that none is told."""
    rng = np.random.default_rng(2)
    support = Support(minimum=0.0, atoms=(0.0, 100.0))
    kind = rng.choice(3, 3_000, p=[0.3, 0.2, 0.5])
    values = np.choose(kind, [0.0, 100.0, np.exp(rng.normal(4.0, 1.0, 3_000))])
    found = estimate_distribution(rng, learnt(rng, values, support, RandomizedResponse((0.0,), 2)), support)
    assert (np.abs(found.atom_shares.mean - [0.3, 0.2]) < 5 * found.atom_shares.sd).all()
    assert (found.atom_shares.sd < 0.03).all()
    levels = np.array([0.1, 0.25, 0.6, 0.9])
    quantiles = found.quantile(levels)
    assert (quantiles.values[:, 0] == 0).all()
    reached = np.array([found.cdf(row).values[i] for i, row in enumerate(quantiles.values[:50])])
    below = np.array([found.cdf(row - 1e-9).values[i] for i, row in enumerate(quantiles.values[:50])])
    assert (reached > levels - 1e-4).all()
    assert (below < levels + 1e-4).all()
    mean = found.mean_value
    assert mean is not None
    low, high = mean.interval(0.999)
    assert low < values.mean() < high
    x = np.geomspace(1e-3, 1e5, 4_000)
    density = found.mean.density(x).values[0]
    total = (density[1:] + density[:-1]) @ np.diff(x) / 2
    assert total == pytest.approx(1 - found.atom_shares.mean.sum(), abs=0.02)


def test_without_answers_there_is_a_prior_that_a_range_narrows() -> None:
    rng = np.random.default_rng(2)
    wide = estimate_distribution(rng, {}).quantile(np.array([0.2, 0.8])).mean
    narrow = estimate_distribution(rng, {}, ANYWHERE, around=(100.0, 200.0)).mean.quantile(np.array([0.2, 0.8])).values
    assert wide[1] - wide[0] > 100
    assert 0 < narrow[0, 0] < narrow[0, 1] < 300


@pytest.mark.parametrize(("place", "scale"), [(10.0, 1e5), (50.0, 10.0), (-9e4, 1.0)])
def test_five_hundred_answers_find_the_place(place: float, scale: float) -> None:
    """In 2 of 120 collections they do not; 2 of 5 are too many once in 300 times."""
    found = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        counts = learnt(rng, rng.normal(place, scale, 500), ANYWHERE, RandomizedResponse((0.0,), 1))
        cdf = estimate_distribution(rng, counts, size=300).cdf(place + scale * np.array([-3.0, 0.0, 3.0])).mean
        found += bool(cdf[0] < 0.3 and 0.2 < cdf[1] < 0.8 and cdf[2] > 0.7)
    assert found >= 4
