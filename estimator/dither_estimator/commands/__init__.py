"""The estimator's commands of `dither`, found through the entry points of the group `dither.commands`.

May import: `design`, `dither_client`, `families`, `learning`, `likelihood`, `mechanisms`, `planning`, `specification`.
"""
