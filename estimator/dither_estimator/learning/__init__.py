"""The learner: it asks, learns, checks and summarises. It is what a server holds for each collection.

May import: `checks`, `dither_client`, `families`, `likelihood`, `particles`, `policies`, `priors`, `specification`.
"""
