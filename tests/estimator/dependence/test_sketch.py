"""What is asked about several numbers: shares of the people, and about how correlated numbers are."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import multivariate_normal

from dither_estimator.dependence.cells_channel import best_pair_cells
from dither_estimator.dependence.joint_likelihood import JointCounts, normal_scores
from dither_estimator.dependence.margins import DrawnMargin
from dither_estimator.dependence.normals import EqualNormals
from dither_estimator.dependence.posterior import estimate_dependence
from dither_estimator.dependence.questions import JointQuestion, SameSide, question_of
from dither_estimator.dependence.shares import cells_near, question_shares
from dither_estimator.dependence.sketch import sketch_correlation, sketch_dependence
from dither_estimator.families import FloatArray


def below(points: FloatArray) -> FloatArray:
    """A standard normal margin."""
    return np.asarray(ndtr(points))


@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.8])
def test_a_sketch_is_the_posterior_mean_where_margins_are_known(rho: float) -> None:
    """Beside the particles' mean, to three of their standard errors; a thousand have some 0.1 / √1000 each."""
    rng, normals = np.random.default_rng(3), EqualNormals(2, rho)
    questions: Sequence[JointQuestion] = (
        SameSide.at((0, 1), (0.25, 0.0), 1),
        best_pair_cells(0.3, Fraction(1)),
    )
    counts = {question: rng.multinomial(2_000, normals.states(question)[0] @ question.matrix) for question in questions}
    margin = DrawnMargin(lambda points: below(points)[np.newaxis])
    particles = estimate_dependence(rng, [margin, margin], counts, 2_000).correlation(0, 1)
    found = sketch_correlation(counts, {0: below, 1: below})
    assert abs(found - particles.mean()) < 0.02
    assert abs(found - rho) < 4 * particles.std()


def test_draws_of_a_margin_are_weighed_by_the_exact_likelihood() -> None:
    """Beside SciPy's bivariate normal; the other number has one draw, so that it is what is known of it."""
    places = np.array([-0.3, 0.0, 0.1, 0.4])
    question = SameSide.at((0, 1), (0.25, -0.5), 1)
    counts: JointCounts = {question: np.array([170, 230])}

    def drawn(points: FloatArray) -> FloatArray:
        return np.asarray(ndtr(points - places[:, np.newaxis]))

    found = sketch_dependence(counts, [drawn, lambda points: below(points)[np.newaxis]])
    [rho] = found.correlations.values()
    low = multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf(np.column_stack([0.25 - places, np.full(4, -0.5)]))
    same = 2 * low + 1 - ndtr(0.25 - places) - ndtr(-0.5)
    yes = np.column_stack([1 - same, same]) @ question.matrix
    likelihood = np.exp(np.log(yes) @ counts[question])
    assert found.weights[0] == pytest.approx(likelihood / likelihood.sum(), rel=1e-4)
    assert found.weights[1] == pytest.approx([1.0])
    assert np.ptp(found.weights[0]) > 0.1


def test_numbers_without_answers_about_several_keep_their_draws() -> None:
    found = sketch_dependence({}, [below_twice, below_twice])
    assert [each.tolist() for each in found.weights] == [[0.5, 0.5]] * 2
    assert not found.correlations


def below_twice(points: FloatArray) -> FloatArray:
    return np.tile(below(points), (2, 1))


def test_without_answers_there_is_no_correlation() -> None:
    assert sketch_correlation({}, {}) == 0.0


@pytest.mark.parametrize("epsilon", ["0.01", "1", "5", "50"])
@pytest.mark.parametrize("components", [2, 3, 5, 8])
def test_shares_sum_to_one_at_every_epsilon(components: int, epsilon: str) -> None:
    shares = question_shares(components, True, Fraction(epsilon))
    assert sum(shares.values()) == pytest.approx(1)
    assert shares[""] == pytest.approx(0.05)
    assert question_shares(components, False, Fraction(epsilon))[""] == pytest.approx(0.5)


@pytest.mark.parametrize(("correlation", "near"), [(-0.9, -0.6), (-0.2, -0.3), (0.1, 0.0), (0.4, 0.3), (0.95, 0.6)])
def test_the_question_about_cells_is_for_the_nearest_correlation(correlation: float, near: float) -> None:
    assert cells_near(correlation, Fraction(1)) is best_pair_cells(near, Fraction(1))


def test_questions_are_asked_and_understood_alike() -> None:
    for question in (SameSide.at((0, 2), (1.0, 2.0), 1), best_pair_cells(0.0, Fraction(1))):
        query = question.query(["identity"] * 3)
        assert question_of(query) == question
        rng = np.random.default_rng(1)
        for person in rng.normal(1, 1, size=(50, 3)).tolist():
            assert query.cell(person) == question.state(person)


def test_a_share_that_rounding_puts_above_all_people_has_a_score() -> None:
    """Beyond everybody, masses that sum to 1 add up to a little more or less than that."""
    scores = normal_scores(np.array([-1e-17, 0.0, 1.0, np.nextafter(1, 2)]))
    assert scores.tolist() == [-38, -38, 38, 38]
