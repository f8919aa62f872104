"""How a collection goes."""

from pydantic import BaseModel, Field

from dither_server.api.messages.common import EXAMPLE_TIME
from dither_server.api.messages.queries import Query

__all__ = ["Completion", "CompletionCheck", "GatewayShare", "QualityReply", "QuestionCompletion"]


class QuestionCompletion(BaseModel):
    """One question, and how many of its tickets were answered."""

    id: str
    query: Query
    tickets: int
    answers: int


class CompletionCheck(BaseModel):
    """A test of whether completion depends on the question, at so many tickets."""

    tickets: int
    p_value: float = Field(examples=[0.412])
    alpha: float = Field(description="An alarm if the p-value is not above this.", examples=[0.005])


class Completion(BaseModel):
    """How many tickets were answered."""

    tickets: int = Field(description="Issued since this is counted.")
    answers: int
    questions: list[QuestionCompletion] = Field(description="In the order of what they ask about.")
    looks: list[CompletionCheck] = Field(
        description="At tickets issued at least an hour ago; completed is what was answered within an hour."
    )
    alarm: bool


class GatewayShare(BaseModel):
    """What came through one gateway."""

    id: str = Field(description="Of its token.")
    name: str
    tickets: int
    answers: int
    share: float = Field(description="Of all answers that came through gateways.")


class QualityReply(BaseModel):
    """How well a collection goes. What a process had not written when it died, a second's worth, is missing."""

    refused: dict[str, int] = Field(
        description="Refused answers by cause, the name of a problem's type.", examples=[{"ticket-expired": 12}]
    )
    completion: Completion
    gateways: list[GatewayShare] = Field(description="The largest first.")
    warnings: list[str] = Field(description="Sentences for the analyst.")
    updated_at: str = Field(examples=[EXAMPLE_TIME])
