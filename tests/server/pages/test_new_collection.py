"""The form for a new collection makes any that the API makes, says at its field what is wrong, and advises."""

import html
import math
import re
from fractions import Fraction
from typing import Any

import pytest
from scipy_distributions import scipy_distribution

from dither_client.mechanisms.panel import Panel
from dither_estimator.dependence.design import joint_design
from dither_estimator.nonparametric.support import Support
from dither_estimator.specification.periods import Period
from dither_estimator.specification.specification import Specification, SpecificationError
from dither_server.collections.specification import CollectionSpec, parse_spec
from dither_server.pages.advice import Advice, advise
from dither_server.pages.component_advice import advise_on_components
from dither_server.pages.new_collection import CHOICES, LABELS, specification_of
from testing.servers.defaults import ADMIN
from testing.servers.pages import send_form, sign_in
from testing.servers.site import Site, problem

FORM = {
    "name": "Wages & <more>",
    "family": "normal",
    "transform": "log",
    "low": "100",
    "high": "2000",
    "epsilon": "0.1",
}
FIRST = {"name", "family", "transform", "low", "high", "range", "epsilon", "mechanism", "admission", "visibility"}
"""The fields that are not folded away."""
GAUSSIAN = {"mechanism": "gaussian", "epsilon": "", "rho": "0.5"}
PRIOR = {
    "low": "",
    "high": "",
    "prior_mu": "norm, loc=6, scale=2.5",
    "prior_sigma": "invgamma, a=1, scale=1, of=variance",
}
PANEL = {"period": "week", "panel_answers": "2", "panel_periods": "30"}

SEVERAL = {
    "name": "Wages and ages", "epsilon": "1", "mechanism": "randomized_response", "respondents": "5000",
    "component_1_name": "wage", "component_1_unit": "€", "component_1_question": "What do you earn?",
    "component_1_family": "normal", "component_1_transform": "log", "component_1_low": "150",
    "component_1_high": "2,000", "component_1_minimum": "0",
    "component_2_name": "age", "component_2_family": "nonparametric", "component_2_transform": "identity",
    "component_2_low": "15", "component_2_high": "90", "component_2_maximum": "120", "component_2_decimals": "0",
}  # fmt: skip
"""A form for two numbers of each person."""
FOLDED = {
    "component_1_low": "",
    "component_1_high": "",
    "component_1_prior_mu": "norm, loc=6, scale=2.5",
    "component_1_prior_sigma": "invgamma, a=1, scale=1, of=variance",
    "component_1_goal": "quantiles=0.5,0.9",
    "component_2_atoms": "18, 65",
    "component_2_goal": "above=65",
}
"""What else a number can have, in that form."""


def filled_in(form: dict[str, str]) -> dict[str, str]:
    """The form without what is empty, as it is read."""
    return {name: text for name, text in form.items() if text}


def made(site: Site, form: dict[str, Any]) -> Specification:
    """What the collection that the form makes rests on."""
    reply = send_form(site, "/new", form)
    assert reply.status_code == 303, complaint(reply.text)
    specification = site.service.collections.get(reply.headers["location"].rpartition("/")[2]).specification
    assert isinstance(specification, Specification)
    return specification


def complaint(page: str) -> tuple[str, str]:
    """The field that a page of the form says is wrong, and why; it has the focus and refers to the sentence."""
    [(field, sentence)] = re.findall(r'<span class="wrong" id="(\w+)-wrong">(.*?)</span>', page)
    [marked] = re.findall(r'<(?:input|select|fieldset) id="(\w+)"[^>]*aria-invalid="true" autofocus', page)
    assert marked == field
    assert re.search(rf'id="{field}"[^>]* aria-describedby="{field}-wrong', page)
    assert f'<a href="#{field}">' in page
    return field, html.unescape(sentence)


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


def test_every_field_of_a_specification_can_be_filled_in(site: Site) -> None:
    sign_in(site)
    many = FORM | {
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
    assert specification_of(many) == {
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
    found = made(site, many)
    assert (len(found.rivals), found.discriminate, found.levels, found.particles) == (2, 0.4, 3, 200)
    assert found.goal.weights == (("mu", 1.0), ("sigma", 0.1))
    kept = {"keep_answers_days": "30", "keep_days": "365"}
    shapeless = FORM | kept | {"family": "nonparametric", "minimum": "0", "maximum": "1e6", "atoms": "0, 500"}
    found = made(site, shapeless)
    assert found.support == Support(0.0, 1e6, (0.0, 500.0))
    unordered = {
        "name": "How often",
        "family": "categorical",
        "epsilon": "1",
        "categories": "never\r\n once, twice \r\n",
    }
    assert made(site, unordered).categories == ("never", "once, twice")
    filled = specification_of(many) | specification_of(filled_in(FORM | PRIOR | GAUSSIAN)) | specification_of(shapeless)
    filled |= specification_of(unordered)
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
    filled |= specification_of(grouped)
    over_time = FORM | {"period": "week", "drift": "yes"}
    found = made(site, over_time)
    assert (found.period, found.drift) == (Period("week"), True)
    assert (made(site, FORM | {"period": "day"}).drift, made(site, FORM).period) == (False, None)
    filled |= specification_of(over_time)
    again = FORM | {"period": "month", "panel_answers": "2", "panel_periods": "1,200"}
    assert made(site, again).panel == Panel(2, 1_200, Period("month"))
    filled |= specification_of(again)
    found = made(site, SEVERAL)
    assert [part.name for part in found.components] == ["wage", "age"]
    wage, age = (part.specification for part in found.components)
    assert (wage.family.name, wage.transform, wage.support.minimum) == ("normal", "log", 0)
    assert (age.nonparametric, age.around, age.support.maximum) == (True, (15, 90), 120)
    filled |= specification_of(SEVERAL)
    assert filled["components"][0]["unit"] == "€"
    found = made(site, SEVERAL | FOLDED)
    wage, age = (part.specification for part in found.components)
    assert wage.prior == Specification.from_json(specification_of(filled_in(FORM | PRIOR))).prior
    assert (wage.goal.quantiles, age.goal.above) == (((0.5, 1.0), (0.9, 1.0)), ((65.0, 1.0),))
    assert age.support.atoms == (18, 65)
    assert set(filled) == set(CollectionSpec.model_fields)
    for name, field in CollectionSpec.model_fields.items():
        assert (
            name in {"prior", "range", "families", "keep_answers", "components", "panel"}
            or f'name="{name}"' in site.client.get("/new").text
        )
        assert field.description


def test_a_prior_and_rho_are_filled_in_as_well(site: Site) -> None:
    sign_in(site)
    found = made(site, FORM | PRIOR | GAUSSIAN)
    assert found.rho is not None
    assert float(found.rho) == 0.5
    norm, invgamma = (scipy_distribution(part.distribution) for part in found.prior.parts)
    assert (norm.mean(), norm.std()) == pytest.approx((6, 2.5))
    assert invgamma.args == ()
    assert [part.of_variance for part in found.prior.parts] == [False, True]


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"name": ""}, "name", "Name: Field required."),
        ({"family": "poisson"}, "transform", "Transform of poisson must be one of identity."),
        ({"family": "cauchy"}, "family", "That distribution is the family student_t:1"),
        ({"low": "5", "high": ""}, "high", "High of the range must be a number"),
        ({"low": "9", "high": "2"}, "range", "Range must be [low, high]"),
        ({"epsilon": "much"}, "epsilon", "“ε of one answer” must be"),
        ({"epsilon": ""}, "epsilon", "“ε of one answer” is required: a number above 0."),
        ({"epsilon": "51"}, "epsilon", "“ε of one answer” must be at most 50."),
        ({"mechanism": "shouting"}, "mechanism", "Mechanism must be one of"),
        ({"admission": "all"}, "admission", "Admission: "),
        ({"visibility": "all"}, "visibility", "Visibility: "),
        (
            {"rho": "0.5", "epsilon": ""},
            "rho",
            "“ρ of one answer, for Gaussian noise” is for the mechanism gaussian only",
        ),
        (
            {**GAUSSIAN, "epsilon": "1"},
            "epsilon",
            "Give either “ε of one answer” or “ρ of one answer, for Gaussian noise”",
        ),
        ({**GAUSSIAN, "rho": "x"}, "rho", "“ρ of one answer, for Gaussian noise” must be"),
        ({**GAUSSIAN, "rho": "51"}, "rho", "“ρ of one answer, for Gaussian noise” must be above 0 and at most 50."),
        (
            {"epsilon_choices": "1, 2"},
            "epsilon",
            "“ε of one answer”, the default for those who do not choose, must be one of",
        ),
        (
            {"epsilon_choices": "0.1, few"},
            "epsilon_choices",
            "Each of “Values of ε that respondents choose from” must be",
        ),
        ({"goal": "tau"}, "goal", "Goal must be all, one of mu, sigma"),
        ({"goal": "mu=-1,sigma=1"}, "goal", "The goal's weight of mu"),
        ({"policy": "greedy"}, "policy", "Policy must be adaptive, thompson or fixed:LOW:HIGH"),
        ({"policy": "fixed:1:2", "mechanism": "staircase"}, "policy", "Policy must be adaptive or thompson"),
        ({"levels": "0"}, "levels", "Levels must be an integer"),
        ({"levels": "2", "mechanism": "staircase"}, "levels", "Levels cannot be 2 here"),
        ({"particles": "1.5"}, "particles", "Particles must be a whole number."),
        ({"misfit_check": "0.9"}, "misfit_check", "“Share of the answers that check whether the family fits” must be"),
        (
            {"misfit_check": "some"},
            "misfit_check",
            "“Share of the answers that check whether the family fits” must be a share such as 0.2.",
        ),
        (
            {"misfit_looks": "500"},
            "misfit_looks",
            "“Interim looks at the fit, in check answers” needs “Share of the answers that check",
        ),
        (
            {"misfit_check": "0.2", "misfit_looks": "5,x"},
            "misfit_looks",
            "Each of “Interim looks at the fit, in check answers” must be a whole number.",
        ),
        ({"competing_normal_log": "yes"}, "families", "Families lists normal with transform log twice."),
        ({"discriminate": "0.3"}, "discriminate", "Discriminate needs families to compare."),
        ({"prior_mu": "norm"}, "prior", "Give either prior or range, not both."),
        (PRIOR | {"prior_sigma": ""}, "prior", "Prior must name exactly the parameters mu, sigma."),
        (PRIOR | {"prior_mu": "norm, 3"}, "prior", "Prior of mu must be written as a distribution and its parameters"),
        (PRIOR | {"prior_mu": "norm, scale=x"}, "prior", "Prior of mu must be written as"),
        (PRIOR | {"prior_mu": "norm, size=3"}, "prior", "Prior of mu: norm takes loc, scale."),
        (PRIOR | {"prior_sigma": "norm, scale=3"}, "prior", "Prior of sigma: the distribution must not reach below 0."),
        (
            {"member_cuts": "300, few"},
            "member_cuts",
            "“Where institutions count their members” must be numbers, such as 300, 500, 800.",
        ),
        ({"member_cuts": "500, 300"}, "member_cuts", "“Where institutions count their members” must be a list of"),
        (
            {**GAUSSIAN, "member_cuts": "300"},
            "member_cuts",
            "“Where institutions count their members” needs “ε of one answer”",
        ),
        ({"decimals": "7"}, "decimals", "Decimals: "),
        ({"decimals": "two"}, "decimals", "Decimals must be a whole number."),
        ({"unit": "€" * 81}, "unit", "Unit: "),
        ({"privacy_url": "http://b.example"}, "privacy_url", "“Page about privacy”: "),
        ({"minimum": "9", "maximum": "5"}, "minimum", "The minimum must be below the maximum."),
        ({"period": "year"}, "period", "Period must be day, week or month."),
        ({"period": "week", "family": "nonparametric"}, "period", "Period needs a family with parameters"),
        (PANEL | {"panel_answers": "few"}, "panel_answers", "“Times that each person answers” must be a whole number."),
        (PANEL | {"panel_periods": ""}, "panel_periods", "“within how many days, weeks or months from joining” must"),
        (PANEL | {"panel_answers": "31"}, "panel", "Periods of a panel must be a whole number from 2 to 1,500, and"),
        (PANEL | {"panel_periods": "2,000"}, "panel", "Periods of a panel must be a whole number from 2 to 1,500, and"),
        (PANEL | {"period": ""}, "panel", "Panel needs a period: day, week or month."),
        (PANEL | {"epsilon_choices": "0.1, 1"}, "epsilon_choices", "“Values of ε that respondents choose from” cannot"),
        (PANEL | {"opens_at": "2099-01-02T00:00"}, "opens_at", "“Opens at (UTC)” cannot go with panel"),
        (PANEL | {"admission": "invite"}, "admission", "Admission cannot be invite with panel"),
        ({"drift": "yes"}, "drift", "Drift needs a period: day, week or month."),
        (
            {"period": "day", "misfit_check": "0.2"},
            "misfit_check",
            "“Share of the answers that check whether the family fits” cannot go with period",
        ),
        ({"max_answers": "-1"}, "max_answers", "“Maximum number of answers” must be a whole number."),
        ({"max_answers": "0"}, "max_answers", "“Maximum number of answers”: "),
        ({"opens_at": "soon"}, "opens_at", "“Opens at (UTC)”: "),
        (
            {"opens_at": "2099-01-02T00:00", "closes_at": "2099-01-01T00:00"},
            "closes_at",
            "“Closes at (UTC)” must be later than “Opens at (UTC)”.",
        ),
    ],
)
def test_what_is_wrong_stands_at_its_field(site: Site, fields: dict[str, str], field: str, sentence: str) -> None:
    sign_in(site)
    reply = send_form(site, "/new", FORM | fields)
    assert reply.status_code == 422
    found, why = complaint(reply.text)
    assert found == field
    assert why.startswith(sentence)
    assert why.count(". ") == 0
    assert (field in FIRST) != bool(
        re.search(r"<details [^>]*open *>(?:(?!</details>).)*-wrong", reply.text, re.DOTALL)
    )
    kept = [text for name, text in (FORM | fields).items() if text and name not in CHOICES and text != "yes"]
    assert all(f'value="{html.escape(text)}"' in reply.text for text in kept)
    assert site.client.get("/v1/collections", headers=ADMIN).json() == {"collections": []}


def test_the_advice_is_the_plan_and_the_design(site: Site) -> None:
    assert problem(site.client.get("/new/advice", params=FORM)) == (401, "unauthorized")
    sign_in(site)
    advice = site.client.get("/new/advice", params=FORM | {"epsilon": "1", "respondents": "5000"}).text
    assert "5,000 people give" in advice
    assert "Randomized response would need 37% fewer respondents" in advice
    assert "If half of the people have 425 or less, one in ten 168 or less, and one in ten 1,080 or more" in advice
    assert not re.search(r"\b(mu|sigma|theta)\b", advice)
    few = site.client.get("/new/advice", params=FORM | {"epsilon": "1", "respondents": "1"}).text
    assert "too few" in few
    wrong = site.client.get("/new/advice", params=FORM | {"epsilon": "<b>"}).text
    assert "<b>" not in wrong
    assert "epsilon" in wrong.lower()
    alone = site.client.get("/new/advice", params=FORM | {"policy": "fixed:1:2"}).text
    assert "A collection that always asks the same question cannot be planned." in alone
    assert (
        "Respondents must be a whole number." in site.client.get("/new/advice", params=FORM | {"respondents": "x"}).text
    )


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"component_2_name": ""}, "component_2_name", "A component's name has 1 to 64 letters"),
        ({"component_2_name": "w e"}, "component_2_name", "A component's name has 1 to 64 letters"),
        ({"component_2_name": "wage"}, "component_2_name", "Components must have different names."),
        ({"component_1_low": "9000"}, "component_1_low", "The component wage: range must be [low, high]"),
        ({"component_1_high": "much"}, "component_1_high", "The component wage: high of the range must be a number"),
        ({"component_2_minimum": "130"}, "component_2_minimum", "The component age: the minimum must be below"),
        ({"component_2_unit": "€" * 81}, "component_2_unit", "The component age: unit: must have at most 80"),
        ({"component_1_decimals": "7"}, "component_1_decimals", "The component wage: decimals: "),
        ({"component_1_atoms": "0"}, "component_1_atoms", "The component wage: atoms cannot go with a family"),
        ({"component_2_atoms": "0, few"}, "component_2_atoms", "The component age: atoms must be numbers, such as"),
        ({"component_2_atoms": "200"}, "component_2_atoms", "The component age: atoms must lie between minimum"),
        ({"component_2_goal": "mu"}, "component_2_goal", "The component age: goal"),
        ({"component_1_prior_mu": "norm"}, "component_1_prior", "The component wage: give either prior or range"),
        (FOLDED | {"component_1_prior_mu": "norm, 3"}, "component_1_prior", "The component wage: prior of mu must be"),
        (FOLDED | {"component_1_prior_sigma": ""}, "component_1_prior", "The component wage: prior must name exactly"),
        ({"component_1_family": "poisson"}, "component_1_transform", "The component wage: transform of poisson"),
        ({"minimum": "3"}, "minimum", "Minimum cannot go with components: leave minimum out or give it for each"),
        ({"period": "week"}, "period", "Period cannot go with components"),
        ({"epsilon": "much"}, "epsilon", "The component wage: “ε of one answer” must be"),
    ],
)
def test_what_is_wrong_with_one_of_several_numbers_stands_at_its_field(
    site: Site, fields: dict[str, str], field: str, sentence: str
) -> None:
    sign_in(site)
    reply = send_form(site, "/new", SEVERAL | fields)
    assert reply.status_code == 422
    found, why = complaint(reply.text)
    assert found == field
    assert why.startswith(sentence)
    folded = field.endswith(("_atoms", "_goal", "_prior"))
    assert folded == bool(re.search(r'<details class="whole" open *>(?:(?!</details>).)*-wrong', reply.text, re.DOTALL))
    assert all(
        f'value="{html.escape(text)}"' in reply.text for text in fields.values() if text not in CHOICES["period"]
    )


def test_one_number_of_several_is_refused(site: Site) -> None:
    sign_in(site)
    reply = send_form(site, "/new", {name: text for name, text in SEVERAL.items() if "_2_" not in name})
    assert reply.status_code == 422
    assert "There must be 2 to 8 components, not 1." in reply.text
    assert '<a href="#components">' in reply.text


def test_the_advice_on_several_numbers_is_that_of_their_design(site: Site) -> None:
    """Its widths are those of the design's variances, of which a tenth more is left for questions about one number."""
    sign_in(site)
    advice = advise_on_components(SEVERAL)
    variances = joint_design(2, 0.0, Fraction(1)).variances
    wanted = [1.645 * math.sqrt(variance / 0.9 / 5000) for variance in (variances[0], variances[1], variances[4])]
    assert [advice.middle, advice.spread, advice.correlation] == pytest.approx(wanted)
    page = site.client.get("/new/advice", params=SEVERAL).text
    assert f"the middle of each number: ± {100 * wanted[0]:.2g}% of its spread" in page
    assert f"each correlation: ± {wanted[2]:.2g}" in page
    few = site.client.get("/new/advice", params=SEVERAL | {"respondents": "10"}).text
    assert few.count("too few people") == 3
    wrong = site.client.get("/new/advice", params=SEVERAL | {"component_1_low": "x"}).text
    assert "The component wage: low of the range must be a number" in wrong


def sds(advice: Advice) -> list[tuple[str, float]]:
    """The first item of each row, and the sd of the first parameter."""
    return [(budget, sd) for budget, all_of_them, _ in advice.rows for sd in [next(iter(all_of_them.values()))] if sd]


def test_advice_answers_for_every_field() -> None:
    form = FORM | {"epsilon": "1", "respondents": "20000"}
    plain = advise(form)
    assert [budget for budget, _ in sds(plain)] == ["0.5", "1", "2"]
    assert plain.notes == ()
    usual = dict(sds(plain))
    assert dict(sds(advise(form | {"goal": "mu=1,sigma=0.1"})))["1"] < usual["1"]
    chosen = advise(form | {"epsilon_choices": "0.5, 1, 2"})
    assert sds(chosen) == sds(plain)
    assert "if everybody chose that ε" in chosen.notes[0]
    checked = advise(form | {"misfit_check": "0.2", "respondents": "25000"})
    assert sds(checked) == sds(plain)
    assert checked.notes[0].startswith("20% of the answers check whether the family fits")
    assert checked.notes[0].endswith("learnt from the other 20,000.")
    compared = advise(form | {"competing_logistic_log": "yes", "discriminate": "0.2", "respondents": "25000"})
    assert [sd for _, sd in sds(compared)] == pytest.approx([sd for _, sd in sds(plain)])
    assert "20% of the questions are there to tell the 2 families apart" in compared.notes[0]
    weekly = advise(form | {"period": "week", "drift": "yes"})
    assert sds(weekly) == sds(plain)
    assert "the precision of that week's respondents alone" in weekly.notes[0]
    panel = advise(form | PANEL)
    assert sds(panel) == sds(plain)
    assert panel.notes[0] == weekly.notes[0]
    assert "Each person answers 2 times within 30 weeks, and spends ε = 2 in all" in panel.notes[1]
    assert "each week has about 1,333 answers." in panel.notes[1]
    assert panel.notes[2].startswith("The table counts one answer of each person.")
    once = advise(form | PANEL | {"panel_answers": "1", "respondents": "20"})
    assert "answers once within 30 weeks, and spends ε = 1 in all" in once.notes[-1]
    assert once.notes[-1].endswith("each week has about 1 answer.")
    gaussian = advise(filled_in(form | GAUSSIAN))
    assert gaussian.symbol == "ρ"
    assert [budget for budget, _ in sds(gaussian)] == ["0.25", "0.5", "1"]
    assert "no answer costs more than ε = 1.061789" in gaussian.notes[0]
    assert [sd for _, sd in sds(gaussian)] == sorted((sd for _, sd in sds(gaussian)), reverse=True)
    narrow = advise(filled_in(form | PRIOR | {"prior_mu": "norm, loc=3, scale=0.5"}))
    assert narrow.guess["mu"] == pytest.approx(3, abs=0.05)


def test_what_a_goal_asks_for_stands_beside_the_parameters(site: Site) -> None:
    """Quantiles in the values' own units: of wages, where mu is the middle of their logarithms."""
    sign_in(site)
    form = {"family": "normal", "transform": "log", "low": "100", "high": "2000", "goal": "quantiles=0.5"}
    asked = form | {"epsilon": "1", "respondents": "5000", "mechanism": "randomized_response"}
    advice = advise(asked)
    assert advice.names == tuple(advice.rows[0][1]) == ("mu", "sigma", "quantile_0.5")
    [(_, sds, _)] = [row for row in advice.rows if row[0] == "1"]
    mu, median = sds["mu"], sds["quantile_0.5"]
    assert mu is not None
    assert median == pytest.approx(mu * math.exp(advice.guess["mu"]), rel=0.05)
    page = site.client.get("/new/advice", params=asked).text
    [head] = re.findall(r"<thead>.*?</thead>", page, re.DOTALL)
    assert "what 50% have at most" in head
    assert "mu" not in head
    assert head.count("<th ") == 5
    assert page.count("<td ") == 3 * 4


def test_without_a_range_no_population_is_made_up(site: Site) -> None:
    sign_in(site)
    advice = site.client.get("/new/advice", params={"family": "normal", "epsilon": "1"}).text
    assert (
        advice.strip() == "<p>Give the rough range of most values: the advice is about a population in its middle.</p>"
    )


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


def test_numbers_are_read_as_people_write_them() -> None:
    form = {"low": "1,000", "high": "20 000", "max_answers": "5,000", "misfit_check": "20 %", "minimum": "0"}
    assert specification_of(form) == {
        "range": [1000, 20000],
        "max_answers": 5000,
        "misfit_check": 0.2,
        "minimum": 0,
    }


@pytest.mark.parametrize("fields", [{}, {"low": "1", "high": "2"}])
def test_of_a_value_that_nobody_has_the_advice_is_to_give_a_range(site: Site, fields: dict[str, str]) -> None:
    """A form has no theta that could be nearer to the value."""
    sign_in(site)
    form = {"family": "normal", "epsilon": "1", "goal": "above=65"}
    advice = site.client.get("/new/advice", params=form | fields).text
    assert "or everybody: give a range, or a prior, in whose middle the value may lie." in advice
    assert "theta" not in advice


def test_a_form_that_is_left_alone_is_a_sound_specification() -> None:
    service, specification = parse_spec(specification_of({"name": "Rent", "family": "normal", "epsilon": "1"}))
    assert service.model_fields_set == {"name", "family", "epsilon"}
    assert (specification.mechanism, specification.policy.name, specification.rivals) == ("laplace", "adaptive", ())
