"""Moves of many Markov chains at once: Hamiltonian trajectories, and Metropolis moves of spreads."""

from collections.abc import Callable
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from dither_estimator.families import FloatArray

__all__ = ["PROPORTIONAL_STEP", "Chains", "spreads_moved", "trajectory"]

_LEAPS = 10
_STEPS = 0.25, 1.25
"""Each trajectory's own step, as a multiple: between these, since what is steep takes small ones."""
_SPREAD_MOVES = 4
_SPREAD_STEP = 0.4
"""The sd of a proposed spread's logarithm."""
PROPORTIONAL_STEP = 0.8
"""The same where log weights move in proportion."""


class Chains(Protocol):
    """Where chains are, any shape (…, chains, d), and how probable that is."""

    @property
    def place(self) -> FloatArray:
        """Shape (…, chains, d)."""

    @property
    def height(self) -> FloatArray:
        """The log density there but for a constant, shape (…, chains)."""

    @property
    def slopes(self) -> FloatArray:
        """Its derivative, shape (…, chains, d)."""

    def where(self, chosen: npt.NDArray[np.bool_], other: Self) -> Self:
        """The chains that are chosen (…, chains), and the other's elsewhere."""


_Chains = TypeVar("_Chains", bound=Chains)


def trajectory(
    rng: np.random.Generator,
    slopes_at: Callable[[FloatArray], FloatArray],
    at: Callable[[FloatArray], _Chains],
    chains: _Chains,
    axes: FloatArray,
    scales: FloatArray,
    step: Any,
) -> tuple[_Chains, FloatArray]:
    """One trajectory of each chain, and the probability (…, chains) with which each was accepted.

    `at` gives the chains at other places, and `slopes_at` their slopes alone, which is sooner. The columns of `axes`
    (…, d, d) are orthonormal directions, and `scales` (…, chains, d) about the standard deviation in each; `step` is in
    units of that, one number or of shape (…, 1, 1).
    """
    back = np.swapaxes(axes, -1, -2)
    momentum = rng.standard_normal(scales.shape)
    energy = chains.height - 0.5 * (momentum**2).sum(axis=-1)
    size = step * rng.uniform(*_STEPS, (*scales.shape[:-1], 1)) * scales
    place = chains.place
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        momentum = momentum + 0.5 * size * (chains.slopes @ axes)
        for _ in range(_LEAPS - 1):
            place = place + (size * momentum) @ back
            momentum = momentum + size * (slopes_at(place) @ axes)
        now = at(place + (size * momentum) @ back)
        momentum = momentum + 0.5 * size * (now.slopes @ axes)
        change = now.height - 0.5 * (momentum**2).sum(axis=-1) - energy
    chance = np.exp(np.minimum(np.nan_to_num(change, nan=-np.inf), 0.0))
    return now.where(rng.random(chance.shape) < chance, chains), chance


def spreads_moved(
    rng: np.random.Generator, spreads: FloatArray, log_density: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Each chain's spread (chains,) after some Metropolis moves; the density is that of its logarithm."""
    height = log_density(spreads)
    for _ in range(_SPREAD_MOVES):
        tried = spreads * np.exp(_SPREAD_STEP * rng.standard_normal(len(spreads)))
        found = log_density(tried)
        moved = np.log(rng.random(len(spreads))) < found - height
        spreads, height = np.where(moved, tried, spreads), np.where(moved, found, height)
    return spreads
