"""An admin creates a collection in a browser, with the keyboard and with all that the form offers."""

import re

import pytest
from playwright.sync_api import Route, expect

from testing.browser.axe import violations
from testing.browser.dashboard import sign_in
from testing.browser.survey import Survey
from testing.servers.defaults import ADMIN_TOKEN
from tests.browser.conftest import OpenPage

# A form with something wrong in it comes back with this status.
pytestmark = pytest.mark.console_errors(r"status of 422 .*/new\)")


def test_an_admin_does_everything_with_the_keyboard(survey: Survey, open_page: OpenPage) -> None:
    page = open_page()
    page.goto(f"{survey.url}/new")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.get_by_label("Token").focus()
    page.keyboard.type(ADMIN_TOKEN)
    page.keyboard.press("Enter")
    page.wait_for_url("**/new")
    page.get_by_label("Title shown to respondents").focus()
    for text in ("Monthly rent", "Tab", "nor", "Tab", "By", "Tab", "300", "Tab", "3000"):
        (page.keyboard.press if text == "Tab" else page.keyboard.type)(text)
    expect(page.get_by_text("1,000 people give")).to_be_visible()
    expect(page.locator("#advice table")).to_contain_text("median")
    page.get_by_label("Who may answer").select_option("invite")
    assert violations(page) == []
    page.get_by_label("Title shown to respondents").press("Enter")
    page.wait_for_url("**/collections/*")
    expect(page.get_by_role("heading", name="Monthly rent", level=1)).to_be_visible()
    page.get_by_label("Number of new invitations").fill("2")
    page.get_by_label("Number of new invitations").press("Enter")
    codes = page.get_by_label("Codes, one per line").input_value().split()
    assert len({*codes}) == 2
    page.get_by_text("QR codes of the links").press("Enter")
    expect(page.get_by_role("img", name=f"QR code of the link with the code {codes[1]}")).to_be_visible()
    assert violations(page) == []
    collection = page.url.split("/")[-2]
    for name, state in (("Pause", "paused"), ("Open", "open")):
        page.get_by_role("button", name=name).press("Enter")
        expect(page.get_by_text(f"The collection is {state}.", exact=True)).to_be_visible()
        assert survey.call("GET", f"/collections/{collection}")["state"] == state
    page.get_by_text("Close permanently").press("Enter")
    page.get_by_role("button", name="Close Monthly rent").press("Enter")
    expect(page.get_by_text("The collection is permanently closed.")).to_be_visible()
    page.get_by_role("button", name="Sign out").press("Enter")
    expect(page.get_by_role("banner").get_by_role("link", name="Sign in")).to_be_visible()
    page.goto(f"{survey.url}/collections/{collection}")
    expect(page.get_by_text("Only analysts can read the posterior")).to_be_visible()


def test_advice_on_what_the_form_was_before_does_not_stay(survey: Survey, open_page: OpenPage) -> None:
    """At a large ε it takes a quarter of a minute, in which that of before stood beside another family."""
    page, held = open_page(), list[Route]()
    sign_in(page, survey, "/new")
    advice = page.locator("#advice")
    expect(advice).to_contain_text("Without a family")
    page.route("**/new/advice*", lambda route: held.append(route))  # a builtin cannot be a handler
    page.get_by_label("Shape of the distribution").first.select_option("normal")
    expect(advice).to_have_text("This takes some seconds: the advice is being computed.")
    held[-1].continue_()
    expect(advice).to_contain_text("Give the rough range of most values")


def test_advice_that_the_form_needs_no_more_is_not_waited_for(survey: Survey, open_page: OpenPage) -> None:
    """The server sees that the request is over, and computes only the newest."""
    page = open_page()
    sign_in(page, survey, "/new")
    page.get_by_label("Shape of the distribution").select_option("normal")
    page.locator("#low").fill("300")
    page.locator("#high").fill("3000")
    expect(page.get_by_text("1,000 people give")).to_be_visible()
    page.route(re.compile("/new/advice.*respondents=2000"), lambda _: None)  # is never answered
    people = page.get_by_label("Expected number of respondents")
    with page.expect_request(re.compile("respondents=2000")):
        people.fill("2000")
    with page.expect_event("requestfailed", lambda request: "respondents=2000" in request.url):
        people.fill("3000")
    expect(page.get_by_text("3,000 people give")).to_be_visible()
    expect(page.locator("#advice")).not_to_have_attribute("aria-busy", "true")


@pytest.mark.parametrize(("width", "seen"), [(360, True), (1200, False)])
def test_on_a_phone_the_precision_is_below_the_field_that_it_follows_from(
    survey: Survey, open_page: OpenPage, width: int, seen: bool
) -> None:
    """On a wide screen the whole advice is beside the fields."""
    page = open_page(viewport={"width": width, "height": 640})
    sign_in(page, survey, "/new")
    page.get_by_label("Shape of the distribution").select_option("normal")
    page.locator("#low").fill("300")
    page.locator("#high").fill("3000")
    brief = page.locator("#brief")
    expect(brief).to_have_text(
        re.compile(r"^Expected at ε = 1: middle \(mu\) ± [\d.]+, spread \(sigma\) ± [\d.]+ \(90% sure\)\.$")
    )
    page.get_by_label("ε of one answer").fill("2")
    expect(brief).to_have_text(re.compile("^Expected at ε = 2: "))
    expect(brief).to_be_visible(visible=seen)
    if seen:
        field, line = page.get_by_label("ε of one answer").bounding_box(), brief.bounding_box()
        assert field is not None
        assert line is not None
        assert 0 < line["y"] + line["height"] - field["y"] < 320
    page.get_by_label("ε of one answer").fill("nonsense")
    expect(brief).to_have_text("")


@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1200)])
def test_the_whole_form_fits_and_takes_a_family_to_compare(
    survey: Survey, open_page: OpenPage, scheme: str, width: int
) -> None:
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    sign_in(page, survey, "/new")
    for group in page.locator("summary").all():
        group.press("Enter")
    page.get_by_label("Shape of the distribution").select_option("gamma")
    expect(page.locator("#prior_shape")).to_be_visible()
    expect(page.get_by_label("sigma of")).to_be_hidden()
    page.get_by_label("Title shown to respondents").fill("Rent")
    page.locator("#prior_shape").fill("lognorm, s=1, loc=-1")
    page.get_by_label("scale of").fill("lognorm, s=1")
    with page.expect_request("**/new/advice?*") as asked:
        page.get_by_label("Weibull", exact=True).check()
    assert "Rent" not in asked.value.url  # a name may be as long as an address
    expect(page.locator("#advice")).to_contain_text("Prior of shape: the distribution must not reach below 0.")
    page.get_by_role("button", name="Create the collection").click()
    expect(page.locator("#prior-wrong")).to_contain_text("must not reach below 0")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#prior_shape").fill("lognorm, s=1")
    expect(page.locator("#advice")).to_contain_text("30% of the questions are there to tell the 2 families apart.")
    assert violations(page) == []
    page.get_by_role("button", name="Create the collection").click()
    page.wait_for_url("**/collections/*")
    expect(page.locator("#trust table")).to_contain_text("Weibull")


@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1200)])
def test_the_form_takes_several_numbers(survey: Survey, open_page: OpenPage, scheme: str, width: int) -> None:
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    sign_in(page, survey, "/new")
    page.get_by_label("Title shown to respondents").fill("Wages, ages and hours")
    page.get_by_text("Several numbers of each person").press("Enter")
    page.get_by_role("button", name="Add a number").click()
    expect(page.locator("#family")).to_be_hidden()
    page.get_by_role("button", name="Add a number").click()
    numbers = [page.get_by_role("group", name=f"Number {number}") for number in (1, 2, 3)]
    for number, name in zip(numbers, ("wage", "dropped", "age"), strict=True):
        number.get_by_label("Name").fill(name)
    numbers[1].get_by_role("button", name="Remove").click()
    expect(page.get_by_role("group", name="Number 3")).to_have_count(0)
    wage, age = numbers[:2]
    expect(age.get_by_label("Name")).to_have_value("age")
    wage.get_by_label("Unit").fill("€")
    wage.get_by_label("Shape of the distribution").select_option("normal")
    wage.get_by_label("How values compare").select_option("log")
    wage.get_by_label("Most values from").fill("2000")
    wage.get_by_label("to", exact=True).fill("150")
    expect(page.locator("#advice")).to_contain_text("The component wage: “Most values from” must be below “to”")
    page.get_by_role("button", name="Create the collection").click()
    expect(page.locator("#component_1_low-wrong")).to_contain_text("they were read as 2,000 and 150")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    wage.get_by_label("Most values from").fill("150")
    with page.expect_request("**/new/advice?*") as asked:
        wage.get_by_label("to", exact=True).fill("2,000")
    assert "component_1_unit" not in asked.value.url
    expect(page.locator("#advice")).to_contain_text("each correlation: ± 0.3")
    assert violations(page) == []
    page.get_by_role("button", name="Create the collection").click()
    page.wait_for_url("**/collections/*")
    terms = survey.call("GET", page.url.removeprefix(survey.url))
    told = [(each["name"], each["transform"], each["unit"]) for each in terms["components"]]
    assert told == [("wage", "log", "€"), ("age", "identity", None)]


@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1200)])
def test_each_of_several_numbers_has_a_prior_a_goal_and_exact_values(
    survey: Survey, open_page: OpenPage, scheme: str, width: int
) -> None:
    """They are folded away, with the priors of the number's own family alone; those of the form itself are gone."""
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    sign_in(page, survey, "/new")
    page.get_by_label("Title shown to respondents").fill("Wages and ages")
    page.get_by_label("Shape of the distribution").select_option("normal")
    for group in ("Goal, model checks and prior", "Which values there can be", "Several numbers of each person"):
        page.get_by_text(group).press("Enter")
    page.locator("#prior_mu").fill("norm, loc=1")
    page.get_by_role("button", name="Add a number").click()
    for alone in ("#prior", "#goal_of", "#goal", "#values", "#range"):
        expect(page.locator(alone)).to_be_hidden()
    wage, age = (page.get_by_role("group", name=f"Number {number}") for number in (1, 2))
    for number, name in ((wage, "wage"), (age, "age")):
        number.get_by_label("Name").fill(name)
        number.get_by_text("Exact values, goal and prior").press("Enter")
        expect(number.get_by_label("What to learn best")).to_be_visible()
        expect(number.get_by_role("group", name="Prior")).to_be_hidden()
    wage.get_by_label("Shape of the distribution").select_option("gamma")
    expect(page.locator("#component_1_prior_shape")).to_be_visible()
    expect(page.locator("#component_1_prior_mu")).to_be_hidden()
    expect(age.get_by_role("group", name="Prior")).to_be_hidden()
    page.locator("#component_1_prior_shape").fill("lognorm, s=1, loc=-1")
    page.locator("#component_1_prior_scale").fill("lognorm, s=1")
    age.get_by_label("Values that many people have exactly").fill("0, 100")
    age.get_by_label("What to learn best").select_option("Quantiles, such as the median")
    age.get_by_label("Which of them").fill("50%")
    expect(page.locator("#advice")).to_contain_text("The component wage: prior of shape: the distribution must not")
    page.get_by_role("button", name="Create the collection").click()
    expect(page.locator("#component_1_prior-wrong")).to_contain_text("must not reach below 0")
    expect(age.get_by_label("Values that many people have exactly")).to_have_value("0, 100")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#component_1_prior_shape").fill("lognorm, s=1")
    expect(page.locator("#advice")).to_contain_text("each correlation: ±")
    assert violations(page) == []
    page.get_by_role("button", name="Create the collection").click()
    page.wait_for_url("**/collections/*")
    terms = survey.call("GET", page.url.removeprefix(survey.url))
    told = [(each["family"], each.get("atoms")) for each in terms["components"]]
    assert told == [("gamma", None), ("nonparametric", [0, 100])]


@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1200)])
def test_the_form_asks_for_the_values_of_a_question_that_is_always_the_same(
    survey: Survey, open_page: OpenPage, scheme: str, width: int
) -> None:
    """Only where that is chosen; what was typed is not sent with another choice."""
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    sign_in(page, survey, "/new")
    page.get_by_label("Title shown to respondents").fill("Rent")
    page.get_by_text("How questions are chosen").press("Enter")
    policy, first, last = (
        page.get_by_label(name) for name in ("How the next question", "The same question from", "the same question to")
    )
    expect(first).to_be_hidden()
    policy.select_option("Always the same question")
    first.fill("3,000")
    last.fill("300")
    expect(page.locator("#advice")).to_contain_text("“The same question from” must be below")
    with page.expect_request("**/new/advice?*") as asked:
        policy.select_option("")
    assert "policy" not in asked.value.url
    expect(first).to_be_hidden()
    policy.select_option("fixed")
    page.get_by_role("button", name="Create the collection").click()
    expect(page.locator("#policy_low-wrong")).to_contain_text("must be below “the same question to”")
    expect(policy).to_have_value("fixed")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    first.fill("300")
    last.fill("3,000")
    page.get_by_role("button", name="Create the collection").click()
    page.wait_for_url("**/collections/*")
    assert survey.call("GET", page.url.removeprefix(survey.url))["policy"] == "fixed:300:3000"


@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1200)])
def test_the_form_offers_a_panel_once_a_period_is_chosen(
    survey: Survey, open_page: OpenPage, scheme: str, width: int
) -> None:
    """What was typed into it is neither advised on nor sent while no period is chosen."""
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    sign_in(page, survey, "/new")
    page.get_by_label("Title shown to respondents").fill("Rent by week")
    page.get_by_label("Shape of the distribution").select_option("normal")
    page.get_by_label("From", exact=True).fill("300")
    page.get_by_label("to", exact=True).fill("3000")
    page.get_by_text("Results over time").press("Enter")
    panel = page.get_by_role("group", name="The same people several times")
    expect(panel).to_be_hidden()
    page.get_by_label("Tell answers apart by time").select_option("week")
    expect(panel).to_be_visible()
    panel.get_by_label("Times that each person answers").fill("31")
    panel.get_by_label("within how many").fill("30")
    expect(page.locator("#advice")).to_contain_text("and answers one from 1 to periods")
    page.get_by_label("Tell answers apart by time").select_option("")
    expect(page.locator("#advice")).to_contain_text("people give these 90% intervals")
    expect(panel).to_be_hidden()
    page.get_by_label("Tell answers apart by time").select_option("week")
    page.get_by_role("button", name="Create the collection").click()
    expect(page.locator("#panel-wrong")).to_contain_text("and answers one from 1 to periods")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    panel.get_by_label("Times that each person answers").fill("2")
    expect(page.locator("#advice")).to_contain_text("Each person answers 2 times within 30 weeks")
    page.get_by_role("button", name="Create the collection").click()
    page.wait_for_url("**/collections/*")
    terms = survey.call("GET", page.url.removeprefix(survey.url))
    assert (terms["period"], terms["panel"]) == ("week", {"answers": 2, "periods": 30})
