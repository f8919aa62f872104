"""The JSON of a posterior, by its one definition."""

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from dither_client.posterior.wire import (
    QUANTILES,
    FamilyEvidence,
    Misfit,
    MisfitLook,
    ParameterSummary,
    PosteriorReply,
    from_json,
    to_json,
)
from dither_server.api.messages.examples import POSTERIOR

PLAIN = from_json(PosteriorReply, POSTERIOR)
REQUIRED = {name: part for name, part in POSTERIOR.items() if name not in ("quantiles", "mean_value", "distribution")}
"""What replies have had from the first."""
FULL = replace(
    PLAIN,
    covariance=((1e-07, 0.0), (0.0, 1e17)),
    answers_by_epsilon={"0.5": 0, "2": 1204},
    members=300,
    misfit=Misfit("normal", 40, (MisfitLook(40, 1204, 0.4, 0.025),), alarm=False, next_look=None),
    families=(FamilyEvidence("normal", "log", -801.3, 0.01, 1.0),),
    verdict="cannot tell yet",
)


@pytest.mark.parametrize("reply", [PLAIN, FULL])
def test_what_is_written_is_read(reply: PosteriorReply) -> None:
    assert from_json(PosteriorReply, json.loads(json.dumps(to_json(reply)))) == reply


@pytest.mark.parametrize("reply", [PLAIN, FULL])
def test_pydantic_writes_the_same_in_the_same_order(reply: PosteriorReply) -> None:
    """The route lets pydantic write, the stream and the database have `to_json`."""
    written = json.loads(TypeAdapter(PosteriorReply).dump_json(reply))
    assert json.dumps(written) == json.dumps(to_json(reply))


def test_only_what_there_may_be_nothing_of_is_left_out() -> None:
    assert to_json(PLAIN) == POSTERIOR | {"members": 0}
    assert to_json(from_json(PosteriorReply, REQUIRED)) == REQUIRED | {"members": 0, "mean_value": None}
    assert to_json(FULL).keys() - to_json(PLAIN).keys() == {"families", "verdict"}
    assert to_json(PLAIN)["misfit"] is None


def test_what_a_newer_server_adds_is_ignored() -> None:
    assert from_json(PosteriorReply, POSTERIOR | {"mood": "good"}) == PLAIN


@pytest.mark.parametrize("name", REQUIRED)
def test_nothing_else_may_be_missing(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        from_json(PosteriorReply, {field: value for field, value in POSTERIOR.items() if field != name})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("posterior", {"mu": 3}),
        ("posterior", []),
        ("covariance", [["1"]]),
        ("covariance", None),
        ("answers", 1.5),
        ("answers", True),
        ("ess", "9"),
        ("answers_by_epsilon", {"1": None}),
        ("misfit", {"family": "normal"}),
        ("families", [None]),
        ("verdict", 3),
        ("updated_at", None),
    ],
)
def test_something_else_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"missing|expected"):
        from_json(PosteriorReply, POSTERIOR | {name: value})


def test_a_summary_has_the_quantiles_that_are_computed() -> None:
    assert [field.name for field in fields(ParameterSummary)] == ["mean", "sd", *QUANTILES]
