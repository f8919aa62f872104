"""Tickets, answers and receipts."""

from typing import Annotated, ClassVar

from pydantic import BaseModel, FailFast, Field

from dither_server.api.messages.common import EXAMPLE_RETRY_KEY, EXAMPLE_TIME, MAX_COUNT
from dither_server.api.messages.queries import EXAMPLE_QUERY, Query
from dither_server.http.bodies import Body
from dither_server.tickets.office import MAX_TICKET

__all__ = [
    "BatchBody",
    "BatchReply",
    "BatchReplyItem",
    "ReceiptReply",
    "ResponseBody",
    "TicketReply",
    "TicketsBody",
    "TicketsReply",
    "batch_marks",
]

_TICKET = "q0AHvVvxzmWCd2XKpE2bTQAAAAFqz…"
_INVITATION = "w7kq2mzt9hxc4vbn8rdy3jpaef"
_RECEIPT = "4f2a9c0d7be15d3386ca01f7e9b24c68"


_MARKS_OF_ANSWER = 7
"""Commas, colons and brackets around an answer in a batch; genuine tickets contain none."""
_MARKS_TO_SPARE = 200
"""Spare marks, so that a body with a small error is parsed and the error located."""


def batch_marks(count: int) -> int:
    """How many commas, colons and brackets a batch of `count` answers may have."""
    return count * _MARKS_OF_ANSWER + _MARKS_TO_SPARE


RetryKey = Annotated[str, Field(min_length=16, max_length=128, pattern=r"^[!-~]*$")]


class TicketsBody(Body):
    """A request for tickets; without `count`, the reply is a single ticket in a shape of its own."""

    count: int | None = Field(default=None, ge=1, le=MAX_COUNT, examples=[100])
    epsilon: int | float | str | None = Field(
        default=None,
        description="One of the collection's `epsilon_choices`, chosen independently of the value; by default its "
        "`epsilon`. A string is read as a decimal.",
        examples=[0.5],
    )
    invitation: str | None = Field(
        default=None,
        max_length=128,
        pattern=r"^[!-~]*$",
        description="The code, if `admission` is `invite`. A code gets one ticket.",
        examples=[_INVITATION],
    )
    group: str | None = Field(
        default=None,
        description="The respondent's public group, where the terms have `groups`: one of their labels, without noise. "
        "It is signed into the tickets.",
        examples=["north"],
    )
    retry_key: RetryKey | None = Field(
        default=None,
        description="With an invitation: a random text that the respondent keeps and sends with every request. It is "
        "needed to get the same ticket again.",
        examples=["k7Qe0nZ3uLd9sWfB2yHx6C"],
    )


class TicketReply(BaseModel):
    """The right to answer one question once."""

    ticket: str = Field(examples=[_TICKET])
    query: Query = Field(examples=[EXAMPLE_QUERY])
    expires_at: str = Field(examples=[EXAMPLE_TIME])


class TicketsReply(BaseModel):
    """Many tickets, each with its own question."""

    tickets: list[TicketReply]


class ResponseBody(Body):
    """A private answer, drawn on the respondent's own device."""

    most_marks: ClassVar[int] = batch_marks(1)

    ticket: str = Field(max_length=MAX_TICKET, description="As it was issued.", examples=[_TICKET])
    answer: int = Field(ge=0, le=1024, description="One of the answers to the ticket's query.", examples=[1])
    retry_key: RetryKey | None = Field(
        default=None,
        description="A random text that the respondent has drawn for this answer. Only the same answer with the same "
        "key gets its receipt again. Without a key, anybody else who has the ticket can find the answer by trying.",
        examples=[EXAMPLE_RETRY_KEY],
    )


class ReceiptReply(BaseModel):
    """The answer is stored permanently; the same ticket, answer and `retry_key` always get the same receipt."""

    receipt: str = Field(examples=[_RECEIPT])


class BatchBody(Body):
    """Many answers, each stored or refused by itself."""

    most_marks: ClassVar[int] = batch_marks(MAX_COUNT)

    responses: Annotated[list[ResponseBody], FailFast()] = Field(max_length=MAX_COUNT)


class BatchReplyItem(BaseModel):
    """The outcome of one answer: a receipt, or a problem's type and detail."""

    status: int = Field(examples=[201])
    receipt: str | None = Field(default=None, examples=[_RECEIPT])
    type: str | None = None
    detail: str | None = None


class BatchReply(BaseModel):
    """The outcome of each answer, in order."""

    responses: list[BatchReplyItem]
