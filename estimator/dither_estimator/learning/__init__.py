"""The learner, which asks, learns, checks and summarises. A server holds one for each collection.

May import: `categorical`, `checks`, `design`, `dither_client`, `families`, `hierarchy`, `likelihood`, `mechanisms`,
`nonparametric`, `particles`, `policies`, `priors`, `specification`.
"""
