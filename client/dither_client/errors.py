"""Everything that `dither_client` raises on purpose.

    DitherError
    ├── InvalidEpsilon        ε is not a positive decimal or rational
    ├── InvalidValue          the respondent's value is not a number that can be asked about
    ├── InvalidGroup          the group is none of the collection's, or is missing
    ├── InvalidQuery          the query is malformed, not ordered, too fine
    ├── InvalidAddress        a server's URL, a collection's id or a token that cannot be used
    ├── InvalidTable          a table in a file that cannot be read or written as asked
    ├── LedgerError
    │   ├── OverCap           answering would exceed a cap of the ledger
    │   ├── AlreadyAnswered   the collection already has this respondent's answer
    │   ├── NotYourTurn       the respondent answers in other periods of the collection
    │   └── AnswerExpired     a stored answer came too late for its collection
    └── ServerError
        ├── Unreachable       no response after every retry
        ├── Problem           the server refused, with an RFC 9457 problem document
        └── BadResponse       the response does not follow the protocol

No message ever holds a respondent's value. Errors about bad input are also `ValueError`s.
"""

from collections.abc import Sequence

__all__ = [
    "AlreadyAnswered",
    "AnswerExpired",
    "BadResponse",
    "DitherError",
    "InvalidAddress",
    "InvalidEpsilon",
    "InvalidGroup",
    "InvalidQuery",
    "InvalidTable",
    "InvalidValue",
    "LedgerError",
    "NotYourTurn",
    "OverCap",
    "Problem",
    "ServerError",
    "Unreachable",
]


class DitherError(Exception):
    """Base of every error of the client."""


class InvalidEpsilon(DitherError, ValueError):
    """ε is not a positive decimal or rational."""


class InvalidValue(DitherError, ValueError):
    """The respondent's value is not one that can be asked about, or not within bounds; the text never repeats it."""


class InvalidGroup(DitherError, ValueError):
    """The respondent's public group is none of the collection's, or is missing; the text never repeats it."""


class InvalidQuery(DitherError, ValueError):
    """A query that an honest server would not send: malformed, not finite, not ordered or too fine."""


class InvalidAddress(DitherError, ValueError):
    """A server's URL, a collection's id or a token that cannot be used; the text never repeats it."""


class InvalidTable(DitherError, ValueError):
    """A table in a file that cannot be read or written as asked."""


class LedgerError(DitherError):
    """The ledger cannot be used, or refuses what it was asked to do."""


class OverCap(LedgerError):
    """Answering would take the privacy spent over a cap."""


class AlreadyAnswered(LedgerError):
    """This respondent has already answered this collection.

    `receipt` is the receipt of that answer, or None if the ledger does not hold it.
    """

    def __init__(self, message: str, receipt: str | None = None) -> None:
        super().__init__(message)
        self.receipt = receipt


class NotYourTurn(LedgerError):
    """The respondent of a panel answers in other periods than this one: nothing was drawn, sent or spent.

    `next_turn` is the label of the next period in which it answers, such as `2026-W07`, or None if there is none left.
    """

    def __init__(self, message: str, next_turn: str | None) -> None:
        super().__init__(message)
        self.next_turn = next_turn


class AnswerExpired(LedgerError):
    """A stored answer came too late: its ticket expired or its collection closed.

    No new answer is drawn, and the charge stands.
    """


class ServerError(DitherError):
    """The server could not be reached, refused, or did not follow the protocol."""


class Unreachable(ServerError):
    """No response after every retry."""


class BadResponse(ServerError):
    """A response that does not follow the protocol."""


class Problem(ServerError):
    """The server's refusal, an RFC 9457 problem document.

    `status` is the HTTP status and `type` the URI that names the cause. `fields` are the names that there are, where
    the request had another; empty where that is not the cause.
    """

    def __init__(self, status: int, type: str, detail: str, fields: Sequence[str] = ()) -> None:
        super().__init__(detail)
        self.status = status
        self.type = type
        self.fields = tuple(fields)

    @property
    def name(self) -> str:
        """The cause alone: `ticket-expired` for the type `urn:dither:ticket-expired`."""
        return self.type.removeprefix("urn:dither:")
