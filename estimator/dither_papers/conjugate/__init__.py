"""Private Bayesian inference by a curator in exponential families with conjugate priors.

Foulds, Geumlek, Welling & Chaudhuri 2016, *On the theory and practice of privacy-preserving Bayesian data analysis*:
sufficient statistics with Laplace noise (`mechanisms.noisy_statistics`) and one posterior sample at a temperature
(`mechanisms.one_posterior_sample`), for the families of `counts.py` and `normals.py`; what each costs (`costs.py`). And
better than both, the exact posterior given a noisy statistic (`noisy_count.py`).

May import: `dither_estimator`.
"""

__all__: list[str] = []
"""Import from the modules."""
