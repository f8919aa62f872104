"""Summaries of weighted particles: moments and quantiles of each number."""

import numpy as np

from dither_client.posterior.wire import QUANTILES, ParameterSummary
from dither_estimator.families import FloatArray
from dither_estimator.particles.moments import Moments

__all__ = ["summarise", "weighted_quantiles"]


def summarise(
    names: tuple[str, ...], theta: FloatArray, weights: FloatArray
) -> tuple[dict[str, ParameterSummary], FloatArray]:
    """A summary of each parameter and the covariance, for particles (n, d) with normalised weights (n,)."""
    moments = Moments.of(theta, weights)
    quantiles = [weighted_quantiles(column, weights, list(QUANTILES.values())) for column in theta.T]
    summaries = {
        name: ParameterSummary(
            mean=float(moments.mean[j]),
            sd=float(moments.sd[j]),
            **dict(zip(QUANTILES, quantiles[j].tolist(), strict=True)),
        )
        for j, name in enumerate(names)
    }
    return summaries, moments.covariance


def weighted_quantiles(values: FloatArray, weights: FloatArray, levels: list[float]) -> FloatArray:
    """Quantiles of a weighted sample by linear interpolation of its distribution function, shape (len(levels),)."""
    order = np.argsort(values)
    cumulative = np.cumsum(weights[order])
    middle = cumulative - 0.5 * weights[order]
    return np.interp(levels, middle / cumulative[-1], values[order])
