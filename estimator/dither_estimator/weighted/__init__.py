"""Weighted samples, from whatever they are: how much they are worth, samples of them, quantiles, moments.

May import: `families`.
"""
