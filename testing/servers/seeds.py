"""One seed for every learner of a server, so that what a test finds is found again, but for what comes in time."""

import numpy as np

from dither_server.owner import collection_learner

__all__ = ["pytest_configure", "seed_learners"]


def seed_learners() -> None:
    """From now on the learners of this process that are made anew have the same seed."""
    collection_learner._new_seed = lambda: np.random.SeedSequence(0)


def pytest_configure() -> None:
    seed_learners()
