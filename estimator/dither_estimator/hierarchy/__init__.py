"""Partial pooling: one posterior of the parameters of many public groups, which borrow from each other.

With unconstrained coordinates `θ_g` in units of a pooled fit, `θ_g ~ t₄(m + B z_g, T)`, for g = 1, …, G.

May import: `families`, `likelihood`, `mechanisms`, `particles`, `priors`, `weighted`.
"""
