"""The order of the tests: first those that mostly wait, for leases, processes and databases that are away.

They leave the processor to the others, and at the end there would be nothing else to do. `pytest-xdist` deals out the
tests in runs of neighbours, so that all of these begin in one of its processes, which the others help when they are
done.
"""

import pytest

__all__ = ["pytest_collection_modifyitems"]

WAITING = ("tests/server/faults/", "tests/server/replicas/", "tests/server/operation/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(WAITING))  # otherwise in the order that they had
