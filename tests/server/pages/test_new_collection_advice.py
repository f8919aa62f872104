"""The form for a new collection advises: the precision to expect, from the same plan and design as the commands."""

import math
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from dither_estimator.dependence.design import joint_design
from dither_server.pages import admin
from dither_server.pages.advice import Advice, advise
from dither_server.pages.component_advice import advise_on_components
from testing.patience import PATIENCE
from testing.servers.new_collection import FORM, GAUSSIAN, PANEL, PRIOR, SEVERAL, filled_in
from testing.servers.pages import sign_in
from testing.servers.site import Site, problem


def test_the_advice_is_the_plan_and_the_design(site: Site) -> None:
    assert problem(site.client.get("/new/advice", params=FORM)) == (401, "unauthorized")
    sign_in(site)
    advice = site.client.get("/new/advice", params=FORM | {"epsilon": "1", "respondents": "5000"}).text
    assert "5,000 people give" in advice
    assert "Randomized response would need 37% fewer respondents" in advice
    assert "If half of the people have 447 or less, one in ten 171 or less, and one in ten 1,170 or more" in advice
    assert not re.search(r"\b(mu|sigma|theta)\b", advice)
    few = site.client.get("/new/advice", params=FORM | {"epsilon": "1", "respondents": "1"}).text
    assert "too few" in few
    wrong = site.client.get("/new/advice", params=FORM | {"epsilon": "<b>"}).text
    assert "<b>" not in wrong
    assert "“ε of one answer” must be" in wrong
    alone = site.client.get("/new/advice", params=FORM | {"policy": "fixed:1:2"}).text
    assert "A collection that always asks the same question cannot be planned." in alone
    assert (
        "Respondents must be a whole number." in site.client.get("/new/advice", params=FORM | {"respondents": "x"}).text
    )


@pytest.mark.parametrize("range_", [{"low": "0", "high": "100"}, {"low": "-3", "high": "103"}])
def test_the_population_of_the_advice_is_in_the_middle_of_the_range(range_: dict[str, str]) -> None:
    advice = advise({"family": "normal", "transform": "identity", "epsilon": "1"} | range_)
    assert advice.guess["mu"] == pytest.approx(50)
    assert advice.population.startswith("half of the people have 50 or less")


def test_advice_refuses_what_contradicts_itself(site: Site) -> None:
    """As creating the collection does."""
    sign_in(site)
    always = {"mechanism": "laplace", "policy": "fixed", "policy_low": "-5", "policy_high": "-1", "minimum": "0"}
    says = "all values lie at HIGH or above, so that everybody would have the same answer"
    assert says in site.client.get("/new/advice", params=FORM | {"transform": "identity"} | always).text
    of_one = {f"component_2_{name}": text for name, text in (("transform", "log"), ("minimum", "-5"))}
    says = "The component age: minimum must not be below 0 where values compare by ratios"
    assert says in site.client.get("/new/advice", params=SEVERAL | of_one).text
    says = "Minimum must not be below 0 where values compare by ratios: raise minimum or compare values by differences."
    assert says in site.client.get("/new/advice", params=FORM | {"minimum": "-5"}).text


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
    assert "The component wage: “Most values from” must be a number" in wrong


def test_advice_leaves_the_threads_of_short_calls_alone(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it is asked for at once, one is computed at a time, and pages are shown meanwhile."""
    sign_in(site)
    collection = site.create(visibility="public")
    begun, go_on = threading.Semaphore(0), threading.Event()

    def slow(_: dict[str, str]) -> str:
        begun.release()
        assert go_on.wait(PATIENCE)
        return "advice"

    monkeypatch.setattr(admin, "_advice", slow)
    with ThreadPoolExecutor(42) as forms:
        asked = [forms.submit(site.client.get, "/new/advice", params=FORM) for _ in range(42)]
        assert begun.acquire(timeout=PATIENCE)
        assert site.client.get(f"/v1/collections/{collection}").status_code == 200
        assert site.client.get(f"/collections/{collection}").status_code == 200
        assert not begun.acquire(blocking=False)
        go_on.set()
        assert {each.result().text for each in asked} == {"advice"}


def test_advice_that_nobody_waits_for_any_more_is_not_computed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[dict[str, str]] = []

    def noted(form: dict[str, str]) -> str:
        computed.append(form)
        return "advice"

    monkeypatch.setattr(admin, "_advice", noted)
    sign_in(site)
    cookie = "; ".join(f"{name}={value}" for name, value in site.client.cookies.items())
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": "/new/advice", "raw_path": b"/new/advice", "root_path": "", "query_string": b"name=Wages",
        "headers": [(b"host", b"testserver"), (b"cookie", cookie.encode())], "client": ("127.0.0.1", 50_000),
        "server": ("testserver", 80),
    }  # fmt: skip

    async def ask(*messages: str) -> None:
        waiting = list(messages)

        async def receive() -> dict[str, object]:
            return {"type": waiting.pop(0), "body": b"", "more_body": False}

        async def send(_: object) -> None:
            pass

        await site.client.app(dict(scope), receive, send)

    assert site.client.portal is not None
    site.client.portal.call(ask, "http.disconnect")
    assert computed == []
    site.client.portal.call(ask, "http.request", "http.disconnect")
    assert computed == [{"name": "Wages"}]


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


def test_without_a_family_the_advice_says_for_what_it_holds(site: Site) -> None:
    sign_in(site)
    advice = site.client.get("/new/advice", params={"family": "nonparametric", "epsilon": "0.5"}).text
    assert "so the following holds for ε = 1, 1,000 people, the goal distribution and the default mechanism" in advice
    assert "four times as many people leave half of that, and so does ε = 2, while ε = 0.5 leaves about twice" in advice
    page = site.client.get("/new").text
    assert "Without a family the shape may be any that is fairly smooth" in page


@pytest.mark.parametrize("fields", [{}, {"low": "1", "high": "2"}])
def test_of_a_value_that_nobody_has_the_advice_is_to_give_a_range(site: Site, fields: dict[str, str]) -> None:
    """A form has no theta that could be nearer to the value."""
    sign_in(site)
    form = {"family": "normal", "epsilon": "1", "goal": "above=65"}
    advice = site.client.get("/new/advice", params=form | fields).text
    assert "or everybody: give a range, or a prior, in whose middle the value may lie." in advice
    assert "theta" not in advice
