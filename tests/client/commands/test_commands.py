"""The command line: the group itself, and the commands for analysts and admins."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pandas
import pytest
import typer

from dither_client.commands import run
from dither_client.commands._shared import fail, print_json, status_of
from dither_client.errors import InvalidTable, OverCap, Problem, Unreachable
from dither_client.extras import MissingExtra
from dither_client.mechanisms.registry import parse_query
from dither_client.posterior.wire import QUANTILES
from dither_client.tables.counts import read_table
from testing.patience import PATIENCE
from testing.servers.fake_server import GAUSSIAN, LAPLACE, LAPLACE_ID, POSTERIOR, FakeServer, problem

Dither = Callable[..., "Outcome"]


class Outcome:
    """What one run of `dither` came to."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def json(self) -> Any:
        """The one object on standard output."""
        assert self.out.count("\n") == 1
        return json.loads(self.out)

    def one_sentence(self) -> str:
        """The error: one line, no traceback."""
        assert self.err.startswith("dither: ")
        assert self.err.count("\n") == 1
        assert self.out == ""
        return self.err


@pytest.fixture
def dither(server: FakeServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Dither:
    """Runs `dither` with an admin's token for the server."""
    monkeypatch.setenv("DITHER_URL", server.url)
    monkeypatch.setenv("DITHER_TOKEN", "s3cret")
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: object) -> Outcome:
        status = run([str(argument) for argument in arguments])
        return Outcome(status, *capsys.readouterr())

    return call


def test_help_lists_every_command_and_what_it_does(dither: Dither) -> None:
    for arguments in ([], ["--help"]):
        shown = dither(*arguments)
        assert shown.status == (0 if arguments else 2)
        for command in (
            "answer",
            "collection",
            "export",
            "posterior",
            "token",
            "design",
            "estimate",
            "serve",
            "simulate",
        ):
            assert f"{command} " in shown.out
        assert "Answer a collection privately: only a noisy answer leaves this machine." in shown.out


_COMMANDS = sorted(entry.name for entry in entry_points(group="dither.commands"))


@pytest.mark.parametrize("command", ["", *_COMMANDS, "collection create", "collection invite", "token create"])
def test_help_shows_words_for_people_and_no_types(dither: Dither, command: str) -> None:
    shown = dither(*command.split(), "--help")
    assert shown.status == 0
    assert not re.search(r"<\w+(\||>| range)|\b(bool|str|int|float|path)\b", shown.out)
    assert not re.search(r"--(json|help|version) +[A-Z]+ ", shown.out)  # a flag takes nothing


def test_help_says_what_options_take_and_flows(dither: Dither, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    shown = " ".join(dither("plan", "--help").out.split())
    assert "--sd TEXT The posterior standard deviations" in shown
    assert "--respondents NUMBER" in shown
    assert "--transform identity|log The scale" in shown
    assert "Parameters are on the scale of --transform, quantiles in the values' own units." in shown
    shown = " ".join(dither("token", "create", "--help").out.split())
    assert "role admin|analyst|gateway What the token's holder may do." in shown


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("dither po", ["posterior"]),
        ("dither collection sh", ["show"]),
        ("dither watch --js", ["--json"]),
        ("dither zzz x", []),
        ("dither 42.75", []),
        ("dither answer wages 4", []),
    ],
)
def test_the_shell_completes_commands_and_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, completed: list[str]
) -> None:
    monkeypatch.setenv("_DITHER_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    with pytest.raises(SystemExit) as ended:
        run([])
    shown = capsys.readouterr()
    assert (ended.value.code, shown.out.split(), shown.err) == (0, completed, "")


def test_version(dither: Dither) -> None:
    shown = dither("--version")
    assert (shown.status, shown.out.split()[0]) == (0, "dither")
    assert shown.out.split()[1][0].isdigit()


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


def test_posterior(dither: Dither, tmp_path: Path) -> None:
    assert dither("posterior", "laplace", "--json").json == POSTERIOR
    shown = dither("posterior", "laplace")
    basis = "  This rests on 1,234 answers at ε = 1, and holds if the values follow a normal distribution."
    assert shown.out.startswith(f"Posterior of laplace after 1,234 answers\n{basis}\n  mu ")
    assert shown.out.count("ε") == 1
    plotted = dither("posterior", "laplace", "--json", "--plot", tmp_path / "plot.svg")
    assert plotted.json == POSTERIOR
    assert (tmp_path / "plot.svg").read_text().startswith("<?xml")
    refused = dither("posterior", "laplace", "--plot", tmp_path / "plot.doc")
    assert refused.status == 2
    assert "doc" in refused.one_sentence()


SUMMARY = {"mean": 12.34, "sd": 0.02, "q05": 12.31, "q25": 12.33, "q50": 12.34, "q75": 12.35, "q95": 12.37}
BANDS = {name: [0.25 + 0.01 * i, 0.75] for i, name in enumerate(("mean", *QUANTILES))}
POPULATION = {
    "quantiles": {"0.1": SUMMARY, "0.5": SUMMARY, "0.9": SUMMARY},
    "mean_value": SUMMARY,
    "atoms": {"450.5": SUMMARY},
    "above": {"1000": SUMMARY},
    "distribution": {"x": [12.25, 12.5], "cdf": BANDS, "density": BANDS},
}


def test_a_picture_in_a_folder_that_is_missing_is_refused_before_the_server_is_asked(
    server: FakeServer, dither: Dither, tmp_path: Path
) -> None:
    asked = len(server.requests)
    refused = dither("posterior", "laplace", "--plot", tmp_path / "none" / "wages.png")
    assert refused.status == 2
    assert f"the folder {tmp_path / 'none'} does not exist: make it, or name another" in refused.one_sentence()
    assert len(server.requests) == asked


def test_a_posterior_is_shown_in_the_surveys_unit(server: FakeServer, dither: Dither) -> None:
    path = "/v1/collections/laplace"
    server.refusals[f"{path}/posterior"] = (200, POSTERIOR | POPULATION)
    lines = dither("posterior", "laplace").out.splitlines()
    assert lines[1:13] == [
        "  Half of the people have 12.340 or less (90% sure: 12.310 to 12.370).",
        "  One in ten has 12.340 or less (12.310 to 12.370), and one in ten 12.340 or more (12.310 to 12.370).",
        "  The average is 12.340 (12.310 to 12.370).",
        "  1234.0% have exactly 450.5 (1231.0 to 1237.0%).",
        "  1234.0% have more than 1,000 (90% sure: 1231.0 to 1237.0%).",
        "  This rests on 1,234 answers at ε = 1, and holds if the values follow a normal distribution.",
        "  10% have at most   12.340 ± 0.02  (90%: 12.310 to 12.370)",
        "  Half have at most  12.340 ± 0.02  (90%: 12.310 to 12.370)",
        "  90% have at most   12.340 ± 0.02  (90%: 12.310 to 12.370)",
        "  Average            12.340 ± 0.02  (90%: 12.310 to 12.370)",
        "  mu                 50.0 ± 2  (90%: 46.7 to 53.3)",
        "  sigma              10.0 ± 1  (90%: 8.4 to 11.6)",
    ]
    assert "mu could be off by" in lines[13]
    terms = server.terms("laplace")
    server.refusals[path] = (200, terms | {"unit": "€", "period_of_value": "a week", "decimals": 1})
    lines = dither("posterior", "laplace").out.splitlines()
    assert [lines[1], lines[10]] == [
        "  Half of the people have 12.3 € a week or less (90% sure: 12.3 to 12.4).",
        "  Average            12.3 ± 0.02  (90%: 12.3 to 12.4)",
    ]
    server.refusals[path] = (200, terms | {"transform": "log"})
    shown = dither("posterior", "laplace").out
    assert "holds if the values follow a lognormal distribution" in shown
    assert "the median could be off by 5.1%" in shown
    assert not {"mu", "sigma"} & set(shown.split())  # those of logarithms
    assert dither("posterior", "laplace", "--json").json == POSTERIOR | POPULATION


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_population_is_exported(server: FakeServer, dither: Dither, tmp_path: Path, ending: str) -> None:
    server.refusals["/v1/collections/laplace/posterior"] = (200, POSTERIOR | POPULATION)
    curve, numbers = tmp_path / f"curve.{ending}", tmp_path / f"numbers.{ending}"
    saved = dither("export", "laplace", "--distribution", curve, "--quantiles", numbers, "--json").json
    assert {name: one["rows"] for name, one in saved.items()} == {"distribution": 2, "quantiles": 6}
    read = pandas.read_csv if ending == "csv" else pandas.read_parquet
    points = read(curve)
    assert list(points) == ["x", *(f"{curve}_{part}" for curve in ("cdf", "density") for part in ("mean", *QUANTILES))]
    assert points["x"].tolist() == [12.25, 12.5]
    assert points["cdf_q95"].tolist() == BANDS["q95"]
    rows = read(numbers)
    assert rows["what"].tolist() == ["quantile"] * 3 + ["mean", "share_above", "share_at"]
    assert [float(of) for of in rows["of"] if of and of == of] == [0.1, 0.5, 0.9, 1000, 450.5]
    assert rows["q95"].tolist() == [SUMMARY["q95"]] * 6


def test_several_numbers_are_exported_with_their_names(server: FakeServer, dither: Dither, tmp_path: Path) -> None:
    """And their correlation: a table without rows would say that nothing is known."""
    alone = {"answers": 5, "posterior": {}, "covariance": [], **POPULATION}
    several = {"components": {"wage": alone, "age": alone}, "correlations": {"wage,age": SUMMARY}, "regressions": {}}
    server.refusals["/v1/collections/laplace/posterior"] = (200, POSTERIOR | several)
    curve, numbers = tmp_path / "curve.csv", tmp_path / "numbers.csv"
    saved = dither("export", "laplace", "--distribution", curve, "--quantiles", numbers, "--json").json
    assert {name: one["rows"] for name, one in saved.items()} == {"distribution": 4, "quantiles": 13}
    assert pandas.read_csv(curve)["component"].tolist() == ["wage", "wage", "age", "age"]
    rows = pandas.read_csv(numbers)
    assert rows["component"].tolist()[:-1] == ["wage"] * 6 + ["age"] * 6
    assert rows[["what", "of", "q95"]].iloc[-1].tolist() == ["correlation", "wage,age", SUMMARY["q95"]]


def test_what_has_no_distribution_exports_none(dither: Dither, tmp_path: Path) -> None:
    refused = dither("export", "laplace", "--distribution", tmp_path / "x.csv")
    assert refused.status == 1
    assert "the posterior has no distribution" in refused.one_sentence()


def test_a_posterior_of_several_epsilons(server: FakeServer, dither: Dither) -> None:
    reply = {**POSTERIOR, "answers_by_epsilon": {"0.5": 234, "2": 1000}}
    server.refusals["/v1/collections/laplace/posterior"] = (200, reply)
    assert dither("posterior", "laplace").out.endswith("\n  answers at ε = 0.5: 234, 2: 1,000\n")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_export(dither: Dither, tmp_path: Path, ending: str) -> None:
    files = {name: tmp_path / f"{name}.{ending}" for name in ("counts", "answers", "particles")}
    options = [part for name, file in files.items() for part in (f"--{name}", file)]
    saved = dither("export", "laplace", *options, "--json").json
    assert {name: one["rows"] for name, one in saved.items()} == {"counts": 8, "answers": 25, "particles": 4}
    assert [sum(counts) for counts in read_table(files["counts"]).queries.values()] == [15, 6]
    if ending == "csv":
        canonical = parse_query(LAPLACE).canonical.replace('"', '""')
        assert files["answers"].read_text().splitlines()[:2] == [
            "collection,ticket,query_id,query,purpose,answer,received_at",
            f'laplace,{0:032x},{LAPLACE_ID},"{canonical}",training,0,2026-01-01T00:00:00Z',
        ]
        assert files["particles"].read_text().splitlines()[:2] == ["mu,sigma,weight", "52.0,11.0,0.1"]


def test_export_of_hidden_counts(server: FakeServer, dither: Dither, tmp_path: Path) -> None:
    item = {"id": "a", "query": server.questions["laplace"], "answers": 3}
    server.refusals["/v1/collections/laplace/queries"] = (200, {"queries": [item]})
    shown = dither("export", "laplace", "--counts", tmp_path / "counts.csv")
    assert shown.status == 2
    assert "give an analyst's token with --token" in shown.one_sentence()
    assert list(tmp_path.iterdir()) == []


def python(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=PATIENCE)


MAIN = "import sys; from dither_client.commands import main; "


def test_without_the_extra_of_the_command_line() -> None:
    done = python("import sys; sys.modules['typer'] = None; " + MAIN + "main()", "answer", "x", "42.75")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("dither: this needs typer: install the extra 'cli' with: pip install 'dither[cli]'\n")


@pytest.mark.parametrize("command", ["estimate", "design", "serve"])
def test_a_command_whose_extra_is_missing(command: str) -> None:
    blocked = "import sys; sys.modules.update(numpy=None, scipy=None, fastapi=None); "
    done = python(blocked + MAIN + "main()", command)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "install the extra" in done.stderr
    listed = python(blocked + MAIN + "main()", "--help")
    assert listed.returncode == 0
    assert f" {command} " in listed.stdout


def test_a_command_loads_only_what_it_needs(server: FakeServer, tmp_path: Path) -> None:
    code = (
        "import sys; from dither_client.commands import run; assert run(sys.argv[1:]) == 0; "
        "print([name for name in ('numpy', 'scipy', 'pandas', 'pyarrow', 'matplotlib', 'fastapi', 'dither_estimator', "
        "'dither_server') if name in sys.modules])"
    )
    arguments = ("answer", "laplace", "0.5", "--url", server.url, "--ledger", str(tmp_path / "ledger.sqlite"))
    done = python(code, *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
    assert python(code, "--help").stdout.splitlines()[-1] == "[]"


def test_print_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"epsilon": Fraction(1, 10), "levels": Decimal(3), "names": ("µ",), "none": None})
    assert capsys.readouterr().out == '{"epsilon": 0.1, "levels": 3, "names": ["\\u00b5"], "none": null}\n'
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError):
            print_json(bad)
    with pytest.raises(TypeError):
        print_json(object())


def test_fail(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as caught:
        fail("one\nlong   sentence [with] brackets " + "x" * 300, 2)
    assert caught.value.exit_code == 2
    assert capsys.readouterr().err == "dither: one long sentence [with] brackets " + "x" * 300 + "\n"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InvalidTable("x"), 2),
        (ValueError("x"), 2),
        (MissingExtra("x"), 2),
        (FileNotFoundError("x"), 2),
        (Problem(422, "t", "x"), 2),
        (Problem(404, "t", "x"), 2),
        (Problem(409, "t", "x"), 1),
        (Problem(503, "t", "x"), 1),
        (Unreachable("x"), 1),
        (OverCap("x"), 1),
        (OSError("x"), 1),
    ],
)
def test_statuses(error: Exception, status: int) -> None:
    assert status_of(error) == status
