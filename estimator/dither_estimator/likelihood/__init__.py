"""The likelihood of all data: counts of answers by query, and counts of members that institutions share.

May import: `dither_client`, `families`, `mechanisms`.
"""
