"""The protocol between an institution and a server, without any I/O of its own: a flow like those of `flow`."""

import json
import time
from collections.abc import Sequence
from fractions import Fraction

from dither_client.addresses import collection_path
from dither_client.errors import AlreadyAnswered, AnswerExpired, InvalidAddress, InvalidQuery, LedgerError
from dither_client.forgetting import forgetful_flow
from dither_client.ledger.protocol import Entry, LedgerProtocol, find_entry
from dither_client.mechanisms.member_counts import MemberCounts
from dither_client.mechanisms.query import check_value
from dither_client.mechanisms.sampling import RandBelow, system_randbelow
from dither_client.protocol.messages import Shared, parse_problem, parse_receipt
from dither_client.protocol.respondent import JSON_HEADERS, Flow, Retry, Send, Sleep, check_told, exchange, price_flow
from dither_client.strict_json import decode_json

__all__ = ["send_share_flow", "share_flow"]

_BY_TOKEN = "token"
"""In place of a ticket: the institution is known by its token, which is not stored."""
_NO_TOKEN = "an institution needs its token: give the client a gateway's token"


@forgetful_flow
def share_flow(
    server: str,
    collection: str,
    values: Sequence[float],
    ledger: LedgerProtocol,
    token: str | None,
    retry: Retry,
    max_epsilon: Fraction | None = None,
    randbelow: RandBelow = system_randbelow,
    settle: float = 0.0,
) -> Flow[Shared]:
    """An institution's noisy counts of its members' `values`, from the terms to the receipt.

    As with one respondent's answer: values are checked before anything else, ε is charged before noise is drawn, the
    counts are stored before they are sent, and whatever was interrupted goes on where the ledger says it stopped, with
    the same bytes. Raises `InvalidValue`, `InvalidAddress`, `InvalidQuery`, `LedgerError` and `ServerError`.
    """
    for value in values:
        check_value(value)
    if token is None:
        raise InvalidAddress(_NO_TOKEN)
    entry = find_entry(ledger, server, collection)
    if entry is None:
        _, terms = yield from price_flow(server, collection, ledger, retry)
        if terms.member_cuts is None:
            raise InvalidQuery("this collection takes answers of single respondents alone: it has no member_cuts")
        question = MemberCounts(terms.member_cuts, len(values), terms.epsilon, terms.transform)
        check_told(question.epsilon, max_epsilon)
        entry = ledger.charge(server, collection, _BY_TOKEN, question)
    if not isinstance(entry.query, MemberCounts):
        raise LedgerError("the ledger has a single respondent's answer to this collection: use another ledger")
    if entry.state == "charged":
        counts = entry.query.count(values, randbelow)
        began = time.perf_counter()
        drawn = entry.query.randomise(counts, randbelow)
        del values, counts
        if settle > 0:  # how long drawing takes depends on the noise
            yield Sleep(max(0.0, settle - (time.perf_counter() - began)))
        entry = ledger.draw(entry.server, collection, drawn)
    return (yield from send_share_flow(entry, ledger, token, retry))


def send_share_flow(entry: Entry, ledger: LedgerProtocol, token: str | None, retry: Retry) -> Flow[Shared]:
    """Sends the stored counts of a drawn entry: always the same bytes. Raises `LedgerError` and `ServerError`."""
    question, counts = entry.query, entry.answer
    if entry.state == "sent":
        raise AlreadyAnswered("this collection already has your members' counts, and takes them once", entry.receipt)
    if entry.state == "expired":
        raise AnswerExpired("the counts came too late; they are not drawn again and their charge stands")
    if not isinstance(question, MemberCounts) or not isinstance(counts, tuple):
        raise LedgerError("the ledger has no counts to send to this collection")
    if token is None:
        raise InvalidAddress(_NO_TOKEN)
    body = json.dumps({"size": question.size, "counts": counts}).encode()
    headers = {**JSON_HEADERS, "authorization": f"Bearer {token}"}
    path = collection_path(entry.collection, "member-counts")
    response = yield from exchange(Send("POST", path, body, headers), retry)
    if response.status in (200, 201):
        receipt = parse_receipt(decode_json(response.body))
        ledger.mark_sent(entry.server, entry.collection, receipt)
        return Shared(entry.collection, receipt, question, counts)
    problem = parse_problem(response.status, response.body)
    if problem.name == "collection-closed":
        ledger.mark_expired(entry.server, entry.collection)
        raise AnswerExpired(f"the counts came too late, they are not drawn again and their charge stands: {problem}")
    if problem.name == "already-shared":
        ledger.mark_expired(entry.server, entry.collection)
        raise AlreadyAnswered("the server already has other counts of this institution")
    raise problem
