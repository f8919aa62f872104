"""How well chains mix."""

import numpy as np

from dither_estimator.families import FloatArray

__all__ = ["autocorrelation", "integrated_autocorrelation_time"]

_WINDOW = 5
"""Lags are summed up to so many times the sum so far (Sokal 1997)."""


def autocorrelation(states: FloatArray) -> FloatArray:
    """Of chains of one law, `states` (iterations, C), averaged over them; at every lag up to half the length."""
    length = len(states)
    centred = states - states.mean()
    spectrum = np.abs(np.fft.rfft(centred, 2 * length, axis=0)) ** 2
    covariance = np.fft.irfft(spectrum, axis=0)[: length // 2].mean(axis=1) / (length - np.arange(length // 2))
    return np.asarray(covariance / covariance[0])


def integrated_autocorrelation_time(states: FloatArray) -> float:
    """`1 + 2 Σ ρ_k`: how many states are worth one independent draw."""
    times = 2 * np.cumsum(autocorrelation(states)) - 1
    enough = np.arange(len(times)) >= _WINDOW * times
    return float(times[np.argmax(enough) if enough.any() else -1])
