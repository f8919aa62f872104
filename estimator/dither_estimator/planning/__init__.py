"""How many respondents a given precision needs, with privacy and without.

May import: `dither_client`, `design`, `families`, `policies`, `priors`, `specification`.
"""
