"""A simulation of the estimator alone, without HTTP or a database, with any number of answers outstanding.

Answers are drawn from the exact channel by inverting uniforms of a seeded generator. That is fast and reproducible, but
fit for simulations only: a person's noise comes from `Query.answer`.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from time import perf_counter

import numpy as np

from dither_client import Query
from dither_client.mechanisms.query import Held
from dither_client.posterior.wire import PosteriorReply
from dither_estimator.families import FloatArray
from dither_estimator.learning.any_learner import AnyLearner
from dither_estimator.learning.checked_learner import CheckedLearner
from dither_estimator.learning.grouped_learner import GroupedLearner
from dither_estimator.learning.period_learner import PeriodLearner
from dither_estimator.mechanisms.channels import channel_of
from dither_server.simulate.behaviours import Roles, poisoned_answer
from dither_server.simulate.interrupts import on_interrupt
from dither_server.simulate.outcome import Outcome

__all__ = ["simulate_in_process"]

_CHUNK = 65_536

_Learn = Callable[[Query, int], None]


def simulate_in_process(
    learner: AnyLearner | CheckedLearner,
    values: FloatArray,
    roles: Roles | None,
    rng: np.random.Generator,
    progress: Callable[[int], None] = lambda done: None,
    *,
    choices: Sequence[Fraction] | None = None,
    labels: Sequence[str] | None = None,
    outstanding: int = 1,
) -> Outcome:
    """Asks every holder of one of `values`, in their own units, or of one of its rows, in turn.

    `choices` are the ε that each has chosen, and `labels` each one's group or period, where the learner has those.
    Without `roles` everybody does what was asked.

    `outstanding` respondents hold a question at any time, a number that the learner should know: with 1, each answer
    is learnt before the next question is asked; with k, k are asked before the first answer is learnt. Answers come
    in the order of the questions. `progress` receives how many have been asked; Ctrl-C ends the simulation early.

    `estimator_seconds` is the time for asking, learning and the final posterior, without the respondents' part and
    without the design, which is computed once when the learner is made.
    """
    began = perf_counter()
    dropped_out = 0
    stopped: list[bool] = []
    channels = _Channels()
    estimator = _TimedLearner(learner, choices, labels)
    with on_interrupt(lambda: stopped.append(True)):
        for respondent, (held, uniform) in enumerate(_respondents(values, rng)):
            if stopped:
                break
            query, take = estimator.ask(respondent)
            cell = query.cell(held)
            answer = channels.answer(query, cell, uniform)
            if roles is not None:
                if roles.poisons[respondent]:
                    answer = poisoned_answer(query)
                if roles.drops_out(respondent, query, cell, answer):
                    dropped_out += 1
                    continue
            estimator.hear(take, query, answer, outstanding)
            if respondent % 1_000 == 0:
                progress(respondent)
    reply = estimator.finish()
    return Outcome(
        answers=learner.answers,
        dropped_out=dropped_out,
        seconds=perf_counter() - began,
        estimator_seconds=estimator.seconds,
        posterior=reply,
        interrupted=bool(stopped),
    )


class _TimedLearner:
    """A learner, the answers that are still out, and the `seconds` for which it has worked."""

    def __init__(
        self, learner: AnyLearner | CheckedLearner, choices: Sequence[Fraction] | None, labels: Sequence[str] | None
    ) -> None:
        self.seconds = 0.0
        self._learner = learner
        self._ask = _asking(learner, choices, labels)
        self._out: deque[tuple[_Learn, Query, int]] = deque()

    def ask(self, respondent: int) -> tuple[Query, _Learn]:
        """The question to a respondent, and what learns the answer."""
        before = perf_counter()
        asked = self._ask(respondent)
        self.seconds += perf_counter() - before
        return asked

    def hear(self, take: _Learn, query: Query, answer: int, outstanding: int) -> None:
        """Takes an answer, and learns the oldest ones until fewer than `outstanding` are out."""
        self._out.append((take, query, answer))
        before = perf_counter()
        self._learn(outstanding)
        self.seconds += perf_counter() - before

    def finish(self) -> PosteriorReply:
        """Learns all answers that are out, and returns the posterior."""
        before = perf_counter()
        self._learn(1)
        reply = _reply(self._learner)
        self.seconds += perf_counter() - before
        return reply

    def _learn(self, fewer_out_than: int) -> None:
        while len(self._out) >= fewer_out_than:
            take, query, answer = self._out.popleft()
            take(query, answer)


class _Channels:
    """Answers from the exact channels of queries, each of which is computed once."""

    def __init__(self) -> None:
        self._cumulative: dict[Query, list[list[float]]] = {}

    def answer(self, query: Query, cell: int, uniform: float) -> int:
        """The answer that a uniform in [0, 1) stands for."""
        rows = self._cumulative.get(query)
        if rows is None:
            rows = self._cumulative[query] = np.cumsum(channel_of(query).matrix, axis=1)[:, :-1].tolist()
        return bisect_right(rows[cell], uniform)


def _reply(learner: AnyLearner | CheckedLearner) -> PosteriorReply:
    """The posterior with what it says about the population, and what a check of the fit has found."""
    posterior = learner.posterior()
    misfit = learner.report() if isinstance(learner, CheckedLearner) else None
    return posterior.described(posterior.reply(misfit=misfit))


def _respondents(values: FloatArray, rng: np.random.Generator) -> Iterator[tuple[Held, float]]:
    """What each respondent holds, and a uniform in [0, 1)."""
    for start in range(0, len(values), _CHUNK):
        chunk = values[start : start + _CHUNK]
        yield from zip(chunk.tolist(), rng.random(len(chunk)).tolist(), strict=True)


def _asking(
    learner: AnyLearner | CheckedLearner, choices: Sequence[Fraction] | None, labels: Sequence[str] | None
) -> Callable[[int], tuple[Query, _Learn]]:
    """Asks the respondent with a number, and says who learns the answer."""

    def ask(number: int) -> tuple[Query, _Learn]:
        chosen = choices[number] if choices else None
        if labels is not None and isinstance(learner, GroupedLearner):
            group = labels[number]
            return learner.ask(chosen, group=group), partial(learner.learn, group=group)
        if labels is not None and isinstance(learner, PeriodLearner):
            return learner.ask(chosen), partial(learner.learn, period=labels[number])
        assert not isinstance(learner, GroupedLearner | PeriodLearner)
        query = learner.ask(chosen)
        return query, learner.take if isinstance(learner, CheckedLearner) else learner.learn

    return ask
