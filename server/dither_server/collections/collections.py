"""The collections: their terms, their states, and whether they issue tickets at a given time."""

import asyncio
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, Engine, RowMapping, func, insert, select, update

from dither_client.mechanisms.epsilon import json_epsilon, listed
from dither_client.mechanisms.groups import Groups as PublicGroups
from dither_estimator.design.advice import advice
from dither_estimator.design.design import optimal_design
from dither_estimator.specification.groups import Groups
from dither_estimator.specification.specification import Specification
from dither_server.answers.closing import is_closed, is_full
from dither_server.answers.writer import Writer
from dither_server.clock import Clock, iso_time, milliseconds
from dither_server.collections.retention import DAY, retention_sentence
from dither_server.collections.specification import Admission, CollectionSpec, Visibility, parse_spec
from dither_server.collections.survey import AnswerPage, Survey, in_languages
from dither_server.database.reads import Store
from dither_server.database.refreshed import Refreshed
from dither_server.database.schema import collections, deletions
from dither_server.errors import (
    CollectionClosed,
    CollectionDeleted,
    CollectionFull,
    CollectionNotOpen,
    CollectionPaused,
    InvalidBody,
    InvalidGroup,
    NotFound,
)
from dither_server.http.bodies import parse_json, with_floats
from dither_server.replicas.leases import insert_lease
from dither_server.tickets.packing import NO_GROUP

__all__ = ["RIGHT_REPLIES", "Collection", "Collections", "State"]

State = Literal["open", "paused", "closed"]

_ID_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
"""Letters and digits that are not easily confused."""
_ID_LENGTH = 10
RIGHT_REPLIES = 4
"""How many numbers of right replies there can be, to the three questions of a check."""


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
        return _advice(self.specification)

    def group_number(self, label: str | None) -> int:
        """The number of the group with this label, which tickets and counts have; `NO_GROUP` without groups.

        Raises `InvalidGroup`, which lists the labels, unless there is such a group, or no groups and no label.
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
        """Whether it accepts no more answers than these."""
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
        """When all of it is removed, if it was created with `keep_days`; None if it is kept."""
        return None if self.keep_days is None else self.created_at + self.keep_days * DAY

    def _closed(self, now: int) -> bool:
        return is_closed(self.stored_state, self.closes_at, now)

    def terms(self, now: int, answers: int, languages: Sequence[str] = ()) -> dict[str, Any]:
        """The terms, which anyone may read, ready for JSON; with words in the first of `languages` that they are in."""
        return {
            "id": self.id,
            **(in_languages(self.words, languages) if languages else self.survey),
            **self.statistics,
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
            "notice": _notice(self.specification),
        }


def _allowed(groups: Groups) -> str:
    listed = PublicGroups(groups.name, groups.labels).listed
    return f"The collection needs the respondent's group ({groups.name}), as group in the request, one of: {listed}."


class Collections:
    """All collections, in memory, so that issuing a ticket reads no database. `holder` names this process in leases."""

    def __init__(self, engine: Engine, store: Store, writer: Writer, clock: Clock, holder: str) -> None:
        self._engine = engine
        self._store = store
        self._writer = writer
        self._clock = clock
        self._holder = holder
        self._by_id: dict[str, Collection] = {}
        self._by_number: dict[int, Collection] = {}
        self._totals: dict[int, int] = {}
        """The number of answers of each collection with a maximum."""
        self._refreshed = Refreshed(self._read)
        self.refresh()

    def refresh(self) -> None:
        """Reads new collections, and the states of all, from the database."""
        self._refreshed.refresh()

    def get(self, collection_id: str) -> Collection:
        """The collection with this id, from the database if this process does not know it.

        Raises `NotFound`, and `CollectionDeleted` if it was deleted.
        """
        collection = self.stored(collection_id)
        if collection.deleted_at is not None:
            raise CollectionDeleted
        return collection

    def stored(self, collection_id: str) -> Collection:
        """Does what `get` does, but also finds a deleted collection that can still be restored."""
        # Another process may have just created it. Made-up ids must not cause all collections to be read.
        if collection_id not in self._by_id and _is_stored(self._engine, collection_id):
            self.refresh()
        try:
            return self._by_id[collection_id]
        except KeyError:
            raise NotFound("There is no collection with this id: see the list of collections.") from None

    async def find(self, collection_id: str) -> Collection:
        """Does what `get` does, and may be called on the event loop."""
        collection = await self.find_stored(collection_id)
        if collection.deleted_at is not None:
            raise CollectionDeleted
        return collection

    async def find_stored(self, collection_id: str) -> Collection:
        """Does what `stored` does, and may be called on the event loop."""
        if collection_id in self._by_id:
            return self._by_id[collection_id]
        return await asyncio.to_thread(self.stored, collection_id)

    def numbered(self, number: int) -> Collection:
        """The collection with this number, deleted or not. Raises `CollectionDeleted` if nothing of it is left."""
        if number not in self._by_number:
            self.refresh()
        try:
            return self._by_number[number]
        except KeyError:
            raise CollectionDeleted from None

    def known(self, number: int) -> bool:
        """Whether this process knows a collection with this number, deleted or not."""
        return number in self._by_number

    def deleted(self, collection: Collection) -> bool:
        """Whether the collection is deleted by now, as far as this process knows."""
        known = self._by_id.get(collection.id)
        return known is None or known.deleted_at is not None

    def specification_text(self, number: int) -> str:
        """The JSON text that a collection was created with. Raises `CollectionDeleted` if it is gone."""
        found = select(collections.c.specification).where(collections.c.number == number)
        with self._engine.connect() as connection:
            text: str | None = connection.execute(found).scalar_one_or_none()
        if text is None:
            raise CollectionDeleted
        return text

    def limited(self) -> list[int]:
        """The numbers of the collections whose number of answers decides whether they issue tickets."""
        return [one.number for one in self.all() if one.max_answers is not None and one.stored_state != "closed"]

    def note_totals(self, totals: Mapping[int, int | None]) -> None:
        """Updates the numbers of answers of collections with a maximum; None for others. Thread-safe."""
        for number, total in totals.items():
            if total is not None:
                self._totals[number] = max(total, self._totals.get(number, 0))

    def check_issues(self, collection: Collection) -> None:
        """Raises a `CollectionRefused` unless the collection issues tickets now."""
        collection.check_issues(milliseconds(self._clock()), self._totals.get(collection.number, 0))

    def state(self, collection: Collection) -> State:
        """The collection's state now, as far as this process knows, without reading the database."""
        known = self._by_id.get(collection.id, collection)
        return known.state(milliseconds(self._clock()), self._totals.get(known.number, 0))

    def terms(self, collection: Collection, languages: Sequence[str] = ()) -> dict[str, Any]:
        """The collection's terms now, with its number of answers from the database."""
        return collection.terms(milliseconds(self._clock()), self._store.total(collection.number), languages)

    def all_terms(self, shown: Callable[[Collection], bool]) -> list[dict[str, Any]]:
        """The terms of every collection for which `shown` holds, newest first."""
        some = [collection for collection in self.all() if shown(collection)]
        totals, now = self._store.totals() if some else {}, milliseconds(self._clock())
        return [collection.terms(now, totals.get(collection.number, 0)) for collection in some]

    def all(self) -> Iterable[Collection]:
        """Every collection that is not deleted, newest first."""
        return (one for one in self.with_deleted() if one.deleted_at is None)

    def with_deleted(self) -> Iterable[Collection]:
        """Every collection, also those that are deleted and can still be restored, newest first."""
        return reversed(list(self._by_id.values()))

    async def create(self, body: bytes) -> Collection:
        """Creates the collection that the JSON in `body` describes. Raises what `parse_json` and `parse_spec` raise."""
        # In a thread, since the designs for each ε that may be chosen take a moment.
        service, _ = await asyncio.to_thread(parse_spec, parse_json(body))
        for page in service.pages or ():
            await self._check_page(page)
        now = milliseconds(self._clock())
        closes_at = milliseconds(service.closes_at.timestamp()) if service.closes_at else None
        if closes_at is not None and service.keep_days is not None and closes_at > now + service.keep_days * DAY:
            raise InvalidBody("keep_days: Input should reach to closes_at, counted from now.")
        row = {
            "id": "".join(secrets.choice(_ID_LETTERS) for _ in range(_ID_LENGTH)),
            "specification": body.decode(),
            "state": "open",
            "created_at": now,
            "closes_at": closes_at,
            "max_answers": service.max_answers,
            "keep_answers": service.keep_answers,
        }
        await self._writer.run(lambda connection: _insert(connection, row, self._holder))
        return await self._reread(str(row["id"]))

    async def _check_page(self, page: AnswerPage) -> None:
        """Raises `InvalidBody` unless the collection that the page's check names can count right replies."""
        if page.check is None:
            return
        try:
            found = await self.find(page.check)
        except (NotFound, CollectionDeleted):
            raise InvalidBody("pages: There is no collection with the id of a check: create it first.") from None
        if len(found.specification.categories) != RIGHT_REPLIES:
            raise InvalidBody(
                f"pages: The collection of a check must have {RIGHT_REPLIES} categories, of 0 to 3 right replies."
            )

    async def set_state(self, collection_id: str, state: State) -> Collection:
        """Opens, pauses or closes a collection. Raises `NotFound`, and `CollectionClosed` if it is closed already."""
        collection = await self.find(collection_id)
        terms = await asyncio.to_thread(self.terms, collection)
        if terms["state"] == "closed" and state != "closed":
            raise CollectionClosed("The collection is permanently closed: create another one.")
        await self._writer.run(lambda connection: _set_state(connection, collection.number, state))
        return await self._reread(collection_id)

    async def _reread(self, collection_id: str) -> Collection:
        await asyncio.to_thread(self.refresh)
        return await asyncio.to_thread(self.get, collection_id)

    def _read(self) -> None:
        row_of = collections.c
        columns = (row_of.number, row_of.state, row_of.deleted_at, row_of.purge_at)
        with self._engine.connect() as connection:
            states = {number: _Standing(*rest) for number, *rest in connection.execute(select(*columns))}
            new = states.keys() - self._by_number.keys()
            wanted = (
                select(collections).where(collections.c.number.in_(new)) if self._by_number else select(collections)
            )
            rows = connection.execute(wanted).mappings().all() if new else []
        known = {number: _in_state(self._by_number[number], states[number]) for number in states.keys() - new}
        known |= {row["number"]: _load(row) for row in rows}
        self._by_number = {number: known[number] for number in sorted(known)}
        self._by_id = {one.id: one for one in self._by_number.values()}


class _Standing(NamedTuple):
    """What changes in a row of `collections`."""

    stored_state: State
    deleted_at: int | None
    purge_at: int | None


def _is_stored(engine: Engine, collection_id: str) -> bool:
    """Whether there is a collection with this id. Raises `CollectionDeleted` if it was removed for good."""
    with engine.connect() as connection:
        found = select(collections.c.number).where(collections.c.id == collection_id)
        if connection.execute(found).first() is not None:
            return True
        removed = select(deletions.c.number).where(deletions.c.id == collection_id)
        if connection.execute(removed).first() is not None:
            raise CollectionDeleted
        return False


def _in_state(collection: Collection, now: _Standing) -> Collection:
    before = (collection.stored_state, collection.deleted_at, collection.purge_at)
    return collection if before == now else replace(collection, **now._asdict())


def _insert(connection: Connection, row: Mapping[str, Any], holder: str) -> None:
    if connection.dialect.name == "sqlite":  # it would give the number of a removed collection again, with its tickets
        used = [connection.execute(select(func.max(one.c.number))).scalar_one() for one in (collections, deletions)]
        row = {**row, "number": max(number or 0 for number in used) + 1}
    number = connection.execute(insert(collections).returning(collections.c.number), row).scalar_one()
    insert_lease(connection, number, holder)


def _set_state(connection: Connection, number: int, state: State) -> None:
    # If it was closed in the meantime, it stays closed.
    still_open = update(collections).where(collections.c.number == number, collections.c.state != "closed")
    changed = connection.execute(still_open.values(state=state)).rowcount
    if not changed and state != "closed":
        raise CollectionClosed("The collection is permanently closed: create another one.")


def _load(row: RowMapping) -> Collection:
    data = parse_json(row["specification"].encode())
    service, specification = parse_spec(data)
    return Collection(
        number=row["number"],
        id=row["id"],
        created_at=row["created_at"],
        stored_state=row["state"],
        deleted_at=row["deleted_at"],
        purge_at=row["purge_at"],
        opens_at=milliseconds(service.opens_at.timestamp()) if service.opens_at else None,
        closes_at=row["closes_at"],
        max_answers=row["max_answers"],
        keep_answers=row["keep_answers"],
        keep_answers_days=service.keep_answers_days,
        keep_days=service.keep_days,
        admission=service.admission,
        visibility=service.visibility,
        words=service.model_dump(include=set(Survey.model_fields)),
        specification=specification,
        statistics=_statistics(service, specification),
    )


def _advice(specification: Specification) -> str | None:
    if specification.policy.name == "fixed" or not specification.parametric:
        return specification.caution
    return advice(
        optimal_design(
            specification.family,
            specification.family.standard,
            specification.mechanism,
            specification.epsilon,
            specification.standard_goal,
            specification.levels,
            rho=specification.rho,
        )
    )


def _notice(specification: Specification) -> str | None:
    """What respondents must know about a choice of ε, groups and check questions; None if there are none of these."""
    sentences = []
    if len(choices := specification.epsilon_choices) > 1:
        sentences.append(
            f"You choose ε, one of {listed(choices)}, before you see the question. Your choice is sent without "
            "noise, so it must not depend on your value: otherwise it reveals something about the value, "
            "and the result is wrong."
        )
    if (groups := specification.groups) is not None:
        sentences.append(
            f"You say which {groups.name} you belong to. It is sent without noise: whoever runs the collection learns "
            "it, but not your value."
        )
    if (check := specification.misfit_check) is not None:
        sentences.append(
            f"A random share of {check.share:.3g} of the questions checks whether the family fits; their answers have "
            "the same noise and cost the same ε, and are not used for the estimate while the collection runs."
        )
    return " ".join(sentences) or None


def _statistics(service: CollectionSpec, specification: Specification) -> dict[str, Any]:
    choices = specification.epsilon_choices
    rho = specification.largest_rho
    return {
        "family": specification.family.name,
        "transform": specification.transform,
        "epsilon": json_epsilon(specification.epsilon),
        "epsilon_choices": [json_epsilon(epsilon) for epsilon in choices] if len(choices) > 1 else None,
        "rho": None if rho is None else json_epsilon(rho),
        "mechanism": specification.mechanism,
        "goal": with_floats(service.goal or _default_goal(specification)),
        "policy": service.policy or "adaptive",
        "levels": specification.levels,
        "member_cuts": None if specification.member_cuts is None else list(specification.member_cuts),
        "categories": list(specification.categories) or None,
        "minimum": specification.support.minimum,
        "maximum": specification.support.maximum,
        "atoms": list(specification.support.atoms) or None,
        "groups": None if specification.groups is None else specification.groups.to_json(),
        **{name: with_floats(getattr(service, name)) for name in ("range", "prior", "families")},
    }


def _default_goal(specification: Specification) -> str:
    if specification.categories:
        return "categories"
    return "distribution" if specification.nonparametric else "all"
