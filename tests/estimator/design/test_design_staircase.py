"""Staircase designs: at the limit, no worse than a search over every set system, with weights that cover equally.

The search shares no code with the designs. Every mechanism of staircase columns on n cells is a mixture of minimal
balanced collections of sets (Shapley 1967), which are listed; the mixture's weights are found by the multiplicative
algorithm (Fellman 1974), whose own bound says how far it is from the best.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from dither_client import InvalidQuery, Staircase
from dither_estimator.design.advice import other_mechanism
from dither_estimator.design.convex import Criterion
from dither_estimator.design.design import Design, DesignError, optimal_design
from dither_estimator.design.goal import parse_goal
from dither_estimator.design.member import Member
from dither_estimator.design.staircase import MOST_ANSWERS
from dither_estimator.design.staircase_scheme import Scheme
from dither_estimator.design.staircase_weights import whole_weights
from dither_estimator.families import FloatArray, find_family
from dither_estimator.mechanisms.information import information


def design(family: str, goal: str, epsilon: str, theta: list[float] | None = None) -> Design:
    kind = find_family(family)
    member = kind.standard if theta is None else theta
    return optimal_design(kind, member, "staircase", Fraction(epsilon), parse_goal(goal, kind))


def question(found: Design) -> Staircase:
    [query] = found.queries
    assert isinstance(query, Staircase)
    return query


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.5", "1", "2", "3", "5"])
@pytest.mark.parametrize("goal", ["all", "mu", "sigma"])
def test_the_normal_reaches_the_limit(goal: str, epsilon: str) -> None:
    found = design("normal", goal, epsilon)
    assert found.efficiency > 0.999
    assert found.criterion * (1 - 2e-3) <= found.limit  # the limit's own cells are not finer than that
    assert 0 <= found.gap < 1e-3 * found.criterion
    assert question(found).n_answers <= MOST_ANSWERS


OTHERS = [
    ("laplace", "all", "1"),
    ("laplace", "sigma", "0.5"),
    ("logistic", "all", "0.5"),
    ("gumbel", "all", "0.1"),
    ("student_t:4", "sigma", "1"),
    ("exponential", "scale", "2"),
    ("gamma", "all", "1"),
    ("weibull", "shape", "0.5"),
    ("beta", "all", "2"),
    ("bernoulli", "p", "1"),
    ("poisson", "rate", "3"),
    ("negative_binomial", "all", "1"),
]
MORE = [
    ("normal", "all", "10"),
    ("laplace", "all", "5"),
    ("gumbel", "sigma", "5"),
    ("student_t", "all", "0.5"),
    ("student_t", "df", "2"),
    ("gamma", "all", "0.1"),
    ("weibull", "all", "5"),
    ("beta", "a", "0.1"),
    ("poisson", "rate", "5"),
    ("negative_binomial", "size", "0.5"),
    ("negative_binomial", "all", "5"),
]


@pytest.mark.parametrize(("family", "goal", "epsilon"), OTHERS)
def test_other_families_reach_it(family: str, goal: str, epsilon: str) -> None:
    check_at_the_limit(design(family, goal, epsilon))


@pytest.mark.long
@pytest.mark.parametrize(("family", "goal", "epsilon"), MORE)
def test_other_families_reach_it_at_more_epsilons(family: str, goal: str, epsilon: str) -> None:
    check_at_the_limit(design(family, goal, epsilon))


def check_at_the_limit(found: Design) -> None:
    """The design reaches the limit, and is worth what it says: its information is computed anew from the query."""
    assert found.efficiency >= 0.99
    asked = question(found)
    assert asked.n_answers <= MOST_ANSWERS
    near = 1e-6 * float(np.abs(found.information).max())
    assert information(found.family, found.theta, asked) == pytest.approx(found.information, rel=1e-3, abs=near)
    assert max(asked.weights) <= 10_000


@pytest.mark.long
@pytest.mark.parametrize("goal", ["all", "sigma"])
def test_answers_stay_bounded_where_more_would_help(goal: str) -> None:
    found = design("normal", goal, "20")
    assert 0.99 < found.efficiency < 1
    assert question(found).n_answers <= MOST_ANSWERS


def test_an_extreme_point_needs_no_more_sets_than_cells() -> None:
    """From all 14 sets of four cells; its weights are whole numbers up to a factor, small ones."""
    family = find_family("gumbel")
    member = Member(family, tuple(family.standard.tolist()))
    criterion = Criterion.of(np.eye(2), member.information[np.newaxis])
    every = np.array([[bits >> cell & 1 for cell in range(4)] for bits in range(1, 15)]) > 0
    scheme = Scheme(member, float(np.exp(-1)), criterion, np.array([-0.5, 0.3, 1.2]), every, np.ones(14))
    extreme = scheme.with_weights(np.ones(14)).vertex()
    assert 2 <= len(extreme.patterns) <= 4
    assert np.ptp(extreme.weights @ extreme.patterns) == pytest.approx(0, abs=1e-12)
    assert max(next(whole_weights(extreme.patterns, extreme.orbits, extreme.weights))) <= 3


def test_where_intervals_do_not_reach_it() -> None:
    """One question, outside or inside, needs two fifths fewer people than the best single cut."""
    found = design("normal", "sigma", "1")
    asked = question(found)
    assert (asked.sets, asked.weights) == (((0, 2), (1,)), (1, 1))
    other = other_mechanism(found)
    assert other is not None
    assert other.mechanism == "randomized_response"
    assert other.criterion > 1.6 * found.criterion


def test_it_moves_with_the_member() -> None:
    standard, moved = question(design("normal", "all", "0.5")), question(design("normal", "all", "0.5", [50.0, 3.0]))
    assert (moved.sets, moved.weights) == (standard.sets, standard.weights)
    assert np.array(moved.cuts) == pytest.approx(50 + 3 * np.array(standard.cuts), abs=1e-4)


def test_no_levels() -> None:
    kind = find_family("normal")
    with pytest.raises(DesignError, match="leave levels out"):
        optimal_design(kind, kind.standard, "staircase", Fraction(1), parse_goal("all", kind), 3)


def balanced_collections(cells: int) -> list[tuple[FloatArray, FloatArray]]:
    """Every minimal balanced collection of proper subsets: where its sets hold a cell (k, n), and its weights (k,)."""
    every = np.array([[bits >> cell & 1 for cell in range(cells)] for bits in range(1, 2**cells - 1)], dtype=float)
    found = []
    for size in range(2, cells + 1):
        for rows in combinations(range(len(every)), size):
            matrix = every[list(rows)].T
            weights, _, rank, _ = np.linalg.lstsq(matrix, np.ones(cells), rcond=None)
            if rank == size and weights.min() > 1e-9 and np.abs(matrix @ weights - 1).max() < 1e-9:
                found.append((matrix.T, weights))
    return found


def test_the_search_lists_all_of_them() -> None:
    """Their numbers are known: OEIS A355042 counts the set of all cells, too."""
    assert [len(balanced_collections(cells)) for cells in (2, 3, 4)] == [1, 5, 41]


def normal_information(cuts: FloatArray, sets: FloatArray, weights: FloatArray, epsilon: float) -> FloatArray:
    """The information of one answer about (μ, σ) of N(0, 1), from SciPy's normal distribution."""
    edges = np.concatenate([[-40.0], cuts, [40.0]])
    density = stats.norm.pdf(edges)
    cells = np.diff(stats.norm.cdf(edges))
    slopes = np.stack([-np.diff(density), -np.diff(edges * density)])
    columns = weights[:, None] * np.exp(epsilon * sets)
    columns /= columns[:, 0].sum()
    chances, gradients = columns @ cells, columns @ slopes.T
    matrix: FloatArray = gradients.T @ (gradients / chances[:, None])
    return matrix


def best_mixture(informations: FloatArray, goal: FloatArray) -> tuple[float, float]:
    """The best A-criterion of mixtures, and what none can go below."""
    shares = np.full(len(informations), 1 / len(informations))
    value, bound = np.inf, 0.0
    for _ in range(3_000):
        inverse = np.linalg.inv(np.tensordot(shares, informations, 1))
        value = float(np.diag(inverse) @ goal)
        gains = np.einsum("nij,ij->n", informations, (inverse * goal) @ inverse)
        bound = max(bound, value**2 / float(gains.max()))
        if value - bound < 1e-4 * value:
            break
        shares = shares * np.sqrt(gains / value)
        shares /= shares.sum()
    return value, bound


def searched(cells: int, epsilon: float, offsets: FloatArray) -> float:
    """The best criterion `all` of N(0, 1) over symmetric cuts at `offsets` and every mechanism on the cells."""
    collections = balanced_collections(cells)
    best = np.inf
    for chosen in combinations(offsets.tolist(), (cells - 1) // 2):
        outer = np.array(chosen)
        cuts = np.concatenate([-outer[::-1], np.zeros((cells - 1) % 2), outer])
        informations = np.array([normal_information(cuts, sets, weights, epsilon) for sets, weights in collections])
        best = min(best, best_mixture(informations, np.ones(2))[0])
    return best


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["0.1", "0.3", "0.7", "2"])
def test_a_search_over_every_set_system_finds_nothing_better(epsilon: str) -> None:
    """On four cells with the middle cut. At ε = 0.1 the design has these cells, and is what the search finds."""
    found = design("normal", "all", epsilon)
    best = searched(4, float(epsilon), np.arange(0.3, 1.6, 0.02))
    assert found.criterion < best * (1 + 3e-4)
    if epsilon == "0.1":
        assert question(found).n_cells == 4
        assert found.criterion == pytest.approx(best, rel=1e-3)


@pytest.mark.long
def test_nor_does_one_over_five_cells() -> None:
    assert design("normal", "all", "0.5").criterion < searched(5, 0.5, np.arange(0.4, 1.5, 0.2)) * (1 + 3e-4)


def test_the_search_would_see_a_worse_design() -> None:
    """Randomised response over intervals, 15% from the limit at ε = 0.1, is worse than what the search finds."""
    kind = find_family("normal")
    worse = optimal_design(kind, kind.standard, "randomized_response", Fraction("0.1"), parse_goal("all", kind))
    assert worse.criterion > searched(4, 0.1, np.array([1.0])) * 1.1


def query(patterns: npt.NDArray[np.bool_], weights: tuple[int, ...]) -> Staircase:
    pairs = sorted(zip((np.flatnonzero(row).tolist() for row in patterns), weights, strict=True))
    return Staircase(range(patterns.shape[1] - 1), [some for some, _ in pairs], [weight for _, weight in pairs], 1)


@pytest.mark.parametrize("seed", range(8))
def test_whole_weights_cover_equally(seed: int) -> None:
    """Mixtures of three minimal balanced collections on four cells: two free coordinates or more."""
    rng = np.random.default_rng(seed)
    collections = balanced_collections(4)
    sets: dict[tuple[float, ...], float] = {}
    for index in rng.choice(len(collections), 3, replace=False):
        share = rng.uniform(0.1, 1)
        for row, weight in zip(*collections[index], strict=True):
            sets[tuple(row)] = sets.get(tuple(row), 0.0) + share * weight
    patterns, weights = np.array(list(sets)) > 0, np.array(list(sets.values()))
    nearest = 1.0
    for whole in whole_weights(patterns, np.eye(len(weights)), weights):
        query(patterns, whole)  # which checks it
        nearest = min(nearest, float(np.abs(np.array(whole) / sum(whole) - weights / weights.sum()).max()))
    assert nearest < 1e-3


def test_weights_that_are_rounded_one_by_one_do_not() -> None:
    patterns = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 1]]) > 0
    weights = np.array([1, 1, 1, 2]) / 5
    with pytest.raises(InvalidQuery, match="same sum"):
        query(patterns, (1, 1, 1, 1))
    assert list(whole_weights(patterns, np.eye(4), weights + 0.01)) == [(1, 1, 1, 2)]
