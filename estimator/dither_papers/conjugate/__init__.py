"""Private Bayesian inference by a curator in exponential families with conjugate priors.

Foulds, Geumlek, Welling & Chaudhuri 2016, *On the theory and practice of privacy-preserving Bayesian data analysis*:
sufficient statistics with Laplace noise (`mechanisms.noisy_statistics`) and one posterior sample at a temperature
(`mechanisms.one_posterior_sample`), for the families in `counts` and `normals`; their privacy costs (`costs`), and
those of whole chains (`composition`) of private Gibbs or Metropolis updates (`metropolis`); how far noise moves a
posterior (`divergence`). And, better than both, the exact posterior given a noisy statistic (`noisy_count`).

May import: `dither_estimator`.
"""

__all__: list[str] = []
"""Import from the modules."""
