"""Examples of replies, for the reference. A test holds each against the shape of the call that it belongs to."""

from typing import Any

from dither_server.api.messages.common import EXAMPLE_TIME
from dither_server.api.messages.queries import EXAMPLE_QUERY

__all__ = [
    "ANSWERS",
    "HISTORY",
    "KEYS",
    "MEMBER_COUNTS",
    "PARTICLES",
    "POSTERIOR",
    "QUALITY",
    "QUERIES",
    "RECEIPT",
    "STREAM",
    "TERMS",
    "TICKET",
    "TOKEN",
]

RECEIPT = {"receipt": "4f2a9c0d7be15d3386ca01f7e9b24c68"}
TICKET = {"ticket": "q0AHvVvxzmWC…", "query": EXAMPLE_QUERY, "expires_at": "2026-02-01T12:00:00.000Z"}

TERMS: dict[str, Any] = {
    "id": "k3xw8c2nqa",
    "name": "Weekly wages",
    "family": "normal",
    "transform": "log",
    "epsilon": 1,
    "epsilon_choices": None,
    "rho": None,
    "mechanism": "laplace",
    "goal": "all",
    "policy": "adaptive",
    "levels": None,
    "member_cuts": None,
    "state": "open",
    "answers": 1204,
    "created_at": EXAMPLE_TIME,
    "opens_at": None,
    "closes_at": None,
    "max_answers": None,
    "keep_answers": True,
    "admission": "public",
    "visibility": "private",
    "advice": None,
    "notice": None,
}

_SUMMARIES = {
    "mu": {"mean": 6.21, "sd": 0.041, "q05": 6.14, "q25": 6.18, "q50": 6.21, "q75": 6.24, "q95": 6.28},
    "sigma": {"mean": 0.69, "sd": 0.068, "q05": 0.59, "q25": 0.65, "q50": 0.69, "q75": 0.74, "q95": 0.81},
}

POSTERIOR: dict[str, Any] = {
    "posterior": _SUMMARIES,
    "covariance": [[0.001681, 0.0001], [0.0001, 0.004624]],
    "answers": 1204,
    "answers_by_epsilon": {"1": 1204},
    "institutions": 0,
    "ess": 812.4,
    "log_evidence": -801.3,
    "particles": 1000,
    "moves": 11,
    "queries": 96,
    "poison": {"share": 0.01, "shift": {"mu": 0.03, "sigma": 0.06}},
    "misfit": None,
    "updated_at": EXAMPLE_TIME,
}

STREAM = (
    'event: posterior\ndata: {"posterior": {"mu": …}, "answers": 1204, …}\n\nevent: state\ndata: {"state": "open"}\n\n'
)

HISTORY = {
    "history": [
        {"answers": 1204, "at": EXAMPLE_TIME, "posterior": _SUMMARIES, "ess": 812.4, "query": EXAMPLE_QUERY},
    ]
}

PARTICLES = {
    "parameters": ["mu", "sigma"],
    "particles": [[6.18, 0.71], [6.24, 0.66]],
    "weights": [0.52, 0.48],
}

QUERIES = {"queries": [{"id": "8a6d0c2f51e94b73", "query": EXAMPLE_QUERY, "answers": 24, "counts": [10, 14]}]}

ANSWERS = {
    "answers": [{"query_id": "8a6d0c2f51e94b73", "purpose": "training", "answer": 1, "received_at": EXAMPLE_TIME}],
    "next": None,
}

QUALITY: dict[str, Any] = {
    "refused": {"ticket-expired": 12},
    "completion": {
        "tickets": 1310,
        "answers": 1204,
        "questions": [{"id": "8a6d0c2f51e94b73", "query": EXAMPLE_QUERY, "tickets": 27, "answers": 24}],
        "looks": [{"tickets": 1000, "p_value": 0.412, "alpha": 0.005}],
        "alarm": False,
    },
    "gateways": [],
    "warnings": [],
    "updated_at": EXAMPLE_TIME,
}

TOKEN = {
    "id": "9f3c2a71d0",
    "role": "analyst",
    "name": "Ada",
    "created_at": EXAMPLE_TIME,
    "expires_at": None,
    "collections": None,
}

KEYS = {
    "keys": [
        {
            "number": 1,
            "state": "active",
            "created_at": EXAMPLE_TIME,
            "signs_from": EXAMPLE_TIME,
            "counts_until": None,
        }
    ]
}

MEMBER_COUNTS = {
    "member_counts": [
        {"institution": "9f3c2a71d0", "size": 300, "counts": [81, 52, 14], "received_at": EXAMPLE_TIME},
    ]
}
