"""A simulation of the estimator alone, without HTTP or a database, with any number of answers outstanding.

Answers are drawn from the exact channel by inverting uniforms of a seeded generator. That is fast and reproducible, but
fit for simulations only: a person's noise comes from `Query.answer`.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from time import perf_counter

import numpy as np

from dither_client import Query, Transform
from dither_estimator.families import FloatArray
from dither_estimator.learning.checked_learner import CheckedLearner
from dither_estimator.learning.count_learner import CountLearner
from dither_estimator.mechanisms.channels import channel_of
from dither_server.simulate.behaviours import Roles, poisoned_answer
from dither_server.simulate.interrupts import on_interrupt
from dither_server.simulate.outcome import Outcome

__all__ = ["simulate_in_process"]

_CHUNK = 65_536

_Sampler = tuple[list[float], list[list[float]]]
"""A query's edges, and for each cell the cumulative probabilities of the answers."""


def simulate_in_process(
    learner: CountLearner | CheckedLearner,
    values: FloatArray,
    roles: Roles,
    rng: np.random.Generator,
    progress: Callable[[int], None] = lambda done: None,
    choices: Sequence[Fraction] | None = None,
    outstanding: int = 1,
) -> Outcome:
    """Asks every respondent in turn, at its own ε from `choices` if these are given.

    `outstanding` respondents hold a question at any time, a number that the learner should know: with 1, each answer
    is learnt before the next question is asked; with k, k are asked before the first answer is learnt. Answers come
    in the order of the questions. `progress` receives how many have been asked; Ctrl-C ends the simulation early.

    `estimator_seconds` is the time for asking, learning and the final posterior, without the respondents' part and
    without the design, which is computed once when the learner is made.
    """
    began = perf_counter()
    asking = 0.0
    dropped_out = 0
    stopped: list[bool] = []
    samplers: dict[Query, _Sampler] = {}
    out: deque[tuple[Callable[[Query, int], None], Query, int]] = deque()
    clock = perf_counter

    def learn(fewer_out_than: int) -> float:
        before = clock()
        while len(out) >= fewer_out_than:
            take, query, answer = out.popleft()
            take(query, answer)
        return clock() - before

    with on_interrupt(lambda: stopped.append(True)):
        for respondent, value, uniform in _respondents(values, learner.specification.transform, rng):
            if stopped:
                break
            before_ask = clock()
            query = learner.ask(choices[respondent] if choices else None)
            take = learner.take if isinstance(learner, CheckedLearner) else learner.learn
            asking += clock() - before_ask
            sampler = samplers.get(query)
            if sampler is None:
                sampler = samplers[query] = _sampler(query)
            cell = bisect_left(sampler[0], value)
            answer = bisect_right(sampler[1][cell], uniform)
            if roles.poisons[respondent]:
                answer = poisoned_answer(query)
            if roles.drops_out(respondent, query, cell, answer):
                dropped_out += 1
                continue
            out.append((take, query, answer))
            asking += learn(outstanding)
            if respondent % 1_000 == 0:
                progress(respondent)
    asking += learn(1)
    before = clock()
    posterior = learner.posterior()
    asking += clock() - before
    misfit = learner.report() if isinstance(learner, CheckedLearner) else None
    return Outcome(
        answers=learner.answers,
        dropped_out=dropped_out,
        seconds=clock() - began,
        estimator_seconds=asking,
        posterior=posterior.described(posterior.reply(misfit=misfit)),
        interrupted=bool(stopped),
    )


def _respondents(
    values: FloatArray, transform: Transform, rng: np.random.Generator
) -> Iterator[tuple[int, float, float]]:
    """Each respondent's number, value on the transformed scale, and uniform in [0, 1)."""
    for start in range(0, len(values), _CHUNK):
        chunk = values[start : start + _CHUNK]
        if transform == "log":
            with np.errstate(divide="ignore", invalid="ignore"):
                chunk = np.where(chunk > 0, np.log(chunk), -np.inf)
        numbers = range(start, start + len(chunk))
        yield from zip(numbers, chunk.tolist(), rng.random(len(chunk)).tolist(), strict=True)


def _sampler(query: Query) -> _Sampler:
    cumulative = np.cumsum(channel_of(query).matrix, axis=1)[:, :-1]
    return list(query.edges), cumulative.tolist()
