"""Groups under load: real server processes on either database, of which one is killed and started again."""

import json
import random
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither_client import Admin, Analyst
from dither_client.commands import run
from dither_client.posterior.wire import to_json
from dither_server.simulate.behaviours import Behaviours, draw_roles
from dither_server.simulate.outcome import Outcome
from dither_server.simulate.over_http import draw_labels, simulate_over_http
from dither_server.simulate.respondents import Respondents
from testing.patience import until
from testing.servers.killed_pair import KilledPair
from testing.servers.process import forked

TOKEN = "the-admin-token"
SECRET = "the-secret-of-the-tests-of-groups"
LABELS = ["north", "south", "east"]
SPEC: dict[str, Any] = {
    "name": "Test", "family": "normal", "epsilon": "1", "range": [-5, 5], "particles": 100,
    "groups": {"name": "region", "labels": LABELS, "shares": {"north": 6, "south": 3, "east": 1}},
}  # fmt: skip
CATEGORICAL: dict[str, Any] = {
    "name": "Test", "family": "categorical", "categories": ["yes", "no"], "epsilon": "4", "particles": 100,
    "groups": {"name": "region", "labels": ["north", "south"]},
}  # fmt: skip
SIZE = 60


def described(analyst: Analyst, collection: str, counted: Mapping[str, int]) -> bool:
    """Whether the groups have these answers and quantiles: they are described once nobody waits for questions."""
    groups = analyst.posterior(collection).groups
    north: Any = to_json(groups.get("north"))
    known = {label: each.answers for label, each in groups.items()}
    return known == counted and "quantiles" in north and north["quantiles"]["0.5"]["sd"] > 0


@pytest.mark.slow
def test_two_processes_of_which_one_is_killed_count_every_answer_in_its_group(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every receipt is one count in one group, in the database and in what both processes say, after `kill -9`."""

    def ask(url: str, seed: int) -> Outcome:
        values = np.random.default_rng(seed).normal(size=SIZE)
        roles = draw_roles(np.random.default_rng(seed), Behaviours(retry=0.1), SIZE)
        return simulate_over_http(url, TOKEN, collection, Respondents(values, roles, seed), 8)

    with KilledPair(monkeypatch, TOKEN, database_url, SECRET) as pair:
        with Admin(pair.urls[0], TOKEN) as admin:
            collection = str(admin.create_collection(SPEC)["id"])
        with Analyst(pair.urls[1], TOKEN) as analyst:
            outcomes = pair.asked(ask, lambda: analyst.terms(collection)["answers"] >= SIZE // 4)
            answered = sum(outcome.answers for outcome in outcomes)
            until(lambda: analyst.posterior(collection).answers == answered)
            counted: Counter[str] = Counter()
            for item in analyst.queries(collection):
                counted[str(item.group)] += item.answers
            listed = Counter(str(item["group"]) for item in analyst.answers(collection))
        assert counted.total() == answered == 2 * SIZE
        assert listed == counted
        assert counted["north"] > counted["south"] > counted["east"] > 0  # 72, 36 and 12 are expected
        for url in pair.urls:
            with Analyst(url, TOKEN) as analyst:
                until(lambda analyst=analyst: analyst.posterior(collection).answers == answered)  # type: ignore[misc]
                until(partial(described, analyst, collection, counted))
                tree = analyst.posterior(collection).to_arviz()
                assert set(tree["posterior"]["group"].to_numpy().tolist()) == set(counted)
                assert tree["observed_data"]["count"].sum() == answered


def test_groups_of_unlike_populations_are_sent_over_http(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each group's estimate is its own: five posterior sds, so a false alarm is all but impossible.

    A prior that knows roughly where people are spares the search, in which all groups are taken as one.
    """
    prior = tmp_path / "prior.json"
    prior.write_text(
        json.dumps({"mu": {"dist": "norm", "loc": 50, "scale": 20}, "sigma": {"dist": "lognorm", "s": 0.7, "scale": 5}})
    )
    with forked(f"sqlite:///{tmp_path / 'dither.sqlite'}") as [server]:
        groups = ["--groups", "north,south", "--truth", "mu=40,sigma=5;mu=60,sigma=5", "--respondents", "600"]
        options = [
            "--prior",
            str(prior),
            "--epsilon",
            "4",
            "--particles",
            "200",
            "--seed",
            "1",
            "--concurrency",
            "8",
            "--json",
        ]
        assert run(["simulate", *groups, *options, "--url", server.url, "--token", TOKEN]) == 0
        found = json.loads(capsys.readouterr().out)
        spec = tmp_path / "spec.json"
        spec.write_text(json.dumps(CATEGORICAL))
        at = ["--url", server.url, "--token", TOKEN]
        assert run(["collection", "create", str(spec), *at, "--json"]) == 0
        collection = json.loads(capsys.readouterr().out)["id"]
        unlike = ["--truth", "yes=1,no=0;yes=0,no=1", "--respondents", "300", "--seed", "1", "--json"]
        assert run(["simulate", "--collection", collection, *unlike, *at]) == 0
        shares = {label: group["categories"] for label, group in json.loads(capsys.readouterr().out)["groups"].items()}
    assert shares["north"]["yes"]["mean"] > 0.9
    assert shares["south"]["no"]["mean"] > 0.9
    assert found["answers"] == 600
    assert found["truth"]["south"] == {"mu": 60, "sigma": 5}
    assert sum(group["answers"] for group in found["groups"].values()) == 600
    for label, truth in found["truth"].items():
        mu = found["groups"][label]["posterior"]["mu"]
        assert abs(mu["mean"] - truth["mu"]) < 5 * mu["sd"] < 10


@pytest.mark.parametrize("count", [1, 30])
def test_a_seed_draws_the_same_groups_again(count: int) -> None:
    first, again = (draw_labels(SPEC, count, random.Random(5)) for _ in range(2))
    assert first == again
    assert first is not None
    assert set(first) <= set(LABELS)
    before = random.Random(5)
    assert draw_labels({"groups": None}, count, before) is None
    assert before.random() == random.Random(5).random()  # earlier seeds give what they gave
