"""Designs for several numbers: who is asked about one of them, who about two or three, and how near that comes.

A design is for numbers that are equally correlated, so all questions of a kind are asked equally often. Everybody
answers one question, at the full ε. Criteria are the sum of the variances of all means, standard deviations and
correlations, in units of the standard deviations, per respondent.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from dither_client import Query
from dither_client.mechanisms.epsilon import json_epsilon
from dither_estimator.dependence.cells_channel import best_pair_cells
from dither_estimator.dependence.limit import Grid, best_on_grid
from dither_estimator.dependence.normals import EqualNormals
from dither_estimator.dependence.questions import JointQuestion, OddOneOut, SameSide
from dither_estimator.design.convex import Criterion, best_weights, mix
from dither_estimator.design.goal import parse_goal
from dither_estimator.design.limit import Limit
from dither_estimator.design.member import Member
from dither_estimator.design.optimum import DesignError, solution
from dither_estimator.design.randomized_response import RandomizedResponseDesign
from dither_estimator.families import FloatArray, Normal

__all__ = ["MOST_COMPONENTS", "JointDesign", "Kind", "Split", "joint_design"]

MOST_COMPONENTS = 4
"""The most numbers of a design: the limit for more would take minutes."""
_TRIPLES_FROM = 3
_MIN_WEIGHT = 1e-3
"""Kinds of questions with a smaller weight are left out."""
_LIMIT_CUTS: Mapping[int, Mapping[float, tuple[float, ...]]] = {
    2: {0.5: (0.56, 1.24), 1.0: (0.474, 1.096), 2.0: (0.74, 1.286), 5.0: (0.65, 1.4)},
    3: {0.5: (0.7,), 1.0: (0.7,), 2.0: (0.8,), 5.0: (0.9,)},
    4: {0.5: (0.7,), 1.0: (0.7,), 2.0: (0.8,), 5.0: (0.9,)},
}
"""Beside 0, where the limit cuts each number on either side, by their count and by ε: about the best cuts."""


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind of question, asked about every component, pair or triple equally often."""

    name: str
    about: int
    """How many numbers one question is about."""
    information: FloatArray
    """The mean information of one answer, shape (D, D)."""
    question: JointQuestion | None
    """The question about the first components; None for questions about one number."""


@dataclass(frozen=True)
class Split:
    """The shares of people if margins are learnt from questions about one number alone, correlations from the others.

    With C and P the criteria of either part alone, the sum `C / s + P / (1 - s)` is least at `s = √C / (√C + √P)`.
    """

    margins: float
    """C, the sum of the variances of means and standard deviations, per respondent."""
    correlations: float
    """P, the sum of the variances of the correlations, per respondent."""

    @property
    def share(self) -> float:
        """The share of people who are asked about one number."""
        return math.sqrt(self.margins) / (math.sqrt(self.margins) + math.sqrt(self.correlations))

    @property
    def criterion(self) -> float:
        """The least sum, `(√C + √P)²`."""
        return (math.sqrt(self.margins) + math.sqrt(self.correlations)) ** 2


@dataclass(frozen=True, eq=False)
class JointDesign:
    """The optimal mixture of kinds of questions for one population."""

    normals: EqualNormals
    epsilon: Fraction
    margin_queries: tuple[tuple[Query, float], ...]
    """The questions about one number, in its own units of location 0 and scale 1, with their weights."""
    kinds: tuple[Kind, ...]
    weights: tuple[float, ...]
    """The share of people for each kind."""
    information: FloatArray
    """The expected information of one answer, shape (D, D)."""
    split: Split

    @property
    def variances(self) -> FloatArray:
        """The variance of each parameter, per respondent, shape (D,)."""
        return np.diag(np.linalg.inv(self.information))

    @property
    def criterion(self) -> float:
        """The sum of all variances."""
        return float(self.variances.sum())

    @cached_property
    def limit(self) -> Limit:
        """The least criterion that was found of any ε-LDP mechanism on a grid of cells; never above the design's."""
        cuts = _limit_cuts(self.normals.components, float(self.epsilon))
        best = best_on_grid(Grid(self.normals, cuts, self.epsilon))
        return Limit(min(best.criterion, self.criterion), best.gap)

    @property
    def efficiency(self) -> float:
        """The limit as a share of the criterion."""
        return self.limit.criterion / self.criterion

    def to_json(self) -> dict[str, Any]:
        """What `dither design --components` prints."""
        return {
            "components": self.normals.components,
            "rho": self.normals.rho,
            "epsilon": json_epsilon(self.epsilon),
            "kinds": [_described(kind, weight) for kind, weight in zip(self.kinds, self.weights, strict=True)],
            "queries": [query.to_json() | {"weight": weight} for query, weight in self.margin_queries],
            "variance": dict(zip(self.normals.names, self.variances.tolist(), strict=True)),
            "criterion": self.criterion,
            "limit": self.limit.criterion,
            "gap": self.limit.gap,
            "efficiency": self.efficiency,
            "split": {
                "components": self.split.share,
                "pairs": 1 - self.split.share,
                "criterion": self.split.criterion,
                "efficiency": self.limit.criterion / self.split.criterion,
            },
        }


@lru_cache(maxsize=64)
def joint_design(components: int, rho: float, epsilon: Fraction) -> JointDesign:
    """The design for so many numbers with this correlation of each two. Raises `DesignError`."""
    if not 2 <= components <= MOST_COMPONENTS:
        raise DesignError(f"components must be 2 to {MOST_COMPONENTS}")
    if not 0 <= rho <= 0.99:
        raise DesignError(
            "correlation must be 0 to 0.99: the same holds for its negative, where a number is counted the other way"
        )
    normals = EqualNormals(components, rho)
    alone = solution(
        Member(Normal(), (0.0, 1.0)), RandomizedResponseDesign(), epsilon, parse_goal("all", Normal()), None
    )
    queries = tuple(
        (alone.candidates.query(atom, "identity"), w) for atom, w in zip(alone.atoms, alone.weights, strict=True)
    )
    margins = normals.of_margins([alone.information / components] * components)
    sides = _kind("same side", normals, SameSide.at((0, 1), (0.0, 0.0), epsilon))
    kinds = [Kind("one number", 1, margins, None), sides, _kind("cells", normals, best_pair_cells(rho, epsilon))]
    if components >= _TRIPLES_FROM:
        kinds.append(_kind("odd one out", normals, OddOneOut.at((0, 1, 2), (0.0, 0.0, 0.0), epsilon)))
    informations = np.array([kind.information for kind in kinds])
    criterion = Criterion.of(np.eye(len(normals.names)), informations)
    weights = best_weights(criterion, informations)
    used = weights > _MIN_WEIGHT
    weights = best_weights(criterion, informations[used])
    return JointDesign(
        normals,
        epsilon,
        queries,
        tuple(kind for kind, some in zip(kinds, used, strict=True) if some),
        tuple(weights.tolist()),
        mix(weights, informations[used]),
        _split(normals, alone.criterion, [kind for kind in kinds if kind.name in ("same side", "odd one out")]),
    )


def _kind(name: str, normals: EqualNormals, question: JointQuestion) -> Kind:
    information = normals.exchanged(normals.information(question), question.components)
    return Kind(name, len(question.components), information, question)


def _split(normals: EqualNormals, alone: float, kinds: list[Kind]) -> Split:
    """The split with the best kind of question about sides."""
    first = 2 * normals.components
    blocks = [kind.information[first:, first:] for kind in kinds]
    correlations = min(float(np.trace(np.linalg.inv(block))) for block in blocks)
    return Split(normals.components**2 * alone, correlations)


def _limit_cuts(components: int, epsilon: float) -> tuple[float, ...]:
    table = _LIMIT_CUTS[components]
    beside = table[min(table, key=lambda known: abs(math.log(known / epsilon)))]
    return (*(-cut for cut in reversed(beside)), 0.0, *beside)


def _described(kind: Kind, weight: float) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": kind.name, "about": kind.about, "weight": weight}
    question = kind.question
    if question is not None:
        found |= {"answers": question.n_answers, "cuts": list(question.cuts[0]), "channel": question.channel.to_json()}
    return found
