"""Yıldırım 2024, *Differentially private online Bayesian estimation with adaptive truncation*, as it is stated.

A normal population's values are clipped to an interval and answered with continuous Laplace noise of scale Δ/ε. The
authors' program draws noise of scale Δ/(ε√2), since its generator takes a standard deviation; `noise_epsilon` gives
that where it is wanted. Dither's own answers are integers with an exact channel: nothing here is used by the service.

May import: `dither_client`, `dither_estimator`.
"""
