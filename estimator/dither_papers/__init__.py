"""The papers' own methods and experiments, run by `dither reproduce`. Nothing else imports this package.

Each folder implements one method or family of methods from its paper. `studies` runs them at the papers' settings and
compares the results with those printed. May import `dither_estimator` and `dither_client`.
"""

from dither_client.extras import require_extra

require_extra("papers", "numpy", "scipy")
