"""Examples of replies, for the reference. A test checks each against the shape of its call."""

from typing import Any

from dither_server.api.messages.common import EXAMPLE_TIME
from dither_server.api.messages.queries import EXAMPLE_QUERY

__all__ = [
    "ANSWERS",
    "AUDIT",
    "DELETED",
    "HISTORY",
    "KEYS",
    "MEMBER_COUNTS",
    "PARTICLES",
    "POSTERIOR",
    "POSTERIOR_WITHOUT_FAMILY",
    "QUALITY",
    "QUERIES",
    "RECEIPT",
    "REMOVED",
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
    "question": "How much did you earn last week, before tax?",
    "unit": "$",
    "period_of_value": "per week",
    "decimals": 2,
    "organisation": "The statistical office of Exampleland",
    "contact": "survey@example.org",
    "privacy_url": "https://example.org/privacy",
    "thank_you": "Thank you for taking part.",
    "pages": None,
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
    "categories": None,
    "minimum": 0,
    "maximum": 100000,
    "atoms": None,
    "groups": None,
    "range": [100, 2000],
    "prior": None,
    "families": None,
    "state": "open",
    "answers": 1204,
    "created_at": EXAMPLE_TIME,
    "opens_at": None,
    "closes_at": None,
    "max_answers": None,
    "keep_answers": True,
    "keep_answers_days": 30,
    "keep_days": None,
    "retention": "Answers are kept for 30 days; after that, only their counts are.",
    "admission": "public",
    "visibility": "private",
    "advice": None,
    "notice": None,
}

_SUMMARIES = {
    "mu": {"mean": 6.21, "sd": 0.041, "q05": 6.14, "q25": 6.18, "q50": 6.21, "q75": 6.24, "q95": 6.28},
    "sigma": {"mean": 0.69, "sd": 0.068, "q05": 0.59, "q25": 0.65, "q50": 0.69, "q75": 0.74, "q95": 0.81},
}

_PARTS = ("mean", "q05", "q25", "q50", "q75", "q95")


def _summary(mean: float, sd: float) -> dict[str, float]:
    """The summary of a normal distribution."""
    spread = {"q05": -1.645, "q25": -0.674, "q50": 0.0, "q75": 0.674, "q95": 1.645}
    return {"mean": mean, "sd": sd, **{name: float(f"{mean + z * sd:.4g}") for name, z in spread.items()}}


def _bands(*points: tuple[float, float]) -> dict[str, list[float]]:
    """The bands of a curve whose points have these means and standard deviations."""
    summaries = [_summary(mean, sd) for mean, sd in points]
    return {part: [each[part] for each in summaries] for part in _PARTS}


_QUANTILES = {
    "0.05": _summary(160, 14),
    "0.1": _summary(206, 15),
    "0.25": _summary(313, 17),
    "0.5": _summary(498, 20),
    "0.75": _summary(793, 38),
    "0.9": _summary(1206, 84),
    "0.95": _summary(1550, 133),
}
_DISTRIBUTION = {
    "x": [100.0, 300.0, 500.0, 1000.0, 2000.0],
    "cdf": _bands((0.01, 0.003), (0.23, 0.012), (0.5, 0.013), (0.84, 0.011), (0.98, 0.005)),
    "density": _bands((4e-4, 5e-5), (1.44e-3, 6e-5), (1.16e-3, 4e-5), (3.5e-4, 2e-5), (3.8e-5, 9e-6)),
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
    "quantiles": _QUANTILES,
    "mean_value": _summary(631, 31),
    "distribution": _DISTRIBUTION,
    "updated_at": EXAMPLE_TIME,
}
"""The posterior of a collection with a family."""

POSTERIOR_WITHOUT_FAMILY: dict[str, Any] = {
    "posterior": {},
    "covariance": [],
    "answers": 1204,
    "answers_by_epsilon": {"1": 1204},
    "institutions": 0,
    "members": 0,
    "ess": 1000.0,
    "log_evidence": None,
    "particles": 1000,
    "moves": 0,
    "queries": 88,
    "poison": {"share": 0.01, "shift": {}},
    "misfit": None,
    "families": [
        {
            "family": "nonparametric",
            "transform": "identity",
            "log_evidence": -801.9,
            "mc_error": 0.02,
            "probability": 0.43,
        },
        {"family": "normal", "transform": "log", "log_evidence": -801.6, "mc_error": 0.01, "probability": 0.57},
        {
            "family": "exponential",
            "transform": "identity",
            "log_evidence": -842.3,
            "mc_error": 0.01,
            "probability": 0.0,
        },
    ],
    "verdict": "cannot tell yet",
    "quantiles": _QUANTILES,
    "above": {"1000": _summary(0.16, 0.011)},
    "mean_value": _summary(631, 31),
    "distribution": _DISTRIBUTION,
    "atoms": {"0": _summary(0.04, 0.012)},
    "updated_at": EXAMPLE_TIME,
}
"""The posterior of a collection without a family, whose goal names a value, and which declares an atom."""

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
    "answers": [
        {
            "ticket": "5f0c1d7be42a90c86d3b7a1f94e2c058",
            "query_id": "8a6d0c2f51e94b73",
            "purpose": "training",
            "answer": 1,
            "received_at": EXAMPLE_TIME,
        }
    ],
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

DELETED = {
    "collection": "k3xw8c2nqa",
    "name": "Weekly wages",
    "deleted_at": EXAMPLE_TIME,
    "restorable_until": "2026-03-02T12:00:00.000Z",
}
REMOVED: dict[str, Any] = {
    "collection": "k3xw8c2nqa",
    "created_at": "2026-01-01T09:00:00.000Z",
    "deleted_at": EXAMPLE_TIME,
    "deleted_by": "9f3c2a71d0",
    "removed_at": "2026-03-02T12:00:21.408Z",
    "removed_by": "server",
    "rows": {"answers": 1204, "collections": 1, "counted_answers": 1204, "counts": 176, "history": 92, "queries": 88},
    "public_key": "6d1f2b0c9e5a48d7a3f4c1e07b92d86351c4a0fe97b3d2568e1f0a7c4b95d3e2",
    "signature": "0b7c41d29ae6f3581d74c0b95e2fa683" * 4,
}

AUDIT: dict[str, Any] = {
    "audit": [
        {
            "number": 12,
            "at": EXAMPLE_TIME,
            "what": "state changed",
            "by": "9f3c2a71d0",
            "collection": "k3xw8c2nqa",
            "facts": {"state": "paused"},
        }
    ],
    "next": None,
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
