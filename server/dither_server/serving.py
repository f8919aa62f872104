"""One server process: its socket, uvicorn, and a shutdown that loses no acknowledged answer."""

import errno
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable

import uvicorn

from dither_server.access.first_admin import make_first_admin
from dither_server.app import create_app
from dither_server.errors import StartRefused
from dither_server.http.connections import BoundedConnection, Sweeper, bounded_to, room
from dither_server.logs import set_up_logs
from dither_server.service.service import prepare
from dither_server.settings import Settings, weaknesses

__all__ = ["serve"]

_GRACE_SECONDS = 4
"""How long requests in flight may take after the signal to stop."""
_FORCED_EXIT_SECONDS = 9
"""How long after that signal the process ends in any case. Containers are often killed after 10 seconds."""
_TICKS_PER_SECOND = 10

_SIGNALS = (signal.SIGTERM, signal.SIGINT)

Started = Callable[[str], None]

_log = logging.getLogger(__name__)


def serve(settings: Settings, started: Started | None = None) -> None:
    """Serves until SIGTERM or SIGINT, then finishes the requests in flight and exits with status 0.

    `started` is called with the server's address once it accepts requests. If one of the server's threads dies, the
    process ends with status 1. Raises `StartRefused` with one sentence if it cannot start.
    """
    # Whatever prevents a start is found here, where one sentence can explain it.
    engine, _ = prepare(settings)
    listener = _listen(settings.host, settings.port)
    try:
        admin = make_first_admin(engine, settings, time.time)
    except StartRefused:
        listener.close()
        raise
    finally:
        engine.dispose()
    set_up_logs(settings)
    if admin is not None:
        admin.tell()
    for sentence in weaknesses(settings):
        _log.warning(sentence)
    app = create_app(settings)
    config = uvicorn.Config(
        app.front,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # the application's own setting names the trusted proxies
        lifespan="on",
        http=bounded_to(room()),
        ws="none",
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    # uvicorn raises the signal again when it has finished, and handles none before it starts.
    for number in _SIGNALS:
        signal.signal(number, _exit)
    threading.excepthook = _end_after_thread_death
    _Server(config, app.state.stopping, started).run(sockets=[listener])


class _Server(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, stopping: threading.Event, started: Callable[[str], None] | None
    ) -> None:
        super().__init__(config)
        self._stopping = stopping
        self._started = started
        self._sweeper = Sweeper()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # Modules and parts of the server are never freed. Searching them for garbage repeatedly would cost a fifth of
        # the time of every request, and stop the process for a tenth of a second now and then.
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000)  # a batch makes thousands of objects, of which hardly any are in reference cycles
        for listener in sockets or []:
            host, port = listener.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            url = f"http://{shown}:{port}"
            _log.info("serving", extra={"url": url})
            if self._started is not None:
                self._started(url)

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS_PER_SECOND == 0:
            mine = [one for one in self.server_state.connections if isinstance(one, BoundedConnection)]
            self._sweeper.sweep(mine, time.monotonic())
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stopping.set()
        forced = threading.Timer(_FORCED_EXIT_SECONDS, _give_up)
        forced.daemon = True
        forced.start()
        _log.info("stopping")
        await super().shutdown(sockets)
        _log.info("stopped")


def _exit(*_: object) -> None:
    """Ends the process on a signal that comes before or after uvicorn handles signals; repeated signals do nothing."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    sys.exit(0)


def _end_after_thread_death(died: threading.ExceptHookArgs) -> None:
    """Ends the process when one of its threads has died, so that its supervisor restarts it as a whole.

    Every acknowledged answer is committed, as after a power cut.
    """
    where = "".join(traceback.format_tb(died.exc_traceback))
    facts = {"part": died.thread and died.thread.name, "error": died.exc_type.__name__, "where": where}
    try:
        _log.critical("a thread of the server has died, so the process ends: start it again", extra=facts)
        sys.stderr.flush()
    finally:
        os._exit(1)


def _give_up() -> None:
    """Ends the process although something takes too long; every acknowledged answer is committed."""
    _log.error("ended before all was done, since the database or a computation took too long")
    sys.stderr.flush()
    os._exit(0)


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens at this host and port. Raises `StartRefused`."""
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
