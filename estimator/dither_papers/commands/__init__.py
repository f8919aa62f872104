"""The commands `dither reproduce` and `dither release`, found through the entry points of the group `dither.commands`.

May import: `bayes_point`, `dither_client`, `studies`.
"""
