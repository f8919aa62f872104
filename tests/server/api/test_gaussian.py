"""The mechanism `gaussian` through a server: terms, tickets, answers, counts, and what the ledger keeps of them."""

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from dither_client import Admin, Analyst, Client, Gaussian, Ledger, gaussian_epsilon, gaussian_rho, parse_query
from dither_client.commands import run
from dither_client.tables.counts import read_table
from dither_server.api.messages.answering import TicketReply
from dither_server.api.messages.collections import TermsReply
from dither_server.tickets.packing import unpack_query
from testing.servers.defaults import ADMIN_TOKEN as TOKEN
from testing.servers.process import ForkedServer, forked
from testing.servers.site import Site, problem

BY_RHO = {"name": "Noise", "family": "normal", "mechanism": "gaussian", "rho": 0.5, "range": [0, 100], "particles": 200}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkedServer]:
    with forked(f"sqlite:///{tmp_path_factory.mktemp('server') / 'test.sqlite'}") as [process]:
        yield process


def test_terms_state_rho_beside_epsilon(any_site: Site) -> None:
    collection = any_site.create(epsilon=None, mechanism="gaussian", rho="0.1", levels=3)
    reply = any_site.client.get(f"/v1/collections/{collection}")
    TermsReply.model_validate_json(reply.content, strict=True)
    terms = reply.json()
    assert (terms["rho"], terms["epsilon"]) == (0.1, float(gaussian_epsilon(3, Fraction(1, 10))))
    assert "<td>0.1</td>" in any_site.client.get(f"/collections/{collection}").text
    other = any_site.client.get(f"/v1/collections/{any_site.create(mechanism='gaussian', epsilon=2)}").json()
    assert (other["rho"], other["epsilon"]) == (float(gaussian_rho(1, Fraction(2))), 2)


def test_a_ticket_carries_rho(any_site: Site) -> None:
    collection = any_site.create(epsilon=10, mechanism="gaussian")
    reply = any_site.client.post(f"/v1/collections/{collection}/tickets")
    TicketReply.model_validate_json(reply.content, strict=True)
    query = parse_query(reply.json()["query"])
    assert isinstance(query, Gaussian)
    assert query.rho == gaussian_rho(query.levels, Fraction(10))
    assert unpack_query(any_site.service.tickets.open(reply.json()["ticket"]).query) == query
    assert any_site.respond(collection, reply.json()["ticket"], query.levels).status_code == 201
    assert problem(any_site.respond(collection, any_site.ticket(collection), query.levels + 9)) == (
        422,
        "invalid-answer",
    )
    assert any_site.learnt(collection, 1)["answers"] == 1


def test_a_live_answer_keeps_its_rho(server: ForkedServer, tmp_path: Path) -> None:
    with Admin(server.url, TOKEN) as admin:
        collection = str(admin.create_collection(BY_RHO)["id"])
    with Ledger(tmp_path / "ledger.sqlite") as ledger, Client(server.url, ledger) as client:
        terms = client.terms(collection)
        assert (terms.mechanism, terms.rho) == ("gaussian", Fraction(1, 2))
        receipt = client.answer(collection, 47.11, terms.epsilon)
        (charge,) = ledger.entries()
        assert (charge.rho, charge.epsilon, charge.state) == (Fraction(1, 2), receipt.query.epsilon, "sent")
        assert charge.epsilon <= terms.epsilon
    with Analyst(server.url, TOKEN) as analyst:
        (asked,) = analyst.queries(collection)
    assert asked.query == receipt.query
    assert asked.counts is not None
    assert asked.counts[receipt.answer] == sum(asked.counts) == 1


@pytest.mark.slow
def test_a_simulation_over_http_and_its_counts(
    server: ForkedServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where, spec, counts = ["--url", server.url, "--token", TOKEN], tmp_path / "spec.json", tmp_path / "counts.csv"
    spec.write_text(json.dumps(BY_RHO))
    with Admin(server.url, TOKEN) as admin:
        collection = str(admin.create_collection(BY_RHO)["id"])
    people = ["--truth", "mu=50,sigma=9", "--respondents", "300", "--seed", "1"]
    assert run(["simulate", "--collection", collection, *people, *where, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answers"] == 300
    assert run(["export", collection, "--counts", str(counts), *where]) == 0
    table = read_table(counts).queries
    assert sum(sum(row) for row in table.values()) == 300
    assert {query.rho for query in table} == {Fraction(1, 2)}
    capsys.readouterr()
    assert run(["estimate", "--spec", str(spec), "--counts", str(counts), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answers"] == 300
    assert run(["simulate", *people, "--mechanism", "gaussian", "--rho", "0.5", *where, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["answers"] == 300


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rho", "0.5"], "rho is for the mechanism gaussian only"),
        (["--rho", "0.5", "--epsilon", "1", "--mechanism", "gaussian"], "give either epsilon or rho"),
        (["--rho", "0", "--mechanism", "gaussian"], "rho must be above 0"),
        (["--epsilon", "0.0005", "--mechanism", "gaussian"], "too small for gaussian noise"),
    ],
)
def test_bad_options_of_a_simulation(capsys: pytest.CaptureFixture[str], options: list[str], message: str) -> None:
    people = ["--truth", "mu=0,sigma=1", "--respondents", "9", "--in-process"]
    assert run(["simulate", *people, *options]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.count("\n") == 1


def test_simulations_in_process(capsys: pytest.CaptureFixture[str]) -> None:
    people = ["--truth", "mu=0,sigma=1", "--respondents", "200", "--in-process", "--mechanism", "gaussian"]
    for options in (["--rho", "0.5"], ["--epsilon", "10"], ["--rho", "2", "--policy", "fixed:-1:1"]):
        assert run(["simulate", *people, *options, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["answers"] == 200


def test_bad_specifications_are_refused_over_http(site: Site) -> None:
    for change in ({"rho": 1, "epsilon": 1}, {"rho": "x", "epsilon": None}, {"rho": 1, "mechanism": "laplace"}):
        reply = site.client.post("/v1/collections", json=BY_RHO | change, headers=site.admin)
        assert reply.status_code == 422
        assert "rho" in reply.json()["detail"]
