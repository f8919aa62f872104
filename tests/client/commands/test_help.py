"""What `dither` says of itself: help, completion, the version."""

import re
from importlib.metadata import entry_points

import pytest

from dither_client.commands import run
from dither_client.commands._listed import listed_commands, panel_of
from testing.command_line import Dither


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
            "verify",
        ):
            assert f"{command} " in shown.out
        assert "Answer a collection privately: only a noisy answer leaves this machine." in shown.out


def test_help_has_every_command_below_a_heading(dither: Dither) -> None:
    shown = dither("--help").out
    headings = [f"─ {panel} ─" for panel in dict.fromkeys(map(panel_of, listed_commands()))]
    assert headings[0] == "─ Respondents ─"
    assert [shown.index(heading) for heading in headings] == sorted(shown.index(heading) for heading in headings)
    assert "─ Commands ─" not in shown


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
    assert "role admin|analyst|gateway admin: everything. analyst: read results." in shown


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
