"""What every message uses."""

from pydantic import BaseModel, ConfigDict

__all__ = ["EXAMPLE_TIME", "MAX_COUNT", "Body"]

MAX_COUNT = 10_000
"""Tickets, or responses, in one call."""

EXAMPLE_TIME = "2026-01-31T12:00:00.000Z"


class Body(BaseModel):
    """What a request brings: a field that is not known is refused."""

    model_config = ConfigDict(extra="forbid")
