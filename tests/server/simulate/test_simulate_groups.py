"""`dither simulate` with public groups, in this process."""

import json

import pytest

from dither_client.commands import run

PEOPLE = ["--respondents", "240", "--epsilon", "4", "--in-process", "--seed", "1"]


def test_each_group_has_a_truth_and_a_posterior(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a range. Five posterior sds in six numbers: a false alarm in about 4e-6 of seeds."""
    truth = "mu=50,sigma=10; mu=70,sigma=10;mu=60,sigma=5"
    given = ["--groups", "north,south,west", "--truth", truth, "--particles", "200"]
    assert run(["simulate", *given, *PEOPLE, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["truth"]["west"] == {"mu": 60, "sigma": 5}
    assert sum(group["answers"] for group in found["groups"].values()) == found["answers"] == 240
    for label, parameters in found["truth"].items():
        for name, value in parameters.items():
            summary = found["groups"][label]["posterior"][name]
            assert abs(summary["mean"] - value) < 5 * summary["sd"] < 25
    assert set(found["between_groups"]) == {"mu", "log sigma"}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--truth", "mu=50,sigma=1;mu=1,sigma=1"], "of each of the 3 groups"),
        (["--family", "nonparametric", "--truth", "mu=1"], "groups need a family, --truth"),
    ],
)
def test_what_is_no_population_is_refused(given: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--groups", "a,b,c", *given, *PEOPLE]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
