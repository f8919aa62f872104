"""The statistics of Dither: families, likelihood, information, designs, particles. Pure: no I/O, seeded."""

from dither_client.extras import require_extra

require_extra("estimator", "numpy", "scipy")
