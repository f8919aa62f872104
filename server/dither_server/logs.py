"""Log lines on standard error, for people or as JSON; uvicorn's and Alembic's among them."""

import logging
import sys

import structlog
from structlog.typing import Processor

from dither_server.settings import Settings

__all__ = ["set_up_logs"]


def set_up_logs(settings: Settings) -> None:
    """Sends every log line of the process to standard error, in the format that the settings name."""
    rendering: list[Processor]
    if settings.log_format == "json":
        rendering = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:  # the default would show the variables of a traceback
        plain = structlog.dev.plain_traceback
        rendering = [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.ExtraAdder(),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
        ],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(settings.log_level.upper())
    for library in ("alembic", "uvicorn.error"):  # what they say at info is about themselves
        logging.getLogger(library).setLevel(logging.WARNING)
