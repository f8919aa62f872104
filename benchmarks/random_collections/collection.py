"""A random collection: a specification, who answers, and how many at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.random_collections.truths import Truth

__all__ = ["RandomCollection"]


@dataclass(frozen=True)
class RandomCollection:
    """`fields`: the specification. `settings`: what was chosen, in words, by what it is."""

    seed: int
    fields: dict[str, Any]
    settings: dict[str, str]
    respondents: int
    """How many answers come: from one person each, except in a panel."""
    outstanding: int
    truths: Mapping[str, Truth] = field(repr=False)
    """The distribution in each group, period or component by its name; of a single number under an empty name."""
    shares: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """The shares of the categories, in each group or under an empty name."""
    correlation: float = 0.0
    rates: tuple[float, ...] = ()
    """The share of those who answer who are in each group; empty if all are alike."""
    institutions: tuple[int, ...] = ()
    """The number of members of each institution."""
    institutions_first: bool = False
    """Whether institutions share before anybody answers; otherwise afterwards."""
    misspecified: bool = False
    """Whether the people have another family than the one that is learnt."""
