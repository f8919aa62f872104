"""No collection asks what its terms rule out: every mechanism, policy, check and comparison, over real HTTP."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dither_client import Admin
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.over_http import simulate_over_http
from dither_server.simulate.respondents import Respondents
from testing.servers.defaults import ADMIN_TOKEN as TOKEN
from testing.servers.process import ForkedServer, forked

SPEC = {"name": "Test", "family": "normal", "range": [-5, 5], "particles": 200}
COMPETING = [{"family": "normal"}, {"family": "student_t"}]
MECHANISMS: list[dict[str, Any]] = [
    {"mechanism": "laplace", "epsilon": "1"},
    {"mechanism": "laplace", "epsilon": "4", "levels": 64},
    {"mechanism": "randomized_response", "epsilon": "1"},
    {"mechanism": "randomized_response", "epsilon": "4", "levels": 3},
    {"mechanism": "staircase", "epsilon": "2"},
    {"mechanism": "gaussian", "epsilon": "2"},
    {"mechanism": "gaussian", "epsilon": "3", "levels": 3},
    {"mechanism": "gaussian", "rho": "0.5"},
    {"mechanism": "laplace", "epsilon": "1", "epsilon_choices": ["0.5", "1", "2"]},
]
POLICIES: list[dict[str, Any]] = [
    {"policy": "adaptive"},
    {"policy": "thompson"},
    {"policy": "fixed:-3:3"},
    {"policy": "adaptive", "family": None, "families": COMPETING, "discriminate": 0.5},
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkedServer]:
    with forked(f"sqlite:///{tmp_path_factory.mktemp('server') / 'test.sqlite'}") as [process]:
        yield process


def cases() -> Iterator[Any]:
    """Every mechanism with one policy and every policy with one mechanism; those beyond are long tests."""
    for number, mechanism in enumerate(MECHANISMS):
        for policy in POLICIES:
            if mechanism["mechanism"] == "staircase" and policy["policy"].startswith("fixed"):
                continue  # which asks about no interval
            usual = policy == POLICIES[0] or number == 0
            name = "-".join(map(str, [*mechanism.values(), "families" if "families" in policy else policy["policy"]]))
            yield pytest.param(mechanism, policy, id=name, marks=() if usual else pytest.mark.long)


@pytest.mark.parametrize(("mechanism", "policy"), [*cases()])
def test_nobody_refuses_an_honest_server(
    server: ForkedServer, mechanism: dict[str, Any], policy: dict[str, Any]
) -> None:
    check = {"misfit_check": 0.3}
    with Admin(server.url, TOKEN) as admin:
        collection = str(admin.create_collection(SPEC | mechanism | policy | check)["id"])
    roles = draw_roles(np.random.default_rng(4), Behaviours(), 150)
    values = np.random.default_rng(3).normal(size=150)
    outcome = simulate_over_http(server.url, TOKEN, collection, Respondents(values, roles, 1), 4)
    assert outcome.load is not None
    assert outcome.load.failures == {}
    assert outcome.answers == 150
    assert outcome.load.requests == 2 * 150, "the crowd has the terms already"


@pytest.mark.parametrize("mechanism", ["laplace", "randomized_response"])
@pytest.mark.parametrize("policy", ["adaptive", "thompson"])
def test_nobody_refuses_questions_about_few_whole_numbers(server: ForkedServer, mechanism: str, policy: str) -> None:
    """Some of five cuts coincide, so the question has fewer."""
    spec = {"name": "Visits", "family": "poisson", "epsilon": 1, "levels": 5, "particles": 200, "misfit_check": 0.3}
    with Admin(server.url, TOKEN) as admin:
        collection = str(admin.create_collection({**spec, "mechanism": mechanism, "policy": policy})["id"])
    roles = draw_roles(np.random.default_rng(4), Behaviours(), 300)
    values = np.random.default_rng(3).poisson(1.3, 300).astype(float)
    outcome = simulate_over_http(server.url, TOKEN, collection, Respondents(values, roles, 1), 4)
    assert outcome.load is not None
    assert outcome.load.failures == {}
    assert outcome.answers == 300
