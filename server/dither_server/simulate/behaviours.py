"""How respondents differ from the ideal: who drops out, answers twice, answers late, or lies.

Cells are in the order of the values, and answers have a height (`Query.height`). "High" is
the upper half of either: with one threshold, what lies above it. Drop-outs by value and by answer are what no design
can mend (the posterior's mean of `mu` moves): they are here so that this can be seen.
"""

from dataclasses import dataclass, fields
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from dither_client import Query

__all__ = ["Behaviours", "DropOutBy", "InvalidBehaviour", "Roles", "draw_roles", "poisoned_answer"]

DropOutBy = Literal["chance", "value", "answer"]
"""Whom drop-out strikes: anyone, who has a high value, or whose private answer came out high."""


class InvalidBehaviour(ValueError):
    """A share that is not from 0 to 1, or a kind of drop-out that there is not."""


@dataclass(frozen=True)
class Behaviours:
    """Shares of the respondents, from 0 to 1, independent of each other. Raises `InvalidBehaviour`."""

    drop_out: float = 0.0
    """Of those whom `drop_out_by` names, the share that never answers."""
    drop_out_by: DropOutBy = "chance"
    retry: float = 0.0
    """Who send their answer twice at once and then once more, always the same bytes."""
    late: float = 0.0
    """Who keep their answer until everybody else has sent theirs, and then send in random order."""
    poison: float = 0.0
    """Who send the highest answer whatever they hold, and never drop out."""

    def __post_init__(self) -> None:
        for share in ("drop_out", "retry", "late", "poison"):
            if not 0 <= getattr(self, share) <= 1:
                raise InvalidBehaviour(f"{share.replace('_', '-')} must be from 0 to 1")
        if self.drop_out_by not in get_args(DropOutBy):
            raise InvalidBehaviour(f"drop-out-by must be one of {', '.join(get_args(DropOutBy))}")


@dataclass(frozen=True)
class Roles:
    """Who behaves how: an array of shape (n,) for each behaviour."""

    drop_out_by: DropOutBy
    may_drop_out: npt.NDArray[np.bool_]
    retries: npt.NDArray[np.bool_]
    late: npt.NDArray[np.bool_]
    poisons: npt.NDArray[np.bool_]

    def drops_out(self, respondent: int, query: Query, cell: int, answer: int) -> bool:
        """Whether the respondent gives up, whose value lies in `cell` and whose private answer is `answer`."""
        if not self.may_drop_out[respondent] or self.poisons[respondent]:
            return False
        if self.drop_out_by == "chance":
            return True
        if self.drop_out_by == "value":
            return 2 * cell > query.n_cells - 1
        return query.height(answer) > 1 / 2


def draw_roles(rng: np.random.Generator, behaviours: Behaviours, size: int) -> Roles:
    """Draws who of `size` respondents behaves how."""
    drawn = [rng.random(size) for _ in fields(Roles)[1:]]
    shares = (behaviours.drop_out, behaviours.retry, behaviours.late, behaviours.poison)
    return Roles(behaviours.drop_out_by, *(uniform < share for uniform, share in zip(drawn, shares, strict=True)))


def poisoned_answer(query: Query) -> int:
    """What a poisoner sends: the highest answer."""
    return max(range(query.n_answers), key=lambda answer: (query.height(answer), answer))
