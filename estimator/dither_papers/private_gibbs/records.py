"""Log entries of several regions over time as counts, which is all that the naive-Bayes model needs."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import numpy.typing as npt

from dither_estimator.families import FloatArray

__all__ = ["AFGHANISTAN", "IRAQ", "InvalidRecords", "Records", "Shape", "digest", "parse_records", "synthetic"]

States = npt.NDArray[np.int64]


class InvalidRecords(ValueError):
    """A table of entries cannot be counted; the message never repeats its content."""


@dataclass(frozen=True, eq=False)
class Records:
    """`n_{r,t,d,j}` of supplement E: the number of entries of region r at time t with outcome j in feature d."""

    counts: FloatArray
    """Shape (R, T, J), where the J columns are the outcomes of all features in turn."""
    sizes: tuple[int, ...]
    """The number of outcomes of each feature; the sum is J."""

    @property
    def slices(self) -> list[slice]:
        """The columns of each feature's outcomes."""
        ends = np.cumsum(self.sizes).tolist()
        return [slice(end - size, end) for end, size in zip(ends, self.sizes, strict=True)]

    def pooled(self, held_out: npt.NDArray[np.bool_]) -> "Records":
        """All entries that are not held out, pooled into one region at one time."""
        return Records(self.counts[~held_out].sum(axis=0)[np.newaxis, np.newaxis], self.sizes)

    def noisy(self, rng: np.random.Generator, epsilon: float) -> "Records":
        """Projected counts with Laplace noise: ε-private, split equally over the features, of L1 sensitivity 2 each."""
        scale = 2.0 * len(self.sizes) / epsilon
        return Records(np.maximum(self.counts + rng.laplace(0.0, scale, self.counts.shape), 0.0), self.sizes)


@dataclass(frozen=True)
class Shape:
    """The dimensions of a synthetic data set."""

    regions: int
    times: int
    states: int
    median: float
    """The median number of entries of a region at a time."""
    growth: float
    """The factor by which the entries of a region grow from the first time to the last."""
    sizes: tuple[int, ...] = (8, 20, 2, 2, 2)
    """A coarse type, a fine category, and three kinds of casualties (or none)."""


IRAQ = Shape(6, 60, 2, 972.0, 1.5)
AFGHANISTAN = Shape(6, 72, 3, 58.0, 30.0)
"""Dimensions as in the paper: five features, its median numbers of entries, two and three states. The rest is made
up."""


def synthetic(rng: np.random.Generator, shape: Shape) -> tuple[Records, States, FloatArray]:
    """Records drawn from the model (47), their true states (R, T), and the true emissions (states, J).

    States last about a year; regions differ in size by a factor of about two.
    """
    emissions = np.concatenate([rng.dirichlet(np.full(size, 1.0), shape.states) for size in shape.sizes], axis=1)
    stay = 1.0 - 1.0 / 12.0
    transitions = np.full((shape.states, shape.states), (1.0 - stay) / max(1, shape.states - 1))
    np.fill_diagonal(transitions, stay)
    states = np.zeros((shape.regions, shape.times), dtype=np.int64)
    for r in range(shape.regions):
        states[r, 0] = rng.integers(shape.states)
        for t in range(1, shape.times):
            states[r, t] = rng.choice(shape.states, p=transitions[states[r, t - 1]])
    trend = shape.growth ** np.linspace(-0.5, 0.5, shape.times)
    region = 2.0 ** rng.uniform(-0.5, 0.5, shape.regions)
    entries = np.maximum(1, rng.poisson(shape.median * region[:, np.newaxis] * trend))
    counts = np.concatenate(
        [rng.multinomial(entries, part[states]) for part in _parts(emissions, shape.sizes)], axis=2
    ).astype(np.float64)
    return Records(counts, shape.sizes), states, emissions


def _parts(emissions: FloatArray, sizes: Sequence[int]) -> list[FloatArray]:
    return np.split(emissions, np.cumsum(sizes)[:-1], axis=1)


def parse_records(text: str) -> Records:
    """Count the entries of a CSV table with columns `region` and `time` (sorted as text) and one for each feature.

    Raises `InvalidRecords`.
    """
    reader = csv.DictReader(io.StringIO(text))
    names = list(reader.fieldnames or ())
    features = [name for name in names if name not in ("region", "time")]
    if not {"region", "time"} <= set(names) or not features:
        raise InvalidRecords("the table must have the columns region and time, and one for each feature")
    entries = list(reader)
    if not entries or any(None in entry or None in entry.values() for entry in entries):
        raise InvalidRecords("the table must have entries, each with a value in every column")
    places = [_numbered(entry[name] for entry in entries) for name in ("region", "time")]
    outcomes = [_numbered(entry[name] for entry in entries) for name in features]
    sizes = tuple(max(2, 1 + max(numbers)) for numbers in outcomes)
    counts = np.zeros((1 + max(places[0]), 1 + max(places[1]), sum(sizes)))
    for start, numbers in zip(np.cumsum((0, *sizes)), outcomes, strict=False):
        np.add.at(counts, (places[0], places[1], start + np.array(numbers)), 1.0)
    return Records(counts, sizes)


def _numbered(values: Iterable[str]) -> list[int]:
    given = list(values)
    numbers = {value: number for number, value in enumerate(sorted(set(given)))}
    return [numbers[value] for value in given]


def digest(text: str) -> str:
    """An identifier of a file's records, by which finished runs are recognised."""
    return f"file {crc32(text.encode()):08x}"
