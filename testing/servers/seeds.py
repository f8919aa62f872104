"""One seed for every learner of a server and every test, so that what is found is found again, but for timing."""

import random

import numpy as np
import pytest

from dither_server.owner import collection_learner

__all__ = ["pytest_configure", "pytest_runtest_setup", "seed_learners"]


def seed_learners() -> None:
    """From now on the learners of this process that are made anew have the same seed."""
    collection_learner._new_seed = lambda: np.random.SeedSequence(0)


def pytest_configure() -> None:
    seed_learners()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Simulated people hold and answer the same whichever tests ran before; so do those of a fixture."""
    random.seed(0)
