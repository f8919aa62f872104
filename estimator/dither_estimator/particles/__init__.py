"""The particle system: a sequential Monte Carlo posterior over a family's parameters.

`system` reweights and decides when to move; `metropolis` moves; `quasi_monte_carlo` redraws nearly normal posteriors;
`start` bridges from a wide prior to the first answers; `evidence` integrates.

May import: `families`, `likelihood`, `priors`, `weighted`.
"""
