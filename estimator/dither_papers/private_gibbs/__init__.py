"""Private Gibbs sampling and the naive-Bayes hidden Markov model of Foulds et al., section 5 and supplement E.

`records.py` holds counted data and makes synthetic ones, `sampler.py` the model and its sampler, by noisy counts or by
one posterior sample, `transitions.py` and `truncated_dirichlet.py` the sampler's two harder conditionals, `held_out.py`
how well a sample predicts.

May import: `conjugate`, `dither_estimator`.
"""

__all__: list[str] = []
"""Import from the modules."""
