from typing import Any

import numpy as np
import pytest

from dither_estimator.specification.specification import Specification
from dither_server.api.messages.collections import TermsReply
from dither_server.collections.specification import parse_spec
from testing.servers.defaults import ADMIN, SPEC
from testing.servers.site import FakeClock, Site, open_site, problem

WORDS: dict[str, Any] = {
    "question": "How much did you earn last week?",
    "unit": "€",
    "period_of_value": "per week",
    "decimals": 2,
    "organisation": "Amt für Statistik",
    "contact": "survey@example.org",
    "privacy_url": "https://example.org/privacy?lang=de#answers",
    "thank_you": "Thank you 🙂",
}
"""What respondents read beside the name."""


STATISTICAL = (
    "family", "transform", "prior", "range", "epsilon", "goal", "mechanism", "families", "minimum", "maximum",
    "atoms", "categories",
)  # fmt: skip
"""The fields of the terms from which a posterior follows."""


def post(site: Site, **fields: Any) -> Any:
    return site.client.post("/v1/collections", json=SPEC | fields, headers=ADMIN)


def test_a_collection_is_created_with_sound_defaults(any_site: Site) -> None:
    spec = {"name": "Wages", "family": "normal", "epsilon": 1}
    reply = any_site.client.post("/v1/collections", json=spec, headers=ADMIN)
    assert reply.status_code == 201
    terms = reply.json()
    assert reply.headers["location"] == f"/v1/collections/{terms['id']}"
    assert terms == {
        "id": terms["id"],
        "name": "Wages",
        **dict.fromkeys(WORDS),
        "pages": None,
        "groups": None,
        "family": "normal",
        "transform": "identity",
        "epsilon": 1,
        "epsilon_choices": None,
        "rho": None,
        "mechanism": "laplace",
        "goal": "all",
        "policy": "adaptive",
        "levels": None,
        "member_cuts": None,
        "categories": None,
        "minimum": None,
        "maximum": None,
        "atoms": None,
        "range": None,
        "prior": None,
        "families": None,
        "state": "open",
        "answers": 0,
        "created_at": "2027-01-15T08:00:00.000Z",
        "opens_at": None,
        "closes_at": None,
        "max_answers": None,
        "keep_answers": True,
        "keep_answers_days": None,
        "keep_days": None,
        "retention": None,
        "admission": "public",
        "visibility": "private",
        "advice": "randomized_response would need 37% fewer respondents for the same precision",
        "notice": None,
    }
    assert any_site.client.get(f"/v1/collections/{terms['id']}", headers=ADMIN).json() == terms
    assert any_site.client.get(f"/v1/collections/{terms['id']}").json() == terms | {"answers": None}
    assert any_site.client.get("/v1/collections", headers=ADMIN).json() == {"collections": [terms]}


def test_every_field_is_taken_and_kept_over_a_restart(database_url: str, clock: FakeClock) -> None:
    fields = {
        "transform": "log",
        "range": None,
        "prior": {"mu": {"dist": "norm", "loc": 0, "scale": 2.5}, "sigma": {"dist": "halfnorm", "scale": 1}},
        "epsilon": 0.1,
        "goal": {"mu": 1, "sigma": 0.5},
        "policy": "thompson",
        "mechanism": "randomized_response",
        "levels": 3,
        "opens_at": "2027-01-01T00:00:00+01:00",
        "closes_at": "2027-02-01T00:00:00Z",
        "max_answers": 1000,
        "admission": "gateway",
        "visibility": "public",
    }
    with open_site(database_url, clock) as site:
        terms = post(site, **fields).json()
        assert terms["goal"] == {"mu": 1, "sigma": 0.5}
        assert (terms["epsilon"], terms["levels"], terms["mechanism"]) == (0.1, 3, "randomized_response")
        assert terms["opens_at"] == "2026-12-31T23:00:00.000Z"
    with open_site(database_url, clock) as site:
        assert site.client.get(f"/v1/collections/{terms['id']}").json() == terms
        collection = site.service.collections.get(terms["id"])
        assert str(collection.specification.epsilon) == "1/10"


@pytest.mark.parametrize("family", ["normal", "nonparametric"])
def test_what_respondents_read_is_in_the_terms(database_url: str, clock: FakeClock, family: str) -> None:
    bounds = {"minimum": -0.5, "maximum": 1e6}
    with open_site(database_url, clock) as site:
        reply = post(site, family=family, **WORDS, **bounds)
        assert reply.status_code == 201, reply.text
        terms = reply.json()
        assert {name: terms[name] for name in {**WORDS, **bounds}} == {**WORDS, **bounds}
        page = site.client.get(f"/collections/{terms['id']}", headers=ADMIN).text
        assert all(str(text) in page for text in WORDS.values())
    with open_site(database_url, clock) as site:
        assert site.client.get(f"/v1/collections/{terms['id']}", headers=ADMIN).json() == terms


@pytest.mark.parametrize(
    "fields",
    [
        {"family": None, "range": [100, 2000], "minimum": 0, "atoms": [450.5, 0], "goal": {"above": [1000]}},
        {"family": "categorical", "range": None, "categories": ["never", "daily"]},
        {"transform": "log", "range": None, "prior": {"mu": {"dist": "norm", "scale": 3}, "sigma": {"dist": "expon"}}},
        {"family": None, "range": [1, 5], "families": [{"family": "normal", "transform": "log"}, {"family": "gamma"}]},
    ],
    ids=["atoms", "categories", "prior", "families"],
)
def test_the_terms_are_all_that_an_estimate_needs(site: Site, fields: dict[str, Any]) -> None:
    terms = post(site, **fields).json()
    known = {name: terms[name] for name in STATISTICAL if terms[name] is not None}
    own, found = site.service.collections.get(terms["id"]).specification, Specification.from_json(known)
    for name in ("family", "transform", "support", "around", "categories", "goal", "mechanism", "epsilon"):
        assert getattr(found, name) == getattr(own, name), name
    assert terms["atoms"] == (sorted(fields["atoms"]) if "atoms" in fields else None)
    if own.parametric:
        sample = [each.prior.sample(np.random.default_rng(1), 5).tolist() for each in (own, found)]
        assert sample[0] == sample[1]
    assert [rival.prior.family for rival in found.rivals] == [rival.prior.family for rival in own.rivals]


def test_without_a_family_positive_values_have_a_bound(site: Site) -> None:
    shapeless = {"family": None, "transform": "log", "range": None}
    assert post(site, **shapeless).json()["minimum"] == 0
    assert post(site, **shapeless, minimum=5).json()["minimum"] == 5
    assert post(site, transform="log", range=[1, 5]).json()["minimum"] is None


def test_words_may_be_as_long_as_they_may_be(site: Site) -> None:
    longest = {
        **dict.fromkeys(("question", "organisation", "contact", "thank_you"), "ä" * 500),
        **dict.fromkeys(("unit", "period_of_value"), "€" * 80),
        "privacy_url": "https://e.example/".ljust(500, "x"),
    }
    terms = post(site, **longest).json()
    assert {name: terms[name] for name in longest} == longest
    for name, text in longest.items():
        assert problem(post(site, **{name: f"{text}x"})) == (422, "invalid-body")


def test_ids_are_short_random_and_safe_in_addresses(site: Site) -> None:
    ids = {site.create() for _ in range(20)}
    assert len(ids) == 20
    assert all(len(name) == 10 and name.isalnum() and name == name.lower() for name in ids)


def test_the_newest_collection_is_listed_first(site: Site) -> None:
    ids = [site.create() for _ in range(3)]
    assert [terms["id"] for terms in site.client.get("/v1/collections", headers=ADMIN).json()["collections"]] == ids[
        ::-1
    ]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": 50.1}, "at most 50"),
        ({"epsilon": 0.1234567}, "six decimals"),
        ({"epsilon": True}, "epsilon"),
        ({"epsilon": None}, "epsilon"),
        ({"particles": 99}, "from 100 to 1,000,000"),
        ({"particles": 1_000_001}, "from 100 to 1,000,000"),
        ({"particles": 1000.0}, "from 100 to 1,000,000"),
        ({"family": "gaussian"}, "family must be one of"),
        ({"family": ["normal"]}, "family must be one of"),
        ({"transform": "sqrt"}, "must be one of"),
        ({"transform": []}, "must be one of"),
        ({"mechanism": {}}, "mechanism must be one of"),
        ({"levels": 0}, "levels"),
        ({"range": [5, 5]}, "range"),
        ({"range": "wide"}, "range"),
        ({"range": [-5, 5], "transform": "log"}, "above 0"),
        ({"prior": {"mu": {"dist": "norm"}}, "range": None}, "prior"),
        ({"prior": {}}, "not both"),
        ({"goal": "tau"}, "goal must be"),
        ({"policy": "greedy"}, "policy must be"),
        ({"name": ""}, "name: "),
        ({"name": "x" * 201}, "name: "),
        ({"name": "a\x00b"}, "printable"),
        ({"name": " "}, "printable"),
        ({"name": 3}, "name: "),
        ({"max_answers": 0}, "max_answers: "),
        ({"max_answers": 10.0}, "max_answers: "),
        ({"max_answers": True}, "max_answers: "),
        ({"max_answers": 10**30}, "max_answers: "),
        ({"opens_at": 5}, "opens_at: "),
        (
            {"opens_at": "2027-01-01T00:00:00"},
            "opens_at: Input should have a time zone, such as 2026-12-01T09:00:00Z.",
        ),
        ({"closes_at": "tomorrow"}, "closes_at: "),
        ({"closes_at": "2027-01-15T08:00:00Z"}, "closes_at: Input should be later than now."),
        ({"closes_at": "2020-01-01T00:00:00Z"}, "closes_at: Input should be later than now."),
        ({"opens_at": "2027-01-02T00:00:00Z", "closes_at": "2027-01-01T00:00:00Z"}, "later than opens_at"),
        ({"admission": "anyone"}, "admission: "),
        ({"visibility": "secret"}, "visibility: "),
        ({"question": "How\nmuch?"}, "question: "),
        ({"question": "\u202eHow much?"}, "printable text in one line"),
        ({"question": " "}, "printable text in one line"),
        ({"question": ""}, "printable text in one line"),
        ({"question": 5}, "question: "),
        ({"unit": "\x00"}, "unit: "),
        ({"thank_you": ["x"]}, "thank_you: "),
        ({"decimals": 7}, "decimals: "),
        ({"decimals": -1}, "decimals: "),
        ({"decimals": 2.0}, "decimals: "),
        ({"decimals": True}, "decimals: "),
        *(
            ({"privacy_url": url}, "begins with https:// and a host")
            for url in (
                "http://example.org",
                "javascript:alert(1)",
                "https://",
                "https:///path",
                "https://a b.example",
                "https://bücher.example",
                "https://ada@example.org",
                "//example.org",
                "https://[::1",
                "HTTPS://a.example",
            )
        ),
        ({"minimum": 5, "maximum": 5}, "the minimum must be below the maximum"),
        ({"minimum": "0"}, "minimum must be a number"),
        ({"maximum": 1e301}, "maximum must be a number"),
        (
            {"family": "categorical", "categories": ["a", "b"], "range": None, "unit": "€"},
            "unit cannot go with categories",
        ),
        ({"colour": "blue"}, "the fields are: name, question, unit"),
    ],
)
def test_a_bad_specification_is_refused_in_a_sentence(site: Site, fields: dict[str, Any], says: str) -> None:
    reply = post(site, **fields)
    assert problem(reply) == (422, "invalid-body")
    assert says in reply.json()["detail"]
    assert site.client.get("/v1/collections", headers=ADMIN).json() == {"collections": []}


@pytest.mark.parametrize("required", ["name", "epsilon"])
def test_a_missing_field_is_named(site: Site, required: str) -> None:
    spec = {name: value for name, value in SPEC.items() if name != required}
    reply = site.client.post("/v1/collections", json=spec, headers=ADMIN)
    assert problem(reply) == (422, "invalid-body")
    assert required in reply.json()["detail"]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e999"])
def test_numbers_that_json_or_floats_have_not_are_refused(site: Site, number: str) -> None:
    body = f'{{"name": "Test", "family": "normal", "epsilon": 1, "range": [0, {number}]}}'
    reply = site.client.post("/v1/collections", content=body, headers=ADMIN)
    assert problem(reply) == (400, "malformed-json")


@pytest.mark.parametrize("body", [b"", b"{", b'{"name": "\xff"}', b"[" * 60_000, b'{"epsilon": ' + b"1" * 5_000 + b"}"])
def test_what_is_no_json_is_refused(site: Site, body: bytes) -> None:
    assert problem(site.client.post("/v1/collections", content=body, headers=ADMIN)) == (400, "malformed-json")


@pytest.mark.parametrize("body", [b"[]", b'"normal"', b"null", b"7"])
def test_what_is_no_object_is_refused(site: Site, body: bytes) -> None:
    reply = site.client.post("/v1/collections", content=body, headers=ADMIN)
    assert problem(reply) == (422, "invalid-body")
    assert "object" in reply.json()["detail"]


def test_an_epsilon_is_the_decimal_it_is_written_as(site: Site) -> None:
    for written in ('"0.1"', "0.1", "1e-1", "0.100000"):
        body = f'{{"name": "Test", "family": "normal", "epsilon": {written}, "particles": 100}}'
        reply = site.client.post("/v1/collections", content=body, headers=ADMIN)
        assert reply.status_code == 201, reply.text
        assert str(site.service.collections.get(reply.json()["id"]).specification.epsilon) == "1/10"
        assert '"epsilon":0.1,' in reply.text


def test_a_contradiction_is_refused_but_read_where_it_is_stored_already(site: Site) -> None:
    wrong = {"name": "n", "epsilon": 1, "minimum": 0, "policy": "fixed:-5:-1"}
    refused = site.client.post("/v1/collections", json=wrong, headers=ADMIN)
    assert refused.status_code == 422
    assert "policy must be fixed:LOW:HIGH with an interval that values lie in" in refused.json()["detail"]
    parse_spec(wrong)


def test_what_cannot_be_told_is_not_stored(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be in every list from then on, and none could be told."""
    kept = site.create()
    with monkeypatch.context() as patch:
        patch.setattr(TermsReply, "model_validate", lambda _: TermsReply(id="incomplete"))  # type: ignore[call-arg]
        reply = site.client.post("/v1/collections", json=SPEC, headers=ADMIN)
    assert reply.status_code == 500
    assert [one["id"] for one in site.client.get("/v1/collections", headers=ADMIN).json()["collections"]] == [kept]
    assert len(list(site.service.collections.with_deleted())) == 1


def test_nothing_of_a_bad_specification_is_repeated(site: Site) -> None:
    marks = ["zebra17", "zebra18", "zebra19"]
    every: list[dict[str, Any]] = [
        {marks[0]: marks[1]},
        {"family": marks[0]},
        {"transform": marks[0]},
        {"goal": marks[0]},
        {"goal": {marks[0]: 1}},
        {"policy": marks[0]},
        {"policy": f"fixed:{marks[0]}:1"},
        {"mechanism": marks[0]},
        {"levels": marks[0]},
        {"range": [marks[0], marks[1]]},
        {"range": None, "prior": {marks[0]: {marks[1]: marks[2]}}},
        {"range": None, "prior": {"mu": {"dist": marks[0]}, "sigma": {"dist": marks[1]}}},
        {"range": None, "prior": {"mu": {"dist": "norm", marks[0]: 1}, "sigma": {"dist": "halfnorm"}}},
        {"epsilon": marks[0]},
        {"opens_at": marks[0]},
        {"closes_at": {marks[0]: marks[1]}},
        {"max_answers": marks[0]},
        {"admission": marks[0]},
        {"visibility": [marks[0]]},
        {"name": [marks[0]]},
        *({name: [marks[0]]} for name in (*WORDS, "minimum", "maximum")),
        {"privacy_url": f"http://{marks[0]}"},
        {"unit": f"{marks[0]}\n"},
    ]
    for fields in every:
        reply = post(site, **fields)
        assert problem(reply) == (422, "invalid-body"), fields
        assert "zebra" not in reply.text, fields


@pytest.mark.parametrize("state", ["opened", "", None, True, 1])
def test_a_bad_state_is_refused(site: Site, state: Any) -> None:
    collection = site.create()
    reply = site.client.patch(f"/v1/collections/{collection}", json={"state": state}, headers=ADMIN)
    assert problem(reply) == (422, "invalid-body")
    assert "'open', 'paused' or 'closed'" in reply.json()["detail"]


def test_what_does_not_exist_is_not_found(site: Site) -> None:
    for method, path in (
        ("GET", "/v1/collections/missing"),
        ("PATCH", "/v1/collections/missing"),
        ("POST", "/v1/collections/missing/tickets"),
        ("POST", "/v1/collections/missing/responses/batch"),
        ("GET", "/v1/collections/missing/posterior"),
        ("GET", "/v1/missing"),
        ("GET", "/v1/collections/"),
    ):
        reply = site.client.request(method, path, headers=ADMIN)
        assert problem(reply) == (404, "not-found"), path
        assert "missing" not in reply.json()["detail"]


def test_a_method_that_is_not_allowed_is_a_problem_that_names_those_that_are(site: Site) -> None:
    collection = site.create()
    reply = site.client.put(f"/v1/collections/{collection}")
    assert problem(reply) == (405, "method-not-allowed")
    assert reply.headers["allow"] == "DELETE, GET, PATCH"
    reply = site.client.get(f"/v1/collections/{collection}/responses")
    assert (problem(reply), reply.headers["allow"]) == ((405, "method-not-allowed"), "POST")


@pytest.mark.parametrize("epsilon", ["0.001", "0.000001"])
def test_an_epsilon_too_small_for_some_mechanisms_is_taken(site: Site, epsilon: str) -> None:
    assert post(site, epsilon=epsilon).status_code == 201
