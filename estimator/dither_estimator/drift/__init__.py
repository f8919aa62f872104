"""A distribution that changes from period to period: its parameters follow a random walk whose scale is learnt.

With unconstrained coordinates `v_t` in units of a pooled fit, `v_t ~ N(v_{t-1}, diag(τ²))`, for t = 2, …, T.

May import: `families`, `hierarchy`, `likelihood`, `particles`, `priors`, `weighted`.
"""
