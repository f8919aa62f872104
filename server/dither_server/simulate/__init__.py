"""The load generator: a population of respondents that a collection asks, over HTTP or within this process.

May import: `dither_client`, `dither_estimator`.
"""
