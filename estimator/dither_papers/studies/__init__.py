"""The papers' experiments, beside what Dither does on the same work: `dither reproduce`.

A study is a `Study` (`study.py`) in a small module of its own, listed in `catalogue.py`. What it measures belongs to
the library; the module says which cells there are, what one seeded run of one cell computes, and what table, figure and
sentence the runs make together. Nothing here writes a file.

May import: `bayes_point`, `conjugate`, `dither_client`, `dither_estimator`, `private_gibbs`, `statistic_selection`,
`truncation`.
"""

from dither_client.extras import require_extra

require_extra("papers", "joblib", "matplotlib")
