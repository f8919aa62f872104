"""What a collection's learner publishes: the questions to ask and the posterior, for all who read them."""

import json
import logging
import math
import traceback
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain

import numpy as np
import numpy.typing as npt

from dither_client.posterior.wire import PosteriorReply, to_json
from dither_estimator.learning.deferred import DeferredProperty
from dither_estimator.learning.description import Unscaled
from dither_estimator.learning.population import Population
from dither_estimator.learning.summary import Posterior
from dither_server.errors import Unavailable
from dither_server.tickets.packing import NO_GROUP, in_group

__all__ = ["REST", "Particles", "Pools", "Published", "Question", "settle"]

REST = 4
"""How many times as long as its description took a collection is not described anew: a fifth of a core at most."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Particles:
    """A weighted sample of a posterior. It may be drawn when somebody first looks at it, which takes a while."""

    names: tuple[str, ...]
    posterior: Posterior = field(repr=False)

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """Shape (n, d), a column for each of `names`."""
        return self._drawn[0]

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """Normalised, shape (n,)."""
        return self._drawn[1]

    @property
    def population(self) -> Population | Unscaled:
        """What the posterior says about the population."""
        return self.posterior.population

    @DeferredProperty
    def _drawn(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        return self.posterior.draws()


@dataclass(frozen=True)
class Question:
    """A query in the forms that tickets and their JSON need."""

    packed: bytes
    json: str

    def asked_of(self, group: int) -> "Question":
        """The question, asked of somebody of the group with this number."""
        return self if group == NO_GROUP else Question(in_group(self.packed, group), self.json)


Pools = Mapping[Fraction, tuple[Question, ...]]
"""The questions at each ε, to be drawn with equal probability."""


@dataclass(frozen=True)
class Published:
    """The published state that requests read: immutable, and replaced as a whole."""

    pools: Pools
    """The pools; where there are groups, those for groups without answers."""
    answers: int
    posterior: PosteriorReply
    particles: Particles | None
    """None if another process runs the particle system."""
    describe: Callable[[PosteriorReply], PosteriorReply] = field(default=lambda posterior: posterior, repr=False)
    """Adds to the posterior what it says about the population, which takes some tenths of a second."""
    check_pools: Mapping[Fraction, tuple[Question, ...]] = field(default_factory=dict)
    """The check questions at each ε, also drawn with equal probability; empty without a check."""
    renew_at: float = math.inf
    """The number of answers at which much better questions can be asked."""
    check_share: float = 0.0
    """The probability that a ticket is a check ticket."""
    width: float = 0.0
    """Distance between the outermost cell edges of the pools' questions, on the transformed scale."""
    group_pools: Mapping[int, Pools] = field(default_factory=dict)
    """The pools of each group that has answers, by the group's number."""

    @DeferredProperty
    def described(self) -> PosteriorReply:
        """The posterior with what it says about the population; without, if that fails, which is logged."""
        try:
            return self.describe(self.posterior)
        except Exception as error:
            where = "".join(traceback.format_tb(error.__traceback__))
            _log.error("describing the population failed", extra={"error": type(error).__name__, "where": where})
            return self.posterior

    @DeferredProperty
    def reply(self) -> bytes:
        """The JSON of `described`, made once for all who read it: that of hundreds of groups has megabytes."""
        return json.dumps(to_json(self.described), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()

    @property
    def questions(self) -> set[bytes]:
        """All questions, packed; none where there are groups or periods, each of which has questions of its own."""
        if self.posterior.groups is not None or self.posterior.periods is not None:
            return set()
        pools = chain(self.pools.values(), self.check_pools.values())
        return {question.packed for pool in pools for question in pool}


def settle(waiting: Iterable[Future[Published]], outcome: Published | Unavailable) -> None:
    """Gives all who wait for a collection's first state that state, or the reason why there is none."""
    for future in waiting:
        if not future.set_running_or_notify_cancel():
            continue
        if isinstance(outcome, Published):
            future.set_result(outcome)
        else:
            future.set_exception(outcome)
