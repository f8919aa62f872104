"""Priors over a family's parameters: the available distributions, the joint prior, and matching priors for competitors.

May import: `dither_client`, `families`.
"""
