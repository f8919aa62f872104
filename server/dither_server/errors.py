"""Everything that the server refuses on purpose.

    Refusal
    ├── MalformedJson         the body is not JSON
    ├── InvalidBody           the body is JSON of the wrong shape
    │   └── InvalidAnswer     the answer is not one of the ticket's query
    ├── AddressTooLong        the address is longer than any that there is
    ├── HeadTooLarge          the request has too many or too long headers
    ├── BodyTooLarge          the body is longer than the call allows
    ├── BodyTooSlow           the body took longer than the call allows
    ├── Unauthorized          no valid token where one is needed
    ├── Forbidden             a valid token of a role, or for collections, that may not do this
    ├── InvitationRefused
    │   ├── InvitationInvalid none where one is needed, or a code that was never made
    │   └── InvitationUsed    the code was used with another retry key
    ├── NotFound              no such collection, token or page
    ├── MethodNotAllowed      the path exists, the method does not
    ├── TicketRefused
    │   ├── TicketInvalid     forged, garbled, or signed with another secret
    │   ├── TicketForeign     issued for another collection
    │   └── TicketExpired     its life is over
    ├── AlreadyAnswered       the ticket has been used
    ├── AlreadyShared         the institution has shared its counts
    ├── CollectionRefused
    │   ├── CollectionNotOpen before `opens_at`
    │   ├── CollectionPaused  takes answers to tickets issued before, issues none
    │   ├── CollectionClosed  for good
    │   ├── NotByInvitation   takes, and has, no invitations
    │   ├── NoMemberCounts    does not ask institutions
    │   └── CollectionFull    has `max_answers` answers
    └── TryLater
        ├── Overloaded        too much is waiting to be written
        ├── TooManyTickets    the address, or the token, has had its share for now
        ├── TooManyStreams    the address, or all together, have as many event streams as there may be
        └── Unavailable       the database cannot be used now, or the server is stopping
    StartRefused              the server cannot start as it is configured

Texts say what is allowed and never repeat what a request contained. `problems.py` maps them to HTTP.
"""

__all__ = [
    "AddressTooLong",
    "AlreadyAnswered",
    "AlreadyShared",
    "BodyTooLarge",
    "BodyTooSlow",
    "CollectionClosed",
    "CollectionFull",
    "CollectionNotOpen",
    "CollectionPaused",
    "CollectionRefused",
    "Forbidden",
    "HeadTooLarge",
    "InvalidAnswer",
    "InvalidBody",
    "InvitationInvalid",
    "InvitationRefused",
    "InvitationUsed",
    "MalformedJson",
    "MethodNotAllowed",
    "NoMemberCounts",
    "NotByInvitation",
    "NotFound",
    "Overloaded",
    "Refusal",
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
    """Base of everything that a request can be refused with; its text is shown to whoever asked."""

    default = "The request was refused."

    def __init__(self, detail: str | None = None) -> None:
        super().__init__(detail or self.default)


class MalformedJson(Refusal):
    """The body is not JSON, has a name twice, or a number that JSON has not (NaN, Infinity) or no float can hold."""

    default = "The body must be JSON in UTF-8, with finite numbers, no name twice in an object, and no endless nesting."


class InvalidBody(Refusal):
    """A field or a parameter is missing, not known, or not what it may be."""

    default = "The body does not have the shape that this call asks for."


class InvalidAnswer(InvalidBody):
    """What is sent is not one of the answers to what was asked."""

    default = "The answer must be one of the answers to the ticket's query."


class AddressTooLong(Refusal):
    """The address is longer than any that there is."""


class HeadTooLarge(Refusal):
    """The request has too many headers or cookies, or too long ones."""


class BodyTooLarge(Refusal):
    """The body is longer than the call allows."""


class BodyTooSlow(Refusal):
    """The body took longer to arrive than the call allows."""


class Unauthorized(Refusal):
    """No valid token came with a call that needs one."""

    default = "This call needs a valid token: send the header Authorization: Bearer TOKEN."


class Forbidden(Refusal):
    """The token is valid, and its role may not do this, or not in this collection."""

    default = "The token's role may not do this."


class InvitationRefused(Refusal):
    """The invitation cannot be used."""


class InvitationInvalid(InvitationRefused):
    """The collection asks for an invitation, and the request has none that was made for it."""

    default = "This collection asks for an invitation: send the code that you were given, letter by letter."


class InvitationUsed(InvitationRefused):
    """The code was used with another retry key."""

    default = "The invitation has been used: only whoever used it gets its ticket again, with the same retry key."


class NotFound(Refusal):
    """What the address names does not exist."""

    default = "There is nothing at this address."


class MethodNotAllowed(Refusal):
    """The address exists and does not take this method."""

    default = "This address does not take this method."


class TicketRefused(Refusal):
    """The ticket cannot be used."""


class TicketInvalid(TicketRefused):
    """The ticket was not made by this server, or was changed."""

    default = "The ticket is not one of this server's, or has been changed: ask for a new one."


class TicketForeign(TicketRefused):
    """The ticket belongs to another collection."""

    default = "The ticket is for another collection: send the answer to the collection that issued it."


class TicketExpired(TicketRefused):
    """The ticket's 24 hours are over, and no answer was stored for it."""

    default = "The ticket has expired and its answer was not counted."


class AlreadyAnswered(Refusal):
    """The ticket counts already. With which answer is not said: whoever has the ticket could guess."""

    default = "The ticket has been used: only the same answer with the same retry key gets its receipt again."


class AlreadyShared(Refusal):
    """The institution has shared other counts of its members."""

    default = "This institution has shared other counts of its members: it shares once, and those count."


class CollectionRefused(Refusal):
    """The collection does not take this now."""


class CollectionNotOpen(CollectionRefused):
    """The collection's opening time has not come."""

    default = "The collection has not opened yet: try again after its opens_at."


class CollectionPaused(CollectionRefused):
    """The collection is paused."""

    default = "The collection is paused and issues no tickets: try again later."


class CollectionClosed(CollectionRefused):
    """The collection is closed for good."""

    default = "The collection is closed: it takes no more answers."


class CollectionFull(CollectionRefused):
    """The collection has all the answers it asked for."""

    default = "The collection has all the answers it asked for."


class NoMemberCounts(CollectionRefused):
    """The collection has no `member_cuts`."""

    default = "The collection does not ask institutions: it has no member_cuts."


class NotByInvitation(CollectionRefused):
    """The collection's admission is not `invite`."""

    default = "This collection takes no invitations: its admission is not invite."


class TryLater(Refusal):
    """Nothing is wrong with the request: the same bytes may be sent again."""

    retry_after = 1
    """Seconds after which trying again makes sense."""


class Overloaded(TryLater):
    """Too much is waiting to be written, or there are too many connections."""

    default = "The server is busy and stored nothing: send the same bytes again later."


class TooManyTickets(TryLater):
    """The address or the token that asks has had as many tickets as the operator allows for now."""

    default = "That is too many tickets at once: ask again later."

    def __init__(self, detail: str | None = None, seconds: int = 1) -> None:
        super().__init__(detail)
        self.retry_after = seconds


class TooManyStreams(TryLater):
    """The address that asks, or all together, have as many event streams open as there may be."""

    default = "There are too many event streams: close one, or ask for the posterior now and then instead."
    retry_after = 15


class Unavailable(TryLater):
    """The database cannot be used now, the collection's estimator is not ready, or the server is stopping."""

    default = "The server cannot reach its database at present: send the same bytes again later."
    retry_after = 2


class StartRefused(Exception):
    """The server cannot start as it is configured; the text is one sentence that names the fix."""
