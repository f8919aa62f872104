"""Bayes point estimates that a curator, who holds everyone's values, releases under ε-differential privacy.

Lakshminarayanan & Rojas, *A unified approach to differentially private Bayes point estimation*: UBaPP, the best
estimator of all, and LBaPP, Laplace noise on the estimate without privacy. `problem.py` has their finite problem,
`ubapp.py` the linear programme, `geometric.py` its solution for a count, `certificate.py` what no estimator can go
below, `lbapp.py` the rival, `release.py` one estimate drawn exactly.

May import: `dither_client`, `dither_estimator`.
"""

__all__: list[str] = []
"""Import from the modules."""
