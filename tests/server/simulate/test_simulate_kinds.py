"""Whatever kind of collection is simulated in process, its people can differ, and hold questions at one time."""

import json
from pathlib import Path
from typing import Any

import pytest

from dither_client.commands import run
from dither_estimator.learning.grouped_learner import GroupedLearner

SIZE = 200
TRUTH = "mu=50,sigma=10"
CHOICES = ["2", "4"]
COMPONENTS = [{"name": name, "family": "normal", "range": [0, 100]} for name in ("first", "second")]
KINDS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "one number": ({"family": "normal"}, ["--truth", TRUTH]),
    "groups": (
        {"family": "normal", "groups": {"name": "region", "labels": ["north", "south"]}},
        ["--truth", f"{TRUTH};{TRUTH}"],
    ),
    "periods": ({"family": "normal", "period": "week"}, ["--truth", TRUTH, "--periods", "3"]),
    "components": ({"components": COMPONENTS}, ["--truth", f"{TRUTH};{TRUTH}"]),
}


def simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, *options: str) -> dict[str, Any]:
    fields, truth = KINDS[kind]
    spec = tmp_path / "spec.json"
    choices = {} if kind == "components" else {"epsilon_choices": CHOICES}
    spec.write_text(json.dumps({"name": "Test", "epsilon": "2", "particles": 100, **choices, **fields}))
    people = ["--spec", str(spec), *truth, "--respondents", str(SIZE), "--in-process", "--seed", "1", "--json"]
    assert run(["simulate", *people, *options]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_people_of_every_kind_drop_out_and_choose(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A quarter drops out and half choose either ε: 20 to 80 of 200 and 40 to 110 of 150, but for one seed in 10^6.

    Components come with one ε.
    """
    found = simulated(tmp_path, capsys, kind, "--drop-out", "0.25", "--outstanding", "16")
    assert 20 <= found["dropped_out"] <= 80
    assert found["answers"] == SIZE - found["dropped_out"] == sum(found["answers_by_epsilon"].values())
    if kind != "components":
        assert all(40 <= answers <= 110 for answers in found["answers_by_epsilon"].values())


@pytest.mark.parametrize("kind", KINDS)
def test_poisoners_of_every_kind_move_the_posterior(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The seeds are the same, so nothing else differs. Of two numbers cells have no order: the answers only differ."""
    part = "components" if kind == "components" else "quantiles"
    honest, poisoned = (simulated(tmp_path, capsys, kind, "--poison", share)[part] for share in ("0", "0.5"))
    if kind == "components":
        assert honest != poisoned
    else:
        assert poisoned["0.5"]["mean"] > honest["0.5"]["mean"]


def test_a_learner_of_groups_knows_how_many_questions_are_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The most questions asked of whom nothing is learnt yet."""
    out, most = 0, 0
    ask, learn = GroupedLearner.ask, GroupedLearner.learn

    def asked(*arguments: Any, **options: Any) -> Any:
        nonlocal out, most
        out, most = out + 1, max(most, out + 1)
        return ask(*arguments, **options)

    def learnt(*arguments: Any, **options: Any) -> None:
        nonlocal out
        out -= 1
        learn(*arguments, **options)

    monkeypatch.setattr(GroupedLearner, "ask", asked)
    monkeypatch.setattr(GroupedLearner, "learn", learnt)
    simulated(tmp_path, capsys, "groups", "--outstanding", "16")
    assert most == 16
