"""Two server processes on one database, of which one is killed and started again while people answer at both."""

import threading
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Self

import pytest

from dither_client.transport.json_api import Api
from dither_server.database.engine import make_engine
from dither_server.simulate import over_http
from dither_server.simulate.outcome import Outcome
from testing.databases import check_counts
from testing.patience import PATIENT, until
from testing.servers.process import ForkedServer

__all__ = ["KilledPair"]


class KilledPair:
    """The processes, with an admin's `token`; people wait for as long as one is away.

    At its end both are stopped, and the counts in the database must be those of its answers.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, token: str, database: str, secret: str) -> None:
        monkeypatch.setattr(over_http, "Retry", PATIENT)
        monkeypatch.setattr(over_http, "Api", partial(Api, retry=PATIENT()))
        self._database = database
        self._servers = [ForkedServer(database, admin_token=token, secret=secret) for _ in range(2)]

    @property
    def urls(self) -> list[str]:
        """The addresses of the process that is killed, and of the other one."""
        return [server.url for server in self._servers]

    def asked(self, ask: Callable[[str, int], Outcome], killed_when: Callable[[], bool]) -> list[Outcome]:
        """What `ask`, called with each address and a seed, returns, where one process is killed amid it."""
        outcomes: list[Outcome] = []
        threads = [
            threading.Thread(target=lambda url, seed: outcomes.append(ask(url, seed)), args=(url, seed))
            for seed, url in enumerate(self.urls)
        ]
        for thread in threads:
            thread.start()
        until(killed_when)
        self._servers[0].kill()
        self._servers[0].start()
        self._servers[0].wait_ready()
        for thread in threads:
            thread.join()
        assert len(outcomes) == len(threads), "somebody was not answered"
        return outcomes

    def __enter__(self) -> Self:
        for server in self._servers:
            server.start()
            server.wait_ready()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.terminate()
        ended = [server.wait() for server in self._servers]
        if error is None:
            assert ended == [0, 0]
            engine = make_engine(self._database)
            check_counts(engine)
            engine.dispose()
