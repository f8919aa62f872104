"""Algorithms 1 and 3: respondents come one by one, and the particles choose an interval for each."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

import numpy as np

from dither_estimator.families import FloatArray
from dither_papers.truncation.clipped import Answers, Interval, answer

__all__ = ["Ask", "Particles", "interview", "posterior_mean", "same", "thompson"]


class Particles(Protocol):
    """Weighted particles of (μ, σ), possibly with other state."""

    @property
    def theta(self) -> FloatArray: ...

    @property
    def weights(self) -> FloatArray: ...

    @property
    def answers(self) -> Answers: ...


State = TypeVar("State", bound=Particles)

Ask = Callable[[np.random.Generator, Particles], Interval]
"""H of (4): chooses the next interval given the particles."""


def interview(
    rng: np.random.Generator,
    state: State,
    update: Callable[[np.random.Generator, State, float, Interval], State],
    ask: Ask,
    values: FloatArray,
    noise_epsilon: float | None = None,
) -> Iterator[tuple[Interval, State]]:
    """Ask the holders of `values` in turn; yields each one's interval and the particles after the answer.

    The noise has scale Δ/noise_epsilon, by default Δ/ε as in the model.
    """
    for value in values.tolist():
        interval = ask(rng, state)
        y = float(answer(rng, value, *interval, noise_epsilon or state.answers.epsilon))
        state = update(rng, state, y, interval)
        yield interval, state


def thompson(intervals: Sequence[Interval], weights: FloatArray | None = None) -> Ask:
    """(8), (11): `[ac + m, bc + m]` at a draw (m, c) of the particles, for one of `intervals` [a, b], by weight."""

    def ask(rng: np.random.Generator, particles: Particles) -> Interval:
        m, c = particles.theta[rng.choice(len(particles.weights), p=particles.weights)].tolist()
        a, b = intervals[0] if len(intervals) == 1 else intervals[rng.choice(len(intervals), p=weights)]
        return m + c * a, m + c * b

    return ask


def same(interval: Interval) -> Ask:
    """The same interval for everyone: SMC-nonadaptive."""
    return lambda rng, particles: interval


def posterior_mean(particles: Particles) -> tuple[float, float]:
    """The posterior means of μ and σ."""
    mu, sigma = (particles.weights @ particles.theta).tolist()
    return mu, sigma
