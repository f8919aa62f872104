"""How many respondents a given precision needs, with privacy and without.

May import: `design`, `dither_client`, `families`, `learning`, `likelihood`, `mechanisms`, `nonparametric`, `policies`,
`priors`, `specification`.
"""
