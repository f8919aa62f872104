"""Randomised response restricted to likely categories (AdOBEst-LDP) against its definitions, term by term."""

import math
from itertools import product

import numpy as np
import pytest

from dither_estimator.families import FloatArray
from dither_papers.restricted_response.channel import channels_of_sizes, restricted_channel, second_epsilon
from dither_papers.restricted_response.exact import restricted_response
from dither_papers.restricted_response.langevin import gradient, move
from dither_papers.restricted_response.online import best_for, estimate_shares, likely_mass
from dither_papers.restricted_response.utilities import UTILITIES, variances
from dither_papers.studies.catalogue import find_study
from dither_papers.studies.study import Results

CASES = list(product((2, 5, 20), (0.1, 1.0, 5.0)))


def spent(channel: FloatArray) -> float:
    """The ε of a channel with rows by answer: its largest log ratio."""
    return float(np.log(channel.max(axis=1) / channel.min(axis=1)).max())


def in_two_steps(categories: int, likely: int, epsilon: float, first: float) -> FloatArray:
    """The mechanism as it is carried out, step by step, for 1 ≤ likely < categories."""
    e = math.exp(first * epsilon)
    rest, again = range(likely, categories), math.exp(second_epsilon(categories - likely, epsilon, first))
    named, other = e / (e + likely), 1 / (e + likely)
    channel = np.zeros((categories, categories))
    for x in range(categories):
        for outcome in (*range(likely), "rest"):
            chance = named if outcome == (x if x < likely else "rest") else other
            if outcome != "rest":
                channel[outcome, x] += chance
            elif x < likely:
                channel[list(rest), x] += chance / len(rest)
            else:
                for y in rest:
                    channel[y, x] += chance * (again if y == x else 1) / (again + len(rest) - 1)
    return channel


@pytest.mark.parametrize(("categories", "epsilon"), CASES)
def test_the_channel_is_the_mechanism_and_spends_what_it_may(categories: int, epsilon: float) -> None:
    for likely, channel in enumerate(channels_of_sizes(categories, epsilon), 1):
        assert np.allclose(channel.sum(axis=0), 1, atol=1e-12)
        assert spent(channel) <= epsilon + 1e-9
        if likely < categories:
            assert np.allclose(channel, in_two_steps(categories, likely, epsilon, 0.8), atol=1e-14)
    assert spent(channel) == pytest.approx(epsilon), "randomised response over all categories"


def test_the_second_step_has_the_largest_epsilon_that_is_private() -> None:
    """A little more would cost more, whether many are in the rest or few."""
    for categories, epsilon, likely in product((5, 20), (0.5, 1.0, 5.0), (1, 3)):
        second = second_epsilon(categories - likely, epsilon)
        more = restricted_channel(categories, likely, epsilon, second=second * 1.01)
        assert spent(more) > epsilon + 1e-6


def test_the_published_program_spends_more() -> None:
    """It takes e^ε₂ for ε₂: at ε = 1 and one likely category of 20 its answers cost 1.71."""
    assert spent(restricted_channel(20, 1, 1.0, second=1.0)) == pytest.approx(1.7134, abs=1e-4)
    assert spent(restricted_channel(20, 1, 1.0)) == pytest.approx(1.0)


def by_definition(name: str, channel: FloatArray, shares: FloatArray) -> float:
    answers = [sum(channel[y, x] * shares[x] for x in range(len(shares))) for y in range(len(shares))]
    pairs = list(product(range(len(shares)), repeat=2))
    posterior = {(y, x): channel[y, x] * shares[x] / answers[y] for y, x in pairs}
    match name:
        case "Fisher information":
            slopes = channel[:, :-1] - channel[:, -1:]
            return -float(np.trace(np.linalg.inv(slopes.T @ np.diag(1 / np.array(answers)) @ slopes)))
        case "entropy":
            return sum(p * math.log(p) for p in answers)
        case "TV of answers":
            return -0.5 * sum(abs(p - share) for p, share in zip(answers, shares, strict=True))
        case "TV of posteriors":
            return 0.5 * sum(answers[y] * abs(posterior[y, x] - shares[x]) for y, x in pairs)
        case "squared error":
            return -sum(
                channel[y, x] * shares[x] * sum((float(x == z) - posterior[y, z]) ** 2 for z in range(len(shares)))
                for y, x in pairs
            )
    return sum(channel[x, x] * shares[x] for x in range(len(shares)))


@pytest.mark.parametrize("name", UTILITIES)
def test_a_utility_is_what_it_says(name: str) -> None:
    rng = np.random.default_rng(1)
    channels, shares = channels_of_sizes(5, 1.0), -np.sort(-rng.dirichlet(np.ones(5), 3), axis=1)
    found = UTILITIES[name](channels, shares)
    expected = [[by_definition(name, channel, row) for channel in channels] for row in shares]
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_variances_are_those_of_many_answers() -> None:
    """Simulated: estimates G⁻¹ (answers / n) of 2,000 collections. Each variance is known to 3%, so 5 sd are 16%."""
    channel, shares = restricted_channel(4, 2, 2.0), np.array([0.5, 0.3, 0.15, 0.05])
    answers = np.random.default_rng(2).multinomial(1_000, channel @ shares, 2_000) / 1_000
    measured = np.linalg.solve(channel, answers.T).var(axis=1) * 1_000
    assert np.allclose(variances(channel[np.newaxis], shares[np.newaxis])[0, 0], measured, rtol=0.16)


def log_density(phi: FloatArray, chances: FloatArray, concentration: float) -> float:
    likely = np.log(chances @ (phi / phi.sum())).sum()
    return float(likely + ((concentration - 1) * np.log(phi) - phi).sum())


def test_the_gradient_is_that_of_the_log_density() -> None:
    rng = np.random.default_rng(3)
    phi, chances = rng.gamma(2.0, size=(2, 4)), rng.uniform(0.1, 0.9, (2, 7, 4))
    found = gradient(phi, chances, 7, 0.7)
    for b, x in product(range(2), range(4)):
        step = 1e-6 * np.eye(4)[x]
        rise = log_density(phi[b] + step, chances[b], 0.7) - log_density(phi[b] - step, chances[b], 0.7)
        assert found[b, x] == pytest.approx(rise / 2e-6, rel=1e-5, abs=1e-6)
    assert not np.allclose(gradient(phi, chances, 7, 1.7), found), "another prior"


COUNTS = np.array([12, 8, 5])


def langevin_moments(concentration: float) -> tuple[FloatArray, FloatArray]:
    """The moments of 100 chains with these answers without noise, as many as a gradient takes."""
    chances = np.tile(np.eye(3)[np.repeat(np.arange(3), COUNTS)] + 1e-9, (100, 1, 1))
    states = move(np.random.default_rng(4), np.ones((100, 3)), chances, 0.0005, 3_000, concentration)[1_000:]
    shares = (states / states.sum(axis=2, keepdims=True)).reshape(-1, 3)
    return shares.mean(axis=0), shares.std(axis=0)


def test_langevin_moves_sample_the_posterior() -> None:
    """Against the Dirichlet posterior in closed form, to what short steps leave: 0.015; another prior is further."""
    after = COUNTS + 1.0
    mean = after / after.sum()
    sd = np.sqrt(mean * (1 - mean) / (after.sum() + 1))
    found, spread = langevin_moments(1.0)
    assert np.abs(found - mean).max() < 0.015
    assert np.abs(spread / sd - 1).max() < 0.15
    wrong, _ = langevin_moments(4.0)
    assert np.abs(wrong - mean).max() > 0.03


@pytest.mark.parametrize("name", ["Fisher information", "honest answer"])
def test_the_estimates_find_the_shares(name: str) -> None:
    """At ε = 5, where answers are nearly exact: 400 people leave about 0.03 of total variation distance."""
    truth = np.array([0.7, 0.2, 0.05, 0.05])
    values = np.random.default_rng(5).choice(4, (6, 400), p=truth)
    found = estimate_shares(np.random.default_rng(6), values, best_for(name, 4, 5.0))
    assert found.shares.sum(axis=1) == pytest.approx(np.ones(6))
    assert (np.abs(found.shares - truth).sum(axis=1) / 2).mean() < 0.08
    assert ((found.likely >= 1) & (found.likely <= 4)).all()


def test_the_rivals_restrict_by_mass() -> None:
    shares = np.array([[0.6, 0.3, 0.08, 0.02], [0.95, 0.03, 0.01, 0.01]])
    assert likely_mass(0.85, 4, 1.0).choose(shares).tolist() == [1, 0]
    whole = likely_mass(1.0, 4, 1.0)
    assert len(whole.channels) == 1
    assert np.allclose(whole.channels[0], restricted_channel(4, 4, 1.0))
    assert all(spent(channel) <= 1 + 1e-9 for channel in likely_mass(0.9, 4, 1.0).channels)
    values = np.zeros((1, 30), dtype=np.int64)
    assert estimate_shares(np.random.default_rng(7), values, whole).likely.tolist() == [4]


def test_exact_draws_find_the_shares() -> None:
    truth = np.array([0.7, 0.2, 0.05, 0.05])
    found = restricted_response(np.random.default_rng(8), truth, 5.0, 2_000)
    assert np.abs(found - truth).sum() / 2 < 0.05


def test_a_study_of_made_up_distances() -> None:
    """Dither is ahead by 0.1 everywhere; with one that is ahead of it in one setting, the sentence says so."""
    study = find_study("adobest-errors")

    def results(best: float) -> Results:
        found = {}
        for cell in study.cells:
            distance = 0.2 if cell["method"] == "Dither" else 0.3
            if (cell["method"], cell["rho"], cell["epsilon"]) == ("entropy", 1.0, 5.0):
                distance = best
            found[cell.key] = [{"TV": [distance, distance + 0.01], "likely": [2.0, 3.0]}]
        return Results(found)

    behind = study.summarise(results(0.3))
    assert len(behind.rows) == len(study.cells)
    assert {round(row["less Dither's"], 9) for row in behind.rows} == {0.0, 0.1}
    assert "In 0 of 6 settings some method is ahead of Dither" in behind.sentence
    assert "In 1 of 6 settings some method is ahead of Dither" in study.summarise(results(0.1)).sentence
