"""A collection without a family, over HTTP and on its pages: what is asked, learnt, shown, stored and saved."""

import csv
import re
from typing import Any

import numpy as np
import pytest

from dither_client.posterior.particles import Particles
from dither_client.posterior.reading import parse_posterior
from dither_server.api.messages import examples
from testing.servers.site import FakeClock, Site, before_and_after_a_restart

PEOPLE = 360


def answered(site: Site, people: int = PEOPLE, **spec: Any) -> str:
    """A collection without a family, answered by people of whom a quarter has exactly 0 and the others about 100."""
    fields: dict[str, Any] = {"family": None, "epsilon": 4, "particles": 100, "minimum": 0, "atoms": [0]}
    rng = np.random.default_rng(8)
    values = np.where(rng.random(people) < 0.25, 0.0, rng.gamma(25, 4, people))
    return site.answered(values.tolist(), **fields | spec)


def test_who_names_no_family_gets_the_distribution(any_site: Site) -> None:
    """Within five posterior sds of the truth: a false alarm in a million, had the seeds not been fixed."""
    site = any_site
    collection = answered(site)
    terms = site.client.get(f"/v1/collections/{collection}").json()
    assert (terms["family"], terms["goal"], terms["mechanism"]) == (
        "nonparametric",
        "distribution",
        "randomized_response",
    )
    reply = site.client.get(f"/v1/collections/{collection}/posterior").json()
    assert (reply["posterior"], reply["log_evidence"], reply["answers"]) == ({}, None, PEOPLE)
    median, atom = reply["quantiles"]["0.5"], reply["atoms"]["0"]
    assert abs(median["mean"] - 91.4) < 5 * median["sd"]
    assert median["sd"] < 20
    assert abs(atom["mean"] - 0.25) < 5 * atom["sd"]
    x, cdf = np.array(reply["distribution"]["x"]), reply["distribution"]["cdf"]
    assert (np.diff(x) > 0).all()
    assert (np.diff(cdf["q50"]) >= 0).all()
    assert all(low <= high for low, high in zip(cdf["q05"], cdf["q95"], strict=True))
    assert [each["family"] for each in reply["families"]][:2] == ["nonparametric", "normal"]
    assert reply["verdict"] == "none of these"
    particles = site.client.get(f"/v1/collections/{collection}/posterior/particles").json()
    assert particles["parameters"][3] == "quantile_0.5"
    assert np.shape(particles["particles"]) == (100, 7)


@pytest.mark.parametrize(
    ("example", "fields"),
    [
        (examples.POSTERIOR_WITHOUT_FAMILY, {"goal": {"above": [100]}}),
        (examples.POSTERIOR, {"family": "normal", "minimum": None, "atoms": None}),
    ],
    ids=["no family", "normal"],
)
def test_the_example_has_what_a_reply_has(site: Site, example: dict[str, Any], fields: dict[str, Any]) -> None:
    """Every field at every depth, but for the names of levels and values; an example may lack `members`.

    A reply may lack the mean, which need not exist without a family.
    """
    collection = answered(site, **fields)
    reply = site.client.get(f"/v1/collections/{collection}/posterior").json()
    if reply["mean_value"] is None:
        reply["mean_value"] = example["mean_value"]
    assert shape(reply) == shape({"members": 0, **example})
    lacking = {name: part for name, part in example.items() if name != "quantiles"}
    assert shape(reply) != shape({"members": 0, **lacking})


def shape(part: Any) -> Any:
    """The names of the fields inside; of a list, of its first item; of numbers by level or value, of one of them."""
    if isinstance(part, list):
        return [shape(item) for item in part[:1]]
    if not isinstance(part, dict):
        return None if part is None else type(part) in (int, float) or type(part)
    if part and all(re.fullmatch(r"[0-9.]+", name) for name in part):
        return {"": shape(next(iter(part.values())))}
    return {name: shape(item) for name, item in part.items()}


def test_the_next_start_knows_the_same(database_url: str, clock: FakeClock) -> None:
    before, after = before_and_after_a_restart(database_url, clock, lambda site: answered(site, people=120))
    assert (after.answers, after.quantiles, after.distribution) == (120, before.quantiles, before.distribution)


def test_before_any_answer_there_is_a_prior(site: Site) -> None:
    collection = answered(site, people=0)
    reply = site.client.get(f"/v1/collections/{collection}/posterior").json()
    assert (reply["answers"], reply["families"], reply["verdict"]) == (0, [], "cannot tell yet")
    findings = site.client.get(f"/collections/{collection}/findings.json").json()
    assert "cannot tell yet, for there are too few answers to compare families." in findings["trust"]
    for path in ("findings.json", "charts.json", "export/population.csv", "export/counts.csv", "export/history.csv"):
        assert site.client.get(f"/collections/{collection}/{path}").status_code == 200
    assert site.client.get(f"/collections/{collection}/precision.json").status_code == 404


def test_its_page_tells_of_people(site: Site) -> None:
    collection = answered(site)
    findings = site.client.get(f"/collections/{collection}/findings.json").json()
    assert "Half of the people have " in findings["summary"]
    assert "have exactly 0" in findings["summary"]
    everything = "".join(findings.values())
    assert "No family is assumed" in everything
    assert "of a distribution of any shape" in findings["citation"]
    assert "The answers refuse lognormal, exponential, gamma, Weibull" in findings["trust"]
    charts = site.client.get(f"/collections/{collection}/charts.json").json()
    assert list(charts["parameters"]) == ["quantile_0.1", "quantile_0.5", "quantile_0.9"]
    assert charts["parameters"]["quantile_0.5"]["answers"][-1] == PEOPLE
    assert charts["densities"] == {}
    assert len(charts["population"]["x"]) == len(charts["population"]["q50"]) > 50
    assert "quantile_0.5" in site.history(collection)[-1]["posterior"]
    header = site.client.get(f"/collections/{collection}/export/history.csv").text.splitlines()[0]
    assert "quantile_0.5_q95" in header
    table = list(csv.DictReader(site.client.get(f"/collections/{collection}/export/population.csv").text.splitlines()))
    [half] = [row for row in table if (row["what"], row["of"]) == ("quantile", "0.5")]
    told = site.client.get(f"/v1/collections/{collection}/posterior").json()["quantiles"]["0.5"]
    assert {name: float(half[name]) for name in told} == told
    assert {row["what"] for row in table} == {"quantile", "mean", "share_at"}
    page = site.client.get(f"/collections/{collection}").text
    assert 'id="trajectory-quantile_0.5"' in page


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_other_mechanisms_ask_about_intervals(site: Site, mechanism: str) -> None:
    collection = answered(site, people=240, mechanism=mechanism, levels=3, atoms=[])
    assert site.learnt(collection, 240)["quantiles"]["0.5"]["sd"] > 0


def test_staircase_asks_about_single_cells(site: Site) -> None:
    """Every set is a cell then, and such a question is one of randomised response."""
    collection = answered(site, people=240, mechanism="staircase", levels=None)
    rows = site.client.get(f"/v1/collections/{collection}/queries").json()["queries"]
    assert {row["query"]["mechanism"] for row in rows} == {"randomized_response"}
    assert site.learnt(collection, 240)["quantiles"]["0.5"]["sd"] > 0


def test_an_analyst_reads_quantiles_and_shares(site: Site) -> None:
    collection = answered(site)
    reply = site.client.get(f"/v1/collections/{collection}/posterior").json()
    posterior = parse_posterior(collection, reply, lambda: Particles((), (), ()))
    assert posterior.summaries["quantile_0.5"]["mean"] == posterior.quantiles[0.5].mean
    assert posterior.interval(0.9)["quantile_0.5"] == posterior.quantile(0.5).interval(0.9)
    assert list(posterior.to_frame().index) == list(posterior.parameters)
    assert "Half have at most" in posterior._repr_html_()
    [axes] = posterior.plot().axes
    assert axes.get_ylim() == (0, 1)
    low, high = posterior.quantile(0.5).interval(0.9)
    assert low < posterior.quantile(0.5).mean < high
    assert posterior.share_above(90).mean == pytest.approx(1 - posterior.cdf(90).mean)
    assert posterior.atoms[0.0].mean == pytest.approx(0.25, abs=0.1)
    assert "have exactly 0" in repr(posterior)
    assert "which family holds: none of these" in repr(posterior)
    assert "could be off" not in repr(posterior)


@pytest.mark.parametrize("more", [{}, {"family": "gamma", "minimum": None, "atoms": None}], ids=["no family", "gamma"])
def test_a_goal_of_quantiles_and_shares(site: Site, more: dict[str, Any]) -> None:
    """Within five posterior sds of the truth, as above; of a share, and of a quantile that no other goal names."""
    goal = {"quantiles": {"0.3": 1, "0.8": 2}, "above": [100]}
    collection = answered(site, people=240, goal=goal, **more)
    assert site.client.get(f"/v1/collections/{collection}").json()["goal"] == goal
    reply = site.client.get(f"/v1/collections/{collection}/posterior").json()
    assert set(reply["above"]) == {"100"}
    if not more:
        assert abs(reply["above"]["100"]["mean"] - 0.75 * 0.4734) < 5 * reply["above"]["100"]["sd"]
        assert abs(reply["quantiles"]["0.8"]["mean"] - 111.6) < 5 * reply["quantiles"]["0.8"]["sd"]
    assert {"0.3", "0.8"} < set(reply["quantiles"])
    assert (
        "have more than 100 (90% sure: "
        in site.client.get(f"/collections/{collection}/findings.json").json()["summary"]
    )
    parsed = parse_posterior(collection, reply, lambda: Particles((), (), ()))
    assert parsed.share_above(100) == parsed.above[100.0]
    assert "have more than 100" in repr(parsed)


def test_what_is_refused_says_why(site: Site) -> None:
    refused = site.client.post(
        "/v1/collections", json={"name": "x", "epsilon": 1, "misfit_check": True}, headers=site.admin
    )
    assert refused.status_code == 422
    assert "misfit_check needs a family" in refused.text
