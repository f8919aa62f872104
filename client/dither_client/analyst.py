"""An analyst's view of a server's collections."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import chain
from typing import Any, Literal
from urllib.parse import urlencode

import httpx2

from dither_client.addresses import collection_path
from dither_client.errors import BadResponse, InvalidQuery, InvalidTable
from dither_client.mechanisms.epsilon import wire_epsilon
from dither_client.mechanisms.gaussian_epsilon import gaussian_rho
from dither_client.mechanisms.member_counts import MemberCounts, MemberTable, member_table
from dither_client.mechanisms.query import Query
from dither_client.mechanisms.registry import parse_query
from dither_client.posterior.particles import Particles, parse_particles
from dither_client.posterior.posterior import Posterior
from dither_client.posterior.reading import parse_posterior
from dither_client.protocol.flow import Retry
from dither_client.protocol.messages import Terms, parse_terms
from dither_client.tables.counts import CountTable
from dither_client.transport.json_api import COLLECTIONS_PER_PAGE, Api
from dither_client.transport.watching import watch

__all__ = ["Analyst", "AnsweredQuery", "InstitutionCounts", "read_posterior", "specification_of"]

_PASSING = ("id", "state", "answers", "created_at", "advice", "notice", "retention")
"""The fields of the terms that are not in the specification."""


@dataclass(frozen=True, slots=True)
class AnsweredQuery:
    """A question that was asked. `counts[s]` is how many answered s; None if the caller may not read the posterior."""

    query: Query
    answers: int
    counts: tuple[int, ...] | None
    group: str | None = None
    """The label of the group that was asked, where the collection has groups."""
    period: str | None = None
    """The label of the period in which it was asked, where the collection has periods."""


@dataclass(frozen=True, slots=True)
class InstitutionCounts:
    """The noisy counts that one institution has shared; `institution` is the id of its token."""

    institution: str
    query: MemberCounts
    counts: tuple[int, ...]
    received_at: str


class Analyst:
    """Reads from the server at `url` what `token` allows. Raises `InvalidAddress`; every call raises `ServerError`."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        retry: Retry | None = None,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._api = Api(url, token, retry=retry, transport=transport)
        self._known: dict[str, dict[str, Any]] = {}

    def __enter__(self) -> "Analyst":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def collections(self) -> list[Terms]:
        """The terms of every collection."""
        pages = self._api.pages("/v1/collections", {"limit": COLLECTIONS_PER_PAGE}, exact=True)
        return [parse_terms(terms) for page in pages for terms in _items(page, "collections")]

    def posterior(self, collection_id: str) -> Posterior:
        """The current posterior."""
        data = self._api.get(collection_path(collection_id, "posterior"))
        return read_posterior(self._api, collection_id, data, self._family_terms(collection_id))

    def report(self, collection_id: str) -> bytes:
        """The current report: an HTML page that needs no other file, and fits one page of paper."""
        return self._api.page(collection_path(collection_id, "report").removeprefix("/v1"))

    def stream(self, collection_id: str) -> Iterator[Posterior]:
        """The current posterior, and then each new one that the server announces.

        Ends when the collection is closed and every answer is learnt, or when the caller stops. Reconnects when a
        connection breaks; raises `Unreachable` after as many failures in a row as this analyst's `retry` allows.
        """
        shown = None
        for _, data in watch(self._api, collection_id):
            if data != shown:
                shown = data
                yield read_posterior(self._api, collection_id, data, self._family_terms(collection_id))

    def particles(self, collection_id: str) -> Particles:
        """The current weighted particles."""
        return _particles(self._api, collection_id)

    def history(self, collection_id: str) -> list[dict[str, Any]]:
        """The posterior over time, oldest first: each entry has `answers`, `at`, `posterior`, `ess` and `query`."""
        return _items(self._api.get(collection_path(collection_id, "posterior", "history")), "history")

    def queries(self, collection_id: str, purpose: Literal["training", "check"] = "training") -> list[AnsweredQuery]:
        """Every question whose answers are learnt; with `check`, every question of the goodness-of-fit check."""
        wanted = "" if purpose == "training" else f"?{urlencode({'purpose': purpose})}"
        return _answered(self._api, collection_id, wanted)

    def count_table(self, collection_id: str, purpose: Literal["training", "check"] = "training") -> CountTable:
        """How often each answer was given to each question, and for what is learnt also what institutions shared.

        Raises `InvalidTable` if the caller may not read the counts by answer.
        """
        answered = self.queries(collection_id, purpose)
        if any(each.counts is None for each in answered):
            raise InvalidTable("only analysts may read the counts by answer: give an analyst's token with --token")
        shared = self.member_counts(collection_id) if purpose == "training" else []
        return _count_table(answered, member_table((one.query, one.counts) for one in shared))

    def member_counts(self, collection_id: str) -> list[InstitutionCounts]:
        """The counts of every institution that has shared; empty if the collection does not ask institutions."""
        terms = parse_terms(self._api.get(collection_path(collection_id), exact=True))
        if terms.member_cuts is None:
            return []
        items = _items(self._api.get(collection_path(collection_id, "member-counts")), "member_counts")
        return [_parse_shared(item, terms) for item in items]

    def quality(self, collection_id: str) -> dict[str, Any]:
        """The quality of a collection's data: `refused` by cause, `completion` by question, `gateways`, `warnings`."""
        return self._api.get(collection_path(collection_id, "quality"))

    def answers(self, collection_id: str, page: int = 10_000) -> Iterator[dict[str, Any]]:
        """Every answer with its `ticket`, `query_id` and `received_at`, fetched in pages of `page` answers."""
        for data in self._api.pages(collection_path(collection_id, "answers"), {"limit": page}):
            yield from _items(data, "answers")

    def answers_of_day(self, collection_id: str, day: date, page: int = 10_000) -> Iterator[dict[str, Any]] | None:
        """Every answer received on that day in UTC; None while more of them can come, by the server's clock."""
        asked = {"limit": page, "day": day.isoformat()}
        pages = self._api.pages(collection_path(collection_id, "answers"), asked)
        first = next(pages)
        if first.get("closed") is not True:
            return None
        return (answer for data in chain([first], pages) for answer in _items(data, "answers"))

    def terms(self, collection_id: str) -> dict[str, Any]:
        """The collection's terms as the server writes them, which include its specification."""
        return self._api.get(collection_path(collection_id))

    def _family_terms(self, collection_id: str) -> dict[str, Any]:
        """The terms as they were first read: what they say of the family never changes."""
        if collection_id not in self._known:
            self._known[collection_id] = self.terms(collection_id)
        return self._known[collection_id]

    def close(self) -> None:
        self._api.close()


def specification_of(terms: Mapping[str, Any]) -> dict[str, Any]:
    """The specification in a collection's terms, which say some things besides.

    Terms of `gaussian` have both ε and ρ, of which one was given, and those with `member_cuts` have them on the scale
    of the questions.
    """
    found = {name: value for name, value in terms.items() if name not in _PASSING and value is not None}
    if "rho" in found:
        choices = [wire_epsilon(epsilon) for epsilon in found.get("epsilon_choices") or [found["epsilon"]]]
        derived = max(gaussian_rho(1, epsilon) for epsilon in choices)  # no question with as small an ε has a larger ρ
        del found["rho" if wire_epsilon(found["rho"], "rho") == derived else "epsilon"]
    if "member_cuts" in found and found.get("transform") == "log":
        found["member_cuts"] = [math.exp(cut) for cut in found["member_cuts"]]
    return found


def read_posterior(
    api: Api, collection_id: str, data: dict[str, Any], terms: dict[str, Any] | None = None
) -> Posterior:
    """The posterior whose JSON is `data`; it fetches particles and counts when needed. Raises `BadResponse`."""
    return parse_posterior(
        collection_id,
        data,
        lambda: _particles(api, collection_id),
        lambda: _count_table(_answered(api, collection_id), {}).queries,
        lambda label: _particles(api, collection_id, f"?{urlencode({'group': label})}"),
        lambda: _count_table(_answered(api, collection_id), {}).groups,
        terms,
    )


def _particles(api: Api, collection_id: str, of: str = "") -> Particles:
    return parse_particles(api.get(collection_path(collection_id, "posterior", "particles") + of))


def _answered(api: Api, collection_id: str, wanted: str = "") -> list[AnsweredQuery]:
    items = _items(api.get(collection_path(collection_id, "queries") + wanted, exact=True), "queries")
    return [_parse_answered(item) for item in items]


def _count_table(answered: Iterable[AnsweredQuery], members: MemberTable) -> CountTable:
    table = CountTable(members=members)
    for each in answered:
        if each.counts is not None:
            table.add(each.query, enumerate(each.counts), each.group, each.period)
    return table


def _items(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    items = data.get(name)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise BadResponse(f"the server's response lacks the list {name!r}")
    return items


def _parse_answered(item: dict[str, Any]) -> AnsweredQuery:
    try:
        query = parse_query(item["query"])
        counts = item.get("counts")
        kept = None if counts is None else tuple(map(int, counts))
        group, period = (None if item.get(name) is None else str(item[name]) for name in ("group", "period"))
        answered = AnsweredQuery(query, int(item["answers"]), kept, group, period)
    except (InvalidQuery, KeyError, TypeError, ValueError):
        raise BadResponse("the server's list of questions contains one that this version cannot read") from None
    if answered.counts is not None and len(answered.counts) != query.n_answers:
        raise BadResponse("the server's counts do not fit their question")
    return answered


def _parse_shared(item: dict[str, Any], terms: Terms) -> InstitutionCounts:
    try:
        query = MemberCounts(terms.member_cuts or (), item["size"], terms.epsilon, terms.transform)
        counts = tuple(map(int, item["counts"]))
        shared = InstitutionCounts(str(item["institution"]), query, counts, str(item["received_at"]))
    except (InvalidQuery, KeyError, TypeError, ValueError):
        raise BadResponse("the server's list of institutions contains one that this version cannot read") from None
    if len(counts) != len(query.groups) or not all(0 <= k <= n for k, n in zip(counts, query.groups, strict=True)):
        raise BadResponse("an institution's counts do not fit its question")
    return shared
