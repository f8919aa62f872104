"""The wheel, installed bare and with extras, and the commands that it brings."""

import json
import os
import subprocess
import sys
import zipfile
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest
import typer
from packaging.utils import canonicalize_name

from dither_client.commands._listed import extra_of
from testing.project import COMMANDS, PACKAGES, project, run, wanted
from testing.repository import ROOT
from testing.servers.defaults import ADMIN_TOKEN
from testing.servers.process import running


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    built = run(sys.executable, "-c", build, folder, cwd=ROOT)
    assert built.returncode == 0, built.stderr
    return folder / built.stdout.split()[-1]


def environment(folder: Path, requirement: str) -> Path:
    """The folder of commands of a fresh environment with what pip, which stays outside, installs for it.

    Nothing is compiled beforehand: most of NumPy and SciPy is never imported.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    installed = run(*pip_for(folder), "install", "--quiet", "--no-compile", requirement)
    assert installed.returncode == 0, installed.stderr
    return folder / ("Scripts" if os.name == "nt" else "bin")


def pip_for(environment: Path) -> tuple[str, ...]:
    """The command of a pip that looks after that environment."""
    return sys.executable, "-m", "pip", "--python", str(environment)


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of a fresh environment with a bare install."""
    return environment(tmp_path_factory.mktemp("bare"), str(wheel))


def test_the_wheel_has_the_packages_and_all_their_files(wheel: Path) -> None:
    shipped = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert {name.split("/")[0] for name in shipped} == set(PACKAGES)
    for folder in ("client", "estimator", "server", "migrations"):
        sources = {
            file.relative_to(ROOT / folder).as_posix()
            for file in (ROOT / folder).glob("dither_*/**/*")
            if file.is_file() and "__pycache__" not in file.parts
        }
        assert sources <= shipped
    assert {f"{package}/py.typed" for package in PACKAGES} <= shipped


def installed(bare: Path) -> set[str]:
    listed = run(*pip_for(bare.parent), "list", "--format=freeze").stdout.split()
    return {canonicalize_name(line.partition("==")[0]) for line in listed}


@pytest.mark.slow
def test_a_bare_install_brings_httpx2_alone(bare: Path) -> None:
    names = installed(bare)
    code = (
        "import re; from importlib.metadata import requires; "
        "print(*[re.split('[^A-Za-z0-9._-]', r)[0].lower() for r in requires('{}') or [] if 'extra ==' not in r])"
    )
    wanted, new = {"dither"}, {"httpx2"}
    while new:
        wanted |= new
        needed = [run(bare / "python", "-c", code.format(name)).stdout.split() for name in new]
        new = {name for names_ in needed for name in names_} & names - wanted
    assert names == wanted


@pytest.mark.slow
def test_a_bare_install_answers_and_says_what_else_needs(bare: Path, tmp_path: Path) -> None:
    imported = run(
        bare / "python", "-c", "from dither_client import Client, AsyncClient, Ledger, Analyst, MemoryLedger"
    )
    assert imported.returncode == 0, imported.stderr
    refused = run(bare / "python", "-c", "import dither_estimator")
    assert "pip install 'dither[estimator]'" in refused.stderr
    behind = "Client('https://a.example', MemoryLedger(), relay='https://b.example/ohttp')"
    refused = run(bare / "python", "-c", f"from dither_client import Client, MemoryLedger; {behind}")
    assert "pip install 'dither[relay]'" in refused.stderr
    needs = {
        "--help": "cli",
        "answer": "cli",
        "design": "estimator",
        "simulate": "loadgen",
        "serve": "server",
        "demo": "demo",
    }
    brought = installed(bare)
    for command, extra in needs.items():
        said = run(bare / "dither", command)
        assert (said.returncode, said.stdout, said.stderr.count("\n")) == (2, "", 1)
        assert f"pip install 'dither[{extra}]'" in said.stderr
        names = {canonicalize_name(requirement.name) for requirement in wanted(extra) if not requirement.marker}
        assert {name for name in names if name in said.stderr} == names - brought
    version = run(bare / "dither", "--version")
    assert (version.returncode, version.stdout, version.stderr) == (0, f"dither {project()['version']}\n", "")


@pytest.mark.slow
def test_simulate_needs_nothing_of_the_server(wheel: Path, tmp_path: Path) -> None:
    """With the load generator's extra it loads a server; what needs the server names all that is missing for it."""
    commands = environment(tmp_path / "loadgen", f"dither[loadgen] @ file://{wheel}")
    assert run(commands / "python", "-c", "import fastapi").returncode != 0
    population = ("--truth", "mu=50,sigma=3", "--respondents", "50", "--epsilon", "1", "--json")
    with running(f"sqlite:///{tmp_path / 'test.sqlite'}") as server:
        over_http = ("--url", server.url, "--token", ADMIN_TOKEN)
        for where in (("--in-process",), over_http):
            done = run(commands / "dither", "simulate", *population, *where)
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["answers"] == 50
    refused = run(commands / "dither", "serve")
    assert refused.returncode == 2
    for requirement in ("alembic", "fastapi", "pydantic-settings", "uvicorn", "pip install 'dither[server]'"):
        assert requirement in refused.stderr
    assert "numpy" not in refused.stderr


def test_every_command_loads() -> None:
    found = {entry.name: entry for entry in entry_points(group="dither.commands")}
    assert set(found) >= set(COMMANDS)
    for entry in found.values():
        assert isinstance(entry.load(), typer.Typer)


def test_every_command_names_the_extra_of_its_package() -> None:
    """So that whoever lacks it reads at once all that the command needs."""
    least = {
        "dither_client": "cli",
        "dither_estimator": "estimator",
        "dither_papers": "papers",
        "dither_server": "estimator",
    }
    for name, value in project()["entry-points"]["dither.commands"].items():
        entry = EntryPoint(name, value, "dither.commands")
        brought = {canonicalize_name(requirement.name) for requirement in wanted(extra_of(entry))}
        needed = {canonicalize_name(requirement.name) for requirement in wanted(least[entry.module.partition(".")[0]])}
        assert needed <= brought, f"{name}: its module has to name its extra, as EXTRA"
