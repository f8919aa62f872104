"""The errors that the server raises on purpose.

    Refusal
    ├── MalformedJson         the body is not JSON
    ├── InvalidBody           the body is JSON of the wrong shape
    │   ├── InvalidAnswer     the ticket's query has no such answer
    │   └── InvalidGroup      the group is not one of the collection's, or is missing
    ├── AddressTooLong        the address is longer than any that there is
    ├── HeadTooLarge          the request has too many or too long headers
    ├── BodyTooLarge          the body is longer than the call allows
    ├── BodyTooSlow           the body took longer to arrive than the call allows
    ├── Unauthorized          the call needs a valid token and got none
    ├── Forbidden             the token is valid, but its role or its collections do not cover the call
    ├── InvitationRefused
    │   ├── InvitationInvalid the invitation is missing, or its code was never created
    │   └── InvitationUsed    the code was used with another retry key
    ├── NotRelayed            the request inside is none that goes through a relay
    ├── RelayKeyUnknown       no key of the server opens the encapsulated request
    ├── NotFound              no such collection, token or page
    ├── MethodNotAllowed      the path exists, the method does not
    ├── TicketRefused
    │   ├── TicketInvalid     the ticket is forged, damaged, or signed with another secret
    │   ├── TicketForeign     the ticket was issued for another collection
    │   └── TicketExpired     the ticket is more than 24 hours old
    ├── AlreadyAnswered       the ticket has been used
    ├── AlreadyShared         the institution has shared other counts
    ├── CollectionRefused
    │   ├── CollectionNotOpen its `opens_at` is still to come
    │   ├── CollectionPaused  it issues no tickets now; earlier tickets can still be answered
    │   ├── CollectionClosed  it is closed permanently
    │   ├── CollectionFull    it has `max_answers` answers
    │   ├── CollectionDeleted it was deleted: soon nothing of it is left, or nothing is
    │   ├── NotDeleted        it must be deleted first, before it is removed for good
    │   ├── NoMemberCounts    it has no `member_cuts`
    │   └── NotByInvitation   its admission is not `invite`
    └── TryLater
        ├── Overloaded        too many answers wait to be written, connections are open, or long reads are under way
        ├── TooManyTickets    the address or the token has reached its limit of tickets
        ├── TooManyStreams    the address, or all addresses together, have reached the limit of event streams
        └── Unavailable       the database cannot be used now, or the server is stopping
    StartRefused              the server cannot start as it is configured

Their texts say what is allowed and never repeat what a request contained. `http/problems.py` maps them to HTTP.
"""

from collections.abc import Iterable

__all__ = [
    "AddressTooLong",
    "AlreadyAnswered",
    "AlreadyShared",
    "BodyTooLarge",
    "BodyTooSlow",
    "CollectionClosed",
    "CollectionDeleted",
    "CollectionFull",
    "CollectionNotOpen",
    "CollectionPaused",
    "CollectionRefused",
    "Forbidden",
    "HeadTooLarge",
    "InvalidAnswer",
    "InvalidBody",
    "InvalidGroup",
    "InvitationInvalid",
    "InvitationRefused",
    "InvitationUsed",
    "MalformedJson",
    "MethodNotAllowed",
    "NoMemberCounts",
    "NotByInvitation",
    "NotDeleted",
    "NotFound",
    "NotRelayed",
    "Overloaded",
    "Refusal",
    "RelayKeyUnknown",
    "StartRefused",
    "TicketExpired",
    "TicketForeign",
    "TicketInvalid",
    "TicketRefused",
    "TooManyStreams",
    "TooManyTickets",
    "TryLater",
    "Unauthorized",
    "Unavailable",
]


class Refusal(Exception):
    """Base of every reason for refusing a request; its text is shown to the caller."""

    default = "The request was refused."

    def __init__(self, detail: str | None = None) -> None:
        super().__init__(detail or self.default)


class MalformedJson(Refusal):
    """The body is not strict JSON: it repeats a name, or has NaN, Infinity or a number beyond a float's range."""

    default = "The body must be JSON in UTF-8, with finite numbers, no repeated name in an object, and limited nesting."


class InvalidBody(Refusal):
    """A field or a parameter is missing, unknown, or has a value that is not allowed."""

    default = "The body does not have the shape that this call requires."

    def __init__(self, detail: str | None = None, fields: Iterable[str] = ()) -> None:
        super().__init__(detail)
        self.fields = tuple(fields)
        """Every field that there is, where the body has another: whoever sent it can tell which."""


class InvalidAnswer(InvalidBody):
    """The answer is not one of the possible answers to the ticket's query."""

    default = "The answer must be one of the answers to the ticket's query."


class InvalidGroup(InvalidBody):
    """The respondent's group is missing, or is none of the collection's groups."""

    default = "The collection has no groups: leave group out."


class AddressTooLong(Refusal):
    """The address is longer than any that there is."""


class HeadTooLarge(Refusal):
    """The request has too many headers or cookies, or too long ones."""


class BodyTooLarge(Refusal):
    """The body is longer than the call allows."""


class BodyTooSlow(Refusal):
    """The body took longer to arrive than the call allows."""


class Unauthorized(Refusal):
    """The call needs a valid token and got none."""

    default = "This call needs a valid token: send the header Authorization: Bearer TOKEN."


class Forbidden(Refusal):
    """The token is valid, but its role or its collections do not allow this call."""

    default = "The token's role does not allow this call."


class InvitationRefused(Refusal):
    """The invitation cannot be used."""


class InvitationInvalid(InvitationRefused):
    """The collection requires an invitation, and the request has none that was created for it."""

    default = "This collection requires an invitation: send the code exactly as you were given it."


class InvitationUsed(InvitationRefused):
    """The code was used with another retry key."""

    default = "The invitation has been used: only the retry key that it was used with gets its ticket again."


class NotRelayed(Refusal):
    """The request inside an encapsulated one is not a respondent's, or says who asks."""

    default = (
        "Through a relay there are the terms of a collection, tickets, and answers one by one: send others directly."
    )


class RelayKeyUnknown(Refusal):
    """No key of the server opens the encapsulated request: it is damaged, or for a key that is not in use."""

    default = "Fetch the key configurations again."


class NotFound(Refusal):
    """Nothing exists at this address."""

    default = "There is nothing at this address."


class MethodNotAllowed(Refusal):
    """The address exists, but does not accept this method."""

    default = "This address does not accept this method."


class TicketRefused(Refusal):
    """The ticket cannot be used."""


class TicketInvalid(TicketRefused):
    """The ticket was not issued by this server, or was changed."""

    default = "This server did not issue the ticket, or the ticket was changed: ask for a new one."


class TicketForeign(TicketRefused):
    """The ticket belongs to another collection."""

    default = "The ticket is for another collection: send the answer to the collection that issued it."


class TicketExpired(TicketRefused):
    """The ticket's 24 hours are over, and no answer to it is stored."""

    default = "The ticket has expired: no answer to it is accepted any more."


class AlreadyAnswered(Refusal):
    """The ticket has been used. The error does not say with which answer, or a holder of the ticket could guess it."""

    default = "The ticket has been used: only the same answer with the same retry key gets its receipt again."


class AlreadyShared(Refusal):
    """The institution has already shared other counts of its members."""

    default = "This institution has already shared other counts of its members, and an institution shares only once."


class CollectionRefused(Refusal):
    """The collection does not accept this request now."""


class CollectionNotOpen(CollectionRefused):
    """The collection has not opened yet."""

    default = "The collection has not opened yet: try again after its opens_at."


class CollectionPaused(CollectionRefused):
    """The collection is paused."""

    default = "The collection is paused and issues no tickets: try again later."


class CollectionClosed(CollectionRefused):
    """The collection is closed permanently."""

    default = "The collection is closed: it accepts no more answers."


class CollectionFull(CollectionRefused):
    """The collection has all the answers it asked for."""

    default = "The collection has all the answers it asked for."


class CollectionDeleted(CollectionRefused):
    """The collection was deleted."""

    default = "The collection was deleted: it accepts no answers, and shows nothing."


class NotDeleted(CollectionRefused):
    """The collection was not deleted."""

    default = "The collection is not deleted: delete it first, then remove it for good."


class NoMemberCounts(CollectionRefused):
    """The collection has no `member_cuts`."""

    default = "The collection accepts no counts from institutions: it has no member_cuts."


class NotByInvitation(CollectionRefused):
    """The collection's admission is not `invite`."""

    default = "This collection has no invitations: its admission is not invite."


class TryLater(Refusal):
    """The request is valid, but the server cannot handle it now; the same bytes may be sent again."""

    retry_after = 1
    """Seconds to wait before trying again."""


class Overloaded(TryLater):
    """Too many answers wait to be written, too many connections are open, or too many long reads are under way."""

    default = "The server is busy and stored nothing: send the same bytes again later."


class TooManyTickets(TryLater):
    """The caller's address or token has reached its limit of tickets."""

    default = "Too many tickets were requested: ask again later."

    def __init__(self, seconds: int = 1) -> None:
        super().__init__()
        self.retry_after = seconds


class TooManyStreams(TryLater):
    """The caller's address, or all addresses together, have reached the limit of open event streams."""

    default = "There are too many open event streams: close one, or poll for the posterior instead."
    retry_after = 15


class Unavailable(TryLater):
    """The database cannot be used now, the collection's estimator is not ready, or the server is stopping."""

    default = "The server cannot reach its database now: send the same bytes again later."
    retry_after = 2


class StartRefused(Exception):
    """The server cannot start as it is configured; the text is one sentence that says how to fix it."""
