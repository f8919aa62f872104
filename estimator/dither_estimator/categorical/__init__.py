"""Shares of unordered categories: their posterior from counts alone, and the questions that tell most of them.

May import: `dither_client`, `families`, `likelihood`.
"""
