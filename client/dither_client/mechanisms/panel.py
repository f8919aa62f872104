"""Panels: the same people answer in several periods of a collection.

Each answers in a few periods, which the device draws when its owner joins.

It draws them with its own randomness, before any question and without regard to the value, and spends the ε of all of
them at once. So how often somebody answers, when, and what it costs depend on no value, whether it changes or not.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any

from dither_client.mechanisms.calendar_period import CalendarPeriod
from dither_client.mechanisms.epsilon import epsilon_text
from dither_client.mechanisms.sampling import RandBelow

__all__ = ["MAX_PANEL", "NO_PERIOD", "Panel"]

MAX_PANEL = 1_500
"""The most periods that a panel has."""

NO_PERIOD = 0
"""The number of no period, of an answer that is the only one to its collection; periods are numbered from 1."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Each person answers in `answers` of the `periods` that begin with the one in which they join.

    Raises `ValueError`, with a sentence, for a panel that there cannot be.
    """

    answers: int
    periods: int
    period: CalendarPeriod

    def __post_init__(self) -> None:
        whole = all(isinstance(count, int) and not isinstance(count, bool) for count in (self.answers, self.periods))
        if not (whole and 2 <= self.periods <= MAX_PANEL and 1 <= self.answers <= self.periods):
            raise ValueError(
                f"periods of a panel must be a whole number from 2 to {MAX_PANEL:,}, and answers one from 1 to periods"
            )

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Panel":
        """Reads what `to_json` wrote; raises `ValueError` and the like for anything else."""
        return Panel(data.get("answers", 0), data.get("periods", 0), CalendarPeriod(data["period"]))

    def to_json(self) -> dict[str, object]:
        """The panel as a JSON object."""
        return {"answers": self.answers, "periods": self.periods, "period": self.period.name}

    def draw(self, joined: int, randbelow: RandBelow) -> tuple[int, ...]:
        """Draws the numbers of the periods in which somebody answers who joins in period `joined`, increasing.

        Every set of `answers` of the `periods` is equally likely.
        """
        left = list(range(joined, joined + self.periods))
        return tuple(sorted(left.pop(randbelow(len(left))) for _ in range(self.answers)))

    def number(self, seconds: float) -> int:
        """The number of the period of a time in seconds since 1970."""
        return self.period.number(seconds)

    def written(self, number: int) -> str:
        """The period with this number for people, such as `the week of 9 February 2026`."""
        start = self.period.start(number)
        if self.period.name == "day":
            return _written_day(start)
        return f"{start:%B %Y}" if self.period.name == "month" else f"the week of {_written_day(start)}"

    def cost(self, epsilon: Fraction) -> str:
        """A sentence on what all answers of one person cost, at ε each."""
        total = epsilon_text(self.answers * epsilon)
        return f"That costs ε = {total} in all, once and for good, also if you miss a turn."

    @property
    def sentence(self) -> str:
        """What a person agrees to by joining, apart from the cost."""
        name = self.period.name
        times = "once" if self.answers == 1 else f"{self.answers} times"
        return (
            f"You answer {times} within {self.periods} {name}s from now on: in {name}s that your device draws by "
            "chance when you join, whatever your value is and however it changes."
        )


def _written_day(day: date) -> str:
    return f"{day.day} {day:%B %Y}"
