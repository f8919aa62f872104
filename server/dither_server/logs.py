"""Log lines on standard error, for people or as JSON, including those of libraries.

Every line written while a request is answered has the request's id. The text of an exception is never logged, since it
may repeat what a request contained; its type and the place where it was raised are.
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
"""The id of the current request; threads that work on the request inherit the context."""

_OWN_PACKAGES = ("dither_client", "dither_estimator", "dither_migrations", "dither_server")


def set_up_logs(settings: Settings) -> None:
    """Sends every log line of the process to standard error, in the format and at the level of the settings."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(log_formatter(settings.log_format))
    root = logging.getLogger()
    root.handlers = [handler]
    # Libraries may log anything below warnings, contents of requests among it.
    root.setLevel(logging.ERROR if settings.log_level == "error" else logging.WARNING)
    for package in _OWN_PACKAGES:
        logging.getLogger(package).setLevel(settings.log_level.upper())
    logging.getLogger(LOGGER).setLevel(logging.INFO)


def log_formatter(log_format: str) -> logging.Formatter:
    """The formatter for `log_format`: `json` or `console`."""
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
    """Replaces an exception by its type and the place where it was raised."""
    kind, _, trace = event["_record"].exc_info or (None, None, None)
    if kind is not None:
        event["error"] = kind.__name__
        event["where"] = "".join(traceback.format_tb(trace))
    for words in ("exc_info", "exception", "stack_info", "stack"):
        event.pop(words, None)
    return event
