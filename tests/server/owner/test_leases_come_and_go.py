"""Whatever happens to a lease while answers come, everything is learnt once it is held again."""

from random import Random

import pytest

from dither_server.owner.publications import read_editions
from testing.patience import until
from testing.servers.site import Site

ACTIONS = 30


@pytest.mark.parametrize("seed", range(6))
def test_a_random_course(site: Site, seed: int) -> None:
    """Leases are lost and come back between polls, which read what the database has, and between answers."""
    rng, learners = Random(seed), site.service.learners
    collection = site.create()
    site.learnt(collection, 0)
    until(lambda: read_editions(site.service._engine))  # which soon is older than what is learnt
    leases, answers = dict(learners._leases), 0
    for _ in range(ACTIONS):
        match rng.randrange(5):
            case 0:
                learners.hold({}, (), alone=True)
            case 1:
                learners.hold(leases, (), alone=rng.random() < 0.5)
            case 2:
                learners.look_around(count=rng.random() < 0.5)
            case 3:
                site.answer_in_turns(collection, 5)
                answers += 5
            case _:
                learners.hold(leases, (), alone=True)
                site.learnt(collection, answers)
    learners.hold(leases, (), alone=True)
    site.learnt(collection, answers)
