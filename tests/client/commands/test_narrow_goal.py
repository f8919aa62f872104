"""A goal without a family that asks for quantiles or shares alone: what else is told rests on few questions."""

from typing import Any

import pytest

from dither_client.posterior.sentences import narrow_goal
from testing.command_line import Dither
from testing.servers.fake_server import FakeServer

NONE = {"family": "nonparametric", "unit": "years"}


@pytest.mark.parametrize(
    ("terms", "asked"),
    [
        (NONE | {"goal": {"above": {"65": 1.0}}}, "the share above 65 years"),
        (NONE | {"goal": {"quantiles": {"0.5": 1.0}, "above": {"65": 1}}}, "what 50% have at most and the share above"),
        (NONE | {"goal": {"quantiles": {"0.5": 1.0}, "distribution": 1.0}}, ""),
        (NONE | {"goal": {"distribution": 1.0}}, ""),
        ({"family": "normal", "goal": {"above": {"65": 1.0}}}, ""),
        ({}, ""),
    ],
)
def test_what_questions_were_about_is_said(terms: dict[str, Any], asked: str) -> None:
    said = narrow_goal(terms)
    assert asked in said
    assert bool(said) == bool(asked)


def test_it_stands_with_what_a_posterior_rests_on(server: FakeServer, dither: Dither) -> None:
    path = "/v1/collections/laplace"
    server.refusals[path] = (200, server.terms("laplace") | NONE | {"goal": {"above": {"65": 1.0}}})
    assert "Most questions were about the share above 65 years" in " ".join(dither("posterior", "laplace").out.split())
