"""The posterior of correlations: against sums over all draws and a grid of ρ, against the prior, and calibrated."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from normal_cells import cell_probabilities
from scipy.stats import beta, chi2, kstest, norm

from dither_client import RandomizedResponse
from dither_estimator.dependence.correlations import correlation_matrices, lkj_log_density, lkj_sample
from dither_estimator.dependence.joint_likelihood import JointLikelihood
from dither_estimator.dependence.margins import DrawnMargin, FamilyMargin, Margin
from dither_estimator.dependence.posterior import JointPosterior, _Moves, _State, _Target, estimate_dependence
from dither_estimator.dependence.questions import JointQuestion, OddOneOut, PairCells, SameSide
from dither_estimator.families import FloatArray, Normal
from dither_estimator.families.exponential import Exponential
from dither_estimator.likelihood.counts import Counts
from dither_estimator.mechanisms.channels import channel_of
from dither_estimator.particles.system import init, update
from dither_estimator.priors.prior import parse_prior

CUTS = (-0.9, 0.0, 0.9)
CELLS = PairCells.at((0, 1), (CUTS, CUTS), RandomizedResponse(range(15), "2"))
SIDES = SameSide.at((0, 1), (0.3, -0.4), "1")
ODD = OddOneOut.at((0, 1, 2), (0.0, 0.2, -0.3), "4")
FALSE_ALARMS = 1e-4


def margin(theta: FloatArray) -> DrawnMargin:
    """Normal margins with these means and standard deviations (m, 2)."""
    return DrawnMargin(lambda x: Normal().cdf(theta, x))


def draws(rng: np.random.Generator, size: int, spread: float) -> FloatArray:
    return np.column_stack([spread * rng.standard_normal(size), np.exp(spread * rng.standard_normal(size))])


def answers(rng: np.random.Generator, question: JointQuestion, values: FloatArray) -> list[int]:
    """Counts of the answers of people with these values (n, d)."""
    states = np.bincount([question.state(row) for row in values.tolist()], minlength=len(question.matrix))
    counts = [rng.multinomial(n, row) for n, row in zip(states, question.matrix, strict=True)]
    return list(map(int, np.sum(counts, axis=0)))


def people(rng: np.random.Generator, thetas: Sequence[FloatArray], matrix: FloatArray, size: int) -> FloatArray:
    scores = rng.multivariate_normal(np.zeros(len(matrix)), matrix, size)
    return np.column_stack([m + s * column for (m, s), column in zip(thetas, scores.T, strict=True)])


def test_agrees_with_the_sum_over_all_draws_and_a_grid() -> None:
    """Means within 4.9 standard errors of 8,000 particles, whose moves leave them nearly independent."""
    rng = np.random.default_rng(1)
    first, second = draws(rng, 12, 0.3), draws(rng, 9, 0.3)
    values = people(rng, [first[3], second[2]], np.array([[1.0, 0.7], [0.7, 1.0]]), 600)
    counts = {CELLS: answers(rng, CELLS, values[:400]), SIDES: answers(rng, SIDES, values[400:])}
    rho = np.linspace(-0.9995, 0.9995, 2_000)
    log_density = np.empty((12, 9, len(rho)))
    for i, (m, s) in enumerate(first):
        for j, (n, t) in enumerate(second):
            cells = cell_probabilities(
                np.tile((np.array(CUTS) - m) / s, (len(rho), 1)), np.tile((np.array(CUTS) - n) / t, (len(rho), 1)), rho
            ).reshape(len(rho), 16)
            sides = cell_probabilities(
                np.full((len(rho), 1), (0.3 - m) / s), np.full((len(rho), 1), (-0.4 - n) / t), rho
            )
            same = (sides[:, 0, 0] + sides[:, 1, 1])[:, np.newaxis]
            log_density[i, j] = np.log(cells @ CELLS.matrix) @ counts[CELLS]
            log_density[i, j] += np.log(np.hstack([1 - same, same]) @ SIDES.matrix) @ counts[SIDES]
    weights = np.exp(log_density - log_density.max())
    evidence = log_density.max() + np.log(weights.mean(axis=(0, 1)).sum() * (rho[1] - rho[0]) / 2)
    weights /= weights.sum()
    mean = float((weights * rho).sum())
    sd = float(np.sqrt((weights * (rho - mean) ** 2).sum()))
    found = estimate_dependence(np.random.default_rng(2), [margin(first), margin(second)], counts, 8_000)
    assert found.correlation(0, 1).mean() == pytest.approx(mean, abs=4.9 * sd / np.sqrt(8_000))
    assert found.correlation(0, 1).std() == pytest.approx(sd, rel=0.06)
    assert found.log_evidence == pytest.approx(evidence, abs=0.15)
    for column, axes, size in ((0, (1, 2), 12), (1, (0, 2), 9)):
        exact = weights.sum(axis=axes)
        shares = np.bincount(found.margins[column][:, 0].astype(int), minlength=size) / 8_000
        assert (np.abs(shares - exact) < 4.9 * np.sqrt(exact * (1 - exact) / 8_000) + 1e-3).all()


WAITS = (0.3, 0.7, 1.5)
ALONE = {RandomizedResponse([0.5, 1.5], "2"): np.array([20, 25, 15])}


def of_family(counts: Counts) -> FamilyMargin:
    """Exponential margins given these answers about one number alone."""
    prior = parse_prior(Exponential(), {"scale": {"dist": "lognorm", "s": 1.0}})
    rng = np.random.default_rng(7)
    return FamilyMargin(update(rng, init(rng, prior, 500), counts))


def family_quadrature(counts: dict[JointQuestion, list[int]]) -> tuple[FloatArray, FloatArray]:
    """The mean and sd of both log scales and of ρ, on a grid, where one number has been asked about alone as well."""
    rho, scales = np.linspace(-0.995, 0.995, 200), np.linspace(-1.5, 1.5, 61)
    own = np.exp(-((scales) ** 2) / 2)
    alone = Exponential().cdf(np.exp(scales)[:, np.newaxis], np.array([0.5, 1.5]))
    query, [row] = next(iter(ALONE)), ALONE.values()
    shares = np.diff(alone, prepend=0.0, append=1.0, axis=1) @ channel_of(query).matrix
    at = norm.ppf(Exponential().cdf(np.exp(scales)[:, np.newaxis], np.array(WAITS)))
    log_density = np.empty((len(scales), len(scales), len(rho)))
    for i, first in enumerate(at):
        for j, second in enumerate(at):
            rows = [np.tile(cuts, (len(rho), 1)) for cuts in (first, second)]
            cells = cell_probabilities(rows[0], rows[1], rho).reshape(len(rho), 16)
            log_density[i, j] = np.log(cells @ CELLS.matrix) @ next(iter(counts.values()))
    log_density += (np.log(own) + np.log(shares) @ row)[:, np.newaxis, np.newaxis] + np.log(own)[:, np.newaxis]
    weights = np.exp(log_density - log_density.max())
    weights /= weights.sum()
    found = []
    for axes, grid in (((1, 2), scales), ((0, 2), scales), ((0, 1), rho)):
        each = weights.sum(axis=axes)
        mean = each @ grid
        found.append((mean, np.sqrt(each @ (grid - mean) ** 2)))
    means, sds = np.array(found).T
    return means, sds


@pytest.mark.parametrize(("alone", "agrees"), [(ALONE, True), ({}, False)])
def test_margins_with_a_family_agree_with_quadrature(alone: Counts, agrees: bool) -> None:
    """Means within 4.9 standard errors of 4,000 particles, and sds within 7%; without the answers about one, not."""
    rng = np.random.default_rng(8)
    values = -np.log(norm.sf(people(rng, [np.array([0.0, 1.0])] * 2, np.array([[1.0, 0.5], [0.5, 1.0]]), 400)))
    question = PairCells.at((0, 1), (WAITS, WAITS), CELLS.channel)
    counts: dict[JointQuestion, list[int]] = {question: answers(rng, question, values)}
    means, sds = family_quadrature(counts)
    found = estimate_dependence(np.random.default_rng(9), [of_family(alone), of_family({})], counts, 4_000)
    draws = np.column_stack([*found.margins, found.correlation(0, 1)])
    near = np.abs(draws.mean(axis=0) - means) < 4.9 * sds / np.sqrt(len(draws))
    wide = np.abs(draws.std(axis=0) / sds - 1) < 0.07
    assert (near & wide).all() == agrees


def test_what_is_kept_of_particles_is_what_their_places_give() -> None:
    """A move computes only what it changes, so that nothing else may depend on what it moves."""
    rng = np.random.default_rng(11)
    odd = OddOneOut.at((1, 2, 3), (0.0, 0.2, -0.3), "4")
    counts: dict[JointQuestion, Any] = {
        question: rng.integers(1, 30, question.n_answers) for question in (CELLS, SIDES, ODD, odd)
    }
    margins: list[Margin] = [margin(draws(rng, 20, 0.3)), *(of_family({}) for _ in range(4))]
    target = _Target(margins, JointLikelihood(counts), 1.0)
    state = _State.prior(rng, target, 50)
    before = state.coordinates.copy()
    moves = _Moves.suiting(target, state, 1.0)
    assert 0 < np.mean([moves.sweep(rng, state) for _ in range(5)]) < 1
    assert (state.coordinates != before).any(axis=0).all()
    scores = {component: target.scores(component, state.margins[component]) for component in range(4)}
    matrices = correlation_matrices(state.coordinates, 5)
    np.testing.assert_allclose(state.matrices, matrices)
    np.testing.assert_allclose(state.terms.sum(axis=1), target.likelihood.log_likelihood(scores, matrices))
    np.testing.assert_allclose(state.log_margins[1], target.margins[1].log_density(state.margins[1]))


def test_without_answers_it_is_the_prior() -> None:
    """LKJ with η makes each (1 + ρ) / 2 of three numbers Beta(η + 1/2, η + 1/2)."""
    found = estimate_dependence(np.random.default_rng(4), [margin(np.array([[0.0, 1.0]]))] * 3, {}, 4_000, eta=2.0)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert kstest((1 + found.correlation(i, j)) / 2, beta(2.5, 2.5).cdf).pvalue > FALSE_ALARMS
    assert np.linalg.eigvalsh(found.correlations).min() > 0


def test_coordinates_have_the_density_of_their_draws() -> None:
    """The density's determinant form, `det(R)^(η - 1)` times the Jacobian, by differences."""
    z = lkj_sample(np.random.default_rng(5), 2, 3, 1.0)
    found = []
    for row in z:
        steps = np.concatenate([row + 1e-6 * np.eye(3), row - 1e-6 * np.eye(3)])
        matrices = correlation_matrices(steps, 3)[:, [0, 0, 1], [1, 2, 2]]
        jacobian = np.linalg.slogdet((matrices[:3] - matrices[3:]) / 2e-6)[1]
        found.append(jacobian + 1.5 * np.linalg.slogdet(correlation_matrices(row[np.newaxis], 3)[0])[1])
    assert np.diff(lkj_log_density(z, 3, 2.5))[0] == pytest.approx(np.diff(found)[0], abs=1e-6)


def ranks(estimate: Callable[..., JointPosterior], components: int, replicates: int) -> FloatArray:
    """The ranks, 0 to 1, of the true first correlation among its posterior draws, for truths drawn from the prior."""
    found = []
    rng = np.random.default_rng(6)
    for _ in range(replicates):
        pools = [draws(rng, 100, 0.4) for _ in range(components)]
        truths = [pool[rng.integers(len(pool))] for pool in pools]
        matrix = correlation_matrices(lkj_sample(rng, 1, components, 1.0), components)[0]
        values = people(rng, truths, matrix, 300)
        questions: list[JointQuestion] = [SIDES, CELLS] if components == 2 else [SIDES, ODD]
        counts = {question: answers(rng, question, values[k::2]) for k, question in enumerate(questions)}
        posterior = estimate(rng, [margin(pool) for pool in pools], counts, 300)
        found.append((posterior.correlation(0, 1) < matrix[0, 1]).mean())
    return np.array(found)


def p_value(found: FloatArray) -> float:
    """The chi-squared test of uniform ranks, with at least eight expected in each of at most ten bins."""
    bins = min(10, len(found) // 8)
    observed, expected = np.histogram(found, bins, (0, 1))[0], len(found) / bins
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), bins - 1))


@pytest.mark.parametrize(("components", "replicates"), [(2, 100), pytest.param(3, 40, marks=pytest.mark.long)])
def test_simulation_based_calibration(components: int, replicates: int) -> None:
    """Ranks of the truth are uniform; the chi-squared test has one false alarm in 10,000 seeds."""
    assert p_value(ranks(estimate_dependence, components, replicates)) > FALSE_ALARMS


def average(known: DrawnMargin) -> DrawnMargin:
    """The mean of a margin's draws as its only draw."""
    return DrawnMargin(lambda x: known.cdf(x).mean(axis=0, keepdims=True))


def test_margins_taken_as_certain_are_not_calibrated() -> None:
    """The same with one typical margin in place of its draws must fail."""

    def certain(
        rng: np.random.Generator, margins: Sequence[DrawnMargin], counts: dict[JointQuestion, list[int]], size: int
    ) -> JointPosterior:
        return estimate_dependence(rng, [average(each) for each in margins], counts, size)

    assert p_value(ranks(certain, 2, 160)) < FALSE_ALARMS


def test_refuses_counts_that_are_no_answers() -> None:
    one = margin(np.array([[0.0, 1.0]]))
    invalid: list[Any] = [[1], [1, -1], [0.5, 1]]
    for counts in invalid:
        with pytest.raises(ValueError, match="must be 2 integers that are not negative"):
            estimate_dependence(np.random.default_rng(0), [one, one], {SIDES: counts}, 10)
    with pytest.raises(ValueError, match="components 0 to 1"):
        estimate_dependence(np.random.default_rng(0), [one, one], {ODD: [1, 0, 0, 0]}, 10)
