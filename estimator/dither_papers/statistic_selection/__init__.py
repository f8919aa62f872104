"""Which noisy statistic of a sample a curator should share, and inference from it.

Alparslan & Yıldırım 2022, *Statistic selection and MCMC for differentially private Bayesian estimation*. A curator
holds `X_1..X_n` and shares one `Y = S_n(X) + V`: additive statistics with Gaussian or Laplace noise (`powers`), or the
maximum or the median with noise that follows the smooth sensitivity (`smooth`). The Fisher information of `Y` about θ
is computed in closed form (`information`) or by the paper's Monte Carlo (`monte_carlo`); posteriors come from the
paper's Markov chains (`chains`, `latent_chains`). Algorithm numbers are those of the algorithms' captions; the paper's
text uses others.

Alternatives without Monte Carlo: the sum of normal and Laplace noise has a density in closed form (`normal_laplace`),
so the information is a quadrature, and the posterior of one parameter a sum over a grid (`grid`).

May import: `dither_estimator`.
"""

__all__: list[str] = []
"""Import from the modules."""
