"""The limit of any ε-LDP mechanism: known figures, and linear programmes over every column."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from dither_estimator.design.design import Mechanism, optimal_design
from dither_estimator.design.goal import parse_goal
from dither_estimator.design.limit import Limit, privacy_limit
from dither_estimator.design.limit_lp import least_prices
from dither_estimator.design.member import Member
from dither_estimator.families import Family, FloatArray, families
from dither_estimator.mechanisms.information import cell_moments, information

NORMAL = families["normal"]

ALL = {"0.5": 86.59, "1": 21.07, "2": 5.735, "3": 3.188, "5": 1.906, "10": 1.519}
ABOUT_MU = {"0.5": 0.0382, "1": 0.1360, "2": 0.369, "3": 0.593, "5": 0.855, "10": 0.993}


def limit(epsilon: str, goal: str, family: Family = NORMAL) -> Limit:
    return privacy_limit(Member(family, tuple(family.standard.tolist())), Fraction(epsilon), parse_goal(goal, family))


@pytest.mark.parametrize("epsilon", ALL)
def test_both_parameters_of_the_normal(epsilon: str) -> None:
    found = limit(epsilon, "all")
    assert found.criterion == pytest.approx(ALL[epsilon], rel=0.005)
    assert 0 <= found.gap < 1e-3 * found.criterion


@pytest.mark.parametrize("epsilon", ABOUT_MU)
def test_mu_of_the_normal(epsilon: str) -> None:
    found = limit(epsilon, "mu")
    assert 1 / found.criterion == pytest.approx(ABOUT_MU[epsilon], rel=0.005)
    assert found.gap < 1e-3 * found.criterion


@pytest.mark.parametrize("mechanism", ["laplace", "randomized_response"])
@pytest.mark.parametrize("epsilon", ["0.1", "0.7", "1.5", "4", "20"])
@pytest.mark.parametrize("goal", ["all", "mu", "sigma"])
def test_no_design_beats_it(mechanism: Mechanism, epsilon: str, goal: str) -> None:
    design = optimal_design(NORMAL, NORMAL.standard, mechanism, Fraction(epsilon), parse_goal(goal, NORMAL))
    assert design.criterion >= limit(epsilon, goal).criterion * (1 - 1e-5)


@pytest.mark.parametrize(
    ("epsilon", "least"), [("0.5", 0.96), *((epsilon, 0.99) for epsilon in ("1", "2", "3", "5", "10"))]
)
def test_randomised_response_comes_near_it(epsilon: str, least: float) -> None:
    design = optimal_design(NORMAL, [50.0, 3.0], "randomized_response", Fraction(epsilon), parse_goal("all", NORMAL))
    assert least <= design.efficiency <= 1
    assert design.limit == pytest.approx(9 * limit(epsilon, "all").criterion, rel=1e-5)


def columns(n: int, epsilon: float) -> FloatArray:
    return np.array(list(product([np.exp(-epsilon), 1.0], repeat=n)))


def by_every_column(
    family: Family, theta: list[float], edges: FloatArray, epsilon: float, weights: FloatArray
) -> float:
    """The limit on given cells: the linear programme over all 2^n staircase columns, alternated with `F^-2`."""
    cells, slopes = cell_moments(family, theta, edges[np.newaxis])
    every = columns(cells.shape[1], epsilon)
    gradients = every @ slopes[0]
    informations = gradients[:, :, None] * gradients[:, None, :] / (every @ cells[0])[:, None, None]

    mechanisms = [np.tensordot(np.full(len(every), 1 / every.sum(axis=0)[0]), informations, 1)]
    for _ in range(60):
        matrix = best_mixture(np.array(mechanisms), weights)
        inverse = np.linalg.inv(matrix)
        worth = np.einsum("nij,ij->n", informations, (inverse * weights) @ inverse)
        shares = linprog(-worth, A_eq=every.T, b_eq=np.ones(every.shape[1]), method="highs").x
        assert shares is not None
        if worth @ shares < (1 + 2e-4) * (np.diag(inverse) @ weights):
            break
        mechanisms.append(np.tensordot(shares, informations, 1))
    return float(np.diag(inverse) @ weights)


def best_mixture(matrices: FloatArray, weights: FloatArray) -> FloatArray:
    """The mixture of informations with the least criterion, by multiplying shares by the root of the derivative."""
    shares = np.full(len(matrices), 1 / len(matrices))
    for _ in range(2_000):
        inverse = np.linalg.inv(np.tensordot(shares, matrices, 1))
        shares *= np.sqrt(np.einsum("nij,ji->n", matrices, (inverse * weights) @ inverse))
        shares /= shares.sum()
    mixture: FloatArray = np.tensordot(shares, matrices, 1)
    return mixture


@pytest.mark.parametrize("epsilon", ["0.3", "1", "3"])
@pytest.mark.parametrize(("name", "theta"), [("poisson", [0.6]), ("negative_binomial", [0.5, 2.0])])
def test_every_column_of_a_family_with_few_values(name: str, theta: list[float], epsilon: str) -> None:
    """With few cells nothing need be left out: the limit is that of all staircase columns."""
    family = families[name]
    member = Member(family, tuple(theta))
    edges = member.points(np.linspace(-3.8, 3.8, 101))
    goal = parse_goal("all", family)
    expected = by_every_column(family, theta, edges, float(epsilon), np.diag(member.aim(goal)))
    found = privacy_limit(member, Fraction(epsilon), goal)
    assert found.criterion == pytest.approx(expected, rel=1e-3)
    assert found.gap < 1e-3 * found.criterion


@pytest.mark.parametrize("seed", range(6))
def test_prices_solve_the_linear_programme(seed: int) -> None:
    """Against HiGHS on the programme written out in full; and the prices cover every one of the 2^n columns."""
    rng = np.random.default_rng(seed)
    k, n, epsilon = 7, 6, float(rng.uniform(0.1, 4))
    low = float(np.exp(-epsilon))
    values = rng.normal(size=(k, n)) / n
    prices, q, r = least_prices(values, np.eye(n), low, 1e-8)

    objective = np.concatenate([-values.ravel(), np.zeros(k)])
    upper = np.hstack([np.eye(k * n), -np.repeat(np.eye(k), n, axis=0)])
    lower = np.hstack([-np.eye(k * n), low * np.repeat(np.eye(k), n, axis=0)])
    sums = np.hstack([np.tile(np.eye(n), k), np.zeros((n, k))])
    bounds = np.zeros(2 * k * n)
    full = linprog(objective, np.vstack([upper, lower]), bounds, sums, np.ones(n), method="highs")

    assert full.x is not None
    best = -float(objective @ full.x)
    assert prices.sum() == pytest.approx(best, abs=1e-6)
    channel = low * q[:, None] + (1 - low) * r
    assert channel.sum(axis=0) == pytest.approx(np.ones(n), abs=1e-6)
    assert np.sum(values * channel) == pytest.approx(best, abs=1e-6)
    assert (columns(n, epsilon) @ (values - prices).T).max() < 1e-6


def test_mirrored_cells_share_a_price() -> None:
    rng = np.random.default_rng(1)
    half = rng.normal(size=(4, 5)) / 5
    values = np.concatenate([half, half[:, ::-1]])
    fold = np.eye(5)[[0, 1, 2, 1, 0]][:, :3]
    folded, _, _ = least_prices(half, fold, 0.3, 1e-8)
    free, _, _ = least_prices(values, np.eye(5), 0.3, 1e-8)
    assert folded == pytest.approx(folded[::-1])
    assert folded.sum() == pytest.approx(free.sum(), abs=1e-6)


def test_no_design_is_better_than_the_limit_beside_it() -> None:
    """The limit's own cells are so coarse that this query is better than the best on them; cut there, they are not."""
    family = families["normal"]
    found = optimal_design(family, (3.0, 2.0), "staircase", Fraction(1), parse_goal("sigma", family))
    member, goal = Member(family, (3.0, 2.0)), parse_goal("sigma", family)
    assert privacy_limit(member, found.epsilon, goal).criterion > 1.0005 * found.criterion
    cut = privacy_limit(member, found.epsilon, goal, found.queries[0].edges)
    assert cut.criterion == pytest.approx(found.criterion, rel=1e-5)
    assert 0.99999 < found.efficiency <= 1


@pytest.mark.parametrize("epsilon", ["1e-5", "1e-6"])
def test_the_smallest_epsilon(epsilon: str) -> None:
    """The criterion goes with 1 / ε²."""
    family = families["normal"]
    member, goal = Member(family, (0.0, 1.0)), parse_goal("all", family)
    found = optimal_design(family, (0.0, 1.0), "staircase", Fraction(epsilon), goal)
    near = privacy_limit(member, Fraction("1e-3"), goal).criterion * 1e-6
    assert privacy_limit(member, Fraction(epsilon), goal).criterion * float(epsilon) ** 2 == pytest.approx(
        near, rel=1e-6
    )
    assert found.limit * float(epsilon) ** 2 == pytest.approx(near, rel=1e-3)
    assert 0.999 < found.efficiency <= 1
    [query] = found.queries
    told = information(family, (0.0, 1.0), query)
    assert np.diag(told) == pytest.approx(np.diag(found.information), rel=1e-3)
