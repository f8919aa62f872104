"""Bayes point estimates released under ε-differential privacy by a curator who holds everyone's values.

Lakshminarayanan & Rojas, *A unified approach to differentially private Bayes point estimation*: UBaPP, the optimal
estimator, and LBaPP, the Bayes estimate with Laplace noise. `problem` has their finite problem, `ubapp` the linear
programme, `geometric` its solution for a count, `certificate` a lower bound for every estimator, `lbapp` the
alternative, `release` exact sampling of one estimate, `share` that of a share, for any number of people.

May import: `dither_client`, `dither_estimator`.
"""

__all__: list[str] = []
"""Import from the modules."""
