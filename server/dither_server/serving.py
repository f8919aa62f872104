"""One server process: a socket, uvicorn, and an end that loses nothing."""

import errno
import gc
import logging
import signal
import socket
import sys
import threading

import uvicorn

from dither_server.app import create_app
from dither_server.errors import StartRefused
from dither_server.logs import set_up_logs
from dither_server.service import prepare
from dither_server.settings import Settings

__all__ = ["serve"]

_GRACE_SECONDS = 5
"""How long requests in flight may take after the signal to stop."""

_log = logging.getLogger(__name__)


def serve(settings: Settings) -> None:
    """Serves until SIGTERM or SIGINT, then finishes what was begun and exits with status 0.

    Raises `StartRefused` with one sentence if it cannot start.
    """
    # Everything that can be wrong is found here, where it can be said in a sentence.
    engine, _ = prepare(settings)
    engine.dispose()
    listener = _listen(settings.host, settings.port)
    set_up_logs(settings)
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    # uvicorn raises the signal once more when it is done, and until it starts nobody else listens to it.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    _Server(config, app.state.stopping).run(sockets=[listener])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, stopping: threading.Event) -> None:
        super().__init__(config)
        self._stopping = stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # What has been imported and started stays for good. Looking through all of it again and again for garbage would
        # cost a fifth of the time of every request, and stop the process for a tenth of a second now and then.
        gc.collect()
        gc.freeze()
        for listener in sockets or []:
            host, port = listener.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            _log.info("serving", extra={"url": f"http://{shown}:{port}"})

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stopping.set()
        _log.info("stopping")
        await super().shutdown(sockets)
        _log.info("stopped")


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises `StartRefused`."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror:
        raise StartRefused(f"There is no address {host}: choose another with --host.") from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise StartRefused(f"Port {port} on {host} is in use: choose another with --port.") from None
        raise StartRefused(f"Port {port} on {host} cannot be used ({error.strerror}): choose another.") from None
    listener.setblocking(False)
    return listener
