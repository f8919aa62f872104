"""Mistakes on the command line, and the commands for admins: collections, invitations, tokens."""

import json
import re
import sys
from pathlib import Path

import pytest

from testing.command_line import Dither
from testing.servers.fake_server import GAUSSIAN, FakeServer, problem


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["anwser"], "no such command; did you mean answer"),
        (["zzz"], "no such command; see dither --help"),
        (["--verbose"], "no such option"),
        (["-42.75"], "no such option"),
        (["42.75", "answer"], "no such command"),
        (["posterior"], "Missing argument 'ID'"),
        (["posterior", "laplace", "--plto", "x"], "No such option: --plto. Did you mean --plot?"),
        (["collection", "shw", "x"], "No such command 'shw'. Did you mean 'show'"),
        (["token", "create", "king"], "'king' is not one of 'admin', 'analyst', 'gateway'"),
        (["posterior", "a/b"], "a collection's id may contain only letters"),
        (["posterior", "nothing"], "there is no such collection"),
        (["posterior", "laplace", "--url", "http://example.org"], "must begin with https"),
        (["posterior", "laplace", "--token", "a b"], "a token may contain only printable"),
        (["export", "laplace"], "say what to save"),
        (["export", "laplace", "--counts", "counts.txt"], "must end in .csv or .parquet"),
        (["export", "laplace", "--report", "report.pdf"], "report.pdf must end in .html"),
        (
            ["export", "laplace", "--counts", "/nowhere/counts.csv"],
            "/nowhere/counts.csv: the folder /nowhere does not exist",
        ),
        (["export", "laplace", "--report", "/nowhere/a.html"], "the folder /nowhere does not exist"),
        (["collection", "create", "/nowhere/spec.json"], "/nowhere/spec.json: the folder /nowhere does not exist"),
        (["collection", "create", "."], ". is a folder: name a file"),
    ],
)
def test_bad_input_is_one_sentence(dither: Dither, arguments: list[str], says: str) -> None:
    shown = dither(*arguments)
    assert shown.status == 2
    assert says in shown.one_sentence()
    assert "42.75" not in shown.err


def test_no_url(dither: Dither, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DITHER_URL")
    shown = dither("posterior", "laplace")
    assert shown.status == 2
    assert "Missing option '--url' (env var: 'DITHER_URL')" in shown.one_sentence()


def test_without_a_valid_token_the_sentence_says_where_one_goes(server: FakeServer, dither: Dither) -> None:
    server.refusals["/v1/keys"] = problem(401, "unauthorized", "Send the header Authorization.")
    shown = dither("key", "list")
    assert shown.status == 2
    assert shown.one_sentence() == "dither: this needs a valid token: give it with --token, or better in DITHER_TOKEN\n"


def test_a_file_of_codes_is_never_written_over(dither: Dither, tmp_path: Path) -> None:
    codes = tmp_path / "codes.txt"
    codes.write_text("a code that somebody has")
    shown = dither("collection", "invite", "laplace", "--count", 2, "--out", codes)
    assert shown.status == 2
    assert "already exists: name a new file" in shown.one_sentence()
    assert codes.read_text() == "a code that somebody has"


def test_invitations_as_links(server: FakeServer, dither: Dither, tmp_path: Path) -> None:
    server.refusals["/v1/collections/laplace/invitations"] = (201, {"invitations": ["abc23", "def45"]})
    links = [f"{server.url}/collections/laplace/answer#{code}" for code in ("abc23", "def45")]
    asked = ("collection", "invite", "laplace", "--count", 2)
    assert dither(*asked, "--links").out.split() == links
    assert dither(*asked).out.split() == ["abc23", "def45"]
    assert dither(*asked, "--links", "--out", tmp_path / "links.txt").status == 0
    assert (tmp_path / "links.txt").read_text().split() == links


def test_a_failure_while_running(server: FakeServer, dither: Dither) -> None:
    server.refusals["/v1/collections/laplace"] = problem(409, "collection-closed", "the collection is closed, for good")
    shown = dither("collection", "open", "laplace")
    assert shown.status == 1
    assert shown.one_sentence() == "dither: the collection is closed, for good\n"


@pytest.mark.parametrize("spec", ["", "[]", "{", '{"epsilon": NaN}', "name: wages"])
def test_a_specification_that_is_no_object(server: FakeServer, dither: Dither, tmp_path: Path, spec: str) -> None:
    (tmp_path / "spec.json").write_text(spec)
    shown = dither("collection", "create", tmp_path / "spec.json")
    assert shown.status == 2
    assert f"{tmp_path / 'spec.json'} is not a JSON object" in shown.one_sentence()
    assert server.requests == []


def test_collections(server: FakeServer, dither: Dither, tmp_path: Path) -> None:
    spec = '{"name": "wages", "family": "normal", "epsilon": 0.10}'
    (tmp_path / "spec.json").write_text(spec)
    assert dither("collection", "create", tmp_path / "spec.json", "--json").json["id"] == "wages"
    assert server.requests[-1].body == spec.encode()
    assert server.requests[-1].headers["authorization"] == "Bearer s3cret"
    assert [one["id"] for one in dither("collection", "list", "--json").json["collections"]] == [
        *("laplace", "randomized", "wages")
    ]
    listed = dither("collection", "list")
    assert "The randomized one" in listed.out
    assert "ANSWERS" in listed.out
    assert dither("collection", "show", "wages", "--json").json == server.terms("wages")
    assert "The wages one" in dither("collection", "show", "wages").out
    for command, state in (("pause", "paused"), ("open", "open"), ("close", "closed")):
        assert dither("collection", command, "wages", "--json").json["state"] == state


def test_rho_stands_beside_epsilon(server: FakeServer, dither: Dither) -> None:
    server.questions = {"gaussian": GAUSSIAN}
    assert re.search(r"ε +ρ +ANSWERS.*\n.* 0\.75 +0\.25 +0", dither("collection", "list").out)
    assert re.search(r"rho +0\.25", dither("collection", "show", "gaussian").out)


def test_a_specification_from_standard_input(
    server: FakeServer, dither: Dither, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "spec.json").write_text('{"name": "wages"}')
    with (tmp_path / "spec.json").open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert dither("collection", "create", "-").status == 0
    assert server.requests[-1].body == b'{"name": "wages"}'


def test_tokens(server: FakeServer, dither: Dither) -> None:
    created = dither("token", "create", "analyst", "--name", "Ana")
    assert created.out == "the-secret\n", "a script can take it from there"
    assert "not shown again" in created.err
    assert dither("token", "create", "admin", "--json").json["token"] == "the-secret"
    assert [token["role"] for token in dither("token", "list", "--json").json["tokens"]] == ["analyst", "admin"]
    listed = dither("token", "list")
    assert "Ana" in listed.out
    assert "secret" not in listed.out
    assert dither("token", "revoke", "t1", "--json").json == {"id": "t1", "revoked": True}
    assert dither("token", "revoke", "t2").status == 0
    assert server.tokens == {}
    assert "there is no such token" in dither("token", "revoke", "t1").one_sentence()


def test_a_token_for_some_days(server: FakeServer, dither: Dither) -> None:
    assert dither("token", "create", "analyst", "--days", "90").status == 0
    assert json.loads(server.requests[-1].body) == {"role": "analyst", "name": "", "days": 90}
    assert dither("token", "create", "analyst", "--days", "0").status == 2
