"""The statistics of Dither: families, likelihood, information, designs and particles. No I/O; randomness passed in."""

from dither_client.extras import require_extra

require_extra("estimator", "numpy", "scipy")
