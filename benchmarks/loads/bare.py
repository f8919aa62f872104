"""The yardsticks of `server.py`: a FastAPI route that commits one row, many rows in one transaction, and a raw echo.

The echo is the least that a request costs on uvicorn: no framework, no check, no database. The route's writer has the
design of Dither's: one thread, whatever waits goes into the next transaction, the reply comes after the commit, with
SQLite in WAL mode with `synchronous=FULL`, or PostgreSQL as it is.
"""

import asyncio
import os
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from queue import Empty, SimpleQueue

import psycopg
from fastapi import FastAPI, Request
from starlette.types import Receive, Scope, Send

__all__ = ["app", "echo"]

_MAX_ROWS = 4_096

_Commit = Callable[[list[bytes]], object]


class _Writer:
    def __init__(self, database: str) -> None:
        self._database = database
        self._queue: SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    async def store(self, row: bytes) -> None:
        future: asyncio.Future[None] = self._loop.create_future()
        self._queue.put((row, future))
        await future

    def stop(self) -> None:
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        commit = _postgres(self._database) if self._database.startswith("postgresql:") else _sqlite(self._database)
        while True:
            batch = [self._queue.get()]
            while len(batch) < _MAX_ROWS:
                try:
                    batch.append(self._queue.get_nowait())
                except Empty:
                    break
            items = [item for item in batch if item is not None]
            if items:
                commit([row for row, _ in items])
            self._loop.call_soon_threadsafe(self._tell, [future for _, future in items])
            if len(items) < len(batch):
                return

    @staticmethod
    def _tell(futures: list["asyncio.Future[None]"]) -> None:
        for future in futures:
            if not future.done():
                future.set_result(None)


def _sqlite(path: str) -> _Commit:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE rows (key BLOB PRIMARY KEY) WITHOUT ROWID")

    def commit(rows: list[bytes]) -> None:
        database.execute("BEGIN IMMEDIATE")
        database.executemany("INSERT INTO rows VALUES (?)", [(row,) for row in rows])
        database.execute("COMMIT")

    return commit


def _postgres(url: str) -> _Commit:
    database = psycopg.connect(url)
    database.execute("CREATE TABLE IF NOT EXISTS rows (key bytea PRIMARY KEY)")
    database.commit()

    def commit(rows: list[bytes]) -> None:
        database.execute("INSERT INTO rows SELECT unnest(%b::bytea[])", (rows,))
        database.commit()

    return commit


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    app.state.writer = _Writer(os.environ["BARE_DATABASE"])
    yield
    app.state.writer.stop()


app = FastAPI(lifespan=_lifespan)


@app.post("/rows", status_code=201)
async def store(request: Request) -> dict[str, bool]:
    """Commits one row."""
    await request.app.state.writer.store(os.urandom(16))
    return {"stored": True}


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Replies with the body of the request."""
    message = await receive()
    body = message["body"]
    headers = [(b"content-length", str(len(body)).encode()), (b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 201, "headers": headers})
    await send({"type": "http.response.body", "body": body})
