"""Small servers of the standard library on a port of this machine, attended to by a thread of the test's process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer

__all__ = ["listening", "serving_folder"]


@contextmanager
def listening(server: TCPServer) -> Iterator[str]:
    """The URL of a server, which is closed at the end."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    with server:
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def serving_folder(folder: Path) -> Iterator[str]:
    """The URL at which the files of a folder are."""
    with listening(ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))) as url:
        yield url


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass
