"""The load generator: a simulated population that answers a collection, over HTTP or in this process.

May import: `dither_client`, `dither_estimator`.
"""
