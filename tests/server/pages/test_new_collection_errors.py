"""The form for a new collection says at each field what is wrong with it."""

import html
import re

import pytest

from dither_server.pages.new_collection import CHOICES
from testing.servers.defaults import ADMIN
from testing.servers.new_collection import FOLDED, FORM, GAUSSIAN, PANEL, PRIOR, SEVERAL, complaint, made
from testing.servers.pages import send_form, sign_in
from testing.servers.site import Site

FIRST = {"name", "family", "transform", "low", "high", "range", "epsilon", "mechanism", "admission", "visibility"}
"""The fields that are not folded away."""


NO_FAMILY = {"family": "nonparametric"}


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"name": ""}, "name", "“Title shown to respondents” is required."),
        ({"name": "n" * 201}, "name", "“Title shown to respondents”: "),
        ({"family": "poisson"}, "transform", "“How values compare” must be by differences for poisson."),
        ({"family": "cauchy"}, "family", "That distribution is the family student_t:1"),
        ({"low": "5", "high": ""}, "high", "“to” must be a number, such as 100 or -2.5; or leave both empty."),
        ({"low": "9,000", "high": "2"}, "range", "“From” must be below “to”; they were read as 9,000 and 2."),
        (
            {"low": "0"},
            "range",
            "“From” must be above 0 where values compare by ratios; they were read as 0 and 2,000.",
        ),
        (NO_FAMILY | {"low": "-5"}, "range", "“From” must not be below 0 where values compare by ratios; they were"),
        (NO_FAMILY | {"minimum": "200"}, "range", "“From” must not be below “Least possible value”; they were read as"),
        (NO_FAMILY | {"maximum": "900"}, "range", "“to” must not be above “Largest possible value”; they were read as"),
        (
            {"transform": "identity", "high": "1e300"},
            "range",
            "“From” and “to” must be numbers that are at most about 1e99 and not all but equal; they were read as",
        ),
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
        ({"goal": "distribution=1e-300"}, "goal", "The goal's weight of distribution must be 0 or at least 1e-30"),
        ({"goal_of": "tau"}, "goal_of", "“What to learn best” must be one of distribution, quantiles, above"),
        ({"goal_of": "quantiles"}, "goal", "Goal must have shares, such as 10%, 50%, 90%."),
        ({"goal_of": "quantiles", "goal": "10%, 10%"}, "goal", "Goal must have shares, such as 10%, 50%, 90%."),
        ({"goal_of": "above", "goal": "many"}, "goal", "Goal must have values, such as 1000, 2000."),
        ({"goal_of": "parameters", "goal": "mu: x"}, "goal", "Goal must have parameters, such as mu, or mu: 1"),
        ({"goal_of": "distribution", "goal": "50%"}, "goal", "Goal must be empty for the whole distribution."),
        (
            {"policy": "fixed", "policy_high": "5"},
            "policy_low",
            "“The same question from” must be a number, such as 100 or -2.5.",
        ),
        (
            {"policy": "fixed", "policy_low": "0", "policy_high": "5"},
            "policy_low",
            "“The same question from” must be above 0 where values compare by ratios.",
        ),
        (
            {"policy": "fixed", "policy_low": "9", "policy_high": "5"},
            "policy_low",
            "“The same question from” must be below “the same question to”.",
        ),
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
        ({"minimum": "900", "maximum": "500"}, "minimum", "The minimum must be below the maximum."),
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
        ({"opens_at": "0001-01-01T00:00"}, "opens_at", "“Opens at (UTC)”: Input should be a time from 1970 to 9998"),
        ({"closes_at": "9999-12-31T23:59"}, "closes_at", "“Closes at (UTC)”: Input should be a time from 1970 to"),
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


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"component_2_name": ""}, "component_2_name", "A component's name has 1 to 64 letters"),
        ({"component_2_name": "w e"}, "component_2_name", "A component's name has 1 to 64 letters"),
        ({"component_2_name": "wage"}, "component_2_name", "Components must have different names."),
        ({"component_1_low": "9000"}, "component_1_low", "The component wage: “Most values from” must be below"),
        ({"component_1_high": "much"}, "component_1_high", "The component wage: “to” must be a number"),
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
        ({"component_1_family": "poisson"}, "component_1_transform", "The component wage: “How values compare” must"),
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


@pytest.mark.parametrize("number", ["0", "9", "10"])
def test_fields_of_numbers_beyond_the_last_are_none_of_the_form(site: Site, number: str) -> None:
    sign_in(site)
    beyond = {f"component_{number}_name": "height", f"component_{number}_low": "much"}
    assert len(made(site, SEVERAL | beyond).components) == 2
    assert made(site, FORM | beyond).components == ()
    reply = send_form(site, "/new", FORM | beyond | {"epsilon": "much"})
    assert (reply.status_code, complaint(reply.text)[0]) == (422, "epsilon")


def test_one_number_of_several_is_refused(site: Site) -> None:
    sign_in(site)
    reply = send_form(site, "/new", {name: text for name, text in SEVERAL.items() if "_2_" not in name})
    assert reply.status_code == 422
    assert "There must be 2 to 8 components, not 1." in reply.text
    assert '<a href="#components">' in reply.text


def complaints(page: str) -> dict[str, str]:
    """What a page of the form says is wrong, by field; all of it is listed above, and the first has the focus."""
    found = re.findall(r'<span class="wrong" id="(\w+)-wrong">(.*?)</span>', page)
    listed = re.findall(r'href="#(\w+)"', re.findall(r'<p class="alert" role="alert">(.*?)</p>', page)[0])
    assert {*listed} == {field for field, _ in found}
    assert re.findall(r'id="(\w+)"[^>]* aria-invalid="true" autofocus', page) == listed[:1]
    return {field: html.unescape(sentence) for field, sentence in found}


def test_all_that_is_wrong_is_told_at_once(site: Site) -> None:
    sign_in(site)
    wrong = {"name": "", "low": "x", "high": "y", "epsilon": "much", "max_answers": "-1", "unit": "€" * 81}
    wrong |= {"goal_of": "quantiles", "goal": "10%, 10%", "panel_answers": "few", "panel_periods": "", "period": "week"}
    found = complaints(send_form(site, "/new", FORM | wrong).text)
    assert {*found} == {*wrong} - {"goal_of", "period"}
    assert found["epsilon"].startswith("“ε of one answer” must be")
    assert found["high"].startswith("“to” must be a number")
    named = {"component_1_name": "wäge", "component_1_low": "x"}
    assert {*complaints(send_form(site, "/new", SEVERAL | named).text)} == {*named}
    several = {"component_1_low": "9000", "component_2_minimum": "130", "component_2_goal": "mu", "epsilon": "much"}
    assert {*complaints(send_form(site, "/new", SEVERAL | several).text)} == {*several}


@pytest.mark.parametrize(
    "fields",
    [
        {"misfit_check": "0.9", "misfit_looks": "500"},
        {"period": "year", "drift": "yes"},
        {"epsilon": "much", "epsilon_choices": "0.5, 2"},
        {"family": "cauchy", "goal": "mu"},
        {**GAUSSIAN, "rho": "x"},
    ],
)
def test_what_follows_from_something_wrong_is_not_told(site: Site, fields: dict[str, str]) -> None:
    """With the first of these put right, nothing is wrong with the second."""
    sign_in(site)
    assert len(complaints(send_form(site, "/new", FORM | fields).text)) == 1
