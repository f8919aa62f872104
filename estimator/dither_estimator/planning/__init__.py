"""How many respondents a given precision needs, with privacy and without.

May import: `design`, `families`, `policies`, `priors`, `specification`.
"""
