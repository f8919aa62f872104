"""The audit log: one line for each action that a token authorised, whatever the log level.

A line has the event `audit`, the action, the id of the token that authorised it, and the ids of what it changed. It
never holds a token, a code or a key.
"""

import logging

__all__ = ["LOGGER", "audit"]

LOGGER = __name__
"""The name of the logger that writes these lines."""

_log = logging.getLogger(LOGGER)


def audit(what: str, by: str, **facts: object) -> None:
    """Logs that the token with the id `by` did `what`."""
    _log.info("audit", extra={"what": what, "by": by, **facts})
