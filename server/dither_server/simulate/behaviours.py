"""How respondents differ from the ideal: who drops out, answers twice, answers late, or lies.

Cells are in the order of the values, and answers have a height (`Query.height`). "High" means the upper half of either:
with one threshold, what lies above it. No design can correct for drop-out by value or by answer, which biases the
posterior mean of `mu`: they are here to show that.
"""

from dataclasses import dataclass, fields
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from dither_client import Query

__all__ = ["Behaviours", "DropOutBy", "InvalidBehaviour", "Roles", "draw_roles", "poisoned_answer"]

DropOutBy = Literal["chance", "value", "answer"]
"""Who may drop out: anyone, people with a high value, or people whose private answer came out high."""


class InvalidBehaviour(ValueError):
    """A share outside 0 to 1, or an unknown kind of drop-out."""


@dataclass(frozen=True)
class Behaviours:
    """Shares of the respondents, from 0 to 1, independent of each other. Raises `InvalidBehaviour`."""

    drop_out: float = 0.0
    """The share that never answers, among those whom `drop_out_by` names."""
    drop_out_by: DropOutBy = "chance"
    retry: float = 0.0
    """The share that sends an answer twice at once and then once more, always the same bytes."""
    late: float = 0.0
    """The share that holds its answers back until everybody else has sent theirs, then sends in random order."""
    poison: float = 0.0
    """The share that sends the highest answer whatever the value, and never drops out."""

    def __post_init__(self) -> None:
        for share in ("drop_out", "retry", "late", "poison"):
            if not 0 <= getattr(self, share) <= 1:
                raise InvalidBehaviour(f"{share.replace('_', '-')} must be from 0 to 1")
        if self.drop_out_by not in get_args(DropOutBy):
            raise InvalidBehaviour(f"drop-out-by must be one of {', '.join(get_args(DropOutBy))}")


@dataclass(frozen=True)
class Roles:
    """Which respondent has which behaviour: an array of shape (n,) for each."""

    drop_out_by: DropOutBy
    may_drop_out: npt.NDArray[np.bool_]
    retries: npt.NDArray[np.bool_]
    late: npt.NDArray[np.bool_]
    poisons: npt.NDArray[np.bool_]

    def part(self, here: slice) -> "Roles":
        """The behaviours of some of the respondents."""
        parts = (self.may_drop_out, self.retries, self.late, self.poisons)
        return Roles(self.drop_out_by, *(part[here] for part in parts))

    def drops_out(self, respondent: int, query: Query, cell: int, answer: int) -> bool:
        """Whether the respondent drops out, given the cell of the value and the private answer."""
        if not self.may_drop_out[respondent] or self.poisons[respondent]:
            return False
        if self.drop_out_by == "chance":
            return True
        if self.drop_out_by == "value":
            return 2 * cell > query.n_cells - 1
        return query.height(answer) > 1 / 2


def draw_roles(rng: np.random.Generator, behaviours: Behaviours, size: int) -> Roles:
    """Draws the behaviours of `size` respondents."""
    drawn = [rng.random(size) for _ in fields(Roles)[1:]]
    shares = (behaviours.drop_out, behaviours.retry, behaviours.late, behaviours.poison)
    return Roles(behaviours.drop_out_by, *(uniform < share for uniform, share in zip(drawn, shares, strict=True)))


def poisoned_answer(query: Query) -> int:
    """The answer that a poisoner sends: the highest."""
    return max(range(query.n_answers), key=lambda answer: (query.height(answer), answer))
