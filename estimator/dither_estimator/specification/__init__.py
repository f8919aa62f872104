"""What a collection is: its family, prior, ε, goal, mechanism and policy, validated together and immutable.

May import: `checks`, `design`, `dither_client`, `families`, `priors`.
"""
