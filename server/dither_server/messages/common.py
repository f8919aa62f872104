"""What every message uses."""

__all__ = ["EXAMPLE_TIME", "MAX_COUNT"]

MAX_COUNT = 10_000
"""Tickets, or responses, in one call."""

EXAMPLE_TIME = "2026-01-31T12:00:00.000Z"
