"""The likelihood of everything that was answered: counts of answers by query, and counts that institutions sent.

May import: `dither_client`, `families`, `mechanisms`.
"""
