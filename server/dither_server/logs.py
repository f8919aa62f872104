"""Log lines on standard error, for people or as JSON; those of the libraries among them.

Every line that is written while a request is answered has the request's id. What an exception says is never written,
since it may hold what a request contained: its type is, and where it was raised.
"""

import logging
import sys
import traceback
from contextvars import ContextVar
from typing import Any

import structlog
from structlog.typing import EventDict, Processor

from dither_server.audit import LOGGER
from dither_server.settings import Settings

__all__ = ["log_formatter", "request_id", "set_up_logs"]

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the request that is being answered; threads that answer it inherit the context."""

_OURS = ("dither_client", "dither_estimator", "dither_migrations", "dither_server")


def set_up_logs(settings: Settings) -> None:
    """Sends every log line of the process to standard error, in the format that the settings name."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(log_formatter(settings.log_format))
    root = logging.getLogger()
    root.handlers = [handler]
    # Nobody knows what a library says at its lower levels.
    root.setLevel(logging.ERROR if settings.log_level == "error" else logging.WARNING)
    for package in _OURS:
        logging.getLogger(package).setLevel(settings.log_level.upper())
    logging.getLogger(LOGGER).setLevel(logging.INFO)


def log_formatter(log_format: str) -> logging.Formatter:
    """The format of a line: `json` or `console`."""
    rendering: Processor
    if log_format == "json":
        rendering = structlog.processors.JSONRenderer()
    else:
        rendering = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            _without_words,
            structlog.stdlib.add_log_level,
            structlog.stdlib.ExtraAdder(),
            _add_request_id,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
        ],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, rendering],
    )


def _add_request_id(logger: Any, method: str, event: EventDict) -> EventDict:
    current = request_id.get()
    if current is not None:
        event["request_id"] = current
    return event


def _without_words(logger: Any, method: str, event: EventDict) -> EventDict:
    """Puts an exception's type and place where the exception was."""
    kind, _, trace = event["_record"].exc_info or (None, None, None)
    if kind is not None:
        event["error"] = kind.__name__
        event["where"] = "".join(traceback.format_tb(trace))
    for words in ("exc_info", "exception", "stack_info", "stack"):
        event.pop(words, None)
    return event
