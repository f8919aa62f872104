"""Checks of the model: goodness of fit, completion, the effect of contamination, and competing families.

May import: `dither_client`, `families`, `likelihood`, `mechanisms`, `nonparametric`, `particles`, `priors`,
`weighted`.
"""
