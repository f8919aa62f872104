"""Where chains of groups' log weights begin, and the directions in which they move.

They begin near each group's own mode: where groups differ and have many answers, no chain would get there in time.
"""

from dataclasses import dataclass

import numpy as np

from dither_estimator.categorical import prior
from dither_estimator.categorical.group_target import Groups, State, Target
from dither_estimator.families import FloatArray

__all__ = ["Directions", "start"]

_REFINEMENTS = 20
_START = 0.3
"""How far from a group's mode chains begin, in standard deviations: farther off, they would be stuck."""
_NEWTON_STEPS, _CONVERGED = 60, 1e-6
"""A step that gains less is the last."""
_BETWEEN = 0.4
"""How far groups are thought to be apart where their modes are sought: the prior's median."""


@dataclass(frozen=True)
class Directions:
    """The information about log weights, in the directions that answers tell of one by one."""

    group_axes: FloatArray
    group_information: FloatArray
    """Shape (groups, categories)."""
    axes: FloatArray
    information: FloatArray
    """That of all groups together about each row of what they share, shape (rows, categories)."""

    def group_scales(self, between: FloatArray) -> FloatArray:
        """About each group's sd in each direction, given what groups share, shape (groups, chains, categories)."""
        return np.asarray((self.group_information[:, np.newaxis] + prior.curvature(np.zeros(1), between)) ** -0.5)

    @classmethod
    def of(cls, information: FloatArray, design: FloatArray) -> "Directions":
        groups, shared = np.linalg.eigh(information), np.linalg.eigh(np.tensordot(design**2, information, axes=1))
        return cls(
            groups.eigenvectors,
            np.maximum(groups.eigenvalues, 0.0),
            shared.eigenvectors,
            np.maximum(shared.eigenvalues, 0.0),
        )


def start(rng: np.random.Generator, target: Target, chains: int) -> tuple[State, Directions]:
    """Chains near each group's own mode, around that of shares that all groups have alike."""
    groups, _, categories = target.chances.shape
    common, spreads = np.zeros((1, categories)), np.ones(1)
    for _ in range(_REFINEMENTS):
        at = np.broadcast_to(common, (groups, 1, categories))
        slope = target.told(at)[1].sum(axis=(0, 1)) + prior.slopes(common, spreads)[0]
        curvature = target.information(at).sum(axis=0) + np.diag(prior.curvature(common[0], spreads[0]))
        step = np.linalg.solve(curvature, slope)
        common = common + step / max(1.0, float(np.abs(step).max()))
    own = _own_modes(target, common)
    directions = Directions.of(target.information(own), target.design)
    spreads = np.exp(rng.uniform(np.log(0.5), np.log(4.0), chains))
    between = np.exp(rng.uniform(np.log(0.1), np.log(1.5), chains))
    shared = np.zeros((len(target.design), chains, categories))
    shared[0] = common
    scales = directions.group_scales(between)
    beside = _START * (scales * rng.standard_normal(scales.shape)) @ np.swapaxes(directions.group_axes, 1, 2)
    return target.state(shared, own + beside, spreads, between), directions


def _own_modes(target: Target, common: FloatArray) -> FloatArray:
    """Where each group is likeliest if all expect `common`: damped Newton steps, shape (groups, 1, categories)."""
    between, halvings = np.array([_BETWEEN]), 0.5 ** np.arange(8)[:, np.newaxis]

    def at(log_weights: FloatArray) -> Groups:
        return Groups(log_weights, common, between, *target.told(log_weights))

    now = at(np.broadcast_to(common, (len(target.chances), 1, common.shape[-1])).copy())
    for _ in range(_NEWTON_STEPS):
        own = prior.curvature(now.place - common, between) * np.eye(common.shape[-1])
        step = np.linalg.solve(target.information(now.place) + own, np.swapaxes(now.slopes, 1, 2))
        tried = at(now.place + halvings * np.swapaxes(step, 1, 2))
        best = tried.height.argmax(axis=1, keepdims=True)
        tried = at(np.take_along_axis(tried.place, best[..., np.newaxis], axis=1))
        better = tried.height - now.height >= _CONVERGED
        if not better.any():
            break
        now = tried.where(better, now)
    return now.place
