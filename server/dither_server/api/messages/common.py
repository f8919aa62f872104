"""Limits and examples that several messages share."""

__all__ = ["EXAMPLE_RETRY_KEY", "EXAMPLE_TIME", "MAX_COUNT"]

MAX_COUNT = 10_000
"""The most tickets, responses or invitations in one call."""

EXAMPLE_TIME = "2026-01-31T12:00:00.000Z"
EXAMPLE_RETRY_KEY = "mB1w0hS2vJc5pXqL8rYt4A"
