"""Fixtures of the client's tests: a real server on a real socket, and retries that do not wait long."""

from collections.abc import Iterator

import pytest

from dither_client import Retry
from testing.fake_server import FakeServer


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake = FakeServer()
    try:
        yield fake
    finally:
        fake.close()


@pytest.fixture
def quick() -> Retry:
    """Retries that are over in a moment."""
    return Retry(attempts=4, first=0.001, longest=0.01)
