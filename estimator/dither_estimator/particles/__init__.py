"""The particle system: a sequential Monte Carlo posterior over a family's parameters.

`system.py` reweights and decides when to move, `metropolis.py` moves, `quasi_monte_carlo.py` redraws evenly, `start.py`
covers what the first answers say, `evidence.py` integrates.

May import: `families`, `likelihood`, `priors`.
"""
