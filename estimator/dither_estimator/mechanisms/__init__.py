"""What the statistics need of a mechanism: its channel as an array, its Fisher information, its lattice of questions.

A channel is computed once for all queries that share it. Questions lie on a dyadic lattice, so that respondents with
nearly the same question get exactly the same one and their answers can be counted together.

May import: `dither_client`, `families`.
"""
