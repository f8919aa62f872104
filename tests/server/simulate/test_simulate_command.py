"""`dither simulate`: its JSON and its refusals, in process."""

import json
import re
import signal
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither_client.commands import run
from dither_estimator.learning.learner import Learner

TOKEN = "the-admin-token"
TRUTH = ["--truth", "mu=50,sigma=3.1622776"]
PEOPLE = [*TRUTH, "--respondents", "200"]
KEYS = {
    "respondents", "answers", "dropped_out", "seconds", "estimator_seconds", "truth", "posterior", "covariance",
    "answers_by_epsilon", "ess", "particles", "moves", "queries", "log_evidence", "poison", "quantiles",
    "mean_value", "distribution",
}  # fmt: skip


def report(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> dict[str, Any]:
    """What `--json` prints: one object on standard output and nothing else there."""
    assert run(["simulate", *arguments, "--json"]) == status
    printed = capsys.readouterr()
    assert printed.out.count("\n") == 1
    found: dict[str, Any] = json.loads(printed.out)
    return found


def test_the_report_in_process(capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, *PEOPLE, "--in-process", "--seed", "1", "--prior", "paper", "--particles", "300")
    assert set(found) == KEYS
    assert found["respondents"] == found["answers"] == 200
    assert found["truth"] == {"mu": 50.0, "sigma": 3.1622776}
    assert found["particles"] == 300
    assert set(found["posterior"]) == {"mu", "sigma"}
    assert set(found["posterior"]["mu"]) == {"mean", "sd", "q05", "q25", "q50", "q75", "q95"}
    assert [len(row) for row in found["covariance"]] == [2, 2]
    assert 1 <= found["ess"] <= 300
    assert found["poison"]["share"] == 0.01
    assert set(found["poison"]["shift"]) == {"mu", "sigma"}
    assert 1 <= found["queries"] <= 200


def test_the_transform_log_without_a_family_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text('{"epsilon": 1, "transform": "log"}')
    people = ["--family", "gamma", "--truth", "shape=2,scale=10", "--respondents", "100"]
    assert run(["simulate", *people, "--in-process", "--spec", str(spec), "--seed", "1"]) == 0
    assert "Half of the people have" in capsys.readouterr().out


def test_where_everybody_has_0_the_table_and_a_sentence_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, data = tmp_path / "spec.json", tmp_path / "zeros.csv"
    spec.write_text('{"epsilon": 6, "minimum": 0}')
    data.write_text("x\n" + 1_000 * "0\n")
    people = ["--data", str(data), "--column", "x", "--spec", str(spec)]
    assert run(["simulate", *people, "--in-process", "--seed", "1"]) == 0
    printed = capsys.readouterr().out
    assert "Nearly everybody has 0 (90% sure: nine in ten or more)." in printed
    assert "Half have at most" in printed


def test_a_number_that_most_have_is_told_though_nobody_declared_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hours a week of 1,000 people, of whom 800 have 40."""
    spec, data = tmp_path / "spec.json", tmp_path / "hours.csv"
    spec.write_text('{"epsilon": 6}')
    data.write_text("x\n" + 800 * "40\n" + "".join(f"{30 + hour / 10}\n" for hour in range(200)))
    people = ["--data", str(data), "--column", "x", "--spec", str(spec)]
    assert run(["simulate", *people, "--in-process", "--json", "--seed", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["atoms"]["40"]["q05"] < 0.8 < found["atoms"]["40"]["q95"]
    assert found["quantiles"]["0.05"]["q50"] == pytest.approx(34.9, abs=2)


def test_a_simulation_checks_for_misfit(checked: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [*PEOPLE, "--spec", checked, "--in-process", "--seed", "1"]
    found = report(capsys, *arguments)
    assert set(found) == KEYS | {"misfit"}
    assert found["answers"] == 200
    assert [look["check_answers"] for look in found["misfit"]["looks"]] == [50, 60]
    assert found["misfit"]["next_look"] == 9_999
    # Five standard deviations of a fair coin's count: a false alarm in 1e6.
    assert abs(found["misfit"]["check_answers"] - 100) < 5 * 50**0.5
    assert report(capsys, *arguments)["misfit"] == found["misfit"]
    assert run(["simulate", *arguments]) == 0
    assert "No misfit of a normal distribution was found in 2 looks (the next look" in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_seed_repeats_a_simulation(capsys: pytest.CaptureFixture[str]) -> None:
    runs = [report(capsys, *PEOPLE, "--in-process", "--seed", seed) for seed in ("3", "3", "4")]
    one, again, other = ({**found, "seconds": 0, "estimator_seconds": 0} for found in runs)
    assert one == again
    assert one["posterior"] != other["posterior"]


@pytest.mark.parametrize(
    "options",
    [
        ["--mechanism", "randomized_response"],
        ["--policy", "thompson"],
        ["--policy", "fixed:40:60", "--levels", "16"],
        ["--goal", "mu"],
        ["--goal", "sigma"],
        ["--epsilon", "0.000001"],
        ["--epsilon", "50"],
        ["--epsilon-choices", "0.5, 2", "--policy", "thompson"],
        ["--epsilon-choices", "0.5,2,10", "--epsilon", "2", "--choose-by", "value", "--poison", "0.1"],
        ["--drop-out", "0.2", "--drop-out-by", "answer", "--poison", "0.1"],
    ],
)
def test_every_option_runs(capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    assert report(capsys, *PEOPLE, "--in-process", "--seed", "1", *options)["respondents"] == 200


def test_a_choice_of_epsilon_is_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = report(capsys, *PEOPLE, "--in-process", "--seed", "1", "--epsilon-choices", "2,0.1")
    assert set(found) == KEYS
    assert list(found["answers_by_epsilon"]) == ["0.1", "2"]
    assert sum(found["answers_by_epsilon"].values()) == 200
    spec = tmp_path / "spec.json"
    spec.write_text('{"family": "normal", "epsilon": 0.1, "epsilon_choices": [0.1, 0.30, 2]}')
    found = report(capsys, *PEOPLE, "--in-process", "--spec", str(spec), "--choose-by", "value")
    assert set(found) == KEYS | {"warning"}
    assert "biased" in found["warning"]
    assert found["answers_by_epsilon"]["0.3"] == 0
    assert run(["simulate", *PEOPLE, "--in-process", "--spec", str(spec), "--choose-by", "value"]) == 0
    shown = capsys.readouterr().out
    assert "answers at ε = 0.1: " in shown
    assert "WARNING: the choice of ε depended on the value: this posterior is biased" in shown
    assert run(["simulate", *PEOPLE, "--in-process"]) == 0
    assert "ε" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("family", "truth"), [("gamma", "shape=2,scale=3"), ("bernoulli", "p=0.3"), ("student_t:4", "mu=1,sigma=2")]
)
def test_other_families_run_too(capsys: pytest.CaptureFixture[str], family: str, truth: str) -> None:
    people = ["--family", family, "--truth", truth, "--respondents", "200"]
    found = report(capsys, *people, "--in-process", "--seed", "1")
    assert set(found["truth"]) == set(found["posterior"]) == {pair.split("=")[0] for pair in truth.split(",")}


def test_the_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", *PEOPLE, "--in-process", "--drop-out", "0.5", "--seed", "1"]) == 0
    printed = capsys.readouterr()
    for words in ("posterior mean", "mu", "sigma", "50", "dropped out", "the estimator"):
        assert words in printed.out
    assert printed.err == ""
    described = re.findall(r"^ (Average|\S+ have at most) +(\S+)", printed.out, re.MULTILINE)
    rows = {name: float(truth) for name, truth in described}
    low, middle, high = (rows[f"{share} have at most"] for share in ("10%", "Half", "90%"))
    assert 45 < low < middle < rows["Average"] + 1 < high + 1 < 56
    assert not {"quantile", "mean_value"} & set(re.findall(r"[a-z]+(?:_[a-z]+)?", printed.out))


def test_numbers_for_people_have_no_exponent_and_their_unit(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Neither millions nor what is tiny beside the rest; `--spec` says unit and decimals."""
    millions = ["--truth", "mu=3000000,sigma=800000", "--respondents", "100", "--seed", "1", "--in-process"]
    assert run(["simulate", *millions]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^ mu +3,000,000 +\d", printed, re.MULTILINE)
    assert re.search(r"^ sigma +800,000 +\d", printed, re.MULTILINE)
    assert not re.search(r"\de[+-]?\d", printed)
    assert run(["simulate", "--truth", "mu=0,sigma=1e-5", "--respondents", "100", "--seed", "1", "--in-process"]) == 0
    assert not re.search(r"\de[+-]?\d", capsys.readouterr().out)
    spec = tmp_path / "spec.json"
    spec.write_text('{"family": "normal", "range": [0, 100], "epsilon": 5, "unit": "kg", "decimals": 0}')
    assert run(["simulate", "--spec", str(spec), *PEOPLE, "--seed", "1", "--in-process"]) == 0
    assert re.search(r"Half of the people have \d+ kg or less \(90% sure: \d+ to \d+\)", capsys.readouterr().out)


def test_people_have_no_more_decimals_than_may_be_typed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Where no family is assumed: those who answer have typed their numbers."""
    spec = tmp_path / "spec.json"
    spec.write_text('{"epsilon": 5, "decimals": 0}')
    arguments = ["--spec", str(spec), "--truth", "mu=50,sigma=0.8", "--respondents", "3000", "--seed", "1"]
    found = report(capsys, *arguments, "--in-process")
    assert set(found["truth"].values()) == {49.0, 50.0, 51.0}
    for level in ("0.1", "0.5", "0.9"):
        assert found["quantiles"][level]["q50"] == found["truth"][level]


def test_a_truth_is_written_as_it_is_however_little_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    """Beside an interval of a thousand times its size, too."""
    assert run(["simulate", *TRUTH, "--respondents", "30", "--epsilon", "1", "--seed", "4", "--in-process"]) == 0
    printed = capsys.readouterr().out
    mu, low, high = re.findall(r"^ mu +(\S+) .* (\S+) to (\S+) *$", printed, re.MULTILINE)[0]
    assert mu == "50"
    assert float(high.replace(",", "")) - float(low.replace(",", "")) > 50_000
    assert re.search(r"^ sigma +3.162? ", printed, re.MULTILINE)
    medians = re.findall(r"^ Half have at most +([\d.]+) ", printed, re.MULTILINE)
    assert 45 < float(medians[0]) < 55


def test_one_answer_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", *TRUTH, "--respondents", "1", "--epsilon", "1", "--seed", "4", "--in-process"]) == 0
    assert "1 answer from 1 respondent in " in capsys.readouterr().out


def test_a_spec_and_a_prior_come_from_files(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text('{"family": "normal", "transform": "log", "epsilon": 0.5, "particles": 400}')
    wages = tmp_path / "wages.csv"
    wages.write_text("wage\n" + "\n".join(str(100 + 7 * i) for i in range(150)))
    found = report(
        capsys, "--data", str(wages), "--column", "wage", "--spec", str(tmp_path / "spec.json"), "--in-process"
    )
    assert found["respondents"] == 150
    assert found["particles"] == 400
    assert 6 < found["truth"]["mu"] < 7
    (tmp_path / "prior.json").write_text('{"mu": {"dist": "norm"}, "sigma": {"dist": "expon"}}')
    assert report(capsys, *PEOPLE, "--in-process", "--prior", str(tmp_path / "prior.json"))["answers"] == 200


def test_of_data_the_distribution_itself_is_learnt(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Unless a family is named: a quarter of these spendings are 0, which no family has."""
    rng = np.random.default_rng(1)
    spent = np.exp(rng.normal(4.2, 1.4, 1_500)) * (rng.random(1_500) > 0.25)
    (tmp_path / "spent.csv").write_text("v\n" + "\n".join(f"{value:.2f}" for value in spent))
    arguments = ["--data", str(tmp_path / "spent.csv"), "--column", "v", "--in-process", "--seed", "1"]
    found = report(capsys, *arguments)
    assert found["posterior"] == {}
    assert found["truth"]["0.5"] == pytest.approx(np.median(spent), abs=0.5)
    band = found["quantiles"]["0.5"]
    assert band["q05"] < found["truth"]["0.5"] < band["q95"]
    named = report(capsys, *arguments, "--family", "nonparametric")
    assert named["quantiles"] == found["quantiles"]
    normal = report(capsys, *arguments, "--family", "normal")
    assert set(normal["truth"]) == set(normal["posterior"]) == {"mu", "sigma"}
    assert run(["simulate", *arguments, "--policy", "thompson"]) == 2
    assert "policy thompson needs a family: give family, such as normal, or leave policy out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--in-process"], "either --truth or --data"),
        ([*PEOPLE, "--in-process", "--data", "x.csv"], "either --truth or --data"),
        ([*TRUTH, "--in-process"], "--respondents"),
        (["--data", "x.csv", "--column", "a", "--in-process"], "x.csv does not exist"),
        ([*PEOPLE], "--url"),
        ([*PEOPLE, "--url", "http://127.0.0.1:1"], "admin's token"),
        ([*PEOPLE, "--url", "http://example.org", "--token", "t"], "https"),
        ([*PEOPLE, "--in-process", "--concurrency", "3"], "--in-process cannot go with --concurrency"),
        ([*PEOPLE, "--in-process", "--late", "0.1", "--retry", "0.1"], "cannot go with --retry, --late"),
        ([*PEOPLE, "--in-process", "--collection", "abc"], "--in-process cannot go with --collection"),
        ([*PEOPLE, "--url", "http://127.0.0.1:1", "--collection", "abc", "--epsilon", "1"], "leave --epsilon out"),
        (
            [*PEOPLE, "--url", "http://127.0.0.1:1", "--collection", "abc", "--groups", "a,b"],
            "leave --groups out: the collection has its own",
        ),
        ([*PEOPLE, "--in-process", "--spec", "s.json", "--epsilon", "1"], "--spec cannot go with --epsilon"),
        ([*PEOPLE, "--in-process", "--spec", "s.json"], "s.json does not exist"),
        ([*PEOPLE, "--in-process", "--prior", "p.json"], "p.json does not exist"),
        ([*PEOPLE, "--in-process", "--family", "cauchy"], "family must be one of normal"),
        ([*PEOPLE, "--in-process", "--epsilon", "0"], "epsilon must be above 0"),
        ([*PEOPLE, "--in-process", "--epsilon", "51"], "epsilon must be at most 50"),
        ([*PEOPLE, "--in-process", "--epsilon", "0.1234567"], "at most six decimals"),
        ([*PEOPLE, "--in-process", "--epsilon", "nan"], "epsilon must be"),
        ([*PEOPLE, "--in-process", "--epsilon-choices", "0.5,x"], "must be a decimal"),
        ([*PEOPLE, "--in-process", "--epsilon-choices", "0.5,2", "--epsilon", "1"], "must be one of epsilon_choices"),
        ([*PEOPLE, "--in-process", "--choose-by", "value"], "choose-by value needs several epsilon-choices"),
        ([*PEOPLE, "--in-process", "--epsilon-choices", "1,2", "--choose-by", "mood"], "choose-by"),
        ([*PEOPLE, "--in-process", "--spec", "s.json", "--epsilon-choices", "1,2"], "cannot go with --epsilon-choices"),
        ([*PEOPLE, "--in-process", "--particles", "99"], "particles must be an integer from 100 to 1,000,000"),
        ([*PEOPLE, "--in-process", "--policy", "fixed:2:1"], "policy must be"),
        ([*PEOPLE, "--in-process", "--mechanism", "gauss"], "is not one of 'laplace'"),
        ([*PEOPLE, "--in-process", "--goal", "tau"], "goal"),
        ([*PEOPLE, "--in-process", "--drop-out", "1.5"], "drop-out must be from 0 to 1"),
        ([*PEOPLE, "--in-process", "--drop-out-by", "mood"], "drop-out-by"),
        ([*TRUTH, "--in-process", "--respondents", "0"], "--respondents"),
        ([*PEOPLE, "--in-process", "--seed", "-1"], "--seed"),
    ],
)
def test_bad_input_gets_one_sentence_and_status_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["simulate", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert says in printed.err
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"family": "normal", "epsilon": NaN}', "its numbers must be finite"),
        ('{"family": "normal", "epsilon": 1e400}', "its numbers must be finite"),
        ("[1]", "is not a JSON object, such as"),
        ("\n", "is not a JSON object: it is empty"),
        ('{"family": "normal"}', "epsilon is required"),
        ('{"family": "normal", "epsilon": 1, "colour": "red"}', "unknown field"),
        ('{"family": "normal", "epsilon": 0.10000000000000000001}', "at most six decimals"),
        ('{"family": "normal", "epsilon": 1, "epsilon_choices": [1, 0.10000000000000000001]}', "at most six decimals"),
    ],
)
def test_a_wrong_spec_file_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str, says: str
) -> None:
    (tmp_path / "spec.json").write_text(content)
    assert run(["simulate", *PEOPLE, "--in-process", "--spec", str(tmp_path / "spec.json")]) == 2
    assert says in capsys.readouterr().err


def test_ctrl_c_ends_it_with_what_was_done(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes while the hundredth respondent is asked."""
    ask, asked = Learner.ask, count(1)

    def interrupted(self: Learner, *arguments: Any) -> Any:
        if next(asked) == 100:
            signal.raise_signal(signal.SIGINT)
        return ask(self, *arguments)

    monkeypatch.setattr(Learner, "ask", interrupted)
    found = report(capsys, *TRUTH, "--respondents", "100000", "--in-process", status=1)
    assert found["answers"] == 100


@pytest.mark.parametrize("asked", [False, True])
def test_logarithms_are_shown_beside_a_truth_in_logarithms_alone(
    asked: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wages.csv"
    file.write_text("wage\n" + "\n".join(str(100 + i) for i in range(60)))
    people = ["--truth", "mu=5,sigma=0.2", "--respondents", "60"] if asked else ["--data", str(file)]
    given = ["--family", "normal", "--transform", "log", "--epsilon", "9", "--particles", "200", "--seed", "1"]
    assert run(["simulate", *people, *given, "--in-process"]) == 0
    printed = capsys.readouterr().out
    assert "Half have at most" in printed
    assert ("sigma" in printed) == ("the median could be off" not in printed) == asked
