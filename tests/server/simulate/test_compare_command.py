"""`dither compare`: what it computes, that seeds alone decide it, its files, and its refusals."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pandas
import pytest
from scipy import stats

from dither_client.commands import run
from dither_client.posterior.wire import ParameterSummary
from dither_estimator.design.design import optimal_design
from dither_estimator.design.goal import parse_goal
from dither_estimator.families import find_family
from dither_server.simulate.comparison import People, Setting, compare, limits_of

TRUTH = ["--truth", "mu=50,sigma=10"]
SMALL = [*TRUTH, "--respondents", "60,120", "--repeats", "2", "--seed", "3"]


@pytest.fixture
def spec(tmp_path: Path) -> str:
    (tmp_path / "spec.json").write_text('{"range": [0, 100], "particles": 100}')
    return str(tmp_path / "spec.json")


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["compare", *arguments, "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.out.count("\n") == 1
    found: dict[str, Any] = json.loads(printed.out)
    return found


def test_every_combination_has_an_entry(capsys: pytest.CaptureFixture[str], spec: str) -> None:
    lists = ["--mechanisms", "laplace,randomized_response", "--epsilon", "1,2", "--policies", "adaptive,fixed:40:60"]
    found = compared(capsys, *SMALL, *lists, "--spec", spec)
    assert (found["repeats"], found["truth"]) == (2, {"mu": 50, "sigma": 10})
    keys = [(s["mechanism"], s["policy"], s["epsilon"], s["respondents"]) for s in found["settings"]]
    assert len(set(keys)) == len(keys) == 16
    for each in found["settings"]:
        assert set(each["numbers"]) == {"mu", "sigma"}
        for number in each["numbers"].values():
            assert number["rmse"] >= abs(number["bias"])
            assert number["coverage"] in (0, 0.5, 1)
        assert 0 < each["distance"] < 1


def test_results_depend_on_the_seed_and_on_nothing_else(capsys: pytest.CaptureFixture[str], spec: str) -> None:
    alone = compared(capsys, *SMALL, "--spec", spec, "--mechanisms", "laplace")
    beside = compared(capsys, *SMALL, "--spec", spec, "--mechanisms", "staircase,laplace", "--jobs", "2")
    assert [each for each in beside["settings"] if each["mechanism"] == "laplace"] == alone["settings"]
    other = compared(capsys, *SMALL[:-1], "4", "--spec", spec, "--mechanisms", "laplace")
    assert other["settings"] != alone["settings"]


def test_numbers_are_those_of_the_posteriors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three posteriors are given, in which two of three intervals hold the truth."""
    means, halves = [48.0, 51.0, 56.0], [3.0, 2.0, 1.0]
    summaries = [
        ParameterSummary(mean, half / 2, mean - half, mean, mean, mean, mean + half)
        for mean, half in zip(means, halves, strict=True)
    ]
    monkeypatch.setattr(
        "dither_server.simulate.comparison._simulate", lambda *given: ({"mu": summaries[given[-1]]}, 0.1 * given[-1])
    )
    fields = {"family": "normal", "epsilon": 1}
    people = People({"mu": 50.0, "sigma": 10.0}, find_family("normal"), (50.0, 10.0))
    (found,) = compare([Setting("laplace", "adaptive", "1", 100, fields)], people, 3, 1)
    number = found.numbers["mu"]
    assert number.bias == pytest.approx(5 / 3)
    assert number.rmse == pytest.approx(np.sqrt((4 + 1 + 36) / 3))
    assert number.sd == pytest.approx(1)
    assert number.coverage == pytest.approx(2 / 3)
    assert found.distance == pytest.approx(0.1)


def test_the_limit_is_that_of_a_design_for_the_parameter_alone() -> None:
    """It grows with a normal's sigma, and is carried from the logarithm to a parameter that is not of a scale."""
    normal, people = find_family("normal"), People({"mu": 50.0, "sigma": 10.0}, find_family("normal"), (50.0, 10.0))
    fields = {"family": "normal", "epsilon": 1}
    found = limits_of(people, Setting("laplace", "adaptive", "1", 100, fields))
    standard = optimal_design(normal, [0, 1], "laplace", Fraction(1), parse_goal("mu", normal)).limit
    assert found["mu"] == pytest.approx(10 * np.sqrt(standard), rel=1e-4)
    # At a cut in the middle, randomized response is the best way to learn a median: F' = 1 / (sigma sqrt(2 pi)).
    answers = (math.e + 1) / (math.e - 1)
    assert found["mu"] <= 10 * np.sqrt(2 * np.pi) / 2 * answers * (1 + 1e-6)
    gamma = find_family("gamma")
    people = People({"shape": 2.0, "scale": 3.0}, gamma, (2.0, 3.0))
    found = limits_of(people, Setting("laplace", "adaptive", "1", 100, {"family": "gamma", "epsilon": 1}))
    of_logarithm = optimal_design(gamma, [2, 3], "laplace", Fraction(1), parse_goal("shape", gamma)).limit
    assert found["shape"] == pytest.approx(2 * np.sqrt(of_logarithm), rel=1e-4)
    assert limits_of(people, Setting("laplace", "adaptive", "1", 100, fields)) == {}


def test_people_are_the_population() -> None:
    x = np.array([1.0, 3.0, 9.0])
    member = People({"mu": 1.0, "sigma": 0.5}, find_family("normal"), (1.0, 0.5), "log")
    assert member.cdf(x) == pytest.approx(stats.lognorm.cdf(x, 0.5, scale=math.e))
    values = np.array([1.0, 1.0, 4.0, 9.0])
    file = People({}, values=values)
    assert file.cdf(x).tolist() == [0.5, 0.5, 1]
    assert sorted(file.draw(np.random.default_rng(1), 4)) == values.tolist()


def test_without_a_family_quantiles_are_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "wages.csv").write_text("wage\n" + "".join(f"{x}\n" for x in range(500)))
    given = ["--data", str(tmp_path / "wages.csv"), "--respondents", "100", "--repeats", "1", "--seed", "1"]
    found = compared(capsys, *given)
    assert found["truth"]["0.5"] == 249
    (each,) = found["settings"]
    assert each["mechanism"] == "randomized_response"
    assert set(each["numbers"]) == {"0.1", "0.5", "0.9"}
    assert {number["limit"] for number in each["numbers"].values()} == {None}


@pytest.mark.parametrize("varied", [["--epsilon", "1,2"], ["--respondents", "60,120"]])
def test_the_files(capsys: pytest.CaptureFixture[str], tmp_path: Path, spec: str, varied: list[str]) -> None:
    picture, table = tmp_path / "compared.png", tmp_path / "compared.csv"
    given = [*TRUTH, "--respondents", "60", "--repeats", "1", "--spec", spec, *varied]
    assert run(["compare", *given, "--plot", str(picture), "--csv", str(table)]) == 0
    printed = capsys.readouterr().out
    assert "1 repetitions, so that an rmse is known to about 71%; policy adaptive" in " ".join(printed.split())
    assert len(np.unique(matplotlib.image.imread(picture).reshape(-1, 4), axis=0)) > 10
    rows = pandas.read_csv(table)
    assert list(rows["number"]) == ["mu", "sigma"] * 2
    assert (rows["rmse"] == rows["bias"].abs()).all()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "either --truth or --data"),
        (
            [*TRUTH, "--mechanisms", "laplace,zebra"],
            "zebra with adaptive at epsilon 1: mechanism must be one of laplace",
        ),
        (
            [*TRUTH, "--mechanisms", "staircase", "--policies", "fixed:0:1"],
            "staircase with fixed:0:1 at epsilon 1: policy",
        ),
        ([*TRUTH, "--respondents", "9999999999"], "respondents must be whole numbers from 1 to 100,000,000"),
        (
            [*TRUTH, "--respondents", "ten"],
            "from 1 to 100,000,000, such as 1000,10000",
        ),
        ([*TRUTH, "--epsilon", "1,x"], "at epsilon x: epsilon must be"),
        ([*TRUTH, "--family", "lognormal"], "the family normal with transform log"),
        ([*TRUTH, "--jobs", "0"], "jobs must be 1 or more, or -1"),
        ([*TRUTH, "--plot", "none/compared.png"], "the folder none does not exist"),
        ([*TRUTH, "--csv", "compared.txt"], "must end in .csv or .parquet"),
        (["--data", "none.csv"], "none.csv does not exist"),
    ],
)
def test_bad_input_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["compare", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert says in printed.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("fields", "says", "instead"),
    [
        ({"period": "week"}, "periods are not compared", "--periods"),
        ({"period": "week", "drift": True}, "periods are not compared", "leave out period, and drift"),
        ({"family": "categorical", "categories": ["a", "b"]}, "categories are not compared", "--categories"),
        ({"family": None, "categories": ["a", "b"]}, "categories are not compared", "--categories"),
        ({"epsilon_choices": [0.5, 1]}, "people who choose their ε are not compared", "--epsilon, such as 0.5,2"),
        ({"member_cuts": [40, 60]}, "counts that institutions share are not compared", "leave out member_cuts"),
        ({"groups": {"name": "area", "labels": ["a", "b"]}}, "groups are not compared", "dither simulate"),
        (
            {"family": None, "components": [{"name": "a", "family": "normal"}, {"name": "b", "family": "normal"}]},
            "several numbers of one person are not compared",
            "dither simulate",
        ),
        ({"misfit_check": True}, "the check of the family is not compared", "leave out misfit_check"),
        ({"mechanism": "gaussian", "rho": 0.5}, "ρ is not compared", "--epsilon"),
    ],
)
def test_what_is_not_compared_is_refused_with_what_to_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, fields: dict[str, Any], says: str, instead: str
) -> None:
    given = {"family": "normal", "epsilon": 1, "particles": 100, **fields}
    (tmp_path / "spec.json").write_text(json.dumps({name: value for name, value in given.items() if value is not None}))
    assert run(["compare", *TRUTH, "--respondents", "10", "--repeats", "1", "--spec", str(tmp_path / "spec.json")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert says in printed.err
    assert instead in printed.err


def test_categories_are_not_compared_by_name_either(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", *TRUTH, "--family", "categorical"]) == 2
    assert "categories are not compared" in capsys.readouterr().err


def test_cuts_that_cannot_tell_are_warned_of(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text('{"levels": 1, "particles": 100}')
    given = [*TRUTH, "--respondents", "50", "--repeats", "1", "--policies", "fixed:40:60"]
    assert run(["compare", *given, "--spec", str(tmp_path / "one.json"), "--json"]) == 0
    assert "Warning: with laplace and fixed:40:60, answers at 1 cut alone (50) cannot" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"family": "normal", "transform": "log", "minimum": -5}, "minimum must not be below 0 when transform is log"),
        ({"family": "normal", "policy": "fixed:-5:-1", "minimum": 0}, "all values lie at HIGH or above"),
    ],
)
def test_what_contradicts_itself_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, fields: dict[str, Any], says: str
) -> None:
    """As it is where a collection is created."""
    (tmp_path / "spec.json").write_text(json.dumps(fields))
    assert run(["compare", *SMALL, "--spec", str(tmp_path / "spec.json")]) == 2
    assert says in " ".join(capsys.readouterr().err.split())
