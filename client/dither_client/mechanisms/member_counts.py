"""What an institution is asked, which holds the values of many members: how many lie above each of some cuts.

The members are dealt at random into one group for each cut, and each group is counted at its own cut with noise of its
own. So a member is in one count alone, which changing its value moves by at most 1, and all counts together are
ε-private for each member at the ε of one.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from dither_client.errors import InvalidQuery, InvalidValue
from dither_client.forgetting import forgetful
from dither_client.mechanisms.epsilon import json_epsilon
from dither_client.mechanisms.query import (
    Query,
    Transform,
    check_cuts,
    check_epsilon,
    check_transform,
    check_value,
)
from dither_client.mechanisms.randomized_response import RandomizedResponse
from dither_client.mechanisms.sampling import RandBelow, discrete_laplace, system_randbelow

__all__ = ["MAX_CUTS", "MAX_MEMBERS", "Asked", "MemberCounts", "MemberTable", "member_table"]

MAX_CUTS = 16
MAX_MEMBERS = 1_000_000


@dataclass(frozen=True, init=False)
class MemberCounts:
    """The question to an institution with `size` members; the answer is a noisy count for each cut.

    `cuts` are on the transformed scale; a value on a cut is not above it. `size` is public. Raises `InvalidQuery`.
    """

    mechanism: ClassVar[str] = "member_counts"
    rho: ClassVar[None] = None

    cuts: tuple[float, ...]
    size: int
    epsilon: Fraction
    transform: Transform

    def __init__(self, cuts: Sequence[float], size: int, epsilon: Any, transform: Any = "identity") -> None:
        if isinstance(cuts, str) or not isinstance(cuts, Sequence) or not 1 <= len(cuts) <= MAX_CUTS:
            raise InvalidQuery(f"cuts must be a list of 1 to {MAX_CUTS} numbers")
        checked = check_cuts(cuts)
        if isinstance(size, bool) or not isinstance(size, int) or not len(cuts) <= size <= MAX_MEMBERS:
            raise InvalidQuery(f"there must be {len(cuts)} to {MAX_MEMBERS} members, at least one for each cut")
        vars(self).update(cuts=checked, size=size, epsilon=check_epsilon(epsilon), transform=check_transform(transform))

    @property
    def groups(self) -> tuple[int, ...]:
        """How many members are counted at each cut: as equal as can be, the first ones larger by one."""
        share, rest = divmod(self.size, len(self.cuts))
        return tuple(share + (i < rest) for i in range(len(self.cuts)))

    def apart(self) -> "tuple[MemberCounts, ...]":
        """The question to each group: one cut."""
        return tuple(
            MemberCounts([cut], group, self.epsilon, self.transform)
            for cut, group in zip(self.cuts, self.groups, strict=True)
        )

    @forgetful
    def count(self, values: Sequence[float], randbelow: RandBelow = system_randbelow) -> tuple[int, ...]:
        """How many of each group's members lie above its cut, without noise: never to be sent.

        Raises `InvalidValue`, with a text that repeats no value.
        """
        if len(values) != self.size:
            raise InvalidValue(f"there must be a value for each of the {self.size} members")
        dealt = [check_value(value) for value in values]
        for i in range(len(dealt) - 1, 0, -1):
            j = randbelow(i + 1)
            dealt[i], dealt[j] = dealt[j], dealt[i]
        counts, start = [], 0
        for cut, group in zip(self.cuts, self.groups, strict=True):
            side = RandomizedResponse([cut], self.epsilon, self.transform)
            counts.append(sum(side.cell(value) for value in dealt[start : start + group]))
            start += group
        return tuple(counts)

    @forgetful
    def randomise(self, counts: Sequence[int], randbelow: RandBelow = system_randbelow) -> tuple[int, ...]:
        """The counts with noise `P(Z = z) ∝ exp(-ε |z|)` drawn in integers, clipped to what the groups can have."""
        noise = (discrete_laplace(self.epsilon.numerator, self.epsilon.denominator, randbelow) for _ in self.cuts)
        return tuple(min(max(k + z, 0), n) for k, z, n in zip(counts, noise, self.groups, strict=True))

    def to_json(self) -> dict[str, Any]:
        """The question as a JSON object."""
        return {
            "mechanism": self.mechanism,
            "cuts": list(self.cuts),
            "size": self.size,
            "epsilon": json_epsilon(self.epsilon),
            "transform": self.transform,
        }


MemberTable = dict[MemberCounts, Counter[int]]
"""How often each noisy count was the answer to a question with one cut: all that a posterior needs of institutions."""


def member_table(shared: Iterable[tuple[MemberCounts, Sequence[int]]]) -> MemberTable:
    """The table of institutions' questions and noisy counts."""
    table: MemberTable = {}
    for question, counts in shared:
        for group, count in zip(question.apart(), counts, strict=True):
            table.setdefault(group, Counter())[count] += 1
    return table


Asked = Query | MemberCounts
"""What one contribution answers: a respondent's query, or an institution's question."""
