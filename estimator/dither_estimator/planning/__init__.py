"""How many respondents a precision takes, with privacy and without.

May import: `design`, `families`, `priors`, `specification`.
"""
