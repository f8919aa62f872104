"""The posterior of several numbers of one person: their correlations, jointly with every margin.

Each margin has been learnt from the questions about it alone (`margins`). Given those answers the margins are
independent, so `p(margins, R | all answers)` is proportional to the product of the margins' posteriors, the LKJ prior
of R, and the exact likelihood of the answers about several numbers. A particle is a state of every margin and a matrix
R. Particles start with all of them independent, and the joint likelihood is raised step by step to exponent 1, as in
`particles.system`; after each step they are resampled and moved: R by a random walk in the coordinates of its partial
correlations, a family's parameters by one in their own, and a margin without a family to another of its draws, which
its posterior makes all equally likely. So the uncertainty of the margins is in that of R, and answers about several
numbers sharpen the margins.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dither_estimator.dependence.correlations import correlation_matrices, lkj_log_density, lkj_sample
from dither_estimator.dependence.joint_likelihood import JointLikelihood, check_joint_counts
from dither_estimator.dependence.margins import Margin, Propose, random_walk
from dither_estimator.dependence.questions import JointQuestion
from dither_estimator.families import FloatArray
from dither_estimator.particles.system import effective_sample_size, log_sum_exp, systematic_resample

__all__ = ["JointPosterior", "estimate_dependence"]

_MIN_ESS_SHARE = 0.5
"""An exponent rises as far as the effective sample size stays at this share of the particles."""
_BISECTIONS = 20
_SWEEPS, _LAST_SWEEPS = 6, 20
"""How often every particle is moved after a step, and after the last one."""


@dataclass(frozen=True, eq=False)
class JointPosterior:
    """Equally likely particles of the posterior of the margins and the correlations."""

    correlations: FloatArray
    """Correlation matrices of the normal scores, shape (n, d, d)."""
    margins: tuple[FloatArray, ...]
    """The states (n, s) of each margin."""
    log_evidence: float
    """`log p(answers about several numbers | answers about one)`, for answers in a given order."""
    acceptance: float
    """The share of the last moves that were accepted."""

    def correlation(self, first: int, second: int) -> FloatArray:
        """Equally likely correlations (n,) of the normal scores of two numbers."""
        return self.correlations[:, first, second]


def estimate_dependence(
    rng: np.random.Generator,
    margins: Sequence[Margin],
    counts: Mapping[JointQuestion, Sequence[int] | npt.NDArray[np.int64]],
    n_particles: int,
    eta: float = 1.0,
) -> JointPosterior:
    """The posterior given what is known of every margin, and answers about several numbers.

    `eta` is that of the LKJ prior: 1 makes all correlation matrices equally likely. Raises `ValueError` for counts that
    are not those of a question's answers, and for a question about a number that has no margin.
    """
    checked = {question: row for question, row in check_joint_counts(counts).items() if row.any()}
    if any(question.components[-1] >= len(margins) for question in checked):
        raise ValueError(f"questions must be about components 0 to {len(margins) - 1}")
    target = _Target(margins, JointLikelihood(checked), eta)
    state = _State.prior(rng, target, n_particles)
    exponent, log_evidence, acceptance = 0.0, 0.0, 1.0
    while checked and exponent < 1.0:
        step = _step(state.log_likelihood, 1.0 - exponent)
        weights = step * state.log_likelihood
        exponent = 1.0 if step == 1.0 - exponent else exponent + step
        total = log_sum_exp(weights)
        log_evidence += total - np.log(n_particles)
        state = state.at(systematic_resample(rng, np.exp(weights - total), n_particles))
        walks = random_walk(state.coordinates), [m.proposals(at) for m, at in zip(margins, state.margins, strict=True)]
        for _ in range(_LAST_SWEEPS if exponent == 1.0 else _SWEEPS):
            state, acceptance = _swept(rng, target, state, exponent, *walks)
    matrices = correlation_matrices(state.coordinates, len(margins))
    return JointPosterior(matrices, state.margins, float(log_evidence), acceptance)


@dataclass(frozen=True, eq=False)
class _Target:
    """The likelihood and the prior of particles."""

    margins: Sequence[Margin]
    likelihood: JointLikelihood
    eta: float

    def log_likelihood(self, coordinates: FloatArray, margins: Sequence[FloatArray]) -> FloatArray:
        below = {
            component: self.margins[component].below(margins[component], cuts)
            for component, cuts in self.likelihood.cuts.items()
        }
        return self.likelihood.log_likelihood(below, correlation_matrices(coordinates, len(self.margins)))

    def log_prior(self, coordinates: FloatArray) -> FloatArray:
        return lkj_log_density(coordinates, len(self.margins), self.eta)


@dataclass(frozen=True, eq=False)
class _State:
    """Equally likely particles: correlations, margins with their log densities, and the log likelihood of both."""

    coordinates: FloatArray
    margins: tuple[FloatArray, ...]
    log_margins: tuple[FloatArray, ...]
    log_likelihood: FloatArray

    @classmethod
    def prior(cls, rng: np.random.Generator, target: _Target, size: int) -> "_State":
        coordinates = lkj_sample(rng, size, len(target.margins), target.eta)
        margins = tuple(margin.draws(rng, size) for margin in target.margins)
        log_margins = tuple(margin.log_density(at) for margin, at in zip(target.margins, margins, strict=True))
        return cls(coordinates, margins, log_margins, target.log_likelihood(coordinates, margins))

    def at(self, chosen: npt.NDArray[np.intp]) -> "_State":
        return _State(
            self.coordinates[chosen],
            tuple(each[chosen] for each in self.margins),
            tuple(each[chosen] for each in self.log_margins),
            self.log_likelihood[chosen],
        )

    def with_margin(self, target: _Target, component: int, states: FloatArray) -> "_State":
        """The same with other states of one margin."""
        margins = _replaced(self.margins, component, states)
        log_margins = _replaced(self.log_margins, component, target.margins[component].log_density(states))
        return _State(self.coordinates, margins, log_margins, target.log_likelihood(self.coordinates, margins))

    def where(self, accepted: npt.NDArray[np.bool_], other: "_State") -> "_State":
        """The other's particles where accepted, and these elsewhere."""
        rows = accepted[:, np.newaxis]
        return _State(
            np.where(rows, other.coordinates, self.coordinates),
            tuple(np.where(rows, new, old) for new, old in zip(other.margins, self.margins, strict=True)),
            tuple(np.where(accepted, new, old) for new, old in zip(other.log_margins, self.log_margins, strict=True)),
            np.where(accepted, other.log_likelihood, self.log_likelihood),
        )


def _replaced(parts: tuple[FloatArray, ...], place: int, part: FloatArray) -> tuple[FloatArray, ...]:
    return (*parts[:place], part, *parts[place + 1 :])


def _swept(
    rng: np.random.Generator, target: _Target, state: _State, exponent: float, walk: Propose, moves: Sequence[Propose]
) -> tuple[_State, float]:
    """Every particle after a move of R and of each margin, and the share of moves that were accepted."""
    coordinates = walk(rng, state.coordinates)
    proposed = _State(coordinates, state.margins, state.log_margins, target.log_likelihood(coordinates, state.margins))
    gain = target.log_prior(coordinates) - target.log_prior(state.coordinates)
    state, share = _taken(rng, state, proposed, gain, exponent)
    shares = [share]
    for component, move in enumerate(moves):
        proposed = state.with_margin(target, component, move(rng, state.margins[component]))
        gain = proposed.log_margins[component] - state.log_margins[component]
        state, share = _taken(rng, state, proposed, gain, exponent)
        shares.append(share)
    return state, float(np.mean(shares))


def _taken(
    rng: np.random.Generator, state: _State, proposed: _State, gain: FloatArray, exponent: float
) -> tuple[_State, float]:
    """The particles after accepting or refusing what is proposed, `gain` (n,) being that of all but the likelihood."""
    gain = gain + exponent * (proposed.log_likelihood - state.log_likelihood)
    taken = -rng.standard_exponential(len(gain)) < gain
    return state.where(taken, proposed), float(taken.mean())


def _step(log_likelihood: FloatArray, remaining: float) -> float:
    """The largest step of the exponent that keeps the effective sample size."""
    least = _MIN_ESS_SHARE * len(log_likelihood)
    if effective_sample_size(remaining * log_likelihood) >= least:
        return remaining
    low, high = 0.0, remaining
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if effective_sample_size(middle * log_likelihood) >= least else (low, middle)
    return low or high
