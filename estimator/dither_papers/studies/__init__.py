"""The papers' experiments, with Dither's results on the same tasks: `dither reproduce`.

A study is a `Study` (`study`) in a small module of its own, listed in `catalogue`. What it measures belongs to the
library; its module defines the cells, what one seeded run of a cell computes, and the table, figure and sentence that
summarise the runs. Nothing here writes a file.

May import: `bayes_point`, `conjugate`, `dither_client`, `dither_estimator`, `private_gibbs`,
`restricted_response`, `statistic_selection`, `truncation`.
"""

from dither_client.extras import require_extra

require_extra("papers", "joblib", "matplotlib")
