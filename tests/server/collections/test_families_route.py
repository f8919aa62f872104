"""Several families in one collection: created, compared over HTTP, remembered over a restart, shown by the commands."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dither_client.commands import run
from testing.servers.defaults import ADMIN, SPEC
from testing.servers.site import Site, problem

TWO = [{"family": "normal", "transform": "log"}, {"family": "normal"}]
FIELDS: dict[str, Any] = {"family": None, "families": TWO, "range": [100, 2000]}


def _answered(site: Site, **fields: Any) -> tuple[str, dict[str, Any]]:
    collection = site.create(**(FIELDS | fields))
    pairs = [(ticket, i % 2) for i, ticket in enumerate(site.tickets(collection, 60))]
    site.batch(collection, *pairs)
    return collection, site.learnt(collection, 60)


def test_the_posterior_compares_the_families(any_site: Site) -> None:
    _, body = _answered(any_site, levels=1, discriminate=0.5)
    assert [each["family"] for each in body["families"]] == ["normal", "normal"]
    assert [each["transform"] for each in body["families"]] == ["log", "identity"]
    assert sum(each["probability"] for each in body["families"]) == pytest.approx(1)
    assert all(each["mc_error"] > 0 for each in body["families"])
    assert body["verdict"] == "cannot tell yet" or "normal" in body["verdict"]


def test_one_family_has_no_such_fields(site: Site) -> None:
    body = site.client.get(f"/v1/collections/{site.create()}/posterior", headers=ADMIN).json()
    assert body.keys().isdisjoint({"families", "verdict"})


def test_the_comparison_outlives_a_restart(sqlite_url: str, reopen: Callable[..., Any]) -> None:
    with reopen(sqlite_url) as site:
        collection, before = _answered(site)
    with reopen(sqlite_url) as site:
        assert site.learnt(collection, 60)["families"] == before["families"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"families": TWO[:1]}, "a list of 2 to 8"),
        ({"family": "gamma"}, "family must be left out or equal that of the first"),
        ({"discriminate": 2}, "discriminate must be a number from 0 to 1"),
        ({"families": None, "family": "normal", "discriminate": 0.2}, "discriminate needs families"),
    ],
)
def test_bad_families_are_refused(site: Site, fields: dict[str, Any], says: str) -> None:
    reply = site.client.post("/v1/collections", json=SPEC | FIELDS | fields, headers=ADMIN)
    assert problem(reply) == (422, "invalid-body")
    assert says in reply.json()["detail"]


def test_simulate_and_estimate_say_which_family_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({"families": TWO, "range": [100, 2000], "epsilon": 2, "particles": 200}))
    simulate = ["simulate", "--spec", str(spec), "--truth", "mu=6,sigma=0.7", "--respondents", "3000", "--in-process"]
    assert run([*simulate, "--seed", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert len(report["families"]) == 2
    assert run([*simulate, "--seed", "1"]) == 0
    assert report["verdict"] == "normal with transform log"
    assert "which family holds: lognormal" in " ".join(capsys.readouterr().out.split())
    counts = tmp_path / "counts.csv"
    counts.write_text(
        "mechanism,low,high,levels,cuts,epsilon,transform,answer,count\n"
        "randomized_response,,,,5.5 6.5,2,log,0,40\nrandomized_response,,,,5.5 6.5,2,log,1,70\n"
    )
    assert run(["estimate", "--spec", str(spec), "--counts", str(counts)]) == 0
    printed = capsys.readouterr().out
    assert "lognormal: log evidence" in printed
    assert "which family holds: " in printed
