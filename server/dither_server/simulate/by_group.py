"""A population of public groups, and its simulation in this process."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
import numpy.typing as npt

from dither_client import Query, Transform
from dither_estimator.families import Family, FloatArray
from dither_estimator.learning.grouped_learner import GroupedLearner
from dither_estimator.mechanisms.channels import channel_of
from dither_server.simulate.interrupts import on_interrupt
from dither_server.simulate.outcome import Outcome
from dither_server.simulate.population import InvalidPopulation, draw_population, parse_truth

__all__ = ["GroupedPeople", "draw_groups", "simulate_groups"]


@dataclass(frozen=True)
class GroupedPeople:
    """People in the order in which they are asked."""

    values: FloatArray = field(repr=False)
    """In the family's own units, before `transform` is undone; shape (n,)."""
    groups: npt.NDArray[np.intp] = field(repr=False)
    """The number of each one's group, shape (n,)."""
    truth: Mapping[str, Mapping[str, float]]
    """The parameters of each group, by its label."""


def draw_groups(
    rng: np.random.Generator, family: Family, text: str, labels: Sequence[str], transform: Transform, size: int
) -> GroupedPeople:
    """`size` people, each in any group with the same chance.

    `text` has the parameters of each group, in the order of the labels, separated by semicolons, or one set for all.
    Raises `InvalidPopulation`.
    """
    parts = [parse_truth(part, family) for part in text.split(";")]
    if len(parts) not in (1, len(labels)):
        raise InvalidPopulation(
            f"the truth must have the parameters of each of the {len(labels)} groups, separated by semicolons, or one "
            "set for all"
        )
    truths = parts * len(labels) if len(parts) == 1 else parts
    groups = rng.integers(len(labels), size=size)
    values = np.empty(size)
    for number, truth in enumerate(truths):
        here = groups == number
        values[here] = draw_population(rng, family, truth, "identity", int(here.sum())).values
    if transform == "log" and not np.isfinite(np.exp(np.minimum(values, 1e3))).all():
        raise InvalidPopulation("the truth is too large: with transform log the values themselves must be finite")
    return GroupedPeople(values, groups, dict(zip(labels, truths, strict=True)))


def simulate_groups(
    learner: GroupedLearner,
    people: GroupedPeople,
    rng: np.random.Generator,
    progress: Callable[[int], None] = lambda done: None,
) -> Outcome:
    """Asks one person after the other, and learns each answer before the next question, as `simulate_in_process`."""
    began, asking, stopped = perf_counter(), 0.0, list[bool]()
    labels = learner.groups.labels
    cumulative: dict[Query, list[list[float]]] = {}
    with on_interrupt(lambda: stopped.append(True)):
        everyone = zip(people.groups.tolist(), people.values.tolist(), rng.random(len(people.values)), strict=True)
        for number, (group, value, uniform) in enumerate(everyone):
            if stopped:
                break
            before = perf_counter()
            query = learner.ask(group=labels[group])
            asking += perf_counter() - before
            if query not in cumulative:
                cumulative[query] = np.cumsum(channel_of(query).matrix, axis=1)[:, :-1].tolist()
            answer = bisect_right(cumulative[query][int(np.searchsorted(query.edges, value))], uniform)
            before = perf_counter()
            learner.learn(query, answer, labels[group])
            asking += perf_counter() - before
            if number % 1_000 == 0:
                progress(number)
    before = perf_counter()
    posterior = learner.posterior()
    reply = posterior.described(posterior.reply())
    asking += perf_counter() - before
    return Outcome(
        answers=learner.answers,
        dropped_out=0,
        seconds=perf_counter() - began,
        estimator_seconds=asking,
        posterior=reply,
        interrupted=bool(stopped),
    )
