"""The protocol between a respondent and a server, as flows.

The respondent's value enters `answer_flow` and never leaves it: a flow yields only answers drawn from the query's
channel.
"""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dither_client.addresses import collection_path
from dither_client.errors import (
    AlreadyAnswered,
    AnswerExpired,
    InvalidAddress,
    LedgerError,
    NotYourTurn,
    OverCap,
    Problem,
)
from dither_client.forgetting import forgetful_flow
from dither_client.ledger.protocol import Entry, LedgerProtocol, find_entry
from dither_client.mechanisms.epsilon import epsilon_text, json_epsilon
from dither_client.mechanisms.groups import Groups
from dither_client.mechanisms.member_counts import MemberCounts
from dither_client.mechanisms.panel import NO_PERIOD, Panel
from dither_client.mechanisms.price import Price, Value
from dither_client.mechanisms.query import check_value
from dither_client.mechanisms.sampling import RandBelow, system_randbelow
from dither_client.protocol.flow import USUAL_RETRY, Flow, Retry, Send, Sleep, exchange
from dither_client.protocol.messages import (
    Receipt,
    Terms,
    Ticket,
    parse_problem,
    parse_receipt,
    parse_terms,
    parse_ticket,
)
from dither_client.strict_json import decode_json

__all__ = [
    "JSON_HEADERS",
    "Admission",
    "Clock",
    "answer_flow",
    "check_secret",
    "check_told",
    "check_turn",
    "join_flow",
    "price_flow",
    "send_flow",
    "terms_flow",
]

_FINAL_REFUSALS = ("ticket-expired", "collection-closed", "collection-full")
"""Problems after which no later attempt to send the answer can succeed."""

SETTLE_CELLS = 8
"""The largest number of cells for which an answer waits no longer than `settle` seconds.

A question with more cells waits in proportion longer, because drawing by rejection takes longer.
"""

_SECRET = re.compile(r"[!-~]{1,128}")

JSON_HEADERS: Mapping[str, str] = {"content-type": "application/json", "accept": "application/json"}


@dataclass(frozen=True, slots=True)
class Admission:
    """What admits a respondent: an invitation's code, or a gateway's token. Raises `InvalidAddress`."""

    invitation: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_secret("an invitation", self.invitation)
        check_secret("a token", self.token)


def check_secret(name: str, secret: str | None) -> str | None:
    """Returns `secret` unless a header could not carry it. Raises `InvalidAddress`, which repeats only `name`."""
    if secret is not None and not (isinstance(secret, str) and _SECRET.fullmatch(secret)):
        raise InvalidAddress(f"{name} may contain only printable ASCII characters, no blanks, at most 128")
    return secret


@dataclass(frozen=True, slots=True)
class _Asking:
    """What a respondent says to get a ticket, and the ε that they were told."""

    epsilon: Fraction | None
    group: str | None
    admission: Admission
    max_epsilon: Fraction | None


Clock = Callable[[], float]
"""Returns the seconds since 1970."""


def terms_flow(collection: str, retry: Retry = USUAL_RETRY) -> Flow[Terms]:
    """Fetches a collection's terms. Raises `InvalidAddress` and `ServerError`."""
    response = yield from exchange(Send("GET", collection_path(collection), b"", JSON_HEADERS), retry)
    if response.status != 200:
        raise parse_problem(response.status, response.body)
    return parse_terms(decode_json(response.body))


def price_flow(
    server: str, collection: str, ledger: LedgerProtocol, retry: Retry = USUAL_RETRY, terms: Terms | None = None
) -> Flow[tuple[Price, Terms]]:
    """Returns the price that the ledger keeps from the first terms it saw, and the terms, fetched unless given.

    The terms have the bounds and the panel of that price, so that a server cannot hold a value to others later. Raises
    `BadResponse` if the server has raised its price, `InvalidAddress`, `LedgerError` and `ServerError`.
    """
    if terms is None:
        terms = yield from terms_flow(collection, retry)
    price = ledger.keep_price(server, collection, terms.price)
    price.check_kept(terms.price)
    return price, replace(terms, minimum=price.bounds.minimum, maximum=price.bounds.maximum, panel=price.panel)


def check_told(price: Fraction, told: Fraction | None) -> None:
    """Raises `OverCap` if the price exceeds what the respondent was told."""
    if told is not None and price > told:
        costs, most = epsilon_text(price), epsilon_text(told)
        raise OverCap(f"answering this collection costs ε = {costs}, more than the ε = {most} that you were told")


def join_flow(
    server: str,
    collection: str,
    ledger: LedgerProtocol,
    retry: Retry = USUAL_RETRY,
    randbelow: RandBelow = system_randbelow,
    max_epsilon: Fraction | None = None,
    clock: Clock = time.time,
    terms: Terms | None = None,
) -> Flow[tuple[int, ...]]:
    """Joins the collection's panel, unless that is done. Returns the periods in which to answer; none without a panel.

    The ε of all answers is charged in one transaction with the periods, which are drawn without regard to any value.
    Only an open collection is joined. Raises `InvalidAddress`, `LedgerError` and `ServerError`.
    """
    if turns := ledger.turns(server, collection):
        return turns
    price, terms = yield from price_flow(server, collection, ledger, retry, terms)
    if price.panel is None:
        return ()
    check_told(price.in_all(None), max_epsilon)
    if terms.state != "open":
        raise Problem(409, f"urn:dither:collection-{terms.state}", f"the collection is {terms.state}")
    drawn = price.panel.draw(price.panel.number(clock()), randbelow)
    return ledger.join(server, collection, drawn, price.at(None))


def check_turn(panel: Panel, turns: Sequence[int], clock: Clock) -> int:
    """Returns the number of the period that it is. Raises `NotYourTurn` unless it is one of `turns`."""
    now = panel.number(clock())
    if now in turns:
        return now
    later = [turn for turn in turns if turn > now]
    if not later:
        raise NotYourTurn("you have had all your turns in this panel", None)
    preposition = "on" if panel.period.name == "day" else "in"
    raise NotYourTurn(
        f"this is not your turn, and nothing was sent: the next one is {preposition} {panel.written(later[0])}",
        panel.period.label(later[0]),
    )


@forgetful_flow
def answer_flow(
    server: str,
    collection: str,
    value: Value,
    ledger: LedgerProtocol,
    retry: Retry = USUAL_RETRY,
    randbelow: RandBelow = system_randbelow,
    max_epsilon: Fraction | None = None,
    epsilon: Fraction | None = None,
    admission: Admission = Admission(),
    settle: float = 0.0,
    terms: Terms | None = None,
    group: str | None = None,
    clock: Clock = time.time,
) -> Flow[Receipt]:
    """Answers a collection privately for a respondent who holds `value`, from the ticket to the receipt.

    The value is a number within the collection's bounds, the text of one of its categories, or a number for each of its
    components by their names.

    The value is checked before anything else, ε is charged before noise is drawn, and the answer is stored before it is
    sent. An interrupted flow continues from the ledger's state: a stored answer is sent unchanged and `value` is not
    used, and an entry that is already charged keeps its own ε.

    - `server`: the server's base address, by which the ledger knows it.
    - `max_epsilon`: the ε that the respondent was told; a higher price is refused.
    - `epsilon`: the respondent's choice, made without regard to `value`, where the collection offers one. It is sent
      with the request for the ticket, and a question at another ε is refused.
    - `admission`: sent with the request for the ticket and nowhere else. An invitation goes with the ledger's retry
      key, so that a lost reply does not use it up.
    - `settle`: seconds from the start of drawing to the next step, in proportion more beyond `SETTLE_CELLS` cells. The
      time that drawing takes depends on the noise, and whoever knows the answer and the noise knows the cell.
    - `terms`: limit what the question may be and may cost. If None, they are fetched before the ticket, unless the
      ledger already holds their price.
    - `group`: the label of the respondent's public group, where the terms have groups. It is sent as it is, without
      noise, with the request for the ticket.
    - `clock`: the seconds since 1970, which say whether it is the respondent's turn, where the terms have a panel. In a
      period that is not, nothing is sent, and `NotYourTurn` is raised.

    Raises `InvalidValue`, `InvalidAddress`, `InvalidEpsilon`, `InvalidGroup`, `InvalidQuery`, `LedgerError` and
    `ServerError`.
    """
    if not isinstance(value, str | Mapping):
        check_value(value)
    entry = find_entry(ledger, server, collection)
    if entry is None:
        asking = _Asking(epsilon, group, admission, max_epsilon)
        entry = yield from _charge_flow(server, collection, value, ledger, asking, retry, randbelow, terms, clock)
    if isinstance(entry.query, MemberCounts):
        raise LedgerError("the ledger has an institution's counts for this collection: use another ledger")
    if entry.state == "charged":
        began = time.perf_counter()
        kept = ledger.price(server, collection)
        answer = entry.query.answer(check_value(value) if kept is None else kept.held(value), randbelow)
        del value
        if settle > 0:
            floor = settle * max(1.0, entry.query.n_cells / SETTLE_CELLS)
            yield Sleep(max(0.0, floor - (time.perf_counter() - began)))
        entry = ledger.draw(entry.server, collection, answer, entry.period)
    return (yield from send_flow(entry, ledger, retry))


def send_flow(entry: Entry, ledger: LedgerProtocol, retry: Retry = USUAL_RETRY) -> Flow[Receipt]:
    """Sends the stored answer of a drawn entry, always as the same bytes. Raises `LedgerError` and `ServerError`."""
    answer = entry.answer
    if entry.state == "sent":
        often = "" if entry.period == NO_PERIOD else " in each period"
        raise AlreadyAnswered(f"this collection already has your answer and takes only one{often}", entry.receipt)
    if entry.state == "expired":
        raise AnswerExpired("your answer came too late; no new answer is drawn, and its charge stands")
    if not isinstance(answer, int) or isinstance(entry.query, MemberCounts) or entry.retry_key is None:
        raise LedgerError("the ledger has no answer to send to this collection")
    body = json.dumps({"ticket": entry.ticket, "answer": answer, "retry_key": entry.retry_key}).encode()
    path = collection_path(entry.collection, "responses")
    response = yield from exchange(Send("POST", path, body, JSON_HEADERS), retry)
    if response.status in (200, 201):
        receipt = parse_receipt(decode_json(response.body))
        ledger.mark_sent(entry.server, entry.collection, receipt, entry.period)
        return Receipt(entry.collection, receipt, entry.query, answer)
    problem = parse_problem(response.status, response.body)
    if problem.name in _FINAL_REFUSALS:
        ledger.mark_expired(entry.server, entry.collection, entry.period)
        raise AnswerExpired(f"your answer came too late; no new answer is drawn, and its charge stands: {problem}")
    if problem.name == "already-answered":
        # A ledger that was restored from a copy has drawn a second answer; the one that the server has counts.
        ledger.mark_expired(entry.server, entry.collection, entry.period)
        raise AlreadyAnswered("the server already has another answer to this ticket")
    raise problem


def _charge_flow(
    server: str,
    collection: str,
    value: Value,
    ledger: LedgerProtocol,
    asking: _Asking,
    retry: Retry,
    randbelow: RandBelow,
    terms: Terms | None,
    clock: Clock,
) -> Flow[Entry]:
    """Asks for a ticket and charges its question, unless the ledger has an entry for this turn of a panel."""
    path, period = collection_path(collection, "tickets"), NO_PERIOD
    price = ledger.price(server, collection)
    if price is None or terms is not None or (asking.group is not None and price.groups is None):
        price, terms = yield from price_flow(server, collection, ledger, retry, terms)
    check_told(price.in_all(asking.epsilon), asking.max_epsilon)
    price.held(value)
    Groups.check(price.groups or (None if terms is None else terms.groups), asking.group)
    if price.panel is not None:
        turns = yield from join_flow(server, collection, ledger, retry, randbelow, asking.max_epsilon, clock, terms)
        period = check_turn(price.panel, turns, clock)
        if (entry := ledger.find(server, collection, period)) is not None:
            return entry
    key = None if asking.admission.invitation is None else ledger.retry_key(server, collection)
    ticket = yield from _ticket_flow(path, asking, key, retry)
    price.check(ticket.query, asking.epsilon)
    return ledger.charge(server, collection, ticket.ticket, ticket.query, period)


def _ticket_flow(path: str, asking: _Asking, key: str | None, retry: Retry) -> Flow[Ticket]:
    """Asks for a ticket; `key` is the retry key of an invitation. Raises `ServerError`."""
    asked: dict[str, object] = {} if asking.epsilon is None else {"epsilon": json_epsilon(asking.epsilon)}
    asked |= {} if asking.group is None else {"group": asking.group}
    if asking.admission.invitation is not None:
        asked |= {"invitation": asking.admission.invitation, "retry_key": key}
    token = asking.admission.token
    headers = JSON_HEADERS if token is None else {**JSON_HEADERS, "authorization": f"Bearer {token}"}
    response = yield from exchange(Send("POST", path, json.dumps(asked).encode(), headers), retry)
    if response.status != 201:
        raise parse_problem(response.status, response.body)
    return parse_ticket(decode_json(response.body))
