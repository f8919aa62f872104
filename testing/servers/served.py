"""The application behind real HTTP, in a thread of the test's own process: uvicorn on a port of this machine."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from dither_server.app import Application
from testing.patience import PATIENCE
from testing.servers.site import make_application

__all__ = ["serving"]


@contextmanager
def serving(database: str, **settings: Any) -> Iterator[tuple[str, Application]]:
    """The URL of a running server, and its application."""
    app = make_application(database, **settings)
    config = uvicorn.Config(app, port=0, log_config=None, access_log=False, proxy_headers=False, lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", app
    except BaseException:
        server.force_exit = True  # a page that follows a stream would be waited for
        raise
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
