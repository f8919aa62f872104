"""The protocol between an institution and a server, without I/O: flows like those of `respondent`."""

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
from dither_client.protocol.flow import Flow, Retry, Send, Sleep, exchange
from dither_client.protocol.messages import Shared, parse_problem, parse_receipt
from dither_client.protocol.respondent import JSON_HEADERS, check_told, price_flow
from dither_client.strict_json import decode_json

__all__ = ["send_share_flow", "share_flow"]

_BY_TOKEN = "token"
"""Stored in place of a ticket: an institution is identified by its token, which the ledger never holds."""
_NO_TOKEN_MESSAGE = "an institution needs its token: give the client a gateway's token"


@forgetful_flow
def share_flow(
    server: str,
    collection: str,
    values: Sequence[float],
    ledger: LedgerProtocol,
    token: str | None,
    retry: Retry,
    max_epsilon: Fraction | None = None,
    settle: float = 0.0,
) -> Flow[Shared]:
    """Shares noisy counts of the `values` of an institution's members, from the terms to the receipt.

    The order is that of a respondent's answer: values are checked before anything else, ε is charged before noise is
    drawn, and the counts are stored before they are sent. An interrupted flow continues from the ledger's state and
    sends the same bytes. Raises `InvalidValue`, `InvalidAddress`, `InvalidQuery`, `LedgerError` and `ServerError`.
    """
    for value in values:
        check_value(value)
    if token is None:
        raise InvalidAddress(_NO_TOKEN_MESSAGE)
    entry = find_entry(ledger, server, collection)
    if entry is None:
        price, terms = yield from price_flow(server, collection, ledger, retry)
        if terms.member_cuts is None:
            raise InvalidQuery("this collection takes answers only from single respondents: it has no member_cuts")
        question = MemberCounts(terms.member_cuts, len(values), terms.epsilon, terms.transform)
        check_told(question.epsilon, max_epsilon)
        for value in values:
            price.bounds.check(value)
        entry = ledger.charge(server, collection, _BY_TOKEN, question)
    if not isinstance(entry.query, MemberCounts):
        raise LedgerError("the ledger has a single respondent's answer to this collection: use another ledger")
    if entry.state == "charged":
        counts = entry.query.count(values)
        began = time.perf_counter()
        drawn = entry.query.randomise(counts)
        del values, counts
        if settle > 0:  # the time that drawing takes would reveal something about the noise
            yield Sleep(max(0.0, settle - (time.perf_counter() - began)))
        entry = ledger.draw(entry.server, collection, drawn)
    return (yield from send_share_flow(entry, ledger, token, retry))


def send_share_flow(entry: Entry, ledger: LedgerProtocol, token: str | None, retry: Retry) -> Flow[Shared]:
    """Sends the stored counts of a drawn entry, always as the same bytes. Raises `LedgerError` and `ServerError`."""
    question, counts = entry.query, entry.answer
    if entry.state == "sent":
        raise AlreadyAnswered(
            "this collection already has your members' counts and takes them only once", entry.receipt
        )
    if entry.state == "expired":
        raise AnswerExpired("the counts came too late; no new counts are drawn, and their charge stands")
    if not isinstance(question, MemberCounts) or not isinstance(counts, tuple):
        raise LedgerError("the ledger has no counts to send to this collection")
    if token is None:
        raise InvalidAddress(_NO_TOKEN_MESSAGE)
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
        raise AnswerExpired(f"the counts came too late; no new counts are drawn, and their charge stands: {problem}")
    if problem.name == "already-shared":
        ledger.mark_expired(entry.server, entry.collection)
        raise AlreadyAnswered("the server already has other counts from this institution")
    raise problem
