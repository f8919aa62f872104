"""A TCP proxy between server and PostgreSQL, which can fall silent."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator

__all__ = ["Proxy", "make_proxy"]


class Proxy:
    """Passes bytes on until it is told not to. Its methods are for any thread."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._dead: set[asyncio.Task[None]] = set()
        self._pumps: set[asyncio.Task[None]] = set()
        self._started = threading.Event()
        self.port = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._started.wait()

    def stall(self) -> None:
        """From now on nothing passes, in either direction, nor on new connections; nothing is closed."""
        self._loop.call_soon_threadsafe(self._flowing.clear)

    def flow(self) -> None:
        """Everything passes again, what was held back first."""
        self._loop.call_soon_threadsafe(self._flowing.set)

    def flow_for_the_new(self) -> None:
        """New connections pass; those from before the stall stay silent for ever."""

        def change() -> None:
            for pump in self._pumps:
                pump.cancel()
            self._flowing.set()

        self._loop.call_soon_threadsafe(change)

    def close(self) -> None:
        """Ends the proxy."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        for writer in self._writers:
            writer.transport.abort()
        self._loop.run_until_complete(asyncio.sleep(0))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        await self._flowing.wait()
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers.add(far_writer)
        for source, sink in ((reader, far_writer), (far_reader, writer)):
            task = asyncio.create_task(self._pump(source, sink))
            self._pumps.add(task)
            task.add_done_callback(self._pumps.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65_536):
                await self._flowing.wait()
                sink.write(data)
                await sink.drain()
        sink.transport.abort()


@contextlib.contextmanager
def make_proxy(target: int) -> Iterator[Proxy]:
    """A proxy before that port of this machine."""
    proxy = Proxy(target)
    try:
        yield proxy
    finally:
        proxy.close()
