"""The numbers and the words of the collection's page: they are the API's."""

import hashlib
import json
import math
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.parse import urljoin

import numpy as np
import pytest

from dither_client import RandomizedResponse, parse_query
from dither_client.posterior.wire import FamilyEvidence, Misfit, MisfitLook, ParameterSummary, PosteriorReply, from_json
from dither_estimator.planning.precision import precision_of_answers
from dither_server.api.messages.examples import POSTERIOR
from dither_server.database.reads import HistoryRow
from dither_server.pages import views
from dither_server.pages.charts import charts, curves
from dither_server.pages.precision import Plans
from dither_server.pages.qr import qr_svg
from dither_server.pages.rendering import STATIC, asset
from dither_server.pages.sentences import find
from testing.servers.defaults import ADMIN
from testing.servers.pages import answered, send_form, sign_in
from testing.servers.site import START, Site, problem

SECOND = 1000


def fetch(site: Site, collection: str, name: str) -> Any:
    reply = site.client.get(f"/collections/{collection}/{name}")
    assert reply.status_code == 200, reply.text
    return reply.json()


def row(answers: int, at: int) -> HistoryRow:
    return HistoryRow(answers, at, 1.0, "{}", "{}")


def test_the_charts_are_the_history_and_the_posterior(site: Site) -> None:
    sign_in(site)
    collection = answered(site)
    shown = fetch(site, collection, "charts.json")
    history = site.client.get(f"/v1/collections/{collection}/posterior/history").json()["history"]
    posterior = site.client.get(f"/v1/collections/{collection}/posterior").json()
    assert shown["answers"] == 60
    for name in ("mu", "sigma"):
        line = shown["parameters"][name]
        assert line["answers"] == sorted({*(item["answers"] for item in history), 60})
        for level in ("q05", "q25", "q50", "q75", "q95"):
            assert line[level][-1] == posterior["posterior"][name][level]
            assert line[level][: len(history) - 1] == [item["posterior"][name][level] for item in history][:-1]
    edges = [list(parse_query(item["query"]).edges) for item in history]
    assert shown["questions"]["edges"][0] == [cuts[0] for cuts in edges]
    assert shown["questions"]["answers"] == [item["answers"] for item in history]


def test_a_point_that_many_people_have_is_one_threshold() -> None:
    cuts = (-5e-324, 0.0, 12.703125, float(np.nextafter(450.5, 0)), 450.5, 9.99e299)
    asked = replace(row(5, 0), query=json.dumps(RandomizedResponse(cuts, 1).to_json()))
    posterior = from_json(PosteriorReply, POSTERIOR)
    shown = charts((), [asked], posterior, {}, SECOND)["questions"]
    assert shown == {"answers": [5], "edges": [[0], [12.703125], [450.5], [9.99e299]]}


def test_a_row_of_the_history_that_is_the_present_one_is_drawn_once(site: Site) -> None:
    sign_in(site)
    line = fetch(site, answered(site, 20), "charts.json")["parameters"]["mu"]["answers"]
    assert len(line) == len(set(line))


def test_before_any_answer_there_is_a_page(site: Site) -> None:
    for fields in ({}, {"range": None}, {"range": None, "transform": "log"}, {"family": "poisson"}):
        collection = site.create(visibility="public", **fields)
        assert fetch(site, collection, "charts.json")["answers"] == 0
        assert "The prior, before any answer: the mean" in site.client.get(f"/collections/{collection}").text


def test_the_pace_beside_the_answers_is_the_last_one_of_the_chart(site: Site) -> None:
    sign_in(site)
    collection = answered(site, 20)
    said = fetch(site, collection, "charts.json")["pace"]["said"]
    assert f"<dt>Pace of answers</dt><dd>{said[-1]}</dd>" in fetch(site, collection, "findings.json")["course"]
    assert said[-1].endswith(" a minute")  # how many depends on when they were learnt
    site.clock.now += 70
    said = fetch(site, collection, "charts.json")["pace"]["said"]
    assert said[0] != said[-1] == "none"


def test_what_is_fetched_for_a_private_page_needs_a_token(site: Site) -> None:
    collection = answered(site, 20)
    paths = [
        "findings.json",
        "charts.json",
        "precision.json",
        "export/population.csv",
        "export/counts.csv",
        "export/history.csv",
    ]
    for path in paths:
        assert problem(site.client.get(f"/collections/{collection}/{path}")) == (401, "unauthorized")
    sign_in(site)
    for path in paths:
        assert site.client.get(f"/collections/{collection}/{path}").status_code == 200


@pytest.mark.parametrize("fields", [{}, {"period": "week", "drift": True}])
def test_more_precision_takes_more_answers(site: Site, fields: dict[str, Any]) -> None:
    sign_in(site)
    collection = answered(site, **fields)
    posterior = site.client.get(f"/v1/collections/{collection}/posterior").json()["posterior"]
    for name, steps in fetch(site, collection, "precision.json").items():
        assert steps["sd"][0] == posterior[name]["sd"]
        assert steps["sd"][-1] == pytest.approx(posterior[name]["sd"] / 10)
        assert steps["more"][0] == 0
        assert steps["more"] == sorted(steps["more"])
        assert steps["more"][-1] > 0


def test_others_are_served_while_plans_are_made(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """More plans than threads for long reads are asked for, and the first takes as long as it likes."""
    sign_in(site)
    collection, goes_on, begun = answered(site), threading.Event(), threading.Semaphore(0)

    def plan(*_: object) -> dict[str, Any]:
        begun.release()
        assert goes_on.wait(60)
        return {}

    monkeypatch.setattr(Plans, "more_answers", plan)
    with ThreadPoolExecutor(8) as visitors:
        plans = [visitors.submit(site.client.get, f"/collections/{collection}/precision.json") for _ in range(8)]
        try:
            assert begun.acquire(timeout=60)
            assert site.client.get(f"/v1/collections/{collection}/queries", headers=ADMIN).status_code == 200
            assert not any(each.done() for each in plans)
        finally:
            goes_on.set()
        assert [each.result().status_code for each in plans] == [200] * 8


def test_in_the_end_the_variance_falls_as_one_over_the_answers(site: Site) -> None:
    collection = site.service.collections.get(site.create())
    summaries = {"mu": ParameterSummary(50.0, 5.0, *[0.0] * 5), "sigma": ParameterSummary(25.0, 6.0, *[0.0] * 5)}
    posterior = replace(from_json(PosteriorReply, POSTERIOR), answers=500, posterior=summaries)
    for steps in Plans().more_answers(collection, posterior).values():
        some, more, most = (steps["more"][step] for step in (32, 36, 40))
        assert (most - more) / (more - some) == pytest.approx(10**0.2, rel=0.02)  # if the sd did, 10**0.1


def test_degrees_of_freedom_that_are_hardly_known_take_no_fewer_answers_than_they_can_be_planned_with(
    site: Site,
) -> None:
    """7,000 answers leave an sd above the largest that can be planned, for which `dither plan` needs 29,000."""
    collection = site.service.collections.get(site.create(family="student_t", epsilon=2, range=[0, 100]))
    summaries = {
        name: ParameterSummary(mean, sd, *[0.0] * 5)
        for name, mean, sd in (("mu", 50.0, 0.5), ("sigma", 10.0, 0.9), ("df", 2.0, 0.5))
    }
    posterior = replace(from_json(PosteriorReply, POSTERIOR), answers=7_000, posterior=summaries)
    plan = precision_of_answers(collection.specification, [50, 10, 2])
    steps = Plans().more_answers(collection, posterior)["df"]
    assert steps["more"][:2] == [0, plan.respondents({"df": 0.49}) - 7_000]
    assert steps["more"][1] > 20_000
    assert steps["more"][-1] == plan.respondents({"df": steps["sd"][-1]}) - 7_000
    assert steps["more"] == sorted(steps["more"])


def test_a_collection_that_asks_one_question_has_no_plan(site: Site) -> None:
    collection = site.create(visibility="public", policy="fixed:0:100")
    assert problem(site.client.get(f"/collections/{collection}/precision.json")) == (404, "not-found")
    assert "<option>" not in site.client.get(f"/collections/{collection}").text  # so the page does not ask for it
    assert "<option>mu</option>" in site.client.get(f"/collections/{site.create(visibility='public')}").text


def test_the_words_say_what_the_numbers_do(site: Site) -> None:
    collection = answered(site, misfit_check=False)
    published = site.published(collection)
    found = site.service.collections.get(collection)
    specification, survey = found.specification, found.survey
    plain = find(specification, survey, published.described)
    assert plain.population[0].startswith("Half of the people have ")
    assert plain.population[2].startswith("The average is ")
    unknown = find(specification, survey, replace(published.described, mean_value=None))
    assert unknown.population[2].startswith("The average is not told: ")
    assert plain.basis == "This rests on 60 answers at ε = 1, and holds if the values follow a normal distribution."
    asked = {**survey, "unit": "€", "period_of_value": "per week", "decimals": 0}
    euros = find(specification, asked, published.described)
    assert re.fullmatch(r"Half of the people have \d+ € per week or less \(90% sure: .*\)\.", euros.population[0])
    assert "was not checked" in plain.fit
    assert "low" in plain.accuracy  # 100 particles
    assert not plain.alarm
    assert (plain.verdict, plain.competing) == ([], False)
    none, own = (
        FamilyEvidence(name, "identity", log, 0.0, 0.5) for name, log in (("nonparametric", 0.0), ("normal", -9.0))
    )
    refused = replace(published.described, families=(none, own), verdict="none of these")
    warned = find(specification, survey, refused)
    assert warned.alarm
    assert warned.fit.startswith("The answers refuse this family: ")
    assert warned.verdict[0].startswith("the answers refuse normal: ")
    misfit = Misfit("normal", 500, (MisfitLook(500, 2000, 0.001, 0.01),), alarm=True, next_look=None)
    alarmed = find(specification, survey, replace(published.described, misfit=misfit, ess=900.0))
    assert alarmed.alarm
    assert "Do not rely on the numbers" in alarmed.fit
    assert "good" in alarmed.accuracy


def test_whole_numbers_are_told_as_such(site: Site) -> None:
    collection = answered(site, family="poisson", range=[0, 20], visibility="public")
    page = fetch(site, collection, "findings.json")["summary"]
    told = re.search(r"Half of the people have (\S+) or less \(90% sure: ([^)]+)\)", page)
    assert told
    assert "." not in told[1] + told[2]
    assert fetch(site, collection, "charts.json")["discrete"]


def test_words_and_curves_are_made_once_for_everybody(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    collection, made = answered(site, 20, visibility="public"), list[Any]()

    def counted(*given: Any) -> Any:
        made.append(curves(*given))
        return made[-1]

    monkeypatch.setattr(views, "curves", counted)
    for _ in range(3):
        fetch(site, collection, "charts.json")
        fetch(site, collection, "findings.json")
    assert len(made) == 1
    site.respond(collection, site.ticket(collection))
    site.learnt(collection, 21)
    assert fetch(site, collection, "charts.json")["answers"] == 21
    assert len(made) == 2


def test_the_citation_says_what_was_found_and_how(site: Site) -> None:
    """In the values' own units, whatever scale the family holds on."""
    sign_in(site)
    logarithms: dict[str, Any] = {"transform": "log", "range": [1, 1000], "unit": "€", "decimals": 0}
    for fields, name in (({}, "normal"), (logarithms, "lognormal")):
        collection = answered(site, **fields)
        posterior = site.client.get(f"/v1/collections/{collection}/posterior").json()
        cited = fetch(site, collection, "findings.json")["citation"]
        found = re.search(r"median (-?[\d.,]+)( €)? \(90% interval -?[\d.,]+ to -?[\d.,]+\), 10% quantile", cited)
        assert found, cited
        median = posterior["quantiles"]["0.5"]["q50"]
        assert float(found[1].replace(",", "")) == pytest.approx(median, rel=0.02, abs=0.51)
        assert f"posterior medians of a {name} distribution, from 60 answers under" in cited
        assert (", mean " in cited) == (posterior["mean_value"] is not None)
        assert f"(ε = 1, Laplace mechanism), Dither collection {collection}" in cited
        assert "mu" not in cited.replace(collection, "")  # a random id may contain it


def test_nothing_is_a_logarithm_but_the_parameters_that_somebody_opens(site: Site) -> None:
    sign_in(site)
    collection = answered(site, transform="log", range=[1, 1000], visibility="public")
    shown = fetch(site, collection, "charts.json")
    mu = site.client.get(f"/v1/collections/{collection}/posterior").json()["posterior"]["mu"]
    median = shown["parameters"]["quantile_0.5"]
    assert median["q95"][-1] == pytest.approx(math.exp(mu["q95"]))
    assert median["answers"] == shown["parameters"]["mu"]["answers"]
    history = site.client.get(f"/v1/collections/{collection}/posterior/history").json()["history"]
    edges = [math.exp(parse_query(row["query"]).edges[0]) for row in history]
    drawn = shown["questions"]["edges"][0]
    assert abs(len(drawn) - len(edges)) <= 1 < len(edges)  # the last row of the history may be on its way
    assert drawn[: len(edges)] == pytest.approx(edges[: len(drawn)])
    page = site.client.get(f"/collections/{collection}").text
    before, parameters = page.split('<details id="parameters-more">')
    assert "of the logarithms of the values" in parameters
    assert "logarithm" not in before + parameters.partition("</details>")[2].partition("<summary>All terms")[0]
    assert "the median could be off by" in page


def test_the_page_is_in_the_order_in_which_it_is_read(site: Site) -> None:
    shapeless: dict[str, Any] = {"family": None}
    for fields in ({}, shapeless):
        page = site.client.get(f"/collections/{answered(site, visibility='public', **fields)}").text
        parts = ["The population", *(["Parameters"] if not fields else []), "Results over time", "How far to trust it"]
        places = [page.index(f">{part}</h2>") for part in parts]
        assert places == sorted(places)
        basis = page.index("This rests on 60 answers at ε = 1")
        assert places[0] < basis < places[1]
        assert ("holds if the values follow a normal distribution" in page) == (not fields)
        assert "quantile_" not in re.sub(r"<[^>]*>", "", page)


def test_without_answers_the_page_says_what_to_share(site: Site) -> None:
    path = f"/collections/{site.create(visibility='public')}"
    page = site.client.get(path).text
    assert re.search(r'<section id="share" class="panel" aria-labelledby="share-title">', page)
    assert f'value="{site.client.base_url}{path}/answer"' in page
    assert qr_svg(f"{site.client.base_url}{path}/answer") in page
    paused = site.create(visibility="public", admission="invite")
    sign_in(site)
    send_form(site, f"/collections/{paused}/state", {"state": "paused"})
    page = site.client.get(f"/collections/{paused}").text
    assert "Nobody can answer now: the collection is paused." in page
    assert re.search(r'<section id="share"[^>]* hidden>', page)


def test_the_terms_are_those_that_respondents_read(site: Site) -> None:
    collection = site.create(epsilon=2, keep_answers=False, misfit_check=True)
    page = site.client.get(f"/collections/{collection}").text
    assert "it is at most 7.39 times as likely for you as for anyone else" in page
    assert "Answers are counted and then dropped." in page
    assert "of the questions checks whether the family fits" in page


def test_the_index_says_how_many_came_in_the_past_hour(site: Site) -> None:
    collection = answered(site, 20)
    site.service.tally.stop()  # writes what it has counted
    assert site.service.conduct.recent_answers(int(START - 3600) // 600) == {1: 20}
    assert 'class="number"' not in site.client.get("/").text  # of a private collection, which is nobody else's business
    sign_in(site)
    assert '<td class="number">20</td>' in site.client.get("/").text
    site.clock.now += 2 * 3600
    assert site.client.get("/").text.count('<td class="number">20</td>') == 1  # in all, but not lately
    assert site.client.get(f"/collections/{collection}").status_code == 200


# Admins.


def test_invitations_are_shown_once(site: Site) -> None:
    collection, other = site.create(admission="invite"), site.create()
    sign_in(site)
    path = f"/collections/{collection}/invitations"
    page = send_form(site, path, {"count": "3"}).text
    codes = page.partition("readonly")[2].partition(">")[2].partition("</textarea>")[0].split()
    assert len({*codes}) == 3
    assert codes[0] not in site.client.get(f"/collections/{collection}").text
    links = re.findall(rf"http://testserver/collections/{collection}/answer#(\w+)", page)
    assert links == codes
    assert page.count('aria-label="QR code of the link with the code') == 3
    many = send_form(site, path, {"count": "101"}).text
    assert len(re.findall(r"/answer#\w+", many)) == 101
    assert "QR code of the link with the code" not in many
    ticket = site.client.post(
        f"/v1/collections/{collection}/tickets", json={"invitation": codes[0], "retry_key": "0" * 32}
    )
    assert ticket.status_code == 201, ticket.text
    assert "104 created, 1 redeemed" in site.client.get(f"/collections/{collection}").text
    assert send_form(site, path, {"count": "0"}).status_code == 422
    refused = send_form(site, f"/collections/{other}/invitations", {"count": "1"})
    assert problem(refused) == (409, "not-by-invitation")


# The pages' own files.

VENDORED = {
    "uPlot.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    "uPlot.d.ts": "af44374f6e808be4f7f3fa5888b9c7574dca9f8a15a66d54b6763535802c8080",
}
AS_A_MODULE = b"export default uPlot;\n"
"""The line that is added to the library's script."""


def test_the_library_is_as_it_was_fetched() -> None:
    for name, digest in VENDORED.items():
        content = (STATIC / "vendor" / name).read_bytes().removesuffix(AS_A_MODULE)
        assert hashlib.sha256(content).hexdigest() == digest


def test_nothing_beside_the_pages_files_is_served(site: Site) -> None:
    kept = site.client.get(asset("vendor/uPlot.js"))
    assert "immutable" in kept.headers["cache-control"]
    assert kept.headers["content-type"].startswith("text/javascript")
    for name in ("", "vendor", "vendor/README.md", "../app.py", "..%2fapp.py", "%2e%2e/app.py", "/etc/passwd", "no.js"):
        assert site.client.get(asset(name)).status_code == 404, name


def test_a_file_is_kept_under_its_own_version_alone(site: Site) -> None:
    """While servers are replaced, one is asked for files of a version that it does not have."""
    other = site.client.get("/static/0123456789ab/plots.js")
    assert other.status_code == 200
    assert other.headers["cache-control"] == "no-store"


def test_modules_import_what_the_page_loads_beside_them(site: Site) -> None:
    """Each file has one address, that of the page's own preloads: none is fetched twice, all are kept."""
    page = site.client.get(f"/collections/{site.create(visibility='public')}").text
    begun = re.findall(r'<script type="module" src="([^"]+)">', page)
    preloaded = re.findall(r'<link rel="modulepreload" href="([^"]+)">', page)
    imported = {
        urljoin(address, name)
        for address in begun + preloaded
        for name in re.findall(r'^import .* from "([^"]+)";', site.client.get(address).text, flags=re.MULTILINE)
    }
    assert begun == [asset("collection.js")]
    assert sorted(imported) == sorted(preloaded)
