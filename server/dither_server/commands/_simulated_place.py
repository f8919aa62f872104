"""Where `dither simulate` asks its people: in this process, or at a server."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from dither_client.commands._shared import fail
from dither_estimator.learning.any_learner import any_learner
from dither_estimator.learning.checked_learner import CheckedLearner
from dither_estimator.specification.specification import Specification
from dither_server.commands import _simulate_options as options
from dither_server.commands._progress import progress_of
from dither_server.commands._simulated_collection import create_collection, existing_collection
from dither_server.commands._simulated_people import Asked, Drawing, People
from dither_server.simulate.behaviours import Roles
from dither_server.simulate.in_process import simulate_in_process
from dither_server.simulate.outcome import Outcome
from dither_server.simulate.over_http import simulate_over_http
from dither_server.simulate.respondents import Respondents

__all__ = ["Place", "refuse_together"]

_CONCURRENCY = 64


@dataclass(frozen=True)
class Place:
    """The options that say where people are asked, each as it was given."""

    in_process: options.InProcess = False
    url: options.LoadedUrl = None
    token: options.Token = None
    collection: options.Collection = None
    concurrency: options.Concurrency = None
    scheduler: options.Scheduler = None
    outstanding: options.Outstanding = None

    def check(self, behaviours: Mapping[str, object]) -> None:
        """Ends the command unless the options say in one way where to simulate.

        `behaviours` are options whose effect needs a server.
        """
        if self.in_process:
            over_http = {"collection": self.collection, "concurrency": self.concurrency, **behaviours}
            refuse_together("--in-process", True, {**over_http, "scheduler": self.scheduler})
        elif self.outstanding is not None:
            fail("--outstanding needs --in-process: over HTTP, --concurrency sets how many answer at the same time", 2)
        elif self.url is None:
            fail("name the server with --url, or simulate with --in-process", 2)

    def existing(self, drawing: Drawing) -> Asked | None:
        """The collection that `--collection` names; None where a new one is simulated. Raises `ServerError`."""
        if self.collection is None or self.url is None:
            return None
        return existing_collection(self.url, self.token, self.collection, drawing)

    def simulate(
        self,
        asked: Asked,
        people: People,
        roles: Roles,
        seeds: tuple[np.random.SeedSequence, np.random.SeedSequence],
        *,
        seeded: bool,
    ) -> Outcome:
        """Asks the people. The first of `seeds` draws their noise, the second is the learner's.

        Over HTTP, noise comes from the operating system unless the command is `seeded`. Raises `ServerError`.
        """
        if self.url is None or self.in_process:
            assert asked.specification is not None
            return self._simulate_here(asked.specification, people, roles, seeds)
        noise = int(seeds[0].generate_state(1)[0]) if seeded else None
        held = Respondents(people.values, roles, noise, people.chosen, people.labels)
        identifier = self.collection or create_collection(self.url, self.token, asked.fields)
        concurrency = self.concurrency or _CONCURRENCY
        with progress_of(len(held)) as progress:
            return simulate_over_http(
                self.url, self.token, identifier, held, concurrency, progress, scheduler=self.scheduler
            )

    def _simulate_here(
        self,
        specification: Specification,
        people: People,
        roles: Roles,
        seeds: tuple[np.random.SeedSequence, np.random.SeedSequence],
    ) -> Outcome:
        noise, learning = seeds
        outstanding = self.outstanding or 1
        make = any_learner if specification.misfit_check is None else CheckedLearner
        with progress_of(len(people.values)) as progress, threadpool_limits(1, user_api="blas"):
            return simulate_in_process(
                make(specification, learning, outstanding),
                people.values,
                roles,
                np.random.default_rng(noise),
                progress,
                choices=people.chosen,
                labels=people.labels,
                outstanding=outstanding,
            )


def refuse_together(name: str, given: object, others: Mapping[str, object], why: str = "") -> None:
    """Ends the command if the option `name` is given with any of `others`, and says `why` to leave those out."""
    clash = [other for other, value in others.items() if value]
    if given and clash:
        named = ", ".join(f"--{other}" for other in clash)
        fail(f"leave {named} out: {why}" if why else f"{name} cannot go with {named}", 2)
