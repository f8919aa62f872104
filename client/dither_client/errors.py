"""Everything that `dither_client` raises on purpose.

    DitherError
    ├── InvalidEpsilon        ε is not a positive decimal or rational
    ├── InvalidValue          the respondent's value is not a number that can be asked about
    ├── InvalidQuery          the query is malformed, not ordered, too fine
    ├── LedgerError
    │   ├── OverCap           answering would exceed a cap of the ledger
    │   ├── AlreadyAnswered   the collection already has this respondent's answer
    │   └── AnswerExpired     a stored answer could not be sent before its ticket expired
    └── ServerError
        ├── Unreachable       no response after every retry
        ├── Problem           the server refused, with an RFC 9457 problem document
        └── BadResponse       the response does not follow the protocol

No text of these ever holds a respondent's value.
"""

__all__ = [
    "AlreadyAnswered",
    "AnswerExpired",
    "BadResponse",
    "DitherError",
    "InvalidEpsilon",
    "InvalidQuery",
    "InvalidValue",
    "LedgerError",
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
    """The respondent's value is not a number that can be asked about; the text never repeats it."""


class InvalidQuery(DitherError, ValueError):
    """A query that an honest server would not send: malformed, not finite, not ordered or too fine."""


class LedgerError(DitherError):
    """The ledger refuses."""


class OverCap(LedgerError):
    """Answering would take the privacy spent over a cap."""


class AlreadyAnswered(LedgerError):
    """This respondent has already answered this collection."""


class AnswerExpired(LedgerError):
    """A stored answer was not sent before its ticket expired; it is not drawn again and the charge stands."""


class ServerError(DitherError):
    """The server could not be reached, refused, or did not follow the protocol."""


class Unreachable(ServerError):
    """No response after every retry."""


class BadResponse(ServerError):
    """A response that does not follow the protocol."""


class Problem(ServerError):
    """The server's refusal, an RFC 9457 problem document.

    `type` is the stable name of the cause, `status` the HTTP status.
    """

    def __init__(self, status: int, type: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.type = type
