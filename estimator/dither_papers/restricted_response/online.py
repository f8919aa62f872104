"""AdOBEst-LDP: the restriction of each question is the best at a draw of the posterior, renewed after every answer.

Several populations are asked at once, one person of each at a time.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dither_estimator.families import FloatArray
from dither_papers.restricted_response.channel import channels_of_sizes, restricted_channel
from dither_papers.restricted_response.langevin import move
from dither_papers.restricted_response.utilities import UTILITIES

__all__ = ["Choice", "Estimates", "best_for", "estimate_shares", "likely_mass"]

MOVES = 20
"""Langevin moves after each answer, and a hundred times as many after the last: the published program's numbers."""
STEP = 0.5
"""The length of a move, over the number of people."""
_FINAL = 100
_CONCENTRATION = 1.0


@dataclass(frozen=True)
class Choice:
    """Channels, and which of them is asked at given shares."""

    channels: FloatArray
    """`P(answer | category)`, shape (n, K, K), for categories in falling order of their shares."""
    choose: Callable[[FloatArray], npt.NDArray[np.int64]] = lambda shares: np.zeros(len(shares), dtype=np.int64)
    """The numbers of the channels, shape (B,), at shares in falling order, shape (B, K)."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """What was found about each population."""

    shares: FloatArray
    """Posterior means, shape (B, K)."""
    likely: FloatArray
    """The average number of categories in the restriction, shape (B,)."""


def best_for(utility: str, categories: int, epsilon: float) -> Choice:
    """The restriction that is best by one of `UTILITIES`."""
    channels, worth = channels_of_sizes(categories, epsilon), UTILITIES[utility]
    return Choice(channels, lambda shares: np.argmax(worth(channels, shares), axis=1))


def likely_mass(mass: float, categories: int, epsilon: float) -> Choice:
    """The fewest categories with at least this share in all: the paper's semi-adaptive rival, where `ε₁ = ε`, `ε₂ = 0`.

    With a mass of 1 it is randomised response over all categories, which does not adapt.
    """
    sizes = range(1, categories + 1)
    channels = np.array([restricted_channel(categories, likely, epsilon, 1.0, 0.0) for likely in sizes])
    if mass == 1:
        return Choice(channels[-1:])
    return Choice(channels, lambda shares: np.minimum((shares.cumsum(axis=1) < mass).sum(axis=1), categories - 1))


def estimate_shares(rng: np.random.Generator, values: npt.NDArray[np.int64], choice: Choice) -> Estimates:
    """The estimates after everyone's answer; `values` are categories from 0, shape (B, people)."""
    populations, people = values.shape
    categories = choice.channels.shape[1]
    rows, columns = np.arange(populations), np.arange(populations)[:, np.newaxis]
    chances, uniforms = np.empty((populations, people, categories)), rng.random((people, populations, 1))
    phi = np.full((populations, categories), 1 / categories)
    likely = np.zeros(populations)
    sizes = categories - len(choice.channels) + 1
    for t in range(people):
        shares = phi / phi.sum(axis=1, keepdims=True)
        order = np.argsort(-shares, axis=1, kind="stable")
        own = np.argmax(order == values[:, [t]], axis=1)
        chosen = choice.choose(np.take_along_axis(shares, order, axis=1))
        channels = choice.channels[chosen]
        answers = (uniforms[t] > channels[rows, :, own].cumsum(axis=1)[:, :-1]).sum(axis=1)
        chances[columns, t, order] = channels[rows, answers]
        likely += chosen + sizes
        moves = MOVES * _FINAL if t == people - 1 else MOVES
        states = move(rng, phi, chances[:, : t + 1], STEP / people, moves, _CONCENTRATION)
        phi = states[-1]
    late = states[len(states) // 2 :]
    return Estimates((late / late.sum(axis=2, keepdims=True)).mean(axis=0), likely / people)
