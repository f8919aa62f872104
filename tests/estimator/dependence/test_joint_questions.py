"""Questions about two and three numbers: what they ask, what they tell, and that nothing else is told."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dither_client import InvalidQuery, RandomizedResponse
from dither_estimator.dependence.cells_channel import CELL_CUTS, best_pair_cells
from dither_estimator.dependence.normals import EqualNormals
from dither_estimator.dependence.questions import JointQuestion, OddOneOut, PairCells, SameSide

SIDES = SameSide.at((0, 1), (0.0, 0.0), "1")
CELLS = PairCells.at((0, 1), ((-0.9, 0.0, 0.9), (-0.2, 1.0)), RandomizedResponse(range(11), "1"))
ODD = OddOneOut.at((0, 1, 2), (0.0, 0.3, -0.4), "1")
QUESTIONS = [SIDES, SameSide.at((0, 2), (0.3, -0.8), "0.5"), CELLS, ODD]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: type(question).__name__)
def test_states_are_as_likely_as_people_are_in_them(question: JointQuestion) -> None:
    """Counts of 20,000 people are within 4.9 standard deviations: a false alarm in a million for each state."""
    normals, people = EqualNormals(3, 0.6), 20_000
    values = np.random.default_rng(3).multivariate_normal(np.zeros(3), 0.4 * np.eye(3) + 0.6, people)
    chances, slopes = normals.states(question)
    assert chances.sum() == pytest.approx(1)
    np.testing.assert_allclose(slopes.sum(axis=0), 0, atol=1e-12)
    counts = np.bincount([question.state(row) for row in values.tolist()], minlength=len(chances))
    assert (np.abs(counts - people * chances) < 4.9 * np.sqrt(people * chances * (1 - chances))).all()


def test_same_side_of_the_medians_is_blomqvists_beta() -> None:
    for rho in (-0.8, 0.0, 0.5, 0.97):
        chances, _ = EqualNormals(2, rho).states(SIDES)
        assert chances[1] == pytest.approx(0.5 + math.asin(rho) / math.pi, abs=1e-9)


def test_none_is_odd_with_a_quarter_when_nothing_is_correlated() -> None:
    question = OddOneOut.at((0, 1, 2), (0.0, 0.0, 0.0), "1")
    np.testing.assert_allclose(EqualNormals(3, 0.0).states(question)[0], 0.25)


@pytest.mark.parametrize(("components", "of_pairs", "of_triples"), [(3, 104.0, 82.0), (4, 416.0, 328.0)])
def test_triples_tell_more_of_all_correlations_than_pairs(components: int, of_pairs: float, of_triples: float) -> None:
    normals = EqualNormals(components, 0.0)
    first = 2 * components
    for question, expected in ((SIDES, of_pairs), (OddOneOut.at((0, 1, 2), (0.0, 0.0, 0.0), "1"), of_triples)):
        information = normals.exchanged(normals.information(question), question.components)
        assert np.trace(np.linalg.inv(information[first:, first:])) == pytest.approx(expected, rel=1e-3)


def test_information_is_that_of_differences() -> None:
    """The gradient of the answers' probabilities in ρ, by moving ρ."""
    step = 1e-6
    chances, slopes = EqualNormals(2, 0.6).states(CELLS)
    ahead, back = (EqualNormals(2, 0.6 + move).states(CELLS)[0] for move in (step, -step))
    np.testing.assert_allclose(slopes[:, 4], (ahead - back) / (2 * step), atol=1e-7)
    matrix = CELLS.matrix
    expected = (((ahead - back) / (2 * step) @ matrix) ** 2 / (chances @ matrix)).sum()
    assert EqualNormals(2, 0.6).information(CELLS)[4, 4] == pytest.approx(expected, rel=1e-6)


def largest_log_ratio(question: JointQuestion) -> float:
    return float(np.log(question.matrix.max(axis=0) / question.matrix.min(axis=0)).max())


@pytest.mark.parametrize("rho", [0.0, -0.6, 0.9])
@pytest.mark.parametrize("epsilon", ["0.5", "2", "5"])
def test_the_best_cells_cost_exactly_epsilon(rho: float, epsilon: str) -> None:
    """By its matrix, and in whole numbers: every cell lies in sets of the same weight."""
    question = best_pair_cells(rho, Fraction(epsilon))
    np.testing.assert_allclose(question.matrix.sum(axis=1), 1)
    assert largest_log_ratio(question) == pytest.approx(float(Fraction(epsilon)))
    answers = list(zip(question.channel.sets, question.channel.weights, strict=True))  # type: ignore[attr-defined]
    assert len({sum(weight for some, weight in answers if cell in some) for cell in range(16)}) == 1
    assert all(isinstance(weight, int) for _, weight in answers)


def test_a_matrix_that_tells_more_is_found() -> None:
    class Honest(SameSide):
        matrix = np.eye(2) * 0.9 + 0.05

    assert largest_log_ratio(Honest.at((0, 1), (0.0, 0.0), "1")) > 1.5


def test_the_best_cells_of_a_negative_correlation_are_the_mirror_image() -> None:
    found = [best_pair_cells(rho, Fraction(1)) for rho in (0.6, -0.6)]
    traces = [
        np.trace(np.linalg.inv(EqualNormals(2, rho).information(question)))
        for rho, question in zip((0.6, -0.6), found, strict=True)
    ]
    assert traces[0] == pytest.approx(traces[1])


def test_questions_are_counted_by_what_they_ask() -> None:
    again = SameSide.at((0, 1), (0.0, 0.0), "1")
    assert {SIDES: 1}[again] == 1
    assert len({SIDES, SameSide.at((0, 1), (0.0, 0.1), "1"), SameSide.at((0, 1), (0.0, 0.0), "2")}) == 3


def test_bad_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="increasing components"):
        SameSide.at((1, 0), (0.0, 0.0), "1")
    with pytest.raises(ValueError, match="a state for each cell"):
        PairCells.at((0, 1), (CELL_CUTS, (0.0,)), best_pair_cells(0.0, Fraction(1)).channel)
    with pytest.raises(InvalidQuery):
        PairCells.at((0, 1), ((1.0, 0.0), (0.0,)), RandomizedResponse(range(5), "1"))
    with pytest.raises(InvalidQuery):
        SameSide.at((0, 1), (0.0, math.nan), "1")
