"""Respondents at different ε in one collection, over HTTP."""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from pydantic import TypeAdapter

from dither_client import parse_query
from dither_client.posterior.wire import PosteriorReply
from dither_client.protocol.messages import parse_terms
from dither_client.strict_json import decode_json
from dither_estimator.learning.learner import Learner
from dither_server.api.messages.collections import TermsReply
from testing.servers.defaults import ADMIN
from testing.servers.site import FakeClock, Site, open_site, problem

CHOICES = {"epsilon": 0.5, "epsilon_choices": [2, 0.5, 0.1]}


def ticket(site: Site, collection: str, body: object) -> Any:
    return site.client.post(f"/v1/collections/{collection}/tickets", json=body)


def test_terms_say_what_may_be_chosen_and_what_it_must_not_follow(any_site: Site) -> None:
    collection = any_site.create(**CHOICES)
    reply = any_site.client.get(f"/v1/collections/{collection}")
    TermsReply.model_validate_json(reply.content, strict=True)
    assert reply.json()["epsilon_choices"] == [0.1, 0.5, 2]
    assert "one of 0.1, 0.5, 2" in reply.json()["notice"]
    assert "must not depend on your value" in reply.json()["notice"]
    terms = parse_terms(decode_json(reply.content))
    assert terms.epsilon_choices == (Fraction(1, 10), Fraction(1, 2), Fraction(2))
    assert terms.notice == reply.json()["notice"]


@pytest.mark.parametrize("fields", [{}, {"epsilon_choices": None}, {"epsilon_choices": [1]}])
def test_terms_without_a_choice(site: Site, fields: dict[str, Any]) -> None:
    terms = site.client.get(f"/v1/collections/{site.create(**fields)}").json()
    assert (terms["epsilon_choices"], terms["notice"]) == (None, None)


@pytest.mark.parametrize("policy", ["adaptive", "thompson", "fixed:0:100"])
def test_a_ticket_is_at_the_epsilon_that_was_chosen(any_site: Site, policy: str) -> None:
    collection = any_site.create(**CHOICES, policy=policy)
    asked: list[tuple[object, str]] = [({}, "0.5"), ({"epsilon": None}, "0.5")]
    asked += [({"epsilon": number}, str(number)) for number in (0.1, 0.5, 2)]
    asked += [({"epsilon": text}, text) for text in ("0.1", "0.50", "2.000")]
    for body, epsilon in asked:
        reply = ticket(any_site, collection, body)
        assert reply.status_code == 201
        assert parse_query(decode_json(reply.content)["query"]).epsilon == Fraction(epsilon)
    many = ticket(any_site, collection, {"count": 50, "epsilon": 2}).json()["tickets"]
    assert [item["query"]["epsilon"] for item in many] == [2] * 50


@pytest.mark.parametrize(
    "epsilon",
    ["1", "0.3", "0", "-1", "51", '"much"', '""', "0.5000001", "0.50000000000000000001", '"1e-99"', "1e300", '"NaN"'],
)
def test_another_epsilon_is_refused_with_what_is_allowed(site: Site, epsilon: str) -> None:
    collection = site.create(**CHOICES)
    reply = site.client.post(f"/v1/collections/{collection}/tickets", content=f'{{"epsilon": {epsilon}}}')
    assert problem(reply) == (422, "invalid-body")
    assert reply.json()["detail"] == "epsilon: Input should be one of the collection's choices: 0.1, 0.5, 2."


@pytest.mark.parametrize("epsilon", ["true", "[0.5]", "{}"])
def test_what_is_no_number_is_refused(site: Site, epsilon: str) -> None:
    collection = site.create(**CHOICES)
    reply = site.client.post(f"/v1/collections/{collection}/tickets", content=f'{{"epsilon": {epsilon}}}')
    assert problem(reply) == (422, "invalid-body")
    assert reply.json()["detail"].startswith("epsilon")


def test_the_epsilon_of_everyone_may_be_named(site: Site) -> None:
    collection = site.create()
    assert ticket(site, collection, {"epsilon": 1}).status_code == 201
    assert problem(ticket(site, collection, {"epsilon": 2})) == (422, "invalid-body")


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        ("[0.5, 2]", "must be one of epsilon_choices"),
        ("[]", "a list of 1 to 16 numbers"),
        ('"1, 2"', "a list of 1 to 16 numbers"),
        ("[1, 0]", "above 0"),
        ("[1, 51]", "at most 50"),
        ("[1, 0.50000000000000000001]", "at most six decimals"),
        ("[1, true]", "number or a decimal string"),
    ],
)
def test_bad_choices_make_no_collection(site: Site, choices: str, says: str) -> None:
    """Also those that a float would have made good ones."""
    body = f'{{"name": "x", "family": "normal", "epsilon": 1, "epsilon_choices": {choices}}}'
    reply = site.client.post("/v1/collections", content=body, headers=ADMIN)
    assert problem(reply) == (422, "invalid-body")
    assert says in reply.json()["detail"]
    assert site.client.get("/v1/collections", headers=ADMIN).json() == {"collections": []}


def test_the_posterior_learns_all_and_says_how_many_came_at_each(
    database_url: str, clock: FakeClock, reopen: Callable[..., Any]
) -> None:
    with open_site(database_url, clock) as site:
        collection = site.create(**CHOICES, levels=1)
        before = site.client.get(f"/v1/collections/{collection}/posterior", headers=ADMIN)
        assert before.json()["answers_by_epsilon"] == {"0.1": 0, "0.5": 0, "2": 0}
        for count, body in ((30, {}), (20, {"epsilon": "0.5"}), (70, {"epsilon": 2})):
            tickets = ticket(site, collection, {"count": count, **body}).json()["tickets"]
            site.batch(collection, *((item["ticket"], i % 2) for i, item in enumerate(tickets)))
        posterior = site.learnt(collection, 120)
        assert posterior["answers_by_epsilon"] == {"0.1": 0, "0.5": 50, "2": 70}
        reply = site.client.get(f"/v1/collections/{collection}/posterior", headers=ADMIN)
        TypeAdapter(PosteriorReply).validate_json(reply.content, strict=True)
        queries = site.client.get(f"/v1/collections/{collection}/queries", headers=ADMIN)
        table = {parse_query(item["query"]): item["counts"] for item in decode_json(queries.content)["queries"]}
        rebuilt = Learner(site.service.collections.get(collection).specification, 1)
        rebuilt.learn_counts(table)
        assert rebuilt.posterior().to_json()["answers_by_epsilon"] == posterior["answers_by_epsilon"]
        site.check_counts()
        page = site.client.get(f"/collections/{collection}/report", headers=ADMIN).text
        assert "This rests on 120 answers at ε = 0.5, 2" in page
    with reopen(database_url, clock) as site:
        assert site.learnt(collection, 120) == posterior
        assert ticket(site, collection, {"epsilon": 0.1}).json()["query"]["epsilon"] == 0.1
        history = site.client.get(f"/v1/collections/{collection}/posterior/history", headers=ADMIN).json()["history"]
        assert {row["query"]["epsilon"] for row in history} == {0.5}


def test_the_page_of_a_collection_shows_the_choice(site: Site) -> None:
    shown = site.client.get(f"/collections/{site.create(**CHOICES)}").text
    assert re.search(r">0\.1, 0\.5, (and |or )?2<", shown)
    assert "must not depend on your value" in shown
