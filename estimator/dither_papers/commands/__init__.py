"""The command `dither reproduce`, found through the entry points of the group `dither.commands`.

May import: `dither_client`, `studies`.
"""
