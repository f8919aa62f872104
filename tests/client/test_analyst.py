"""What analysts read, and the objects they read it into."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dither_client import Analyst, BadResponse, InvalidAddress, Laplace, MissingExtra, Particles, Problem, Retry
from dither_client.posterior.particles import parse_particles
from dither_client.posterior.reading import parse_posterior
from dither_client.posterior.sentences import poison_lines
from dither_client.posterior.wire import Bands, DistributionSummary, PoisonBound
from testing.servers.fake_server import ANALYST, POSTERIOR, Failure, FakeServer, problem


@pytest.fixture
def analyst(server: FakeServer, quick: Retry) -> Any:
    with Analyst(server.url, "s3cret", retry=quick) as analyst:
        yield analyst


def test_the_token_is_sent(server: FakeServer, analyst: Analyst) -> None:
    analyst.posterior("laplace")
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer s3cret"}


def test_no_token(server: FakeServer) -> None:
    with Analyst(server.url) as analyst:
        analyst.queries("laplace")
    assert "authorization" not in {name.lower() for name in server.requests[0].headers}


@pytest.mark.parametrize("token", ["a b", "a\nb", "é"])
def test_refused_tokens(token: str) -> None:
    with pytest.raises(InvalidAddress, match="a token may contain only") as caught:
        Analyst("https://example.org", token)
    assert token not in str(caught.value)


def test_a_posterior(analyst: Analyst) -> None:
    posterior = analyst.posterior("laplace")
    assert posterior.parameters == ("mu", "sigma")
    assert posterior.mean == {"mu": 50.0, "sigma": 10.0}
    for named in (posterior.mean, posterior.sd, posterior.interval()):
        with pytest.raises(KeyError, match="but mu, sigma"):
            named["quantile_0.5"]
    assert posterior.sd == {"mu": 2.0, "sigma": 1.0}
    assert posterior.covariance == [[4.0, 0.1], [0.1, 1.0]]
    assert (posterior.answers, posterior.ess, posterior.log_evidence) == (1234, 800.5, -321.5)


def test_intervals_of_the_server(server: FakeServer, analyst: Analyst) -> None:
    posterior = analyst.posterior("laplace")
    assert posterior.interval() == posterior.interval(0.9) == {"mu": (46.71, 53.29), "sigma": (8.355, 11.645)}
    assert posterior.interval(0.5)["mu"] == (48.652, 51.348)
    assert not [each for each in server.requests if "particles" in each.path], "the particles were not needed"


def test_other_intervals_come_from_the_particles(server: FakeServer, analyst: Analyst) -> None:
    posterior = analyst.posterior("laplace")
    assert posterior.interval(0.8) == {"mu": (48.0, 50.0), "sigma": (9.0, 10.5)}
    assert posterior.interval(0.3) == {"mu": (49.0, 50.0), "sigma": (10.0, 10.5)}
    assert len([each for each in server.requests if "particles" in each.path]) == 1, "they were fetched once"
    for bad in (0, 1, -0.5, 90, float("nan")):
        with pytest.raises(ValueError, match="level of an interval"):
            posterior.interval(bad)


def test_weighted_quantiles() -> None:
    particles = Particles(("x",), ((3.0,), (1.0,), (2.0,)), (0.25, 0.25, 0.5))
    assert [particles.quantile("x", p) for p in (0.0, 0.25, 0.2500001, 0.75, 0.76, 1.0)] == [
        1.0,
        1.0,
        2.0,
        2.0,
        3.0,
        3.0,
    ]
    even = Particles(("x",), tuple((float(n),) for n in range(1000)), (0.001,) * 1000)
    assert even.quantile("x", 0.5) == pytest.approx(499.5, abs=1)
    assert even.quantile("x", 1.0) == 999.0


def test_a_posterior_shows_itself(analyst: Analyst) -> None:
    assert repr(analyst.posterior("laplace")).splitlines() == [
        "Posterior of laplace after 1,234 answers",
        "  This rests on 1,234 answers at ε = 1, and holds if the values follow a normal distribution.",
        "  mu     50.0 ± 2  (90%: 46.7 to 53.3)",
        "  sigma  10.0 ± 1  (90%: 8.4 to 11.6)",
        "  If 1% of the answers were adversarial, mu could be off by 0.05 and sigma by any amount.",
    ]


def test_a_posterior_shows_itself_in_a_notebook(analyst: Analyst) -> None:
    shown = analyst.posterior("laplace")._repr_html_()
    assert "<caption>Posterior of laplace after 1,234 answers</caption>" in shown
    assert "<tr><th>mu</th><td>50.0</td><td>2</td><td>46.7 to 53.3</td></tr>" in shown
    assert "<p>If 1% of the answers were adversarial" in shown
    hostile = {**POSTERIOR, "posterior": {"<script>": POSTERIOR["posterior"]["mu"]}}
    assert "<script>" not in parse_posterior("laplace", hostile, lambda: parse_particles({}))._repr_html_()


@pytest.mark.parametrize(("family", "off"), [("normal", "the median could be off by 5.1%"), ("gumbel", "")])
def test_logarithms_are_not_shown_unasked(server: FakeServer, analyst: Analyst, family: str, off: str) -> None:
    """Nor while the posterior is too wide for the population's distribution; whoever asks for parameters has them."""
    scale = {"family": family, "transform": "log"}
    server.refusals["/v1/collections/laplace"] = (200, server.terms("laplace") | scale)
    posterior = analyst.posterior("laplace")
    for shown in (repr(posterior), posterior.text("€"), posterior._repr_html_()):
        assert "Posterior of laplace after 1,234 answers" in shown
        assert off in shown
        assert not {"mu", "sigma"} & set(re.findall(r"\w+", shown))
    assert posterior.mean == {"mu": 50.0, "sigma": 10.0}
    assert len([each for each in server.requests if each.path == "/v1/collections/laplace"]) == 1
    assert analyst.posterior("laplace").transform == "log"
    assert len([each for each in server.requests if each.path == "/v1/collections/laplace"]) == 1, "terms never change"


def test_before_any_answer_no_number_is_told() -> None:
    """What was assumed may be any number at all."""
    empty = parse_posterior("laplace", {**POSTERIOR, "answers": 0}, lambda: parse_particles({}))
    told = ["Posterior of laplace after 0 answers", "  Before any answer this is only what was assumed."]
    assert repr(empty).splitlines() == told
    assert "<td>" not in empty._repr_html_()
    counted = parse_posterior("laplace", {**POSTERIOR, "answers": 0, "members": 9}, lambda: parse_particles({}))
    assert "  mu     50.0 ± 2  (90%: 46.7 to 53.3)" in repr(counted).splitlines()


def test_each_component_has_its_own_scale(analyst: Analyst) -> None:
    part = {"answers": 5, "posterior": POSTERIOR["posterior"], "covariance": POSTERIOR["covariance"]}
    data = {**POSTERIOR, "posterior": {}, "covariance": [], "components": {"wage": part, "age": part}}
    told = [{"name": "wage", "transform": "log"}, {"name": "age", "transform": "identity"}]
    whole = parse_posterior("x", data, lambda: parse_particles({}), terms={"components": told})
    assert "mu" in repr(whole.component("age"))
    assert "mu" not in repr(whole.component("wage"))
    for read in (whole.quantile, whole.share_above):
        with pytest.raises(ValueError, match="each of several numbers has a distribution of its own: see `component`"):
            read(0.5)


def test_a_server_that_says_nothing_of_contamination() -> None:
    older = {name: value for name, value in POSTERIOR.items() if name != "poison"}
    posterior = parse_posterior("laplace", older, lambda: parse_particles(ANALYST["posterior/particles"]))
    assert posterior.poison is None
    assert "adversarial" not in repr(posterior)


@pytest.mark.parametrize(
    "poison", [{"share": 0.01}, {"share": "x", "shift": {}}, {"share": 0.01, "shift": {"mu": "x"}}]
)
def test_a_contamination_bound_that_is_none(poison: Any) -> None:
    with pytest.raises(BadResponse):
        parse_posterior("laplace", {**POSTERIOR, "poison": poison}, lambda: parse_particles({}))


@pytest.mark.parametrize(
    ("shift", "sentence"),
    [
        ({"p": 0.012345}, "p could be off by 0.012."),
        ({"mu": 1234.5, "sigma": None}, "mu could be off by 1,200 and sigma by any amount."),
        ({"mu": 1e-7, "sigma": 2, "df": 0.5}, "mu could be off by 1e-7, sigma by 2 and df by 0.5."),
    ],
)
def test_the_sentence_on_contamination(shift: Any, sentence: str) -> None:
    assert poison_lines(PoisonBound(0.01, shift)) == [f"If 1% of the answers were adversarial, {sentence}"]


def test_a_frame(analyst: Analyst) -> None:
    frame = analyst.posterior("laplace").to_frame()
    assert list(frame.index) == ["mu", "sigma"]
    assert list(frame.columns) == ["mean", "sd", "q05", "q25", "q50", "q75", "q95"]
    assert frame.loc["sigma", "q95"] == 11.645


def test_arviz_draws(analyst: Analyst) -> None:
    posterior = analyst.posterior("laplace")
    tree = posterior.to_arviz()
    draws = tree["posterior"]
    particles = posterior.particles()
    assert dict(draws.sizes) == {"chain": 1, "draw": len(particles.weights)}
    assert set(draws["mu"].to_numpy().ravel()) <= {row[0] for row in particles.values}
    asked = analyst.queries("laplace")
    assert int(tree["observed_data"]["count"].sum()) == sum(each.answers for each in asked if each.counts)


def test_equally_weighted_draws_follow_the_weights() -> None:
    particles = Particles(("x", "y"), ((1.0, 10.0), (2.0, 20.0), (3.0, 30.0), (4.0, 40.0)), (0.5, 0.0, 0.3, 0.2))
    assert particles.equally_weighted() == {"x": [1.0, 1.0, 3.0, 4.0], "y": [10.0, 10.0, 30.0, 40.0]}


def test_a_plot(analyst: Analyst, tmp_path: Path) -> None:
    figure = analyst.posterior("laplace").plot()
    assert [axes.get_xlabel() for axes in figure.axes] == ["mu", "sigma"]
    foot = figure.get_supxlabel().replace("\n", " ")
    assert foot == "This rests on 1,234 answers at ε = 1, and holds if the values follow a normal distribution."
    figure.savefig(tmp_path / "posterior.png")
    assert (tmp_path / "posterior.png").read_bytes().startswith(b"\x89PNG")


def test_a_plot_begins_with_the_population_where_its_distribution_is_known(analyst: Analyst) -> None:
    bands = Bands(*[(0.1, 0.5, 0.9)] * 6)
    known = replace(analyst.posterior("laplace"), distribution=DistributionSummary((20.0, 50.0, 80.0), bands, bands))
    assert [axes.get_xlabel() for axes in known.plot().axes] == ["value", "mu", "sigma"]


def test_extras_that_are_missing(analyst: Analyst, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither_client.extras.find_spec", lambda name: None)
    posterior = analyst.posterior("laplace")
    with pytest.raises(MissingExtra, match=r"pip install 'dither\[tables\]'"):
        posterior.to_frame()
    with pytest.raises(MissingExtra, match=r"pip install 'dither\[plot\]'"):
        posterior.plot()


def test_particles(analyst: Analyst) -> None:
    particles = analyst.particles("laplace")
    assert particles.parameters == ("mu", "sigma")
    assert particles.values[1] == (48.0, 9.0)
    assert sum(particles.weights) == pytest.approx(1)
    assert "48" not in repr(particles)


def test_queries_are_exact(analyst: Analyst) -> None:
    first, second = analyst.queries("laplace")
    assert first.query == Laplace(0, 1, 4, 1)
    assert (first.answers, first.counts) == (15, (5, 4, 3, 2, 1))
    assert second.query.epsilon.denominator == 2


def test_queries_without_counts(server: FakeServer, analyst: Analyst) -> None:
    listed = [{**item, "counts": None} for item in ANALYST["queries"]["queries"]]
    del listed[1]["counts"]
    server.refusals["/v1/collections/laplace/queries"] = (200, {"queries": listed})
    assert [query.counts for query in analyst.queries("laplace")] == [None, None]


def test_history_and_collections(analyst: Analyst) -> None:
    assert analyst.history("laplace")[0]["answers"] == 10
    assert [terms.id for terms in analyst.collections()] == ["laplace", "randomized"]


@pytest.mark.parametrize("page", [1, 7, 25, 26, 1000])
def test_answers_come_in_pages(server: FakeServer, analyst: Analyst, page: int) -> None:
    rows = list(analyst.answers("laplace", page))
    assert [row["answer"] for row in rows] == [n % 3 for n in range(25)]
    assert len(server.requests) == -(-25 // page)


def test_reading_is_tried_again(server: FakeServer, analyst: Analyst) -> None:
    server.failures += [Failure(), Failure(503)]
    assert analyst.posterior("laplace").answers == 1234


def test_refusals(server: FakeServer, analyst: Analyst) -> None:
    server.refusals["/v1/collections/laplace/posterior"] = problem(403, "forbidden", "an analyst's token is needed")
    with pytest.raises(Problem, match="an analyst's token") as caught:
        analyst.posterior("laplace")
    assert caught.value.name == "forbidden"
    with pytest.raises(InvalidAddress):
        analyst.posterior("a/b")


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {**POSTERIOR, "posterior": None},
        {**POSTERIOR, "posterior": {"mu": {"mean": 1}}},
        {**POSTERIOR, "answers": "many"},
        {**POSTERIOR, "covariance": [[None]]},
    ],
)
def test_posteriors_that_cannot_be_read(bad: Any) -> None:
    with pytest.raises(BadResponse):
        parse_posterior("x", json.loads(json.dumps(bad)), lambda: Particles((), (), ()))


@pytest.mark.parametrize(
    "change", [{"parameters": None}, {"particles": [[1, "x"]]}, {"weights": [1]}, {"particles": [], "weights": []}]
)
def test_particles_that_cannot_be_read(change: Any) -> None:
    with pytest.raises(BadResponse):
        parse_particles({**ANALYST["posterior/particles"], **change})


@pytest.mark.parametrize(
    "reply",
    [
        [],
        {"queries": None},
        {"queries": [3]},
        {"queries": [{}]},
        {"queries": [{**ANALYST["queries"]["queries"][0], "counts": [1]}]},
        {"queries": [{**ANALYST["queries"]["queries"][0], "answers": None}]},
    ],
)
def test_queries_that_cannot_be_read(server: FakeServer, analyst: Analyst, reply: Any) -> None:
    server.refusals["/v1/collections/laplace/queries"] = (200, reply)
    with pytest.raises(BadResponse):
        analyst.queries("laplace")
