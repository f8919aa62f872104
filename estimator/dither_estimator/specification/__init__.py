"""A collection's statistical choices: family, prior, ε, goal, mechanism and policy, validated together and immutable.

May import: `checks`, `design`, `dither_client`, `families`, `nonparametric`, `priors`.
"""
