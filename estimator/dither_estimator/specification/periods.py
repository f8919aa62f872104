"""Calendar periods: an answer belongs to the day, week or month, in UTC, in which its question was asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from dither_client.mechanisms.calendar_period import CalendarPeriod, PeriodName
from dither_client.mechanisms.panel import Panel
from dither_client.tables.counts import CountTable
from dither_estimator.specification.fields import SpecificationError

__all__ = ["MAX_PERIODS", "Period", "read_drift", "read_panel", "read_period", "refuse_fields_beside_periods"]

MAX_PERIODS = 1_500
"""The most periods from the first with answers to the last: four years of days."""
_NOT_BESIDE_PERIODS = (
    "groups", "components", "families", "discriminate", "misfit_check", "misfit_looks", "member_cuts"
)  # fmt: skip
_EXAMPLES: Mapping[str, str] = {"day": "2026-02-14", "week": "2026-W07", "month": "2026-02"}


@dataclass(frozen=True)
class Period(CalendarPeriod):
    """How a collection's time is divided."""

    def number_of(self, label: str) -> int:
        """The number of the period with this label. Raises `SpecificationError`."""
        try:
            return super().number_of(label)
        except ValueError:
            raise SpecificationError(
                f"each period must be a {self.name} from 1970 on, such as {_EXAMPLES[self.name]}"
            ) from None

    def between(self, labels: Mapping[str, Any]) -> list[str]:
        """The labels of all periods from the first of those given to the last. Raises `SpecificationError`."""
        numbers = [self.number_of(label) for label in labels]
        if not numbers:
            return []
        if max(numbers) - min(numbers) >= MAX_PERIODS:
            raise SpecificationError(
                f"answers must come from at most {MAX_PERIODS:,} {self.name}s, from the first with answers to the last"
            )
        return [self.label(number) for number in range(min(numbers), max(numbers) + 1)]

    def check_table(self, table: CountTable) -> None:
        """Raises `SpecificationError` unless every row of the table has the label of such a period."""
        of_periods = sum(sum(row) for queries in table.periods.values() for row in queries.values())
        if table.members or of_periods < sum(sum(row) for row in table.queries.values()):
            raise SpecificationError(
                f"the table must have a column period with a {self.name} in every row, such as {_EXAMPLES[self.name]}"
            )
        self.between(table.periods)


def read_period(value: Any) -> Period | None:
    """The period that a specification's field names; None for None. Raises `SpecificationError`."""
    if value is None:
        return None
    name = next((name for name in get_args(PeriodName) if name == value), None)
    if name is None:
        raise SpecificationError("period must be day, week or month")
    return Period(name)


def read_drift(value: Any, period: Period | None) -> bool:
    """Whether the distribution may change from period to period. Raises `SpecificationError`."""
    if value is None or value is False:
        return False
    if value is not True:
        raise SpecificationError("drift must be true or false")
    if period is None:
        raise SpecificationError("drift needs a period: day, week or month")
    return True


def read_panel(data: Mapping[str, Any], period: Period | None) -> Panel | None:
    """In which periods each person answers, where people answer in several. Raises `SpecificationError`."""
    panel = data.get("panel")
    if panel is None:
        return None
    if period is None:
        raise SpecificationError("panel needs a period: day, week or month")
    if data.get("epsilon_choices") is not None:
        raise SpecificationError("epsilon_choices cannot go with panel: leave one of them out")
    if not isinstance(panel, Mapping) or set(panel) != {"answers", "periods"}:
        raise SpecificationError('panel must be such as {"answers": 2, "periods": 30}')
    try:
        return Panel(panel["answers"], panel["periods"], period)
    except ValueError as error:
        raise SpecificationError(str(error)) from None


def refuse_fields_beside_periods(data: Mapping[str, Any]) -> None:
    """Raises `SpecificationError` if a field is given that a collection with periods cannot have."""
    for name in _NOT_BESIDE_PERIODS:
        if data.get(name) is not None and data[name] is not False:
            raise SpecificationError(f"{name} cannot go with period: leave one of them out")
