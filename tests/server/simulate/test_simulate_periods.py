"""`dither simulate` with calendar periods, in this process."""

import json
from pathlib import Path

import numpy as np
import pytest

from dither_client.commands import run
from dither_client.mechanisms.panel import Panel
from dither_estimator.families import families
from dither_estimator.specification.periods import Period
from dither_server.simulate.by_period import draw_periods, parse_walk

PEOPLE = ["--respondents", "400", "--epsilon", "4", "--in-process", "--seed", "1", "--particles", "200"]


def test_a_population_that_shifts_is_followed(capsys: pytest.CaptureFixture[str]) -> None:
    """Five posterior sds in eight numbers: a false alarm in about 5e-6 of seeds. The shift is six sds."""
    truth = "mu=0,sigma=1; mu=2,sigma=1"
    prior = ["--periods", "4", "--truth", truth]
    assert run(["simulate", *prior, *PEOPLE, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["truth"]) == list(found["periods"]) == ["2026-W01", "2026-W02", "2026-W03", "2026-W04"]
    assert [each["mu"] for each in found["truth"].values()] == [0, 0, 2, 2]
    assert [each["answers"] for each in found["periods"].values()] == [100] * 4
    for label, parameters in found["truth"].items():
        for name, value in parameters.items():
            summary = found["periods"][label]["posterior"][name]
            assert abs(summary["mean"] - value) < 5 * summary["sd"] < 2.5
    assert found["step"]["mu"]["q50"] > 0
    assert found["posterior"] == found["periods"]["2026-W04"]["posterior"]


def test_the_text_lists_the_periods(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--periods", "2", "--truth", "mu=0,sigma=1", "--walk", "mu=0.5", *PEOPLE]) == 0
    assert "periods: 2, from 2026-W01 to 2026-W02" in capsys.readouterr().out


def _rows(printed: str) -> dict[str, list[str]]:
    return {words[0]: words[1:] for line in reversed(printed.splitlines()) if (words := line.split())}


def test_the_table_has_the_truth_of_what_the_posterior_is_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With drift that of the newest period; without, of all as one, which has no parameters unless all are the same."""
    truth = ["--periods", "2", "--truth", "mu=0,sigma=1; mu=2,sigma=1"]
    assert run(["simulate", *truth, *PEOPLE]) == 0
    rows = _rows(capsys.readouterr().out)
    assert rows["parameter"][0] == "truth"
    assert (rows["mu"][0], rows["sigma"][0]) == ("2", "1")
    assert abs(float(rows["Half"][3]) - 2) < 0.5
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({"family": "normal", "epsilon": 4, "period": "week", "particles": 200}))
    given = ["--spec", str(spec), "--respondents", "400", "--in-process", "--seed", "1"]
    assert run(["simulate", *truth, *given]) == 0
    rows = _rows(capsys.readouterr().out)
    assert len(rows["mu"]) == 5  # no truth
    assert 0.5 < float(rows["Half"][3]) < 1.5
    assert run(["simulate", "--periods", "2", "--truth", "mu=3,sigma=1", *given]) == 0
    assert _rows(capsys.readouterr().out)["mu"][0] == "3"


def test_a_walk_has_steps_of_its_sds() -> None:
    """The mean square of 400 steps is within 5 of its standard errors in all but 1e-6 of seeds; one twice as large is
    not."""
    family, rng = families["normal"], np.random.default_rng(1)
    walk = parse_walk("mu=0.5", family)
    people = draw_periods(rng, family, "mu=1,sigma=2", Period("day"), 401, walk, "identity", 802)
    mu, sigma = (np.array([each[name] for each in people.truth.values()]) for name in ("mu", "sigma"))
    assert sigma == pytest.approx(2)
    ratio = (np.diff(mu) ** 2).mean() / 0.5**2
    assert abs(ratio - 1) < 5 * np.sqrt(2 / 400) < abs(ratio * 4 - 1)
    assert len(people.labels) == 802
    assert people.labels[:3] == ["2026-01-01", "2026-01-01", "2026-01-02"]


def test_people_of_a_panel_keep_their_places_and_answer_as_often_as_it_says(tmp_path: Path) -> None:
    """300 people who join at once, 3 turns each in 10 weeks; every value is one of 300 places, moved with the mean."""
    family, panel = families["normal"], Panel(3, 10, Period("week"))
    given = (family, "mu=0,sigma=1;mu=100,sigma=2", Period("week"), 10, np.zeros(2))
    people = draw_periods(np.random.default_rng(1), *given, "identity", 300, panel)
    assert len(people.values) == 900
    late = np.array([label >= "2026-W06" for label in people.labels])
    places = np.where(late, (people.values - 100) / 2, people.values)
    _, often = np.unique(places.round(9), return_counts=True)
    assert np.array_equal(often, np.full(300, 3))
    few = draw_periods(np.random.default_rng(1), *given[:3], 4, np.zeros(2), "identity", 300, panel)
    assert 0 < len(few.values) < 900, "turns after the last period are not asked for"
    fields = {"family": "normal", "epsilon": 1, "range": [0, 100], "period": "week", "particles": 100}
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({**fields, "name": "Panel", "panel": {"answers": 2, "periods": 3}}))
    command = ["simulate", "--in-process", "--spec", str(spec), "--truth", "mu=50,sigma=10", "--respondents", "20"]
    assert run([*command, "--periods", "3", "--seed", "1"]) == 0


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--periods", "2", "--truth", "mu=1,sigma=1", "--walk", "nu=1"], "the parameters of normal are mu, sigma"),
        (["--periods", "2", "--truth", "mu=1,sigma=1", "--walk", "mu=-1"], "none of them below 0"),
        (["--periods", "1", "--truth", "mu=1,sigma=1;mu=2,sigma=1"], "as many periods as sets of parameters (2)"),
        (["--periods", "2", "--truth", "mu=1,sigma=1", "--groups", "a,b"], "--periods cannot go with --groups"),
        (["--truth", "mu=1,sigma=1", "--walk", "mu=1"], "--walk needs --periods"),
        (["--periods", "2", "--family", "nonparametric", "--truth", "mu=1"], "period needs a family"),
    ],
)
def test_what_cannot_be_is_refused(given: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", *given, *PEOPLE]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_over_http_there_is_one_period(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--periods", "2", "--truth", "mu=1,sigma=1", "--respondents", "10", "--url", "http://127.0.0.1:1"]
    assert run(["simulate", *given]) == 2
    assert "nobody can tell a server what time it is" in " ".join(capsys.readouterr().err.split())


def test_a_panel_is_not_simulated_over_http(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "panel.json"
    fields = {"name": "Panel", "family": "normal", "epsilon": 1, "period": "week"}
    spec.write_text(json.dumps({**fields, "panel": {"answers": 2, "periods": 3}}))
    given = ["--truth", "mu=0,sigma=1", "--respondents", "10", "--url", "http://127.0.0.1:1", "--token", "t"]
    assert run(["simulate", "--spec", str(spec), *given]) == 2
    assert "a panel is simulated with --in-process and --periods" in " ".join(capsys.readouterr().err.split())
