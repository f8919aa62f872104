"""Several numbers of one person over HTTP: what is asked, learnt, kept over a restart, shown and refused."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dither_client.posterior.particles import Particles
from dither_client.posterior.reading import parse_posterior
from dither_client.protocol.messages import parse_terms
from dither_server.api.messages.collections import TermsReply
from testing.servers.defaults import ADMIN
from testing.servers.site import FakeClock, Site, open_site, problem

COMPONENTS = [
    {"name": "wage", "family": "normal", "transform": "log", "range": [150, 2000], "unit": "€", "minimum": 0},
    {"name": "age", "family": "normal", "range": [15, 90], "question": "How old are you?", "decimals": 0},
]
FIELDS: dict[str, Any] = {"family": None, "range": None, "epsilon": 5, "components": COMPONENTS, "particles": 400}
PEOPLE = 1_500
RHO = 0.6


def people(count: int = PEOPLE) -> list[tuple[float, float]]:
    """Wages about e^6 with a spread of 0.5, and ages about 45 with a spread of 12."""
    rng = np.random.default_rng(11)
    first, second = rng.standard_normal((2, count))
    return [
        (float(np.exp(6 + 0.5 * a)), float(45 + 12 * (RHO * a + np.sqrt(1 - RHO**2) * b)))
        for a, b in zip(first, second, strict=True)
    ]


def test_numbers_and_their_correlation_are_learnt_and_survive_a_restart(sqlite_url: str, clock: FakeClock) -> None:
    """Within five posterior sds of the truth, for seeds that are fixed: two false alarms in a million otherwise."""
    with open_site(sqlite_url, clock) as site:
        collection = site.create(**FIELDS)
        site.answer(collection, people())
        before = site.learnt(collection, PEOPLE)
        site.check_counts()
        path = f"/v1/collections/{collection}"
        asked = site.client.get(f"{path}/queries", headers=ADMIN).json()["queries"]
        kinds = {item["query"]["mechanism"] for item in asked}
        assert kinds == {"component", "joint"}
        assert sum(item["answers"] for item in asked) == PEOPLE
        assert len(asked) < 500
        particles = site.client.get(f"{path}/posterior/particles", headers=ADMIN).json()
        assert particles["parameters"] == ["wage.mu", "wage.sigma", "age.mu", "age.sigma", "wage,age"]
        assert len(particles["particles"]) == 400
    found = parse_posterior(collection, before, _no_particles)
    for summary, truth in (
        (found.component("wage").quantile(0.5), np.exp(6)),
        (found.component("age").quantile(0.5), 45),
        (found.correlation("age", "wage"), RHO),
    ):
        assert abs(summary.mean - truth) < 5 * summary.sd
    assert found.correlation("wage", "age").sd < 0.1
    assert found.component("wage").parameters == ("mu", "sigma")
    regression = found.regression("wage", "age")
    middle = np.interp(45, regression.x, regression.q50.mean)
    assert abs(np.log(middle) - 6) < 0.2
    slope = np.polyfit(regression.x[3:-3], np.log(regression.q50.mean[3:-3]), 1)[0]
    assert abs(slope - 0.5 * RHO / 12) < 0.01
    assert "correlation of wage and age: 0." in found.text()
    labels = [(axes.get_xlabel(), axes.get_ylabel()) for axes in found.plot().axes]
    assert labels[-1] == ("wage", "age")
    assert len(labels) == 3
    units = {"components": [{"name": "wage", "unit": "€", "period_of_value": "per week"}, {"name": "age"}]}
    last = replace(found, terms=units).plot().axes[-1]
    assert (last.get_xlabel(), last.get_ylabel()) == ("wage, € per week", "age")
    with open_site(sqlite_url, clock) as site:
        again = site.learnt(collection, PEOPLE)
        assert abs(again["correlations"]["wage,age"]["mean"] - found.correlation("wage", "age").mean) < 0.05
        assert site.ticket(collection)
    for name in ("component", "correlation", "regression"):
        with pytest.raises(KeyError, match="see `"):
            getattr(found, name)(*["weight", "age"][: 1 if name == "component" else 2])


def _no_particles() -> Particles:
    raise AssertionError


def test_terms_name_the_components_only_where_there_are_some(site: Site) -> None:
    collection = site.create(**FIELDS)
    reply = site.client.get(f"/v1/collections/{collection}")
    TermsReply.model_validate_json(reply.content, strict=True)
    said = [{name: value for name, value in each.items() if value is not None} for each in reply.json()["components"]]
    assert said == [{"transform": "identity", **each} for each in COMPONENTS]
    assert (reply.json()["family"], reply.json()["transform"]) == ("components", "identity")
    wage, age = parse_terms(reply.json()).components
    assert (wage.name, wage.transform, wage.bounds.minimum, wage.unit) == ("wage", "log", 0.0, "€")
    assert (age.question, age.decimals, age.bounds.minimum) == ("How old are you?", 0, None)
    path = f"/v1/collections/{site.create(visibility='public')}"
    assert "components" not in site.client.get(path).json()
    assert not {"components", "correlations", "regressions"} & site.client.get(f"{path}/posterior").json().keys()


def test_words_of_a_component_are_told_in_the_readers_language(site: Site) -> None:
    """A text in one language is told to everybody; what is counted and asked does not change with the language."""
    wage = COMPONENTS[0] | {
        "question": {"en": "What do you earn?", "de": "Was verdienen Sie?"},
        "period_of_value": {"en": "per week", "de": "pro Woche"},
        "prior": {"mu": {"dist": "norm", "loc": 6, "scale": 2}, "sigma": {"dist": "lognorm", "s": 1}},
    }
    del wage["range"]
    collection = site.create(**FIELDS | {"components": [wage, COMPONENTS[1]]})
    told = {}
    for language in ("en", "de", "fr"):
        path = f"/v1/collections/{collection}"
        reply = site.client.get(path, headers={"accept-language": language}).json()
        TermsReply.model_validate(reply)
        told[language], age = reply["components"]
        assert (age["question"], told[language]["unit"]) == ("How old are you?", "€")
        assert told[language]["prior"] == wage["prior"]
        assert parse_terms(reply).components[0].period_of_value == told[language]["period_of_value"]
    assert [told[language]["question"] for language in told] == [
        "What do you earn?",
        "Was verdienen Sie?",
        "What do you earn?",
    ]
    assert [told[language]["period_of_value"] for language in told] == ["per week", "pro Woche", "per week"]
    assert site.client.get(f"/collections/{collection}").status_code == 200


@pytest.mark.parametrize("held", [0, 60])
def test_its_pages_are_there(site: Site, held: int) -> None:
    collection = site.answered(people(held), **FIELDS)
    findings = site.client.get(f"/collections/{collection}/findings.json").json()
    if held:
        assert "wage and age" in findings["correlations"]
        assert f"{held} answers at ε = 5, of which" in findings["summary"]
        assert "(a Gaussian copula)" in findings["trust"]
        assert "correlation of wage and age " in findings["citation"]
        charts = site.client.get(f"/collections/{collection}/charts.json").json()
        assert charts["questions"]["edges"] == []
    page_text = site.client.get(f"/collections/{collection}").text
    assert "Your numbers (wage, age) stay on your device." in page_text
    tables = ("/export/population.csv", "/export/counts.csv", "/export/history.csv")
    for page in ("", "/charts.json", "/findings.json", *tables, "/answer"):
        reply = site.client.get(f"/collections/{collection}{page}")
        assert reply.status_code in (200, 404), page
        assert page == "/answer" or reply.status_code == 200, page


def test_a_number_of_any_shape(site: Site) -> None:
    """Without a family the mechanism is randomised response, and values may pile up at an atom.

    Its share is within six sds of the truth: a false alarm in a million.
    """
    components = [{"name": "wage", "minimum": 0, "maximum": 5_000, "atoms": [0]}, COMPONENTS[1]]
    held = [(0.0 if k % 4 == 0 else wage, age) for k, (wage, age) in enumerate(people(600))]
    collection = site.answered(held, **FIELDS | {"components": components, "particles": 200})
    found = site.learnt(collection, 600)
    zero = found["components"]["wage"]["atoms"]["0"]
    assert abs(zero["mean"] - 0.25) < 6 * zero["sd"] < 0.25
    assert found["components"]["wage"]["posterior"] == {}


NO_SPECIFICATIONS: list[tuple[dict[str, Any], str]] = [
    ({"components": [COMPONENTS[0]]}, "there must be 2 to 8 components, not 1"),
    ({"components": [COMPONENTS[0]] * 2}, "components must have different names"),
    ({"components": [{"name": "a b"}, {"name": "c"}]}, "letters, digits, underscores and hyphens"),
    ({"components": [{"name": "a", "colour": 1}, {"name": "c"}]}, "the component a has the unknown field"),
    ({"components": [{"name": "a", "family": "gauss"}, {"name": "c"}]}, "family must be one of normal"),
    ({"components": [{"name": "a", "unit": 5}, {"name": "c"}]}, "unit"),
    ({"components": [{"name": "a", "question": {"e": "?"}}, {"name": "c"}]}, "the component a: question: must name"),
    ({"components": [{"name": "a", "unit": {}}, {"name": "c"}]}, "the component a: unit: must name 1 to 20 languages"),
    ({"components": {"wage": {}}}, "components must be a list of objects"),
    ({"family": "normal"}, "family cannot go with components"),
    ({"minimum": 0}, "minimum cannot go with components: leave minimum out or give it for each component"),
    ({"range": 0}, "range cannot go with components"),
    ({"prior": False}, "prior cannot go with components"),
    ({"groups": {"name": "r", "labels": ["a", "b"]}}, "groups cannot go with components"),
    ({"period": "week"}, "period cannot go with components"),
    ({"epsilon_choices": [1, 5]}, "epsilon_choices cannot go with components"),
    ({"member_cuts": [1]}, "member_cuts cannot go with components"),
    ({"misfit_check": 0.2}, "misfit_check cannot go with components"),
    ({"policy": "fixed:0:1"}, "policy must be adaptive or thompson"),
    (
        {"policy": "thompson", "components": [*COMPONENTS, {"name": "weight", "family": "nonparametric"}]},
        "the component weight: policy thompson needs a family: give family, such as normal, or leave policy out",
    ),
    ({"mechanism": "gaussian"}, "mechanism must be another than gaussian"),
]


@pytest.mark.parametrize(("changed", "said"), NO_SPECIFICATIONS)
def test_what_cannot_be_is_refused_in_a_sentence(site: Site, changed: dict[str, Any], said: str) -> None:
    body = {"name": "Wages", "epsilon": 5, "components": COMPONENTS} | changed
    refused = site.client.post("/v1/collections", json=body, headers=ADMIN)
    assert problem(refused)[0] == 422, refused.text
    assert said in refused.text
