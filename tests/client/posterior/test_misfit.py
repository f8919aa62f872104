"""What the commands for analysts say of a collection's misfit check."""

import math
from pathlib import Path
from typing import Any

import pytest
from scipy.special import ndtr

from dither_client import Analyst
from dither_client.commands import run
from dither_client.errors import BadResponse
from dither_client.posterior.particles import parse_particles
from dither_client.posterior.reading import parse_posterior
from dither_client.posterior.sentences import misfit_sentence
from dither_client.posterior.wire import Misfit, from_json
from dither_client.tables.counts import read_table
from testing.servers.fake_server import ANALYST, POSTERIOR, FakeServer


def look(check_answers: int, p_value: float) -> dict[str, Any]:
    return {"check_answers": check_answers, "answers": 4 * check_answers, "p_value": p_value, "alpha": 0.05 / 3}


def misfit(*looks: dict[str, Any], alarm: bool = False, next_look: int | None = 5_000) -> dict[str, Any]:
    return {"family": "normal", "check_answers": 9, "looks": list(looks), "alarm": alarm, "next_look": next_look}


ONLY_GROSS_ONES = (
    "only gross ones would show: at ε = 1 it takes about 4,000 check answers to find a Gumbel distribution that is "
    "taken for a normal one in about a third of the runs. "
    "To learn the distribution whatever its shape, leave the family out."
)
SENTENCES = [
    (misfit(next_look=500), "Whether a normal distribution fits is first checked at 500 check answers."),
    (
        misfit(next_look=500) | {"transform": "log"},
        "Whether a lognormal distribution fits is first checked at 500 check answers.",
    ),
    (
        misfit(look(512, 0.4)),
        "No misfit of a normal distribution was found in 1 look (the next look is at 5,000 check answers); "
        f"{ONLY_GROSS_ONES}",
    ),
    (
        misfit(look(512, 0.4), look(5_000, 0.2), next_look=None),
        f"No misfit of a normal distribution was found in 2 looks; {ONLY_GROSS_ONES}",
    ),
    (
        misfit(look(512, 0.4), look(5_003, 0.004), look(50_000, 0.3), alarm=True, next_look=None),
        "The answers do not look normal: p = 0.004 at 5,003 check answers, where 0.017 or less is an alarm.",
    ),
]


@pytest.mark.parametrize(("found", "says"), SENTENCES)
def test_a_check_is_one_sentence(found: dict[str, Any], says: str) -> None:
    assert misfit_sentence(from_json(Misfit, found), ["1"]) == says


@pytest.mark.parametrize(
    ("epsilons", "answers"), [(["2"], "1,200"), (["0.5"], "15,000"), (["0.5", "2"], "15,000"), (["4"], "460")]
)
def test_what_could_be_found_is_of_the_collections_epsilon(epsilons: list[str], answers: str) -> None:
    """As many answers as tell the same at ε = 1, by the variance of a share that is estimated from binary answers."""
    said = misfit_sentence(from_json(Misfit, misfit(look(512, 0.4))), epsilons)
    epsilon = min(epsilons, key=float)
    assert f"at ε = {epsilon} it takes about {answers} check answers" in said
    expected = 4_000 * precision(1.0) / precision(float(epsilon))
    assert float(answers.replace(",", "")) == pytest.approx(expected, rel=0.05)


def precision(epsilon: float) -> float:
    """One by the variance of a share that is estimated from one answer, summed over the four cuts."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    answered = [share * truth + (1 - share) * (1 - truth) for share in ndtr([-1.5, -0.3, 0.3, 1.5])]
    return sum((2 * truth - 1) ** 2 / (each * (1 - each)) for each in answered)


def test_without_an_epsilon_no_figure_is_said() -> None:
    said = misfit_sentence(from_json(Misfit, misfit(look(512, 0.4))))
    assert "only gross ones would show at a small ε. To learn" in said


def test_no_advice_is_given_that_the_collection_could_not_follow() -> None:
    """Counts of members, and periods, need a family."""
    for terms, advised in (({}, True), ({"member_cuts": [300.0]}, False), ({"period": "week"}, False)):
        found = parse_posterior(
            "wages", POSTERIOR | {"misfit": misfit(look(512, 0.4))}, lambda: parse_particles({}), terms=terms
        )
        assert "No misfit of a normal distribution was found" in found.text()
        assert ("leave the family out" in found.text()) == advised


@pytest.mark.parametrize("found", [{}, [], misfit() | {"looks": 3}])
def test_a_check_that_cannot_be_read(found: Any) -> None:
    with pytest.raises(BadResponse, match="version can read"):
        parse_posterior("wages", POSTERIOR | {"misfit": found}, lambda: parse_particles({}))


def test_an_alarm_that_no_look_gave() -> None:
    with pytest.raises(BadResponse, match="misfit check"):
        misfit_sentence(from_json(Misfit, misfit(alarm=True)))
    with pytest.raises(BadResponse, match="misfit check"):
        parse_posterior("wages", POSTERIOR | {"misfit": misfit(alarm=True)}, lambda: parse_particles({}))


def test_python_says_what_the_check_found() -> None:
    for found, says in SENTENCES:
        posterior = parse_posterior("wages", POSTERIOR | {"misfit": found}, lambda: parse_particles({}))
        assert repr(posterior).endswith(f"  {says}")
        assert says in posterior._repr_html_()


def test_the_posterior_is_shown_with_it(server: FakeServer, capsys: pytest.CaptureFixture[str]) -> None:
    found, says = SENTENCES[-1]
    path = "/v1/collections/laplace/posterior"
    for reply, shown in ((POSTERIOR | {"misfit": found}, True), (POSTERIOR | {"misfit": None}, False)):
        server.refusals[path] = (200, reply)
        assert run(["posterior", "laplace", "--url", server.url, "--token", "s3cret"]) == 0
        assert capsys.readouterr().out.count(says) == shown


def test_check_counts_are_exported_apart(
    server: FakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{**ANALYST["queries"]["queries"][0], "answers": 3, "counts": [1, 2, 0, 0, 0]}]
    server.refusals["/v1/collections/laplace/queries?purpose=check"] = (200, {"queries": rows})
    files = {name: tmp_path / f"{name}.csv" for name in ("counts", "check")}
    options = [str(part) for name, file in files.items() for part in (f"--{name}", file)]
    assert run(["export", "laplace", *options, "--url", server.url, "--token", "s3cret", "--json"]) == 0
    totals = {name: [sum(counts) for counts in read_table(file).queries.values()] for name, file in files.items()}
    assert totals == {"counts": [15, 6], "check": [3]}
    with Analyst(server.url, "s3cret") as analyst:
        assert [query.answers for query in analyst.queries("laplace", "check")] == [3]
