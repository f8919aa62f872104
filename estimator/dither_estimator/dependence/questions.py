"""Questions about several numbers of one person, answered at the full ε.

Each number is cut, and what is asked is a function of which sides of its cuts the numbers lie on: which of a few
*states* the person is in. The state is then answered by a channel of `dither_client`, which owns its ε: the cuts do not
matter for privacy. The probability of a state is linear in the joint distribution function `P(X_i ≤ a)` and
`P(X_i ≤ a, X_j ≤ b)` at the cuts, its *corners*, even where three numbers are asked about; so pairs are all that a
model of dependence must provide.
"""

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import ClassVar

import numpy as np

from dither_client import JointQuery, Query, RandomizedResponse, Transform
from dither_client.mechanisms.joint_query import state_of_cells
from dither_client.mechanisms.query import check_coordinate, check_cuts
from dither_estimator.families import FloatArray
from dither_estimator.mechanisms.channels import channel_of

__all__ = ["Corner", "JointQuestion", "OddOneOut", "PairCells", "SameSide", "question_of"]

Corner = tuple[tuple[int, float], ...]
"""Components in increasing order, each with a cut: where a joint distribution function is evaluated; `()` gives 1."""


@dataclass(frozen=True)
class JointQuestion(ABC):
    """A question about the numbers of some `components`, at `cuts` of each, all on the transformed scales.

    Hashable, so that answers can be counted by question. Raises `ValueError` for components that do not increase, and
    `InvalidQuery` for cuts that do not, or an invalid ε.
    """

    name: ClassVar[str]
    """What the states are called on the wire."""

    components: tuple[int, ...]
    cuts: tuple[tuple[float, ...], ...]
    channel: Query = field(repr=False)
    """How the state is answered; its cells are the states."""

    def __post_init__(self) -> None:
        if len(self.components) != len(self.cuts) or list(self.components) != sorted({*self.components}):
            raise ValueError("a question names increasing components, each with its cuts")

    @property
    def epsilon(self) -> Fraction:
        """The privacy of the answer."""
        return self.channel.epsilon

    @property
    def n_answers(self) -> int:
        """Answers are the integers `0..n_answers - 1`."""
        return self.channel.n_answers

    @cached_property
    def matrix(self) -> FloatArray:
        """`Q[state, answer]`."""
        return channel_of(self.channel).matrix

    def state(self, values: Sequence[float]) -> int:
        """The state of a person with these values of all components, on the transformed scales."""
        pairs = zip(self.components, self.cuts, strict=True)
        return self.state_of_cells([bisect_left(cuts, values[component]) for component, cuts in pairs])

    def state_of_cells(self, cells: Sequence[int]) -> int:
        """The state of those whose numbers lie in these cells of their components."""
        return state_of_cells(self.name, cells, [len(cuts) + 1 for cuts in self.cuts])

    def query(self, transforms: Sequence[Transform]) -> JointQuery:
        """The question as respondents are asked it, given the transform of every component."""
        scales = [transforms[component] for component in self.components]
        return JointQuery(self.components, self.name, self.cuts, scales, self.channel)

    @abstractmethod
    def states(self) -> Mapping[Corner, FloatArray]:
        """The probabilities of the states: coefficients (n_states,) of the distribution function at each corner."""

    def _corner(self, *numbers: int) -> Corner:
        """The corner at the first cuts of the question's components with these numbers."""
        return tuple((self.components[number], self.cuts[number][0]) for number in numbers)


class SameSide(JointQuestion):
    """Are both numbers on the same side of their cuts? The states are 0 for no and 1 for yes.

    At the medians of a Gaussian copula, yes has the probability `1/2 + asin(ρ) / π`; of any copula it is
    `(1 + β) / 2` with Blomqvist's β.
    """

    name = "same_side"

    @classmethod
    def at(cls, components: tuple[int, int], cuts: tuple[float, float], epsilon: object) -> "SameSide":
        """The question at one cut of either number, answered by randomised response."""
        return cls(components, _single_cuts(cuts), RandomizedResponse([0.0], epsilon))

    def states(self) -> Mapping[Corner, FloatArray]:
        one = np.array([1.0, -1.0])
        return {
            (): np.array([0.0, 1.0]),
            self._corner(0): one,
            self._corner(1): one,
            self._corner(0, 1): -2.0 * one,
        }


class PairCells(JointQuestion):
    """In which cell of the plane do the two numbers lie? State `J i + j` for cell i of the first and j of the second.

    J is the number of cells of the second number.
    """

    name = "cells"

    @classmethod
    def at(
        cls, components: tuple[int, int], cuts: tuple[Sequence[float], Sequence[float]], cells: Query
    ) -> "PairCells":
        """The question at these cuts, answered as `cells` answers the number of a cell. Raises `ValueError`."""
        first, second = (check_cuts(some) for some in cuts)
        if cells.n_cells != (len(first) + 1) * (len(second) + 1):
            raise ValueError("the channel must have a state for each cell of the plane")
        return cls(components, (first, second), cells)

    def moved(self, cuts: tuple[Sequence[float], Sequence[float]]) -> "PairCells":
        """The same question at other cuts."""
        first, second = self.components
        return PairCells.at((first, second), cuts, self.channel)

    def states(self) -> Mapping[Corner, FloatArray]:
        rows, columns = (len(cuts) + 1 for cuts in self.cuts)
        found: dict[Corner, FloatArray] = defaultdict(lambda: np.zeros(rows * columns))
        for i, j in product(range(rows), range(columns)):  # the upper ends of cell i, j are a corner of four cells
            corner: Corner = ()
            corner += ((self.components[0], self.cuts[0][i]),) if i < rows - 1 else ()
            corner += ((self.components[1], self.cuts[1][j]),) if j < columns - 1 else ()
            around = found[corner].reshape(rows, columns)[i : i + 2, j : j + 2]
            around += np.array([[1.0, -1.0], [-1.0, 1.0]])[: len(around), : around.shape[1]]
        return dict(found)


class OddOneOut(JointQuestion):
    """Which of three numbers is alone on its side of its cut? The states are 0 for none, and 1, 2, 3.

    One answer tells about three correlations, whose state has the probability `1/4` of each if they are 0.
    """

    name = "odd_one_out"

    @classmethod
    def at(cls, components: tuple[int, int, int], cuts: tuple[float, float, float], epsilon: object) -> "OddOneOut":
        """The question at one cut of each number, answered by randomised response over the four states."""
        return cls(components, _single_cuts(cuts), RandomizedResponse([0.0, 1.0, 2.0], epsilon))

    def states(self) -> Mapping[Corner, FloatArray]:
        # For sides s = ±1: 4 [none] = 1 + s1 s2 + s1 s3 + s2 s3, and 4 [1 is odd] = 1 + s2 s3 - s1 s2 - s1 s3.
        singles = {self._corner(n): np.eye(4)[n + 1] - np.eye(4)[0] for n in range(3)}
        pairs = {
            self._corner(n, m): np.eye(4)[0]
            + np.eye(4)[({0, 1, 2} - {n, m}).pop() + 1]
            - np.eye(4)[[n + 1, m + 1]].sum(0)
            for n, m in ((0, 1), (0, 2), (1, 2))
        }
        return {(): np.eye(4)[0], **singles, **pairs}


_KINDS: Mapping[str, type[JointQuestion]] = {kind.name: kind for kind in (SameSide, PairCells, OddOneOut)}


def question_of(query: JointQuery) -> JointQuestion:
    """The question that a query asks."""
    return _KINDS[query.states](query.components, query.cuts, query.answered_by)


def _single_cuts(cuts: Sequence[float]) -> tuple[tuple[float, ...], ...]:
    return tuple((check_coordinate("cut", cut),) for cut in cuts)
