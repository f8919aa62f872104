"""Priors over a family's parameters: which distributions there are, the joint prior, and a rival's that matches it.

May import: `dither_client`, `families`.
"""
