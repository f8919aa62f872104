"""The particle system: iterated batch importance sampling on θ alone, updated with one answer or a whole table.

Chopin 2002, *A sequential particle filter method for static models*; the marginal form of Algorithm 2 of Yıldırım 2024.
Counts are applied by adaptive tempering. Each step raises the exponent of the new counts as far as the effective sample
size stays at half the particles, then moves the particles to the tempered posterior of the whole count table. Where
that is nearly normal they are redrawn and weighted (`quasi_monte_carlo`), elsewhere they are resampled and moved by
Metropolis-Hastings steps (`metropolis`). If exponent 1 is reached at once, nothing moves. The first table under a far
too wide prior is tempered from another distribution (`start`).
"""

from dataclasses import dataclass, field, replace

import numpy as np

from dither_estimator.families import FloatArray
from dither_estimator.likelihood.counts import Counts, merge_counts
from dither_estimator.likelihood.institutions import Members, merge_members
from dither_estimator.likelihood.table import CountLikelihood
from dither_estimator.particles.metropolis import LogDensity, Proposal, move
from dither_estimator.particles.quasi_monte_carlo import efficiency, redraw
from dither_estimator.particles.start import InitialMixture, questions_places
from dither_estimator.priors.prior import Prior
from dither_estimator.weighted.sample import effective_sample_size, systematic_sample

__all__ = ["ParticleSystem", "init", "learnt_at_once", "update"]

_MIN_ESS_SHARE = 0.5
"""The effective sample size never falls below this share of the particles."""
_MIN_EFFICIENCY = 0.7
"""Particles are redrawn from a proposal if at least this share of its draws would be effective."""
_STATES_PER_CHAIN = 8
"""The number of states that each chain of a move contributes."""
_MIN_OVERLAP = 25
"""If fewer particles of a prior than this are effective around the questions, it is too wide to start from."""


@dataclass(frozen=True)
class ParticleSystem:
    """Weighted particles that represent the posterior given `counts` and `members`."""

    prior: Prior
    coordinates: FloatArray
    """Unconstrained coordinates, shape (n, d)."""
    log_weights: FloatArray
    """Normalised log-weights, shape (n,)."""
    counts: Counts
    log_evidence: float
    """`log p(counts)` for answers in a given order, that is, without multinomial coefficients."""
    moves: int
    """How often all particles were moved or redrawn."""
    log_posterior: FloatArray | None = None
    """The log posterior density at each particle up to a constant, shape (n,); None unless known from a move."""
    members: Members = field(default_factory=dict)
    """Counts shared by institutions, on which the posterior is conditioned as well."""

    @property
    def theta(self) -> FloatArray:
        """Parameters, shape (n, d), in the family's order."""
        return self.prior.family.constrain(self.coordinates)

    @property
    def weights(self) -> FloatArray:
        """Normalised weights, shape (n,)."""
        return np.exp(self.log_weights)


def init(rng: np.random.Generator, prior: Prior, n_particles: int) -> ParticleSystem:
    """Equally weighted independent draws from the prior."""
    log_weights = np.full(n_particles, -np.log(n_particles))
    return ParticleSystem(prior, prior.sample(rng, n_particles), log_weights, {}, 0.0, 0)


def update(
    rng: np.random.Generator, state: ParticleSystem, new: Counts, members: Members | None = None
) -> ParticleSystem:
    """The particle system given `new` counts and `members` in addition.

    Raises `FloatingPointError` if the weights are not finite.
    """
    target = None
    members = members or {}
    likelihood = CountLikelihood.of(state.prior.family, new, members)
    exponent = 0.0
    least = _MIN_ESS_SHARE * len(state.log_weights)
    state, mixture = _begun(rng, state, likelihood, new, members)
    while True:
        gain = likelihood.log_likelihood(state.theta)
        if mixture is not None:
            gain += state.prior.log_density(state.coordinates) - mixture.log_density(state.coordinates)
        step = 1.0 - exponent
        raised, evidence, ess = _normalised(state.log_weights + step * gain)
        if not ess >= least:
            step = _largest_step(state.log_weights, gain, step)
            raised, evidence, _ = _normalised(state.log_weights + step * gain)
        exponent = 1.0 if step == 1.0 - exponent else exponent + step
        state = _raised(state, raised, evidence, step * gain)
        if exponent == 1.0:
            break
        target = target or _TemperedTarget.of(state, new, members, mixture)
        state = _moved(rng, state, target.at(exponent))
    counts, shared = merge_counts(state.counts, new), merge_members(state.members, members)
    return replace(state, counts=counts, members=shared)


def learnt_at_once(rng: np.random.Generator, state: ParticleSystem) -> ParticleSystem:
    """The same posterior, learnt anew from all counts at once where the prior is too wide to start from.

    Answers that come one by one give no reason to begin elsewhere than at the prior, and lead its particles where
    nobody is if the questions do not follow. Of a few that lie near the truth by chance, one may have all the weight.
    """
    fresh = init(rng, state.prior, len(state.log_weights))
    places = questions_places(state.prior, state.counts, state.members)
    if not places or _overlap(places[0], fresh) >= _MIN_OVERLAP:
        return state
    return replace(update(rng, fresh, state.counts, state.members), moves=state.moves)


def _begun(
    rng: np.random.Generator, state: ParticleSystem, likelihood: CountLikelihood, new: Counts, members: Members
) -> tuple[ParticleSystem, InitialMixture | None]:
    """Particles of the initial mixture if `state` is a prior that is too wide to start from; else `state` itself."""
    if state.counts or state.members:
        return state, None
    size = len(state.log_weights)
    told = np.sort(likelihood.log_likelihood(state.theta))
    if -told[-1] <= np.log(size):  # no other θ can explain the few answers much better
        return state, None
    places = questions_places(state.prior, new, members)
    if all(_overlap(place, state) >= _MIN_OVERLAP for place in places):
        return state, None
    # A generator of its own: if the particles stay as they are, `rng` must not have advanced.
    others = state.prior.family.constrain(InitialMixture(places).sample(np.random.default_rng(0), size))
    # A few particles of the prior may lie there by chance, but would have to stand for all that do.
    if likelihood.log_likelihood(others).max() - told[-min(_MIN_OVERLAP, size)] <= np.log(size):
        return state, None
    mixture = InitialMixture((state.prior, *places))
    return replace(state, coordinates=mixture.sample(rng, size)), mixture


def _overlap(near: Prior, state: ParticleSystem) -> float:
    """The effective sample size of the particles if they are weighted for the prior `near`."""
    log_weights = near.log_density(state.coordinates) - state.prior.log_density(state.coordinates)
    return effective_sample_size(log_weights) if np.isfinite(log_weights.max()) else 0.0


def _normalised(log_weights: FloatArray) -> tuple[FloatArray, float, float]:
    """Normalised log-weights, the logarithm of their former sum, and the effective sample size."""
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


def _moved(rng: np.random.Generator, state: ParticleSystem, log_target: LogDensity) -> ParticleSystem:
    """Particles redrawn if a proposal is close enough to the posterior, otherwise states of Markov chains."""
    known = log_target(state.coordinates) if state.log_posterior is None else state.log_posterior
    size, weights = len(known), state.weights
    proposal = Proposal.fit(state.coordinates, weights)
    moved = None
    if efficiency(proposal, state.coordinates, known, weights) >= _MIN_EFFICIENCY:
        moved = redraw(rng, log_target, proposal, size)
    if moved is None or not moved.rate >= _MIN_EFFICIENCY:
        picked = systematic_sample(weights, max(1, size // _STATES_PER_CHAIN), rng.random())
        moved = move(rng, log_target, state.coordinates[picked], known[picked], proposal, size)
    return replace(
        state,
        coordinates=moved.coordinates,
        log_weights=_normalised(moved.log_weights)[0],
        moves=state.moves + 1,
        log_posterior=moved.log_target,
    )


def _largest_step(log_weights: FloatArray, gain: FloatArray, remaining: float) -> float:
    """The largest step, to a relative 1e-3, that keeps the effective sample size; `remaining` is too large."""
    least = _MIN_ESS_SHARE * len(log_weights)

    def keeps(step: float) -> bool:
        return effective_sample_size(log_weights + step * gain) >= least

    low, high = 0.0, remaining
    while high - low > 1e-3 * high and high > 1e-300:
        middle = 0.5 * (low + high) if low > 0 else 0.1 * high
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low


@dataclass(frozen=True)
class _TemperedTarget:
    """The posterior given the old counts and the new ones raised to an exponent, over unconstrained coordinates."""

    prior: Prior
    union: CountLikelihood
    old: list[FloatArray]
    new: list[FloatArray]
    members: list[tuple[int, int]]
    """How often each count of an institution occurs among the old and among the new ones."""
    mixture: InitialMixture | None
    """The distribution from which the posterior is tempered, if not the prior."""

    @classmethod
    def of(
        cls, state: ParticleSystem, new: Counts, members: Members, mixture: InitialMixture | None
    ) -> "_TemperedTarget":
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
            mixture,
        )

    def at(self, exponent: float) -> LogDensity:
        """The log density at this exponent, up to a constant."""
        counts = [old + exponent * new for old, new in zip(self.old, self.new, strict=True)]
        family = self.prior.family
        shared = self.union.members
        if shared is not None:
            shared = replace(shared, weights=[old + exponent * new for old, new in self.members])
        likelihood = replace(self.union, counts=counts, members=shared)

        def log_density(coordinates: FloatArray) -> FloatArray:
            prior = self.prior.log_density(coordinates)
            if self.mixture is not None:
                prior = exponent * prior + (1 - exponent) * self.mixture.log_density(coordinates)
            return prior + likelihood.log_likelihood(family.constrain(coordinates))

        return log_density
