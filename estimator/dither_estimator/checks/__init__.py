"""Is it true? Goodness of fit, completion of a misfit, how far contamination can pull, and competing families.

May import: `dither_client`, `families`, `likelihood`, `mechanisms`, `particles`.
"""
