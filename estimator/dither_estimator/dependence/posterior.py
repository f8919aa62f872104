"""The posterior of several numbers of one person: their correlations, jointly with every margin.

Each margin has been learnt from the questions about it alone (`margins`). Given those answers the margins are
independent, so `p(margins, R | all answers)` is proportional to the product of the margins' posteriors, the LKJ prior
of R, and the exact likelihood of the answers about several numbers. A particle is a state of every margin and a matrix
R. Particles start with all of them independent, and the joint likelihood is raised step by step to exponent 1, as in
`particles.system`; after each step they are resampled and moved: R by random walks in the coordinates of each number's
partial correlations with earlier ones, a family's parameters by one in their own, and a margin without a family to
another of its draws, which its posterior makes all equally likely. So the uncertainty of the margins is in that of R,
and answers about several numbers sharpen the margins.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dither_estimator.dependence.correlations import correlation_matrices, lkj_log_density, lkj_sample, pairs_of
from dither_estimator.dependence.joint_likelihood import Corners, JointLikelihood, check_joint_counts, normal_scores
from dither_estimator.dependence.margins import Margin, Propose, random_walk
from dither_estimator.dependence.questions import JointQuestion
from dither_estimator.families import FloatArray
from dither_estimator.weighted.sample import effective_sample_size, log_sum_exp, systematic_sample

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
        log_likelihood = state.terms.sum(axis=1)
        step = _step(log_likelihood, 1.0 - exponent)
        weights = step * log_likelihood
        exponent = 1.0 if step == 1.0 - exponent else exponent + step
        total = log_sum_exp(weights)
        log_evidence += total - np.log(n_particles)
        state = state.at(systematic_sample(np.exp(weights - total), n_particles, rng.random()))
        moves = _Moves.suiting(target, state, exponent)
        for _ in range(_LAST_SWEEPS if exponent == 1.0 else _SWEEPS):
            acceptance = moves.sweep(rng, state)
    return JointPosterior(state.matrices, tuple(state.margins), float(log_evidence), acceptance)


@dataclass(frozen=True, eq=False)
class _Target:
    """The likelihood and the prior of particles."""

    margins: Sequence[Margin]
    likelihood: JointLikelihood
    eta: float

    def scores(self, component: int, states: FloatArray) -> FloatArray:
        """The normal scores of the shares at or below each cut, for these states of a margin."""
        return normal_scores(self.margins[component].below(states, self.likelihood.cuts[component]))

    def log_prior(self, coordinates: FloatArray) -> FloatArray:
        return lkj_log_density(coordinates, len(self.margins), self.eta)


@dataclass(frozen=True, eq=False)
class _State:
    """Equally likely particles, and what of the posterior has been computed at each; moves write into the arrays."""

    coordinates: FloatArray
    """The partial correlations' coordinates (n, d (d - 1) / 2), and the matrices (n, d, d) that they stand for."""
    matrices: FloatArray
    margins: list[FloatArray]
    log_margins: list[FloatArray]
    scores: dict[int, FloatArray]
    """The margins' scores at the cuts of each component that is asked about."""
    corners: Corners
    terms: FloatArray
    """The terms of the log likelihood."""

    @classmethod
    def prior(cls, rng: np.random.Generator, target: _Target, size: int) -> "_State":
        coordinates = lkj_sample(rng, size, len(target.margins), target.eta)
        matrices = correlation_matrices(coordinates, len(target.margins))
        margins = [margin.draws(rng, size) for margin in target.margins]
        log_margins = [margin.log_density(at) for margin, at in zip(target.margins, margins, strict=True)]
        scores = {component: target.scores(component, margins[component]) for component in target.likelihood.cuts}
        corners = target.likelihood.corners(scores, matrices)
        terms = target.likelihood.terms(corners)
        return cls(coordinates, matrices, margins, log_margins, scores, corners, terms)

    def at(self, chosen: npt.NDArray[np.intp]) -> "_State":
        """The particles with these numbers."""
        return _State(
            self.coordinates[chosen],
            self.matrices[chosen],
            [each[chosen] for each in self.margins],
            [each[chosen] for each in self.log_margins],
            {component: each[chosen] for component, each in self.scores.items()},
            {components: each[chosen] for components, each in self.corners.items()},
            self.terms[chosen],
        )


@dataclass(frozen=True, eq=False)
class _Moves:
    """Metropolis steps that leave the posterior with the likelihood to the power `exponent` as it is.

    Only those terms of the likelihood are computed again that a step changes.
    """

    target: _Target
    exponent: float
    of_correlations: Mapping[int, tuple[list[int], Propose]]
    """By number: which coordinates are those of its correlations with earlier ones, and steps of these."""
    of_margins: Sequence[Propose]

    @classmethod
    def suiting(cls, target: _Target, state: _State, exponent: float) -> "_Moves":
        """Moves that suit the spread of the particles."""
        pairs = pairs_of(len(target.margins))
        rows = {
            later: [k for k, pair in enumerate(pairs) if pair[1] == later] for later in range(1, len(target.margins))
        }
        of_correlations = {later: (row, random_walk(state.coordinates[:, row])) for later, row in rows.items()}
        of_margins = [margin.proposals(at) for margin, at in zip(target.margins, state.margins, strict=True)]
        return cls(target, exponent, of_correlations, of_margins)

    def sweep(self, rng: np.random.Generator, state: _State) -> float:
        """Moves the correlations of each number, then each margin; returns the share of moves that were accepted."""
        shares = [self._move_correlations(rng, state, component) for component in self.of_correlations]
        shares += [self._move_margin(rng, state, component) for component in range(len(self.of_margins))]
        return float(np.mean(shares))

    def _move_correlations(self, rng: np.random.Generator, state: _State, component: int) -> float:
        columns, propose = self.of_correlations[component]
        coordinates = state.coordinates.copy()
        coordinates[:, columns] = propose(rng, coordinates[:, columns])
        matrices = correlation_matrices(coordinates, len(self.target.margins))
        gain = self.target.log_prior(coordinates) - self.target.log_prior(state.coordinates)
        taken = self._taken(rng, state, component, state.scores, matrices, gain)
        state.coordinates[taken], state.matrices[taken] = coordinates[taken], matrices[taken]
        return float(taken.mean())

    def _move_margin(self, rng: np.random.Generator, state: _State, component: int) -> float:
        states = self.of_margins[component](rng, state.margins[component])
        log_margin = self.target.margins[component].log_density(states)
        scores = dict(state.scores)
        if component in scores:
            scores[component] = self.target.scores(component, states)
        gain = log_margin - state.log_margins[component]
        taken = self._taken(rng, state, component, scores, state.matrices, gain)
        state.margins[component][taken], state.log_margins[component][taken] = states[taken], log_margin[taken]
        if component in scores:
            state.scores[component][taken] = scores[component][taken]
        return float(taken.mean())

    def _taken(
        self,
        rng: np.random.Generator,
        state: _State,
        component: int,
        scores: Mapping[int, FloatArray],
        matrices: FloatArray,
        gain: FloatArray,
    ) -> npt.NDArray[np.bool_]:
        """Which proposals are accepted, whose corners and terms are kept; `gain` (n,) is of all but the likelihood."""
        likelihood, about = self.target.likelihood, self.target.likelihood.terms_about(component)
        corners = likelihood.corners(scores, matrices, component)
        terms = likelihood.terms({**state.corners, **corners}, about)
        gain = gain + self.exponent * (terms - state.terms[:, about]).sum(axis=1)
        taken: npt.NDArray[np.bool_] = -rng.standard_exponential(len(gain)) < gain
        state.terms[:, about] = np.where(taken[:, np.newaxis], terms, state.terms[:, about])
        for components, values in corners.items():
            state.corners[components][taken] = values[taken]
        return taken


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
