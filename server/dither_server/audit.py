"""The audit: a log line for each thing that was done with a token's power, whatever the log's level.

A line has the event `audit`, what was done, the id of the token that did it, and ids of what it was done to; never a
token, a code or a key.
"""

import logging

__all__ = ["LOGGER", "audit"]

LOGGER = __name__
"""The name under which the lines are logged."""

_log = logging.getLogger(LOGGER)


def audit(what: str, by: str, **facts: object) -> None:
    """Says in the log that the token with the id `by` did `what`."""
    _log.info("audit", extra={"what": what, "by": by, **facts})
