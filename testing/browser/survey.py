"""A server process, and a simulated population that answers it, for what is to be seen while answers come."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dither_client import parse_query
from testing.servers.calls import call
from testing.servers.process import forked

__all__ = ["FIRST_LOOK", "Survey", "open_survey"]

FIRST_LOOK = [50, *range(100_000, 100_019)]
"""Looks at the fit of which only the first comes; it raises a false alarm in one of 400 collections."""

SPEC = {"name": "Weekly wages", "family": "normal", "transform": "log", "range": [100, 2000], "epsilon": 1}


class Survey:
    """A server, and a population of lognormal values that answers when told to."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._chances: dict[str, random.Random] = {}

    def call(self, method: str, path: str, **content: Any) -> Any:
        return call(method, f"{self.url}/v1{path}", **content)

    def create(self, **fields: Any) -> str:
        return str(self.call("POST", "/collections", json=SPEC | {"particles": 200} | fields)["id"])

    def arrive(self, collection: str, count: int, held: Callable[[random.Random], Any] | None = None) -> None:
        """Lets `count` people answer, a hundred at a time, who hold values that `held` draws.

        Values and noise are the same for every collection.
        """
        draw = held or (lambda rng: rng.lognormvariate(6.2, 0.7))
        chance = self._chances.setdefault(collection, random.Random(1))
        for _ in range(0, count, 100):
            tickets = self.call("POST", f"/collections/{collection}/tickets", json={"count": 100})["tickets"]
            answers = [parse_query(each["query"]).answer(draw(chance), chance.randrange) for each in tickets]
            responses = [
                {"ticket": each["ticket"], "answer": answer} for each, answer in zip(tickets, answers, strict=True)
            ]
            self.call("POST", f"/collections/{collection}/responses/batch", json={"responses": responses})


@contextmanager
def open_survey(folder: Path) -> Iterator[Survey]:
    """A server process on a database in `folder`."""
    with forked(f"sqlite:///{folder / 'test.sqlite'}") as [server]:
        yield Survey(server.url)
