"""Measures of how well chains mix."""

import numpy as np

from dither_estimator.families import FloatArray

__all__ = ["autocorrelation", "integrated_autocorrelation_time"]

_WINDOW_FACTOR = 5
"""Lags are summed up to this multiple of the current estimate (Sokal 1997)."""


def autocorrelation(states: FloatArray) -> FloatArray:
    """The autocorrelation of `states` (iterations, C), averaged over C equal chains, at lags up to half the length."""
    length = len(states)
    centred = states - states.mean()
    spectrum = np.abs(np.fft.rfft(centred, 2 * length, axis=0)) ** 2
    covariance = np.fft.irfft(spectrum, axis=0)[: length // 2].mean(axis=1) / (length - np.arange(length // 2))
    return np.asarray(covariance / covariance[0])


def integrated_autocorrelation_time(states: FloatArray) -> float:
    """`1 + 2 Σ ρ_k`: the number of states that are worth one independent draw."""
    times = 2 * np.cumsum(autocorrelation(states)) - 1
    enough = np.arange(len(times)) >= _WINDOW_FACTOR * times
    return float(times[np.argmax(enough) if enough.any() else -1])
