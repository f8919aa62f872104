"""A small disk for the tests; where there can be none, they skip and say why."""

from collections.abc import Iterator

import pytest

from testing.faults.disk import Disk, DiskMissing, small_disk


@pytest.fixture
def disk() -> Iterator[Disk]:
    """A disk of 32 MB."""
    try:
        with small_disk(32) as disk:
            yield disk
    except DiskMissing as error:
        pytest.skip(str(error))  # in CI too: containers may seldom mount
