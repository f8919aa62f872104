"""The form for a new collection makes any that the API makes, but for what it says that only the API takes."""

import math
import re
from typing import Any

import pytest
from scipy_distributions import scipy_distribution

from dither_client.mechanisms.panel import Panel
from dither_estimator.design.goal import Goal
from dither_estimator.nonparametric.support import Support
from dither_estimator.specification.periods import Period
from dither_estimator.specification.specification import Specification, SpecificationError
from dither_server.collections.specification import CollectionSpec, parse_spec
from dither_server.pages.new_collection import CHOICES, LABELS, specification_of
from testing.servers.new_collection import FOLDED, FORM, GAUSSIAN, PRIOR, SEVERAL, filled_in, made
from testing.servers.pages import send_form, sign_in
from testing.servers.site import Site, problem

MANY = FORM | {
    "mechanism": "randomized_response",
    "epsilon": "1",
    "epsilon_choices": "0.5, 1,2",
    "goal": "mu=1,sigma=0.1",
    "policy": "thompson",
    "levels": "3",
    "particles": "200",
    "misfit_check": "0.25",
    "misfit_looks": "400, 4000",
    "competing_logistic_log": "yes",
    "competing_normal_identity": "yes",
    "discriminate": "0.4",
    "member_cuts": "300, 500",
    "opens_at": "2026-01-01T00:00",
    "closes_at": "2099-01-01T00:00",
    "max_answers": "500",
    "drop_answers": "yes",
    "admission": "invite",
    "visibility": "public",
    "question": "How much did you earn?",
    "unit": "€",
    "period_of_value": "per week",
    "decimals": "2",
    "organisation": "An <office>",
    "contact": "a@b.example",
    "privacy_url": "https://b.example",
    "thank_you": "Thanks.",
    "pages": "short, label",
}
"""A form in which most fields are filled in."""

OF_MANY = {
    "name": "Wages & <more>",
    "question": "How much did you earn?",
    "unit": "€",
    "period_of_value": "per week",
    "decimals": 2,
    "organisation": "An <office>",
    "contact": "a@b.example",
    "privacy_url": "https://b.example",
    "thank_you": "Thanks.",
    "pages": [{"page": "short"}, {"page": "label"}],
    "families": [
        {"family": "normal", "transform": "log"},
        {"family": "normal", "transform": "identity"},
        {"family": "logistic", "transform": "log"},
    ],
    "range": [100, 2000],
    "mechanism": "randomized_response",
    "epsilon": "1",
    "epsilon_choices": ["0.5", "1", "2"],
    "goal": "mu=1,sigma=0.1",
    "policy": "thompson",
    "levels": 3,
    "particles": 200,
    "misfit_check": 0.25,
    "misfit_looks": [400, 4000],
    "discriminate": 0.4,
    "member_cuts": [300, 500],
    "opens_at": "2026-01-01T00:00:00Z",
    "closes_at": "2099-01-01T00:00:00Z",
    "max_answers": 500,
    "keep_answers": False,
    "admission": "invite",
    "visibility": "public",
}
"""The specification of that form."""


def test_an_admin_creates_a_collection_and_runs_it(site: Site) -> None:
    assert site.client.get("/new", follow_redirects=False).headers["location"] == "/sign-in?next=/new"
    sign_in(site)
    fields = {**FORM, "max_answers": "500", "closes_at": "2099-01-01T12:00", "drop_answers": "yes"}
    reply = send_form(site, "/new", fields)
    assert reply.status_code == 303
    path = reply.headers["location"]
    terms = site.client.get(f"/v1{path}").json()
    assert (terms["name"], terms["epsilon"], terms["max_answers"]) == ("Wages & <more>", 0.1, 500)
    assert (terms["closes_at"], terms["keep_answers"]) == ("2099-01-01T12:00:00.000Z", False)
    for state in ("paused", "open", "closed"):
        assert send_form(site, f"{path}/state", {"state": state}).status_code == 303
        assert site.client.get(f"/v1{path}").json()["state"] == state
    final = send_form(site, f"{path}/state", {"state": "open"})
    assert final.status_code == 409
    assert "permanently closed" in final.text
    assert problem(send_form(site, f"{path}/state", {"state": "ajar"})) == (422, "invalid-body")


def test_advice_calls_fields_as_the_form_does(site: Site) -> None:
    sign_in(site)
    assert (
        "“ε of one answer” must be at most 50." in site.client.get("/new/advice", params={**FORM, "epsilon": "99"}).text
    )


def test_every_field_of_a_specification_can_be_filled_in(site: Site) -> None:
    sign_in(site)
    assert specification_of(MANY) == OF_MANY
    filled = OF_MANY | specification_of(filled_in(FORM | PRIOR | GAUSSIAN))
    for fill_in in (with_rivals, without_a_family, by_categories, by_groups, over_time, in_a_panel, of_several_numbers):
        filled |= specification_of(fill_in(site))
    assert set(filled) == set(CollectionSpec.model_fields)
    for name, field in CollectionSpec.model_fields.items():
        assert (
            name in {"prior", "range", "families", "keep_answers", "components", "panel"}
            or f'name="{name}"' in site.client.get("/new").text
        )
        assert field.description


def test_the_form_says_what_only_the_api_takes(site: Site) -> None:
    """Texts for several languages, which no field of the form can write, though the API takes them."""
    sign_in(site)
    spec = specification_of(FORM | {"question": "How much?"})
    words: dict[str, Any] = {"name": {"en": "Wages", "de": "Löhne"}, "question": {"en": "How much?", "de": "Wie viel?"}}
    assert parse_spec(spec | words)[0].question == words["question"]
    assert isinstance(specification_of(FORM | {"question": str(words["question"])})["question"], str)
    [said] = re.findall(r"available only through the API: (.*?)</p>", site.client.get("/new").text, re.DOTALL)
    assert said.startswith(
        "title, question and other words in several languages, <code>student_t:DF</code>, and priors"
    )


def with_rivals(site: Site) -> dict[str, str]:
    found = made(site, MANY)
    assert (len(found.rivals), found.discriminate, found.levels, found.particles) == (2, 0.4, 3, 200)
    assert found.goal.weights == (("mu", 1.0), ("sigma", 0.1))
    return MANY


def without_a_family(site: Site) -> dict[str, str]:
    kept = {"keep_answers_days": "30", "keep_days": "365"}
    shapeless = FORM | kept | {"family": "nonparametric", "minimum": "0", "maximum": "1e6", "atoms": "0, 500"}
    assert made(site, shapeless).support == Support(0.0, 1e6, (0.0, 500.0))
    return shapeless


def by_categories(site: Site) -> dict[str, str]:
    unordered = {
        "name": "How often",
        "family": "categorical",
        "epsilon": "1",
        "categories": "never\r\n once, twice \r\n",
    }
    assert made(site, unordered).categories == ("never", "once, twice")
    return unordered


def by_groups(site: Site) -> dict[str, str]:
    grouped = {"name": "Wages", "epsilon": "1", "groups": "north = 30%\r\n a=b =70%\r\n", "groups_name": "region"}
    found = made(site, grouped)
    assert found.groups is not None
    assert (found.groups.name, found.groups.labels) == ("region", ("north", "a=b"))
    assert found.groups.shares == pytest.approx((0.3, 0.7))
    assert specification_of(grouped | {"groups": "north\nsouth"})["groups"] == {
        "name": "region",
        "labels": ["north", "south"],
    }
    with pytest.raises(SpecificationError, match="or none of them one"):
        specification_of(grouped | {"groups": "north = 30%\nsouth"})
    return grouped


def over_time(site: Site) -> dict[str, str]:
    weekly = FORM | {"period": "week", "drift": "yes"}
    found = made(site, weekly)
    assert (found.period, found.drift) == (Period("week"), True)
    assert (made(site, FORM | {"period": "day"}).drift, made(site, FORM).period) == (False, None)
    return weekly


def in_a_panel(site: Site) -> dict[str, str]:
    again = FORM | {"period": "month", "panel_answers": "2", "panel_periods": "1,200"}
    assert made(site, again).panel == Panel(2, 1_200, Period("month"))
    return again


def of_several_numbers(site: Site) -> dict[str, str]:
    found = made(site, SEVERAL)
    assert [part.name for part in found.components] == ["wage", "age"]
    wage, age = (part.specification for part in found.components)
    assert (wage.family.name, wage.transform, wage.support.minimum) == ("normal", "log", 0)
    assert (age.nonparametric, age.around, age.support.maximum) == (True, (15, 90), 120)
    assert specification_of(SEVERAL)["components"][0]["unit"] == "€"
    found = made(site, SEVERAL | FOLDED)
    wage, age = (part.specification for part in found.components)
    assert wage.prior == Specification.from_json(specification_of(filled_in(FORM | PRIOR))).prior
    assert (wage.goal.quantiles, age.goal.above) == (((0.5, 1.0), (0.9, 1.0)), ((65.0, 1.0),))
    assert age.support.atoms == (18, 65)
    return SEVERAL


def test_a_prior_and_rho_are_filled_in_as_well(site: Site) -> None:
    sign_in(site)
    found = made(site, FORM | PRIOR | GAUSSIAN)
    assert found.rho is not None
    assert float(found.rho) == 0.5
    norm, invgamma = (scipy_distribution(part.distribution) for part in found.prior.parts)
    assert (norm.mean(), norm.std()) == pytest.approx((6, 2.5))
    assert invgamma.args == ()
    assert [part.of_variance for part in found.prior.parts] == [False, True]


def test_choices_are_in_words_and_the_better_mechanism_is_the_default(site: Site) -> None:
    sign_in(site)
    page = site.client.get("/new").text
    for name, options in CHOICES.items():
        assert set(LABELS[name]) == set(options)
        [shown] = re.findall(rf'<select id="{name}".*?</select>', page, re.DOTALL)
        labels = re.findall(r"<option[^>]*>(.*?)</option>", shown)
        assert len(labels) == len(options)
        assert all(label[0].isupper() and "_" not in label for label in labels)
    assert '<option value="randomized_response" selected>' in page
    assert made(site, FORM | {"epsilon": "1", "mechanism": "randomized_response"}).mechanism == "randomized_response"
    categories = {"family": "categorical", "categories": "a\nb", "low": "", "high": "", "transform": "identity"}
    made(site, FORM | categories | {"mechanism": "randomized_response"})


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"goal_of": "quantiles", "goal": "10%, 50 %, 90%: 2"}, Goal(quantiles=((0.1, 1.0), (0.5, 1.0), (0.9, 2.0)))),
        ({"goal_of": "quantiles", "goal": "quantiles=0.5,0.9:2"}, Goal(quantiles=((0.5, 1.0), (0.9, 2.0)))),
        ({"goal_of": "above", "goal": "1e3, 2 000"}, Goal(above=((1000.0, 1.0), (2000.0, 1.0)), transform="log")),
        ({"goal_of": "parameters", "goal": "sigma: 0.5, mu"}, Goal((("mu", 1.0), ("sigma", 0.5)))),
        ({"goal_of": "parameters", "goal": "mu=1,sigma=0.5"}, Goal((("mu", 1.0), ("sigma", 0.5)))),
        ({"goal_of": "distribution"}, Goal(distribution=1.0)),
        ({"goal": "above=1000"}, Goal(above=((1000.0, 1.0),), transform="log")),
        ({}, Goal((("mu", 1.0), ("sigma", 1.0)))),
    ],
)
def test_goals_are_chosen_in_words_with_numbers_as_people_write_them(
    site: Site, fields: dict[str, str], found: Goal
) -> None:
    """What the programming interface takes is taken as well."""
    sign_in(site)
    assert made(site, FORM | fields).goal == found


def test_policies_are_chosen_in_words_with_values_in_their_own_units(site: Site) -> None:
    sign_in(site)
    same = {"policy": "fixed", "policy_low": "1,000", "policy_high": "2 000"}
    assert made(site, FORM | same).policy.interval == pytest.approx((math.log(1000), math.log(2000)))
    for family, transform in (("normal", "identity"), ("nonparametric", "log"), ("nonparametric", "identity")):
        assert made(site, FORM | same | {"family": family, "transform": transform}).policy.interval == (1000, 2000)
    assert made(site, FORM | {"policy": "fixed:1:2"}).policy.interval == (1, 2)
    assert [made(site, FORM | {"policy": name}).policy.name for name in ("", "adaptive", "thompson")] == [
        "adaptive",
        "adaptive",
        "thompson",
    ]


def test_the_choice_of_programs_says_what_a_device_answers(site: Site) -> None:
    assert LABELS["mechanism"][""] == (
        "As programs get it: a place between two thresholds, with Laplace noise; without a family, one of several cells"
    )
    for family, mechanism in (("normal", "laplace"), ("nonparametric", "randomized_response")):
        sign_in(site)
        assert made(site, FORM | {"family": family, "mechanism": ""}).mechanism == mechanism


def test_numbers_are_read_as_people_write_them() -> None:
    form = {"low": "1,000", "high": "20 000", "max_answers": "5,000", "misfit_check": "20 %", "minimum": "0"}
    assert specification_of(form) == {
        "range": [1000, 20000],
        "max_answers": 5000,
        "misfit_check": 0.2,
        "minimum": 0,
    }


def test_a_form_that_is_left_alone_is_a_sound_specification() -> None:
    service, specification = parse_spec(specification_of({"name": "Rent", "family": "normal", "epsilon": "1"}))
    assert service.model_fields_set == {"name", "family", "epsilon"}
    assert (specification.mechanism, specification.policy.name, specification.rivals) == ("laplace", "adaptive", ())
