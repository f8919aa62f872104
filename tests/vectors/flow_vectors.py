"""Whole exchanges for `make_vectors`: what a server replies, what a client sends, and what it has stored by then."""

import json
import random
from collections.abc import Iterable
from typing import Any

from dither_client import DitherError, MemoryLedger
from dither_client.ledger.protocol import Entry
from dither_client.mechanisms.calendar_period import CalendarPeriod
from dither_client.mechanisms.panel import NO_PERIOD
from dither_client.mechanisms.price import Value
from dither_client.mechanisms.sampling import uniform
from dither_client.protocol.flow import ConnectionFailed, Finished, Response, Retry, Send, advance
from dither_client.protocol.respondent import answer_flow

__all__ = ["COLLECTION", "SERVER", "flows"]

SERVER = "https://server.example"
COLLECTION = "c"
_VALUE = 41.5
_CATEGORY = "monthly"
_DRAWN = "*"
"""Stands for the retry key that the client has drawn."""

_TERMS: dict[str, Any] = {
    "id": COLLECTION, "name": "Wages", "family": "normal", "transform": "identity", "epsilon": 1,
    "epsilon_choices": None, "rho": None, "mechanism": "laplace", "levels": None, "state": "open",
    "admission": "public", "visibility": "private", "answers": 0, "opens_at": None, "closes_at": None,
    "max_answers": None, "advice": None, "notice": None,
}  # fmt: skip
_QUESTION = {"mechanism": "laplace", "low": -16, "high": 136, "levels": 17, "epsilon": 1, "transform": "identity"}
_CUTS = {"mechanism": "randomized_response", "cuts": [0, 20.5, 41.5, 64], "epsilon": 0.75, "transform": "identity"}
_GAUSSIAN = {**_QUESTION, "mechanism": "gaussian", "levels": 4, "rho": 0.25, "epsilon": 0.75}

_GROUPS = {"mechanism": "grouped_randomized_response", "groups": [[0, 2], [1]], "epsilon": 1}
_CATEGORIES: dict[str, Any] = {"mechanism": "grouped_randomized_response", "categories": ["never", "monthly", "daily"]}

_Reply = dict[str, Any] | str
"""A status and a body; `lost`, a connection that failed; or `killed`, the end of the program before any reply."""


def _reply(status: int, body: object) -> _Reply:
    return {"status": status, "body": body if isinstance(body, str) else json.dumps(body)}


def _problem(status: int, name: str) -> _Reply:
    return _reply(status, {"type": f"urn:dither:{name}", "title": "No", "status": status, "detail": "It is refused."})


def _terms(**changes: object) -> _Reply:
    return _reply(200, {**_TERMS, **changes})


def _ticket(number: int = 1, query: object = None) -> _Reply:
    fields = {"ticket": f"ticket-{number}", "query": query or _QUESTION, "expires_at": "2026-02-01T12:00:00.000Z"}
    return _reply(201, fields)


_TOLD, _ASKED, _STORED = _terms(), _ticket(), _reply(201, {"receipt": "receipt-1"})
_TWICE = _reply(201, json.dumps({"ticket": "t", "query": _QUESTION, "expires_at": "x"})[:-1] + ', "ticket": "u"}')
_BUSY = _reply(503, "<html>busy</html>")

_SCRIPTS: dict[str, list[list[_Reply]]] = {
    "one answer, and no second one": [[_TOLD, _ASKED, _STORED], []],
    "replies are lost": [["lost", _TOLD, "lost", _ASKED, "lost", _reply(200, {"receipt": "receipt-1"})]],
    "the server is busy": [[_BUSY, _TOLD, _BUSY, _problem(429, "too-many-tickets"), _ASKED, _BUSY, _STORED]],
    "killed before the terms": [["killed"], [_TOLD, _ASKED, _STORED]],
    "killed before the ticket": [[_TOLD, "killed"], [_ticket(2), _STORED]],
    "killed before the receipt": [[_TOLD, _ASKED, "killed"], ["killed"], [_STORED], []],
    "the answer comes too late": [[_TOLD, _ASKED, _problem(410, "ticket-expired")], []],
    "the collection is closed": [[_TOLD, _ASKED, "lost", _problem(409, "collection-closed")], []],
    "the collection is full": [[_TOLD, _ASKED, _problem(409, "collection-full")], []],
    "the ticket has another answer": [[_TOLD, _ASKED, _problem(409, "already-answered")], []],
    "a refusal that is not final": [[_TOLD, _ASKED, _problem(403, "ticket-invalid")], [_STORED]],
    "a refusal without a document": [[_TOLD, _ASKED, _reply(404, "<html>")], [_STORED]],
    "no receipt": [[_TOLD, _ASKED, _reply(201, "{}")], [_reply(200, '{"receipt": "a", "receipt": "a"}')], [_STORED]],
    "no ticket": [[_TOLD, _problem(409, "collection-paused")], [_ASKED, _STORED]],
    "a name twice in a ticket": [[_TOLD, _TWICE], [_ASKED, _STORED]],
    "a question above its price": [[_TOLD, _ticket(query={**_QUESTION, "epsilon": 1.000001})]],
    "a question of another kind": [[_TOLD, _ticket(query=_CUTS)]],
    "a question that is malformed": [[_TOLD, _ticket(query={**_QUESTION, "levels": 2000})]],
    "terms above the ledger's cap": [[_terms(epsilon=10.5), _ticket(query={**_QUESTION, "epsilon": 10.5})]],
    "no terms": [[_problem(404, "not-found")], [_reply(200, {**_TERMS, "epsilon": "1_0"})]],
    "randomised response": [[_terms(mechanism="randomized_response"), _ticket(query=_CUTS), _STORED]],
    "gaussian": [[_terms(mechanism="gaussian", rho=0.25), _ticket(query=_GAUSSIAN), _STORED]],
    "a number where there are categories": [[_terms(**_CATEGORIES)]],
}  # fmt: skip
_SCRIPTS_OF_CATEGORIES: dict[str, list[list[_Reply]]] = {
    "a category that was asked before": [[_terms(**_CATEGORIES), "killed"], [_ticket(query=_GROUPS), _STORED]],
    "no such category": [[_terms(**{**_CATEGORIES, "categories": ["never", "daily"]})]],
    "a category where there are none": [[_TOLD]],
    "a category": [[_terms(**_CATEGORIES), _ticket(query=_GROUPS), _STORED], []],
}

_GROUPED: dict[str, Any] = {"groups": {"name": "region", "labels": ["north", "Île-de-France"]}}
_UNKNOWN = _problem(422, "invalid-group")
_SCRIPTS_OF_GROUPS: dict[str, tuple[str | None, list[list[_Reply]]]] = {
    "a group": ("Île-de-France", [[_terms(**_GROUPED), _ASKED, _STORED], []]),
    "a group, and killed before the ticket": ("north", [[_terms(**_GROUPED), "killed"], [_ASKED, _STORED]]),
    "no such group": ("south", [[_terms(**_GROUPED)]]),
    "no group where there are some": (None, [[_terms(**_GROUPED)]]),
    "a group where there are none": ("north", [[_TOLD]]),
    "a group that the server refuses": ("north", [[_terms(**_GROUPED), _UNKNOWN], [_ASKED, _STORED]]),
    "groups that an earlier version did not keep": ("north", [[_TOLD], [_terms(**_GROUPED), _ASKED, _STORED]]),
    "groups with one label": ("north", [[_terms(groups={"name": "region", "labels": ["north"]})]]),
}  # fmt: skip
_VALUES = {"wage": 540.5, "age": 41.0}
_SEVERAL: dict[str, Any] = {
    "family": "components",
    "components": [{"name": "wage", "transform": "log"}, {"name": "age", "transform": "identity", "maximum": 120}],
}
_BOTH = {
    "mechanism": "joint", "components": [0, 1], "states": "same_side", "cuts": [[6.25], [41]],
    "transforms": ["log", "identity"], "channel": {"mechanism": "randomized_response", "cuts": [0], "epsilon": 1},
    "epsilon": 1,
}  # fmt: skip
_ABOUT_AGE = {"mechanism": "component", "component": 1, "query": _QUESTION, "epsilon": 1}
_LESS = {"components": [{"name": "wage", "transform": "log"}, {"name": "age", "transform": "identity", "maximum": 40}]}
_SCRIPTS_OF_SEVERAL: dict[str, list[list[_Reply]]] = {
    "several numbers, asked about two": [[_terms(**_SEVERAL), _ticket(query=_BOTH), _STORED], []],
    "several numbers, asked about one, and killed": [
        [_terms(**_SEVERAL), _ticket(query=_ABOUT_AGE), "killed"],
        [_STORED],
    ],
    "several numbers, killed before the ticket": [[_terms(**_SEVERAL), "killed"], [_ticket(query=_BOTH), _STORED]],
    "several numbers, one out of bounds": [[_terms(**{**_SEVERAL, **_LESS})]],
    "several numbers, asked about none": [[_terms(**_SEVERAL), _ASKED]],
    "several numbers, asked above their price": [
        [_terms(**{**_SEVERAL, "epsilon": 0.5}), _ticket(query=_BOTH)],
    ],
    "several numbers where there is one": [[_TOLD]],
}


_WEEK = 7 * 86_400
_JOINED = 1_770_681_600
"""Tuesday, 10 February 2026."""
_PANEL: dict[str, Any] = {"period": "week", "panel": {"answers": 2, "periods": 2}}
_RARE: dict[str, Any] = {"period": "week", "panel": {"answers": 1, "periods": 1500}}
_SECOND = _reply(201, {"receipt": "receipt-2"})
_SCRIPTS_OF_PANELS: dict[str, list[tuple[int, list[_Reply]]]] = {
    "a panel, one answer in each of two weeks": [
        (0, [_terms(**_PANEL), _ASKED, _STORED]),
        (0, []),
        (1, [_ticket(2), _SECOND]),
        (1, []),
        (2, []),
    ],
    "a panel, killed before the terms": [(0, ["killed"]), (0, [_terms(**_PANEL), _ASKED, _STORED])],
    "a panel, killed before the ticket": [(0, [_terms(**_PANEL), "killed"]), (0, [_ASKED, _STORED])],
    "a panel, killed before the receipt": [
        (0, [_terms(**_PANEL), _ASKED, "killed"]),
        (0, [_STORED]),
        (1, [_ticket(2), "lost", _SECOND]),
    ],
    "a panel, a turn that is missed": [(0, [_terms(**_PANEL), "killed"]), (1, [_ASKED, _STORED]), (2, [])],
    "a panel, not the first week": [(0, [_terms(**_RARE)]), (1, [])],
    "a panel that is paused": [(0, [_terms(**_PANEL, state="paused")]), (0, [_terms(**_PANEL), _ASKED, _STORED])],
    "a panel above the ledger's cap": [(0, [_terms(**_PANEL, epsilon=5.5)])],
    "a panel, asked above its price": [
        (0, [_terms(**_PANEL), _ticket(query={**_QUESTION, "epsilon": 1.000001})]),
        (0, [_ASKED, _STORED]),
    ],
    "a panel that there cannot be": [(0, [_terms(**{**_PANEL, "panel": {"answers": 3, "periods": 2}})])],
}


def flows() -> Iterable[dict[str, Any]]:
    """The cases, as the Python client goes through them."""
    scripts: list[tuple[str, Value, str | None, list[list[_Reply]]]] = [
        (name, _VALUE, None, script) for name, script in _SCRIPTS.items()
    ]
    scripts += [(name, _CATEGORY, None, script) for name, script in _SCRIPTS_OF_CATEGORIES.items()]
    scripts += [(name, _VALUE, group, script) for name, (group, script) in _SCRIPTS_OF_GROUPS.items()]
    scripts += [(name, _VALUES, None, script) for name, script in _SCRIPTS_OF_SEVERAL.items()]
    for number, (name, value, group, script) in enumerate(scripts):
        ledger = MemoryLedger(max_epsilon="10")
        source = random.Random(number).randbytes(4096)
        taken = _Taken(source)
        runs = [_run(ledger, value, group, replies, taken) for replies in script]
        yield {
            "name": name,
            "value": value,
            **({} if group is None else {"group": group}),
            "bytes": source[: taken.used].hex(),
            "runs": runs,
            "ledger": _stored(ledger),
        }
    for name, timed in _SCRIPTS_OF_PANELS.items():
        yield _panel_flow(name, timed)


def _panel_flow(name: str, script: list[tuple[int, list[_Reply]]]) -> dict[str, Any]:
    """A flow with the time of each run, and the ledger's turns after it."""
    ledger = MemoryLedger(max_epsilon="10")
    source = random.Random(name).randbytes(4096)
    taken = _Taken(source)
    runs = []
    for week, replies in script:
        time = _JOINED + week * _WEEK
        run = _run(ledger, _VALUE, None, replies, taken, time)
        spent = int(ledger.spent() * 1_000_000)
        runs.append({"time": time, **run, "turns": ledger.turns(SERVER, COLLECTION), "spent": spent})
    used = source[: taken.used].hex()
    return {"name": name, "value": _VALUE, "bytes": used, "runs": runs, "ledger": _stored(ledger, time)}


class _Taken:
    """Random bytes that run out."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self.used = 0

    def __call__(self, size: int) -> bytes:
        self.used += size
        return self._source[self.used - size : self.used]


def _run(
    ledger: MemoryLedger,
    value: Value,
    group: str | None,
    replies: list[_Reply],
    taken: _Taken,
    time: float | None = None,
) -> dict[str, Any]:
    clock = _no_clock if time is None else lambda: time
    retry = Retry(attempts=6, first=0.0)
    flow = answer_flow(
        SERVER, COLLECTION, value, ledger, randbelow=uniform(taken), retry=retry, group=group, clock=clock
    )
    steps: list[dict[str, Any]] = []
    outcome = "killed"
    script = iter(replies)
    try:
        step = advance(flow, None)
        while not isinstance(step, Finished):
            came: Response | ConnectionFailed | None = None
            if isinstance(step, Send):
                reply = next(script)
                body = json.loads(step.body) if step.body else None
                if body is not None and "retry_key" in body:
                    entry = _entry(ledger, time)
                    assert entry is not None
                    assert body["retry_key"] == entry.retry_key
                    body["retry_key"] = _DRAWN
                steps.append(
                    {
                        "request": f"{step.method} {step.path}",
                        "body": body,
                        "ledger": _stored(ledger, time),
                        "reply": reply,
                    }
                )
                if reply == "killed":
                    flow.close()
                    break
                came = (
                    Response(reply["status"], {}, reply["body"].encode())
                    if isinstance(reply, dict)
                    else ConnectionFailed()
                )
            step = advance(flow, came)
        else:
            outcome = "receipt"
    except DitherError as error:
        outcome = type(error).__name__
    assert next(script, None) is None, "the script has more replies than there are requests"
    return {"steps": steps, "outcome": outcome}


def _no_clock() -> float:
    raise AssertionError("no clock is read where there is no panel")


def _entry(ledger: MemoryLedger, time: float | None) -> Entry | None:
    """What the ledger has of the collection: of a panel, in the week of this time."""
    return ledger.find(SERVER, COLLECTION, NO_PERIOD if time is None else CalendarPeriod("week").number(time))


def _stored(ledger: MemoryLedger, time: float | None = None) -> dict[str, Any] | None:
    entry = _entry(ledger, time)
    if entry is None:
        return None
    return {
        "state": entry.state,
        "micro_epsilon": entry.micro_epsilon,
        "ticket": entry.ticket,
        "answer": entry.answer,
        "retry_key": None if entry.retry_key is None else _DRAWN,
        "receipt": entry.receipt,
    }
