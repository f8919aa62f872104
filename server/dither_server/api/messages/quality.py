"""The quality of a collection."""

from pydantic import BaseModel, Field

from dither_server.api.messages.common import EXAMPLE_TIME
from dither_server.api.messages.queries import Query

__all__ = ["Completion", "CompletionCheck", "GatewayShare", "QualityReply", "QuestionCompletion"]


class QuestionCompletion(BaseModel):
    """A question, and how many of its tickets were answered."""

    id: str
    query: Query
    tickets: int
    answers: int


class CompletionCheck(BaseModel):
    """A test of whether completion depends on the question, after a number of tickets."""

    tickets: int
    p_value: float = Field(examples=[0.412])
    alpha: float = Field(description="The test raises an alarm if the p-value is at most this.", examples=[0.005])


class Completion(BaseModel):
    """How many tickets were answered."""

    tickets: int = Field(description="Tickets issued since they are counted.")
    answers: int
    questions: list[QuestionCompletion] = Field(description="In the order of what they ask about.")
    looks: list[CompletionCheck] = Field(
        description="Tests on tickets issued at least an hour ago, complete if answered within an hour."
    )
    alarm: bool


class GatewayShare(BaseModel):
    """The tickets and answers that came through one gateway."""

    id: str = Field(description="The id of its token.")
    name: str
    tickets: int
    answers: int
    share: float = Field(description="Its share of all answers that came through gateways.")


class QualityReply(BaseModel):
    """The quality of a collection. A process that dies loses up to a second of these counts."""

    refused: dict[str, int] = Field(
        description="Refused answers by cause, the name of a problem's type.", examples=[{"ticket-expired": 12}]
    )
    completion: Completion
    gateways: list[GatewayShare] = Field(description="Largest first.")
    warnings: list[str] = Field(description="Sentences for the analyst.")
    updated_at: str = Field(examples=[EXAMPLE_TIME])
