"""Which noisy statistic of a sample a curator should share, and inference from it.

Alparslan & Yıldırım 2022, *Statistic selection and MCMC for differentially private Bayesian estimation*. A curator
holds `X_1..X_n` and shares one `Y = S_n(X) + V`: additive statistics with Gaussian or Laplace noise (`powers.py`), the
maximum or the median with noise that follows the smooth sensitivity (`smooth.py`). What `Y` tells of θ is its Fisher
information: in closed form (`information.py`) or by the paper's Monte Carlo (`monte_carlo.py`). Posteriors by its
Markov chains (`chains.py`, `latent_chains.py`). Algorithms have the numbers that head them in the paper; its text has
others.

And, beside them, without Monte Carlo: normal plus Laplace noise has a density in closed form (`normal_laplace.py`), so
the information is a quadrature, and a posterior of one parameter a sum over a grid (`grid.py`).

May import: `dither_estimator`.
"""

__all__: list[str] = []
"""Import from the modules."""
