"""Measurements: `python -m benchmarks`."""
