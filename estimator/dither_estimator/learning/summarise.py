"""Summaries of weighted particles: moments and quantiles of each number."""

from dither_client.posterior.wire import QUANTILES, ParameterSummary
from dither_estimator.families import FloatArray
from dither_estimator.weighted.moments import Moments
from dither_estimator.weighted.sample import weighted_quantiles

__all__ = ["summarise"]


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
