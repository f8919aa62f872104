"""Clusters and disks for the tests; where there can be none, the tests skip and say why, except in CI."""

import os
from collections.abc import Iterator

import pytest

from testing.faults.cluster import Cluster, ClusterMissing, make_cluster
from testing.faults.disk import Disk, DiskMissing, small_disk


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL of the test's own."""
    try:
        with make_cluster() as cluster:
            yield cluster
    except ClusterMissing as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"no PostgreSQL of its own: {error}")


@pytest.fixture
def disk() -> Iterator[Disk]:
    """A disk of 32 MB."""
    try:
        with small_disk(32) as disk:
            yield disk
    except DiskMissing as error:
        pytest.skip(str(error))  # in CI too: containers may seldom mount
