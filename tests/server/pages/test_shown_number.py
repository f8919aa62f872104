"""What the page of a collection of several numbers, and its report, have of each of them."""

import random
from typing import Any

import pytest

from dither_estimator.specification.specification import Specification
from dither_server.pages.shown_number import narrow_goals
from testing.servers.site import Site, problem

COMPONENTS: list[dict[str, Any]] = [
    {"name": "smokes", "family": "bernoulli"},
    {"name": "children", "family": "poisson", "unit": "children"},
    {"name": "gifts", "unit": "€", "minimum": 0, "atoms": [0], "decimals": 2},
]


def answered(site: Site) -> str:
    """A collection of a yes or no, of whole numbers, and of gifts, of which a third have none, and all others 50."""
    rng = random.Random(5)
    people = [
        (int(rng.random() < 0.7), sum(rng.random() < 0.2 for _ in range(8)), rng.choice((0.0, 1.0, 1.0)) * 50)
        for _ in range(400)
    ]
    return site.answered(people, family=None, range=None, components=COMPONENTS, epsilon=8, particles=200)


def test_of_a_scale_each_value_has_its_share(site: Site) -> None:
    """Ratings from 1 to 5 are no density, and a bound is no atom beside the other values."""
    people = [1 + sum(random.Random(seed).random() < 0.7 for _ in range(4)) for seed in range(400)]
    collection = site.answered(people, family=None, range=None, minimum=1, maximum=5, decimals=0, epsilon=8)
    charts = site.client.get(f"/collections/{collection}/charts.json").json()
    assert charts["discrete"]
    assert charts["atoms"] == []
    assert charts["population"]["x"] == charts["distribution"]["x"] == [1, 2, 3, 4, 5]
    truth = [people.count(rating) / len(people) for rating in range(1, 6)]
    assert charts["population"]["q50"] == pytest.approx(truth, abs=0.06)
    text = site.client.get(f"/collections/{collection}").text
    assert "The share of the people with each value." in text
    assert "All values are taken to be whole." in text


def test_each_number_has_charts_and_words_of_its_own(site: Site) -> None:
    collection = answered(site)
    path = f"/collections/{collection}"
    posterior = site.client.get(f"/v1{path}/posterior").json()["components"]
    charts = {
        each["name"]: site.client.get(f"{path}/charts.json", params={"number": each["name"]}).json()
        for each in COMPONENTS
    }
    assert site.client.get(f"{path}/charts.json").json() == charts["smokes"]
    assert problem(site.client.get(f"{path}/charts.json", params={"number": "income"})) == (404, "not-found")
    assert (charts["smokes"]["distribution"], charts["smokes"]["parameters"]) == (None, {})
    assert [charts[name]["discrete"] for name in charts] == [True, True, False]
    for name in ("children", "gifts"):
        assert charts[name]["distribution"]["x"] == posterior[name]["distribution"]["x"]
        assert {str(each["level"]): each["q95"] for each in charts[name]["quantiles"]} == {
            level: each["q95"] for level, each in posterior[name]["quantiles"].items()
        }
        now = {level: charts[name]["parameters"]["quantile_0.5"][level][-1] for level in ("q05", "q50", "q95")}
        assert now == {level: posterior[name]["quantiles"]["0.5"][level] for level in now}
    assert [atom["x"] for atom in charts["gifts"]["atoms"]] == [0.0, 50.0]

    text = site.client.get(path).text
    share = posterior["smokes"]["mean_value"]
    said = f"{100 * share['q50']:.1f}% have 1 (90% sure: {100 * share['q05']:.1f} to {100 * share['q95']:.1f}%)."
    for shown in (text, site.client.get(f"{path}/report").text):
        assert f"<strong>smokes</strong>: {said}" in shown
        assert "<strong>children</strong>: Half of the people have" in shown
        assert "smokes: share who have 1" in shown
        assert "smokes: half have" not in shown
    assert "Those who have exactly 0 are not in the curve. Areas are shares of the people." in text
    assert 'data-note="The share of the people with each value."' in text
    assert f"smokes, share who have 1 {100 * share['q50']:.1f}% (90% interval" in text


def test_quantiles_of_a_yes_or_no_are_not_drawn_by_another_number(site: Site) -> None:
    """The report has the other number by it, and of a yes or no the page only says how it goes with the other."""
    collection = answered(site)
    drawn = site.client.get(f"/collections/{collection}/charts.json").json()["regressions"]
    assert drawn["smokes,children"]["x"] == drawn["smokes,gifts"]["x"] == []
    assert drawn["smokes,children"]["said"].endswith(" “smokes” is 0 or 1: there is no picture of it.")
    assert drawn["children,smokes"]["x"]
    report = site.client.get(f"/collections/{collection}/report").text
    assert "<title>children by smokes</title>" in report
    assert "<title>smokes by" not in report


def told(site: Site, **fields: Any) -> tuple[bool, bool]:
    """Whether the page and the report of a collection with these fields say what questions were not about."""
    path = f"/collections/{site.answered([20.0, 50.0] * 20, family=None, range=None, epsilon=8, **fields)}"
    page, report = (site.client.get(f"{path}{part}").text for part in ("", "/report"))
    says = "Elsewhere bands may be far too narrow, above all where groups of people lie far apart."
    return says in page, says in report


def test_a_goal_of_one_quantile_is_said_near_the_bands(site: Site) -> None:
    assert told(site, goal={"quantiles": [0.5]}, unit="€") == (True, True)
    assert told(site, goal={"quantiles": [0.5], "distribution": 1}) == (False, False)
    assert told(site) == (False, False)
    several = [{"name": "a", "goal": {"above": [40]}, "unit": "€"}, {"name": "b"}, {"name": "c", "family": "normal"}]
    terms = {"components": several}
    found = narrow_goals(Specification.from_json({"epsilon": 1, "components": several}), terms)
    assert [sentence.partition(", the goal")[0] for sentence in found] == [
        "a: Most questions were about the share above 40 €"
    ]
