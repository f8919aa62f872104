"""A learner with a goodness-of-fit check."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dither_client import Query
from dither_client.posterior.wire import Misfit
from dither_estimator.checks.goodness_of_fit import Look, check_questions, misfit_p_value, misfit_report
from dither_estimator.learning.learner import Learner
from dither_estimator.learning.summary import Posterior
from dither_estimator.likelihood.counts import Counts, check_counts
from dither_estimator.specification.specification import Specification

__all__ = ["CheckedLearner"]

_RENEWAL_FACTOR = 1.05
"""Check questions are chosen again when the number of answers learnt has grown by this factor."""


class CheckedLearner:
    """Asks check questions by a coin of its own and looks at their answers when a look is due.

    `seed` makes everything reproducible; `outstanding` is as in `Learner`. Neither the check questions nor the coin
    affect the learner.
    """

    def __init__(self, specification: Specification, seed: int | np.random.SeedSequence, outstanding: int = 1) -> None:
        if specification.misfit_check is None:
            raise ValueError("the specification has no goodness-of-fit check")
        seeds = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        for_learner, for_check = seeds.spawn(2)
        self.specification = specification
        self.learner = Learner(specification, for_learner, outstanding=outstanding)
        self.looks: list[Look] = []
        self._check = specification.misfit_check
        self._rng = np.random.default_rng(for_check)
        self._questions: dict[Fraction, tuple[Query, ...]] = {}
        self._renew_at = 0.0
        self._checking = False
        self._counts: dict[Query, npt.NDArray[np.int64]] = {}
        self._check_answers = 0

    @property
    def answers(self) -> int:
        """The number of answers, including check answers."""
        return self.learner.answers + self._check_answers

    @property
    def check_counts(self) -> Counts:
        """The check answers as a count table."""
        return check_counts(self._counts)

    def ask(self, epsilon: Fraction | None = None) -> Query:
        """The next question, which the coin may make a check question; at ε as in `Learner.ask`."""
        questions: tuple[Query, ...] = ()
        if self._rng.random() < self._check.share:
            questions = self._check_questions(self.specification.epsilon if epsilon is None else epsilon)
        self._checking = bool(questions)
        return questions[self._rng.integers(len(questions))] if questions else self.learner.ask(epsilon)

    @property
    def take(self) -> Callable[[Query, int], None]:
        """The function that takes the answer to the question asked last, whenever it arrives."""
        return self._check_answer if self._checking else self.learner.learn

    def learn(self, query: Query, answer: int) -> None:
        """Take the answer to the question asked last. Raises `ValueError` if it is not an answer to `query`."""
        self.take(query, answer)

    def _check_answer(self, query: Query, answer: int) -> None:
        if not 0 <= answer < query.n_answers:
            raise ValueError(f"the answer must be from 0 to {query.n_answers - 1}")
        self._counts.setdefault(query, np.zeros(query.n_answers, dtype=np.int64))[answer] += 1
        self._check_answers += 1
        due = self._check.due(self._check_answers, self.looks)
        if due is not None:
            self.looks.append(Look(due, self._check_answers, self.learner.answers, self.p_value()))

    def p_value(self) -> float:
        """The p-value of a look at this moment. Raises `ValueError` if there are no check answers."""
        return misfit_p_value(self._rng, self.specification.family, *self.learner.particles(), self.check_counts)

    def posterior(self) -> Posterior:
        """The posterior given all answers except the check answers."""
        return self.learner.posterior()

    def report(self) -> Misfit:
        """What the check has found so far; see `misfit_report`."""
        spec = self.specification
        return misfit_report(self._check, spec.family, spec.transform, self._check_answers, self.looks)

    def _check_questions(self, epsilon: Fraction) -> tuple[Query, ...]:
        if self.learner.answers >= self._renew_at:
            self._questions = {}
            self._renew_at = max(self.learner.answers + 1, self.learner.answers * _RENEWAL_FACTOR)
        if epsilon not in self._questions:
            spec, one_level = self.specification, self.specification.check_question(epsilon)
            particles = self.learner.particles()
            self._questions[epsilon] = check_questions(spec.family, *particles, one_level, spec.transform)
        return self._questions[epsilon]
