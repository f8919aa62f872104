"""Fixtures of the client's tests: a real server on a real socket, and retries that do not wait long."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from dither_client import Retry
from testing.servers.fake_server import FakeServer


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with closing(FakeServer()) as fake:
        yield fake


@pytest.fixture
def quick() -> Retry:
    """Retries that are over in a moment."""
    return Retry(attempts=4, first=0.001, longest=0.01)
