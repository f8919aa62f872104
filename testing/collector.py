"""The garbage collector while tests run: it leaves alone what was there before the first of them.

More than 10,000 tests, and all that they import, are a million objects that live as long as the process does. To look
through them again and again takes a good part of the time of short tests, and finds nothing. What the tests themselves
leave behind is found as ever.
"""

import gc

import pytest

__all__ = ["pytest_collection_finish", "pytest_configure"]


def pytest_configure(config: pytest.Config) -> None:
    """Nothing is thrown away while tests are only collected."""
    gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    gc.collect()
    gc.freeze()
    gc.enable()
