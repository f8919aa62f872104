"""The people of a random collection: everybody's value, and the counts that institutions share of their members."""

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from benchmarks.random_collections.collection import RandomCollection
from dither_client.mechanisms.member_counts import MemberCounts, member_table
from dither_estimator.families import FloatArray
from dither_estimator.likelihood.institutions import Members, members_of
from dither_estimator.specification.specification import Specification

__all__ = ["people", "shared"]


def people(
    rng: np.random.Generator, collection: RandomCollection, spec: Specification
) -> tuple[FloatArray, list[str] | None]:
    """Everybody's value, in the order of the answers, and everybody's group or period if there are any."""
    if "components" in collection.fields:
        return _several_numbers(rng, collection), None
    names = list(collection.shares or collection.truths)
    if spec.panel is not None:
        values, of_each = _panel(rng, collection, spec)
    else:
        of_each = _parts(rng, collection, len(names))
        values = np.empty(len(of_each))
        for number, name in enumerate(names):
            here = of_each == number
            if collection.shares:
                values[here] = rng.choice(len(collection.shares[name]), int(here.sum()), p=collection.shares[name])
            else:
                values[here] = collection.truths[name].draw(rng, int(here.sum()))
    return values, None if names == [""] else [names[number] for number in of_each]


def shared(rng: np.random.Generator, collection: RandomCollection, spec: Specification) -> Members:
    """The noisy counts that institutions share."""

    def below(bound: int) -> int:
        return int(rng.integers(bound))

    asked = [
        MemberCounts(spec.member_cuts or (), size, spec.epsilon, spec.transform) for size in collection.institutions
    ]
    held = [collection.truths[""].draw(rng, question.size).tolist() for question in asked]
    counts = [question.count(values, below) for question, values in zip(asked, held, strict=True)]
    noisy = [question.randomise(found, below) for question, found in zip(asked, counts, strict=True)]
    return members_of(member_table(zip(asked, noisy, strict=True)))


def _parts(rng: np.random.Generator, collection: RandomCollection, count: int) -> npt.NDArray[np.int64]:
    """The number of everybody's group or period."""
    if collection.rates:
        return rng.choice(count, size=collection.respondents, p=collection.rates)
    of_each = rng.integers(count, size=collection.respondents)
    return np.sort(of_each) if "period" in collection.fields else of_each


def _panel(
    rng: np.random.Generator, collection: RandomCollection, spec: Specification
) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Values and periods of people who keep their place in the population, the share of it that lies below them."""
    assert spec.panel is not None
    size = max(1, collection.respondents // spec.panel.answers)
    places = rng.random(size)
    turns = np.array([spec.panel.draw(0, lambda below: int(rng.integers(below))) for _ in range(size)])
    here = [np.flatnonzero((turns == number).any(axis=1)) for number in range(spec.panel.periods)]
    values = [truth.values_at(places[who]) for truth, who in zip(collection.truths.values(), here, strict=True)]
    return np.concatenate(values), np.repeat(np.arange(len(here)), list(map(len, here)))


def _several_numbers(rng: np.random.Generator, collection: RandomCollection) -> FloatArray:
    """The numbers of each, (n, d), with equal correlations of their normal scores."""
    count = len(collection.truths)
    covariance = np.full((count, count), collection.correlation) + (1 - collection.correlation) * np.eye(count)
    levels = ndtr(rng.standard_normal((collection.respondents, count)) @ np.linalg.cholesky(covariance).T)
    columns = [truth.values_at(levels[:, number]) for number, truth in enumerate(collection.truths.values())]
    return np.stack(columns, axis=1)
