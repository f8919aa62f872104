"""The learner, which asks, learns, checks and summarises. A server holds one for each collection.

May import: `categorical`, `checks`, `dependence`, `design`, `dither_client`, `drift`, `families`, `hierarchy`,
`likelihood`, `mechanisms`, `nonparametric`, `particles`, `policies`, `priors`, `specification`, `weighted`.
"""
