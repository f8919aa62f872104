"""A collection: its terms, its state, and whether it issues tickets at a given time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from dither_client.mechanisms.groups import Groups as PublicGroups
from dither_estimator.specification.groups import Groups
from dither_estimator.specification.specification import Specification
from dither_server.answers.closing import is_closed, is_full
from dither_server.clock import iso_time
from dither_server.collections.retention import DAY, retention_sentence
from dither_server.collections.specification import Admission, Visibility
from dither_server.collections.survey import component_in_languages, in_languages
from dither_server.collections.terms import design_advice, notice
from dither_server.database.reads import CountRow
from dither_server.errors import (
    CollectionClosed,
    CollectionDeleted,
    CollectionFull,
    CollectionNotOpen,
    CollectionPaused,
    InvalidGroup,
)
from dither_server.tickets.packing import NO_GROUP, NO_PERIOD

__all__ = ["Collection", "State"]

State = Literal["open", "paused", "closed"]


@dataclass(frozen=True)
class Collection:
    """A collection in the state that it had when it was read. Times are milliseconds."""

    number: int
    id: str
    created_at: int
    stored_state: State
    deleted_at: int | None
    """When it was deleted; None if it is not."""
    purge_at: int | None
    """When a deleted collection is removed for good."""
    opens_at: int | None
    closes_at: int | None
    max_answers: int | None
    keep_answers: bool
    keep_answers_days: int | None
    keep_days: int | None
    admission: Admission
    visibility: Visibility
    words: Mapping[str, Any]
    """What respondents read, as it was given: `Survey`'s fields."""
    specification: Specification
    statistics: Mapping[str, Any]
    """The statistical fields of the terms, ready for JSON."""
    written: dict[str, tuple[str, str]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was written of it for all who read it, by name: it goes with the collection."""

    @cached_property
    def survey(self) -> Mapping[str, Any]:
        """The terms with the names of `Survey`'s fields, ready for JSON, for readers who prefer no language."""
        return in_languages(self.words, ())

    @cached_property
    def advice(self) -> str | None:
        """One line on what another mechanism would save or cost, or on what a fixed question leaves unknown.

        None if no design chooses the questions and the fixed one tells all parameters.

        The first call takes a moment.
        """
        return design_advice(self.specification)

    def group_number(self, label: str | None) -> int:
        """The number that tickets and counts carry for the group with this label; `NO_GROUP` if there are no groups.

        Raises `InvalidGroup`, which lists the labels, if there is no such group, or if a label is given without groups.
        """
        groups = self.specification.groups
        if groups is None and label is None:
            return NO_GROUP
        number = None if label is None else self._group_numbers.get(label)
        if number is None:
            raise InvalidGroup(None if groups is None else _allowed(groups))
        return number

    def group_label(self, number: int) -> str | None:
        """The label of the group with this number; None for `NO_GROUP`."""
        groups = self.specification.groups
        return None if groups is None or number == NO_GROUP else groups.labels[number - 1]

    def period_number(self, issued_at: int) -> int:
        """The number of the period of a ticket that was issued then (seconds); `NO_PERIOD` without periods."""
        period = self.specification.period
        return NO_PERIOD if period is None else period.number(issued_at)

    def period_label(self, number: int) -> str | None:
        """The label of the period with this number; None for `NO_PERIOD`."""
        period = self.specification.period
        return None if period is None or number == NO_PERIOD else period.label(number)

    def part_label(self, row: CountRow) -> str | None:
        """The label of the group or the period that was counted; None where there are neither."""
        label = self.group_label(row.group)
        return self.period_label(row.period) if label is None else label

    @cached_property
    def _group_numbers(self) -> Mapping[str, int]:
        groups = self.specification.groups
        return {} if groups is None else {label: number for number, label in enumerate(groups.labels, NO_GROUP + 1)}

    def state(self, now: int, answers: int) -> State:
        """The state at `now` with `answers` stored: the closing time and the last answer close a collection.

        While institutions may still share, the last answer does not close it: it is only full.
        """
        full = self.full(answers) and self.specification.member_cuts is None
        return "closed" if full or self._closed(now) else self.stored_state

    def full(self, answers: int) -> bool:
        """Whether the collection accepts no more answers than these."""
        return is_full(self.max_answers, answers)

    def check_issues(self, now: int, answers: int) -> None:
        """Raises a `CollectionRefused` unless it issues tickets at `now` with `answers` stored."""
        if self.deleted_at is not None:
            raise CollectionDeleted
        if self._closed(now):
            raise CollectionClosed
        if self.full(answers):
            raise CollectionFull
        if self.stored_state == "paused":
            raise CollectionPaused
        if self.opens_at is not None and now < self.opens_at:
            raise CollectionNotOpen

    @property
    def ends_at(self) -> int | None:
        """When the collection is removed with all that is in it, if it has `keep_days`; None if it is kept."""
        return None if self.keep_days is None else self.created_at + self.keep_days * DAY

    def _closed(self, now: int) -> bool:
        return is_closed(self.stored_state, self.closes_at, now)

    def _components(self, languages: Sequence[str]) -> dict[str, Any]:
        """What the terms say of several numbers, with words in one language; nothing where there is one number."""
        components = self.statistics.get("components")
        return {"components": [component_in_languages(each, languages) for each in components]} if components else {}

    def terms(self, now: int, answers: int, languages: Sequence[str] = ()) -> dict[str, Any]:
        """The terms, which anyone may read, ready for JSON; with words in the first of `languages` that they are in."""
        return {
            "id": self.id,
            **(in_languages(self.words, languages) if languages else self.survey),
            **self.statistics,
            **self._components(languages),
            "state": self.state(now, answers),
            "answers": answers,
            "created_at": iso_time(self.created_at),
            "opens_at": None if self.opens_at is None else iso_time(self.opens_at),
            "closes_at": None if self.closes_at is None else iso_time(self.closes_at),
            "max_answers": self.max_answers,
            "keep_answers": self.keep_answers,
            "keep_answers_days": self.keep_answers_days,
            "keep_days": self.keep_days,
            "retention": retention_sentence(self.keep_answers, self.keep_answers_days, self.ends_at),
            "admission": self.admission,
            "visibility": self.visibility,
            "advice": self.advice,
            "notice": notice(self.specification),
        }


def _allowed(groups: Groups) -> str:
    listed = PublicGroups(groups.name, groups.labels).listed
    return f"The collection needs the respondent's group ({groups.name}), as group in the request, one of: {listed}."
