"""Shares of categories by randomised response that is restricted to the likely ones.

Aydin & Yıldırım 2025, *Bayesian frequency estimation under local differential privacy with an adaptive randomized
response mechanism* (AdOBEst-LDP). `channel` is their mechanism, `utilities` their six measures of what an answer is
worth, `langevin` their approximate sampler, `online` their algorithm; `exact` runs it with exact draws of the
posterior.

May import: `dither_estimator`.
"""

__all__: list[str] = []
"""Import from the modules."""
