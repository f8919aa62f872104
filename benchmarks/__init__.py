"""Measurements: `python -m benchmarks`, or one of them, such as `python -m benchmarks.burst`.

The modules here are commands; the folders `peers` and `loads` have what they need.
"""
