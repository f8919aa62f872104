"""People who answer one after the other in this process, each answer learnt before the next question."""

from bisect import bisect_right
from collections.abc import Callable
from time import perf_counter
from typing import Protocol

import numpy as np

from dither_client import Query
from dither_estimator.learning.summary import Posterior
from dither_estimator.mechanisms.channels import channel_of
from dither_server.simulate.interrupts import on_interrupt
from dither_server.simulate.outcome import Outcome

__all__ = ["LearnsInTurn", "learn_in_turn"]


class LearnsInTurn(Protocol):
    """A learner, whatever else it is told of a person beside the answer."""

    @property
    def answers(self) -> int:
        """The number of answers learnt."""

    def posterior(self) -> Posterior:
        """The posterior given all of them."""


def learn_in_turn(
    learner: LearnsInTurn,
    size: int,
    ask: Callable[[int], Query],
    cell: Callable[[int, Query], int],
    learn: Callable[[int, Query, int], None],
    rng: np.random.Generator,
    progress: Callable[[int], None] = lambda done: None,
) -> Outcome:
    """Asks persons `0..size - 1` and learns each answer before the next question, as `simulate_in_process`.

    `ask` says what a person is asked, `cell` in which of the question's cells the person is, and `learn` is given the
    answer. Ctrl-C ends it early.
    """
    began, asking, stopped = perf_counter(), 0.0, list[bool]()
    cumulative: dict[Query, list[list[float]]] = {}
    with on_interrupt(lambda: stopped.append(True)):
        for number, uniform in enumerate(rng.random(size).tolist()):
            if stopped:
                break
            before = perf_counter()
            query = ask(number)
            asking += perf_counter() - before
            if query not in cumulative:
                cumulative[query] = np.cumsum(channel_of(query).matrix, axis=1)[:, :-1].tolist()
            answer = bisect_right(cumulative[query][cell(number, query)], uniform)
            before = perf_counter()
            learn(number, query, answer)
            asking += perf_counter() - before
            if number % 1_000 == 0:
                progress(number)
    before = perf_counter()
    posterior = learner.posterior()
    reply = posterior.described(posterior.reply())
    ended = perf_counter()
    return Outcome(
        answers=learner.answers,
        dropped_out=0,
        seconds=ended - began,
        estimator_seconds=asking + ended - before,
        posterior=reply,
        interrupted=bool(stopped),
    )
