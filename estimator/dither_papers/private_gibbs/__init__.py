"""Private Gibbs sampling and the naive-Bayes hidden Markov model of Foulds et al., section 5 and supplement E.

`records` holds counted data and generates synthetic ones; `sampler` has the model and its sampler, for noisy counts or
one posterior sample; `transitions` and `truncated_dirichlet` are the sampler's two harder conditionals; `held_out`
measures how well a sample predicts.

May import: `conjugate`, `dither_estimator`.
"""

__all__: list[str] = []
"""Import from the modules."""
