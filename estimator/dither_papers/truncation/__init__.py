"""Yıldırım 2024, *Differentially private online Bayesian estimation with adaptive truncation*, as published.

A normal population's values are clipped to an interval and answered with continuous Laplace noise of scale Δ/ε. The
authors' program draws noise of scale Δ/(ε√2), because its generator expects a standard deviation; `noise_epsilon`
reproduces that. Dither's own answers are integers with an exact channel: the service uses nothing from here.

May import: `dither_client`, `dither_estimator`.
"""
