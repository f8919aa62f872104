"""What holds for every command of `dither`: each test walks over all of them."""

import json
import os
import pty
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import typer

from dither_client.commands import run
from testing.patience import PATIENCE

START = [sys.executable, "-c", "from dither_client.commands import main; main()"]
SPEC = {"name": "Wages", "family": "normal", "epsilon": 1}
COUNTS = "mechanism,low,high,levels,cuts,epsilon,transform,answer,count\n" + "".join(
    f"laplace,-1,1,1,,1,identity,{answer},30\n" for answer in (0, 1)
)


def walk(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command and group, with the words that call it."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from walk(below, (*path, name))


EVERY = [
    found
    for entry in sorted(entry_points(group="dither.commands"), key=lambda entry: entry.name)
    for found in walk(typer.main.get_command(entry.load()), (entry.name,))
]
COMMANDS = {path: command for path, command in EVERY if not hasattr(command, "commands")}
every_command = pytest.mark.parametrize("path", COMMANDS, ids=" ".join)


def options(path: tuple[str, ...]) -> list[Any]:
    return [parameter for parameter in COMMANDS[path].params if parameter.opts[0].startswith("--")]


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = run(arguments)
    return status, *capsys.readouterr()


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.parametrize("path", [(), *(path for path, _ in EVERY)], ids=" ".join)
def test_help_has_an_example_and_no_colours_where_it_is_piped(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = said(capsys, *path, "--help")
    assert (status, err) == (0, "")
    assert "Usage: " + " ".join(("dither", *path)) in out
    assert " ".join(("dither", *path)) in out.partition("or example:")[2]
    assert "\x1b" not in out


@every_command
def test_every_option_is_explained_and_json_is_one_of_them(path: tuple[str, ...]) -> None:
    assert [option.name for option in options(path) if not option.help] == []
    [as_json] = [option for option in options(path) if "--json" in option.opts]
    assert as_json.help.startswith("Print one JSON object")


@every_command
def test_a_misspelt_option_gets_the_right_one(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    names = [option.opts[0] for option in options(path)]
    for name in names:
        misspelt = name[:-2] + name[-1] + name[-2]  # the last two letters swapped
        nearest = get_close_matches(misspelt, [*names, "--help"], 1)
        if misspelt == name or nearest != [name]:
            continue
        status, out, err = said(capsys, *path, misspelt, "x")
        assert (status, out) == (2, "")
        assert f"id you mean {name}?\n" in err
        assert err.count("\n") == 1


@pytest.mark.parametrize("path", [(), *(path for path, command in EVERY if path not in COMMANDS)], ids=" ".join)
def test_a_misspelt_command_gets_the_right_one(path: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    below = {known[len(path)] for known, _ in EVERY if known[: len(path)] == path and len(known) > len(path)}
    for name in below:
        status, out, err = said(capsys, *path, name + "x")
        assert (status, out) == (2, "")
        assert re.search(rf"[dD]id you mean '?{name}'?(, '\w+')*\?\n$", err)


def test_too_little_memory_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def too_much(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("typer.echo", too_much)
    status, out, err = said(capsys, "--version")
    assert (status, out) == (1, "")
    assert err == "dither: this machine has too little memory for that: ask for less of it at once\n"


def test_a_misspelt_option_of_the_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "--versoin") == (2, "", "dither: no such option; did you mean --version?\n")


@every_command
def test_the_shell_completes_its_options(
    path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_DITHER_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", " ".join(("dither", *path, "--")))
    monkeypatch.setenv("COMP_CWORD", str(len(path) + 1))
    with pytest.raises(SystemExit):
        run([])
    assert {option.opts[0] for option in options(path)} <= set(capsys.readouterr().out.split())


SEVERAL = {
    "--particles": "a file, and a number",
    "--collection": "one, and several",
    "--url": "asked for, and not",
    "--respondents": "a number, and several to compare",
}
"""Options whose name stands for more than one kind of thing, as the tables of commands say."""


def test_the_same_name_is_the_same_kind_of_thing() -> None:
    kinds: dict[str, set[tuple[object, ...]]] = defaultdict(set)
    for path in COMMANDS:
        for option in options(path):
            kinds[option.opts[0]].add((option.type_descriptor.annotation, option.multiple))
    assert {name for name, found in kinds.items() if len(found) > 1} <= set(SEVERAL)


def write_places(folder: Path) -> dict[str, str]:
    """Files that are what commands ask for, by the words that stand for them here."""
    (folder / "spec.json").write_text(json.dumps(SPEC))
    (folder / "counts.csv").write_text(COUNTS)
    return {"SPEC": str(folder / "spec.json"), "COUNTS": str(folder / "counts.csv"), "OUT": str(folder / "out")}


def files(folder: Path) -> dict[str, Path]:
    """Files that are not what a command asks for."""
    (folder / "folder.csv").mkdir()
    (folder / "noise.csv").write_bytes(bytes(range(256)))
    (folder / "noise.parquet").write_bytes(bytes(range(256)))
    (folder / "words.csv").write_text("a,b\n1,2\n")
    (folder / "closed.csv").write_text("")
    (folder / "list.json").write_text("[1]")
    return {path.name: path for path in folder.iterdir()} | {
        name: folder / name for name in ("gone.csv", "ending.txt", "none/there.csv")
    }


SMALL = "simulate --in-process --respondents 2 --truth mu=0,sigma=1"
NOWHERE = "--url http://127.0.0.1:9"
READERS = {
    "--counts of estimate": "estimate --spec SPEC --counts FILE",
    "--spec of estimate": "estimate --spec FILE --counts COUNTS",
    "--spec of simulate": f"{SMALL} --spec FILE",
    "--prior": f"{SMALL} --epsilon 1 --prior FILE",
    "--data": "simulate --in-process --epsilon 1 --data FILE --column x",
    "collection create": f"collection create FILE {NOWHERE}",
    "--ledger": f"answer wages 4 {NOWHERE} --ledger FILE",
    "--plot": f"posterior wages {NOWHERE} --plot FILE",
    "--particles of export": f"export wages {NOWHERE} --particles FILE",
}
UNREADABLE = {
    "--ledger": ("folder.csv", "noise.csv", "none/there.csv"),
    "--plot": ("folder.csv", "ending.txt"),
    "--particles of export": ("ending.txt",),
}
"""Only what these commands find wrong before they ask the server."""


@pytest.mark.parametrize("option", READERS)
def test_a_file_that_will_not_do_is_named_in_one_sentence(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = files(tmp_path)
    places = write_places(tmp_path)
    for name in UNREADABLE.get(option, tuple(bad)):
        line = READERS[option].replace("FILE", str(bad[name]))
        status, out, err = said(capsys, *(places.get(word, word) for word in line.split()))
        assert status == (1 if option == "--ledger" else 2), (name, err)
        assert out == ""
        assert err.count("\n") == 1, (name, err)
        assert Path(name).name in err
        assert "Traceback" not in err


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    """As another user than root, whom permissions do not bind."""
    if os.geteuid() == 0 and not Path("/usr/bin/setpriv").exists():
        pytest.skip("root may read everything, and there is no setpriv")
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(SPEC))
    spec.chmod(0)
    as_nobody = ["/usr/bin/setpriv", "--reuid", "65534", "--clear-groups"] if os.geteuid() == 0 else []
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() != "root" or folder == tmp_path:
            folder.chmod(0o755)
    done = subprocess.run(
        [*as_nobody, *START, "collection", "create", str(spec), "--url", "http://127.0.0.1:9"],
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == f"dither: {spec} cannot be opened: change its permissions, or name another file\n"


LONG = {
    "design": "design --epsilon 1",
    "plan": "plan --epsilon 1 --sd mu=0.1",
    "estimate": "estimate --spec SPEC --counts COUNTS",
    "simulate": "simulate --in-process --truth mu=0,sigma=1 --respondents 300 --epsilon 1",
    "reproduce": "reproduce ubapp-figure-3 --runs 1 --out OUT",
}


@pytest.mark.parametrize("name", LONG)
def test_long_work_shows_on_a_terminal_and_only_there(name: str, tmp_path: Path) -> None:
    places = write_places(tmp_path)
    line = [*START, *(places.get(word, word) for word in LONG[name].split()), "--json"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    ours, theirs = pty.openpty()
    with open(ours, "rb", buffering=0) as terminal:
        on_terminal = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=theirs, env=environment)
        os.close(theirs)
        shown = read(terminal)
        assert on_terminal.stdout is not None
        with on_terminal.stdout as out:
            found = out.read()
        assert on_terminal.wait(timeout=PATIENCE) == 0
    assert b"\x1b" in shown, "nothing moved"
    piped = subprocess.run(line, capture_output=True, timeout=PATIENCE, check=True)
    assert b"\x1b" not in piped.stderr + piped.stdout
    for text in (found, piped.stdout):
        assert isinstance(json.loads(text), dict)


def read(terminal: Any) -> bytes:
    """What comes on a terminal until the other end is closed, which Linux says by an error."""
    shown = b""
    try:
        while part := terminal.read(4096):
            shown += part
    except OSError:
        pass
    return shown
