"""The estimator's `dither` commands, found through the entry points of the group `dither.commands`.

May import: `dependence`, `design`, `dither_client`, `families`, `learning`, `likelihood`, `mechanisms`,
`nonparametric`, `planning`, `specification`.
"""
