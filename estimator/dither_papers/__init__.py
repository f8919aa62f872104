"""The papers' own methods and experiments, run by `dither reproduce`: a leaf, which nothing else imports.

Each folder is one method or family of methods, written from its paper; `studies` runs them at the papers' settings and
compares what comes out with what was printed. It may import `dither_estimator` and `dither_client`.
"""

from dither_client.extras import require_extra

require_extra("papers", "numpy", "scipy")
