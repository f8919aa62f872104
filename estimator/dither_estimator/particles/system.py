"""The particle system: iterated batch importance sampling on θ alone, with one update for one answer or for a table.

Chopin 2002, *A sequential particle filter method for static models*; the marginal form of Algorithm 2 of Yıldırım 2024.
Counts are applied by adaptive tempering: each step raises the exponent of the new counts as far as the effective sample
size stays at half the particles, and moves them to the tempered posterior of the whole count table: drawn afresh and
weighted where it is nearly normal (`redraws.py`), resampled and by Metropolis-Hastings steps where it is not
(`moves.py`). When half is kept at exponent 1 at once, there is no move.
A first table under a far too wide prior is tempered from elsewhere (`beginning.py`).
"""

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts, merge_counts
from dither_estimator.likelihood.institutions import Members, merge_members
from dither_estimator.likelihood.table import CountLikelihood
from dither_estimator.particles.metropolis import LogDensity, Proposal, move
from dither_estimator.particles.quasi_monte_carlo import efficiency, redraw
from dither_estimator.particles.start import Beginning, questions_place
from dither_estimator.priors.prior import Prior

__all__ = [
    "ParticleSystem",
    "UpdateInfo",
    "effective_sample_size",
    "init",
    "log_sum_exp",
    "systematic_resample",
    "update",
]

_KEEP = 0.5
"""The share of the particles below which the effective sample size may not fall."""
_NEAR = 0.7
"""Where so many of as many draws from a proposal would be effective, particles are such draws."""
_STATES = 8
"""States that each chain of a move gives."""
_FEW = 25
"""A prior of which fewer particles than this are effective in the questions' place is too wide to begin from."""


@dataclass(frozen=True)
class ParticleSystem:
    """Weighted particles that represent the posterior given `counts` and `members`."""

    prior: Prior
    coordinates: FloatArray
    """Unconstrained, shape (n, d)."""
    log_weights: FloatArray
    """Normalised, shape (n,)."""
    counts: Counts
    log_evidence: float
    """`log p(counts)` for answers in one given order: no multinomial coefficients."""
    moves: int
    """How many times all particles were moved or drawn afresh."""
    log_posterior: FloatArray | None = None
    """Log density of the posterior at each particle, up to a constant, shape (n,), where it is known from a move."""
    members: Members = field(default_factory=dict)
    """What institutions shared; the posterior is given these, too."""

    @property
    def theta(self) -> FloatArray:
        """Parameters, shape (n, d), in the family's order."""
        return self.prior.family.constrain(self.coordinates)

    @property
    def weights(self) -> FloatArray:
        """Normalised, shape (n,)."""
        weights: FloatArray = np.exp(self.log_weights)
        return weights


@dataclass(frozen=True)
class UpdateInfo:
    """What an update did: effective sample size after it; exponents reached; mean acceptance of each move."""

    ess: float
    exponents: tuple[float, ...]
    acceptance: tuple[float, ...]


def init(rng: np.random.Generator, prior: Prior, n_particles: int) -> ParticleSystem:
    """Independent draws from the prior, equally weighted."""
    log_weights = np.full(n_particles, -np.log(n_particles))
    return ParticleSystem(prior, prior.sample(rng, n_particles), log_weights, {}, 0.0, 0)


def update(
    rng: np.random.Generator, state: ParticleSystem, new: Counts, members: Members | None = None
) -> tuple[ParticleSystem, UpdateInfo]:
    """The particle system given `new` counts, and `members`, as well.

    Raises `FloatingPointError` if the weights are not finite.
    """
    target = None
    members = members or {}
    likelihood = CountLikelihood.of(state.prior.family, new, members)
    exponents: list[float] = []
    acceptance: list[float] = []
    exponent = 0.0
    least = _KEEP * len(state.log_weights)
    state, beginning = _begun(rng, state, likelihood, new, members)
    while True:
        gain = likelihood.log_likelihood(state.theta)
        if beginning is not None:
            gain += state.prior.log_density(state.coordinates) - beginning.log_density(state.coordinates)
        step = 1.0 - exponent
        raised, evidence, ess = _normalised(state.log_weights + step * gain)
        if not ess >= least:
            step = _largest_step(state.log_weights, gain, step)
            raised, evidence, ess = _normalised(state.log_weights + step * gain)
        exponent = 1.0 if step == 1.0 - exponent else exponent + step
        exponents.append(exponent)
        state = _raised(state, raised, evidence, step * gain)
        if exponent == 1.0:
            break
        target = target or _TemperedTarget.of(state, new, members, beginning)
        state, rate = _moved(rng, state, target.at(exponent))
        acceptance.append(rate)
    info = UpdateInfo(ess, tuple(exponents), tuple(acceptance))
    counts, shared = merge_counts(state.counts, new), merge_members(state.members, members)
    return replace(state, counts=counts, members=shared), info


def _begun(
    rng: np.random.Generator, state: ParticleSystem, likelihood: CountLikelihood, new: Counts, members: Members
) -> tuple[ParticleSystem, Beginning | None]:
    """Particles of the mixture to begin from, if these are the prior's and it is too wide; else the state as it is."""
    if state.counts or state.members:
        return state, None
    size = len(state.log_weights)
    unexplained = -likelihood.log_likelihood(state.theta).max()
    if unexplained <= np.log(size):  # none explains the answers much better, of which there are few
        return state, None
    near = questions_place(state.prior, new, members)
    if near is None or _overlap(near, state) >= _FEW:
        return state, None
    # With draws of their own: particles that stay as they are need none.
    others = state.prior.family.constrain(near.sample(np.random.default_rng(0), size))
    if unexplained + likelihood.log_likelihood(others).max() <= np.log(size):
        return state, None
    beginning = Beginning((state.prior, near))
    return replace(state, coordinates=beginning.sample(rng, size)), beginning


def _overlap(near: Prior, state: ParticleSystem) -> float:
    """How many particles are effective if they are weighted for the law `near`."""
    log_weights = near.log_density(state.coordinates) - state.prior.log_density(state.coordinates)
    return effective_sample_size(log_weights) if np.isfinite(log_weights.max()) else 0.0


def _normalised(log_weights: FloatArray) -> tuple[FloatArray, float, float]:
    """Normalised log-weights, the logarithm of what their sum was, and the effective sample size."""
    largest = log_weights.max()
    weights = np.exp(log_weights - largest)
    total = weights.sum()
    log_total = float(largest + np.log(total))
    return log_weights - log_total, log_total, float(total**2 / (weights @ weights))


def _raised(state: ParticleSystem, log_weights: FloatArray, log_factor: float, gain: FloatArray) -> ParticleSystem:
    if not np.isfinite(log_factor):
        raise FloatingPointError("the particle weights are not finite")
    return replace(
        state,
        log_weights=log_weights,
        log_evidence=state.log_evidence + log_factor,
        log_posterior=None if state.log_posterior is None else state.log_posterior + gain,
    )


def _moved(rng: np.random.Generator, state: ParticleSystem, log_target: LogDensity) -> tuple[ParticleSystem, float]:
    """Particles drawn afresh if a proposal is near enough to the posterior, states of chains if not."""
    known = log_target(state.coordinates) if state.log_posterior is None else state.log_posterior
    size, weights = len(known), state.weights
    proposal = Proposal.fit(state.coordinates, weights)
    moved = None
    if efficiency(proposal, state.coordinates, known, weights) >= _NEAR:
        moved = redraw(rng, log_target, proposal, size)
    if moved is None or not moved.rate >= _NEAR:
        picked = systematic_resample(rng, weights, max(1, size // _STATES))
        moved = move(rng, log_target, state.coordinates[picked], known[picked], proposal, size)
    particles = replace(
        state,
        coordinates=moved.coordinates,
        log_weights=_normalised(moved.log_weights)[0],
        moves=state.moves + 1,
        log_posterior=moved.log_target,
    )
    return particles, moved.rate


def _largest_step(log_weights: FloatArray, gain: FloatArray, remaining: float) -> float:
    """The largest step that keeps the effective sample size, to a relative 1e-3, where `remaining` does not."""
    least = _KEEP * len(log_weights)

    def keeps(step: float) -> bool:
        return effective_sample_size(log_weights + step * gain) >= least

    low, high = 0.0, remaining
    while high - low > 1e-3 * high and high > 1e-300:
        middle = 0.5 * (low + high) if low > 0 else 0.1 * high
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low


@dataclass(frozen=True)
class _TemperedTarget:
    """The posterior of `old` counts and of `new` ones raised to an exponent, over unconstrained coordinates."""

    prior: Prior
    union: CountLikelihood
    old: list[FloatArray]
    new: list[FloatArray]
    members: list[tuple[int, int]]
    """How often each of the institutions' counts is among the old and among the new ones."""
    beginning: Beginning | None
    """What the posterior is tempered from if that is not the prior."""

    @classmethod
    def of(cls, state: ParticleSystem, new: Counts, members: Members, beginning: Beginning | None) -> "_TemperedTarget":
        prior, old = state.prior, state.counts
        shared = merge_members(state.members, members)
        union = CountLikelihood.of(prior.family, merge_counts(old, new), shared)
        zeros = {query: np.zeros(query.n_answers, dtype=np.int64) for group in union.groups for query in group.queries}
        return cls(
            prior,
            union,
            [np.array([old.get(query, zeros[query]) for query in g.queries], dtype=float).T for g in union.groups],
            [np.array([new.get(query, zeros[query]) for query in g.queries], dtype=float).T for g in union.groups],
            [(state.members.get(member, 0), members.get(member, 0)) for member in shared],
            beginning,
        )

    def at(self, exponent: float) -> LogDensity:
        """The log density, up to a constant."""
        counts = [old + exponent * new for old, new in zip(self.old, self.new, strict=True)]
        family = self.prior.family
        shared = self.union.members
        if shared is not None:
            shared = replace(shared, weights=[old + exponent * new for old, new in self.members])
        likelihood = replace(self.union, counts=counts, members=shared)

        def log_density(coordinates: FloatArray) -> FloatArray:
            prior = self.prior.log_density(coordinates)
            if self.beginning is not None:
                prior = exponent * prior + (1 - exponent) * self.beginning.log_density(coordinates)
            return prior + likelihood.log_likelihood(family.constrain(coordinates))

        return log_density


def effective_sample_size(log_weights: FloatArray) -> float:
    """`(Σ w)² / Σ w²`, for weights with any common factor."""
    weights = np.exp(log_weights - log_weights.max())
    return float(weights.sum() ** 2 / (weights @ weights))


def log_sum_exp(values: FloatArray) -> float:
    """`log Σ exp(values)` without overflow."""
    largest = values.max()
    return float(largest + np.log(np.exp(values - largest).sum()))


def systematic_resample(rng: np.random.Generator, weights: FloatArray, size: int) -> npt.NDArray[np.intp]:
    """Indices of `size` draws whose numbers differ from `size · weights` by less than one, shape (size,)."""
    positions = (rng.random() + np.arange(size)) / size
    indices = np.searchsorted(np.cumsum(weights), positions)
    return np.minimum(indices, len(weights) - 1).astype(np.intp)
