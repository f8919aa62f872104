"""The documentation says what the program does: settings, calls, problems, fields, and the numbers of the limits."""

import json
import math
import re
import shlex
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from dither_client.commands import run
from dither_client.posterior.wire import PosteriorReply, from_json
from dither_estimator.design.design import Mechanism, optimal_design
from dither_estimator.design.goal import parse_goal
from dither_estimator.families import families
from dither_estimator.specification.specification import Specification
from dither_server.api.messages.examples import POSTERIOR, TERMS
from dither_server.app import create_app
from dither_server.collections.specification import CollectionSpec
from dither_server.http.problems import _INTERNAL, _PROBLEMS
from dither_server.pages.sentences import citation
from dither_server.settings import Settings
from docs_build.reference import REFERENCE
from testing.reader import blocks, fenced
from testing.repository import DOCS
from testing.servers.process import forked

MECHANISMS: tuple[Mechanism, ...] = ("laplace", "randomized_response", "staircase")


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the rows of the first table below a heading."""
    text = (DOCS / page).read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    table = ("|" + text.partition("\n|")[2]).partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_setting_is_documented_with_its_default() -> None:
    documented = {named(variable)[0]: default for variable, _, default in rows("operators.md", "Settings")}
    assert set(documented) == {f"DITHER_{name.upper()}" for name in Settings.model_fields}
    for name, field in Settings.model_fields.items():
        if field.default not in (None, ()):
            assert named(documented[f"DITHER_{name.upper()}"])[0].lower() == str(field.default).lower()


def test_every_call_is_documented(tmp_path: Path) -> None:
    app = create_app(Settings(database=f"sqlite:///{tmp_path / 'd.sqlite'}"))
    calls = {f"{method.upper()} {path}" for path, methods in app.openapi()["paths"].items() for method in methods}
    text = (DOCS / "protocol.md").read_text()
    assert calls == set(re.findall(r"`((?:GET|POST|PATCH|DELETE) /\S+)`", text))


def test_every_problem_is_documented_with_its_status() -> None:
    documented = {name: int(status) for names, status, _ in rows("protocol.md", "Problems") for name in named(names)}
    assert documented == {problem.name: problem.status for problem in (*_PROBLEMS.values(), _INTERNAL)}


def test_every_field_of_a_collection_is_documented_with_its_default() -> None:
    documented = {name: default for names, _, default in rows("analysts.md", "A collection") for name in named(names)}
    assert set(documented) == set(CollectionSpec.model_fields)
    for name, field in CollectionSpec.model_fields.items():
        if isinstance(field.default, str):
            assert named(documented[name]) == [field.default]


def test_every_family_is_documented_with_its_parameters() -> None:
    text = (DOCS / "analysts.md").read_text().partition("| family | parameters |")[2].partition("\n\n")[0]
    table = [line.strip("|").split("|") for line in text.splitlines()[2:]]
    assert {named(name)[0]: tuple(named(parameters)) for name, parameters, _ in table} == {
        name: family.names for name, family in families.items()
    }


def test_what_an_epsilon_means_and_costs() -> None:
    """The chance of a true answer, and the price that the page of statistics has, which a test of its own holds."""
    statistics = {tuple(row[:2]): row[2:] for row in rows("statistics.md", "The limit")}
    for epsilon, true, laplace, response in rows("analysts.md", "Choosing ε"):
        assert true == f"{truthful(float(epsilon)):.0%}"
        assert [laplace, response] == statistics["`all`", epsilon][:2]


def test_the_sentence_to_cite_is_the_dashboards() -> None:
    """The first of the quotations; the second is a paragraph for a section on methods."""
    assumed = Specification.from_json({name: TERMS[name] for name in ("family", "transform", "epsilon")})
    first, _ = re.findall(r"(?:^> .*\n)+", (DOCS / "results.md").read_text(), flags=re.MULTILINE)
    assert " ".join(first.replace("> ", "").split()) == citation(assumed, TERMS, from_json(PosteriorReply, POSTERIOR))


@pytest.mark.slow
@pytest.mark.parametrize("row", rows("how-it-works.md", "The next question"), ids=lambda row: row[0])
def test_the_designs_reach_what_the_table_says(row: list[str]) -> None:
    """The criteria and the limit, to the digits that are written."""
    family, epsilon = families["normal"], Fraction(row[0])
    goal = parse_goal("all", family)
    designs = [optimal_design(family, family.standard, mechanism, epsilon, goal, None) for mechanism in MECHANISMS]
    found = [*(design.criterion for design in designs), designs[0].limit]
    for number, written in zip(found, row[1:], strict=True):
        assert number is not None
        digits = len(written.partition(".")[2])
        assert f"{number:.{digits}f}" == written


@pytest.mark.long
@pytest.mark.parametrize("row", rows("how-it-works.md", "At the limit"), ids=lambda row: " ".join(row[:2]))
def test_the_efficiencies_are_what_the_table_says(row: list[str]) -> None:
    family = families[named(row[0])[0]]
    goal = parse_goal(named(row[1])[0], family)
    for epsilon, written in zip(("0.1", "0.5", "1", "2", "5"), row[2:], strict=True):
        response, staircase = (
            optimal_design(family, family.standard, mechanism, Fraction(epsilon), goal).efficiency
            for mechanism in MECHANISMS[1:]
        )
        assert f"{response:.0%}" == written
        assert staircase > 0.99


def commands() -> list[list[str]]:
    """Every `dither …` in a block of commands, as words."""
    pages = [DOCS.parent / "README.md", *DOCS.glob("*.md")]
    written = [block for page in pages for language, block in fenced(page.read_text()) if language == "bash"]
    lines = [line for block in written for line in block.splitlines() if line.startswith("dither ")]
    return [shlex.split(line, comments=True)[1:] for line in dict.fromkeys(lines)]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_in_the_documentation_has_the_options_it_is_given(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    options = {word for word in words if word.startswith("--")}
    command = words[: 2 if words[0] in ("collection", "key", "token") else 1]
    assert run([*command, "--help"]) == 0
    assert options <= set(re.findall(r"--[a-z-]+", capsys.readouterr().out))


@pytest.mark.slow
def test_the_commands_of_operators_work_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that need no other machine, one after the other, against a real server; the load made smaller."""
    lines = [
        line
        for block in blocks("docs/operators.md", "bash")
        for line in block.splitlines()
        if line.startswith("dither ")
    ]
    elsewhere = ("dither serve", "dither doctor")
    here = [line for line in lines if not line.startswith(elsewhere) and "--scheduler" not in line]
    typed = [shlex.split(line)[1:] for line in here]
    assert {" ".join(words[:2]) for words in typed} >= {"key rotate", "token revoke", "collection invite"}
    monkeypatch.chdir(tmp_path)
    with forked(f"sqlite:///{tmp_path / 'dither.sqlite'}") as [server]:
        monkeypatch.setenv("DITHER_URL", server.url)
        monkeypatch.setenv("DITHER_TOKEN", "the-admin-token")
        (tmp_path / "spec.json").write_text('{"name": "x", "family": "normal", "epsilon": 1, "admission": "invite"}')
        assert run(["collection", "create", "spec.json", "--json"]) == 0
        names = {"ID": json.loads(capsys.readouterr().out)["id"], "20000": "200"}
        for words in typed:
            assert run([names.get(word, word) for word in words]) == 0, words
            if words[:2] == ["token", "list"]:
                [names["TOKEN_ID"]] = re.findall(r"^(\w+) +analyst", capsys.readouterr().out, flags=re.MULTILINE)
    assert len((tmp_path / "codes.txt").read_text().split()) == 500


PAGES = [DOCS.parent / "README.md", DOCS.parent / "benchmarks" / "README.md", *sorted(DOCS.rglob("*.md"))]


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS.parent)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if target.startswith(("http:", "https:")):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if file.parent == DOCS / "reference":  # built with the site
            assert f"reference/{file.name}" in REFERENCE
            continue
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_every_benchmark_is_run_by_make_bench_and_described() -> None:
    """All but what another one runs, what runs another one, what draws a picture, and what looks at kept runs."""
    folder = DOCS.parent / "benchmarks"
    commands = {file.stem for file in folder.glob("*.py") if "def main(" in file.read_text()} - {"peer_ibis"}
    run_by_all = set(re.findall(r'^    "(\w+)",$', (folder / "__main__.py").read_text(), flags=re.MULTILINE))
    assert run_by_all == commands - {"on_dask", "privacy_limit_plot", "kept_runs"}
    assert set(re.findall(r"`python -m benchmarks\.(\w+)", (folder / "README.md").read_text())) == commands


def test_the_index_and_the_readme_lead_to_every_page() -> None:
    pages = {page.name for page in DOCS.glob("*.md")} - {"index.md"}
    assert pages <= set(re.findall(r"\]\(([\w-]+\.md)\)", (DOCS / "index.md").read_text()))
    assert pages <= set(re.findall(r"\]\(docs/([\w-]+\.md)\)", (DOCS.parent / "README.md").read_text()))


# The numbers of limits.md, for questions at μ ± 0.8 σ: what infinitely many answers lead to.

CUTS = (-0.8, 0.8)


def truthful(epsilon: float) -> float:
    return math.exp(epsilon) / (1 + math.exp(epsilon))


def above(cut: float, epsilon: float) -> float:
    """The chance that an answer comes out as above."""
    honest = truthful(epsilon)
    return 1 - honest + (2 * honest - 1) * float(norm.sf(cut))


def estimate(observed: list[float], epsilon: float) -> tuple[float, float]:
    """μ and σ of the normal distribution that explains the shares of "above" at the two cuts."""

    def loss(point: Any) -> float:
        mu, sigma = point[0], math.exp(point[1])
        expected = [above((cut - mu) / sigma, epsilon) for cut in CUTS]
        return sum((e - o) ** 2 for e, o in zip(expected, observed, strict=True))

    found = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-20, "maxiter": 9999})
    return float(found.x[0]), math.exp(float(found.x[1]))


def lose_answers(epsilon: float, share: float) -> list[float]:
    return [(1 - share) * p / (1 - share * p) for p in (above(cut, epsilon) for cut in CUTS)]


def lose_values(epsilon: float, share: float) -> list[float]:
    honest = truthful(epsilon)
    tails = [float(norm.sf(cut)) for cut in CUTS]
    return [1 - honest + (2 * honest - 1) * (1 - share) * tail / (1 - share * tail) for tail in tails]


def choose(low_given: Callable[[Any], Any]) -> float:
    """Where μ goes if people choose ε = 0.5 with the probability `low_given(x)`, and ε = 2 otherwise."""
    x = np.linspace(-9, 9, 36_001)
    low = norm.pdf(x) * low_given(x)
    shares = [(0.5, low), (2.0, norm.pdf(x) - low)]
    seen = [
        (cut, truthful(epsilon), float(mass[x > cut].sum() / mass.sum()), float(mass.sum()))
        for epsilon, mass in shares
        for cut in CUTS
    ]

    def loss(point: Any) -> float:
        total = 0.0
        for cut, honest, tail, weight in seen:
            observed, expected = (
                1 - honest + (2 * honest - 1) * t for t in (tail, norm.sf(cut, point[0], math.exp(point[1])))
            )
            total -= weight * (observed * math.log(expected) + (1 - observed) * math.log(1 - expected))
        return total

    return float(minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12}).x[0])


def contaminated(epsilon: float, share: float, says_above: tuple[bool, bool]) -> list[float]:
    return [(1 - share) * above(cut, epsilon) + share * says for cut, says in zip(CUTS, says_above, strict=True)]


def sigmas(cell: str) -> float:
    return float(cell.replace("−", "-").replace("σ", "").replace("%", ""))


def test_the_biases_are_what_the_channel_gives() -> None:
    documented = {row[0]: row[1] for row in rows("limits.md", "What has to be true of the respondents")}
    values = next(sigmas(moves) for condition, moves in documented.items() if "threshold" in condition)
    answers = next(sigmas(moves) for condition, moves in documented.items() if "came out" in condition)
    assert estimate(lose_values(1, 0.1), 1)[0] == pytest.approx(values, abs=0.005)
    assert estimate(lose_answers(1, 0.1), 1)[0] == pytest.approx(answers, abs=0.005)


def test_the_bias_of_a_choice_is_what_the_channel_gives() -> None:
    documented = {row[0]: sigmas(row[1]) for row in rows("limits.md", "What has to be true of the respondents")}
    curve = next(moves for condition, moves in documented.items() if "with probability" in condition)
    split = next(moves for condition, moves in documented.items() if "above the median" in condition)
    assert choose(lambda x: 1 / (1 + np.exp(-x))) == pytest.approx(curve, abs=0.005)
    assert choose(lambda x: x > 0) == pytest.approx(split, abs=0.005)
    assert choose(lambda x: 0.3) == pytest.approx(0, abs=0.005)


def test_contamination_does_what_the_table_says() -> None:
    one, tenth = rows("limits.md", "Contamination")
    assert estimate(contaminated(1, 0.05, (True, True)), 1)[0] == pytest.approx(sigmas(one[2]), abs=0.005)
    assert estimate(contaminated(1, 0.05, (False, True)), 1)[1] - 1 == pytest.approx(sigmas(one[3]) / 100, abs=0.005)
    assert estimate(contaminated(0.1, 0.01, (True, True)), 0.1)[0] == pytest.approx(sigmas(tenth[2]), abs=0.005)


def test_contamination_at_a_threshold_stays_below_its_bound() -> None:
    for epsilon in (0.1, 1.0, 3.0):
        for share in (0.01, 0.2):
            bound = share * math.exp(epsilon) / (math.exp(epsilon) - 1)
            honest = truthful(epsilon)
            for cut in np.linspace(-3, 3, 25):
                for says in (0, 1):
                    seen = (1 - share) * above(cut, epsilon) + share * says
                    tail = (seen - (1 - honest)) / (2 * honest - 1)
                    assert abs(tail - norm.sf(cut)) <= bound + 1e-12
