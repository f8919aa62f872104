"""The shapes of what goes over HTTP, for validation and for OpenAPI. Collections' specifications are in `specs.py`."""

from dither_server.api.messages.answering import (
    BatchBody,
    BatchReply,
    BatchReplyItem,
    ReceiptReply,
    ResponseBody,
    TicketReply,
    TicketsBody,
    TicketsReply,
    batch_marks,
)
from dither_server.api.messages.collections import (
    InvitationsBody,
    InvitationsReply,
    InvitationsTally,
    StateBody,
    TermsList,
    TermsReply,
)
from dither_server.api.messages.common import MAX_COUNT
from dither_server.api.messages.institutions import MemberCountsBody, MemberCountsReply
from dither_server.api.messages.operating import (
    KeyList,
    KeyReply,
    StatusReply,
    TokenBody,
    TokenList,
    TokenReply,
    TokenSecretReply,
)
from dither_server.api.messages.posteriors import (
    AnswersReply,
    HistoryReply,
    ParticlesReply,
    QueriesReply,
)
from dither_server.api.messages.quality import QualityReply

__all__ = [
    "MAX_COUNT",
    "AnswersReply",
    "BatchBody",
    "BatchReply",
    "BatchReplyItem",
    "HistoryReply",
    "InvitationsBody",
    "InvitationsReply",
    "InvitationsTally",
    "KeyList",
    "KeyReply",
    "MemberCountsBody",
    "MemberCountsReply",
    "ParticlesReply",
    "QualityReply",
    "QueriesReply",
    "ReceiptReply",
    "ResponseBody",
    "StateBody",
    "StatusReply",
    "TermsList",
    "TermsReply",
    "TicketReply",
    "TicketsBody",
    "TicketsReply",
    "TokenBody",
    "TokenList",
    "TokenReply",
    "TokenSecretReply",
    "batch_marks",
]
