"""What is shipped: the wheel, bare and with extras, the image's files, the Makefile, the pipeline."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points, packages_distributions
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dither_client.commands._listed import extra_of
from dither_server.settings import Settings
from testing.patience import PATIENCE
from testing.repository import ROOT
from testing.servers.defaults import ADMIN_TOKEN
from testing.servers.process import running

PACKAGES = ("dither_client", "dither_estimator", "dither_server", "dither_migrations", "dither_papers")
COMMANDS = (
    "answer",
    "collection",
    "demo",
    "design",
    "doctor",
    "estimate",
    "export",
    "plan",
    "posterior",
    "release",
    "reproduce",
    "serve",
    "simulate",
    "token",
    "watch",
)


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def run(*command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, **options)


def module_of(requirement: str) -> str:
    return re.split(r"[\[<>=]", requirement)[0]


# The distribution.


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


@pytest.mark.slow
def test_a_bare_install_brings_httpx2_alone(bare: Path) -> None:
    listed = run(*pip_for(bare.parent), "list", "--format=freeze").stdout.split()
    names = {line.partition("==")[0].lower() for line in listed}
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
    needs = {
        "--help": "cli",
        "answer": "cli",
        "design": "estimator",
        "simulate": "loadgen",
        "serve": "server",
        "demo": "demo",
    }
    for command, extra in needs.items():
        said = run(bare / "dither", command)
        assert (said.returncode, said.stdout, said.stderr.count("\n")) == (2, "", 1)
        assert f"pip install 'dither[{extra}]'" in said.stderr
        names = {canonicalize_name(requirement.name) for requirement in wanted(extra) if not requirement.marker}
        assert all(name in said.stderr for name in names - {"httpx2"})
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


def test_the_bare_requirement_is_httpx2_alone() -> None:
    assert [module_of(requirement) for requirement in project()["dependencies"]] == ["httpx2"]


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


def test_imports_run_one_way() -> None:
    """server → estimator → client; the migrations need the client alone."""
    allowed = {
        "client/dither_client": {"dither_client"},
        "estimator/dither_estimator": {"dither_client", "dither_estimator"},
        "server/dither_server": {"dither_client", "dither_estimator", "dither_server", "dither_migrations"},
        "migrations/dither_migrations": {"dither_client", "dither_migrations"},
    }
    for folder, packages in allowed.items():
        for file in (ROOT / folder).rglob("*.py"):
            imported = re.findall(r"^\s*(?:from|import) (dither_\w+)", file.read_text(), flags=re.MULTILINE)
            assert set(imported) <= packages, file


# The image.


def dockerfile() -> str:
    return (ROOT / "Dockerfile").read_text()


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return found


def test_compose_starts_the_server_on_a_healthy_postgres() -> None:
    services = compose()["services"]
    assert set(services) == {"database", "server", "proxy"}
    assert services["database"]["image"].startswith("${POSTGRES_IMAGE:-postgres:17@")
    assert services["server"]["depends_on"] == {"database": {"condition": "service_healthy"}}
    volumes = {volume.split(":")[0] for volume in services["database"]["volumes"]}
    assert volumes == set(compose()["volumes"])


def test_compose_puts_a_proxy_before_any_number_of_servers() -> None:
    services = compose()["services"]
    assert "ports" not in services["server"]  # two could not have the same
    assert services["proxy"]["depends_on"] == {"server": {"condition": "service_healthy"}}
    [config] = services["proxy"]["configs"]
    lines = (ROOT / compose()["configs"][config["source"]]["file"]).read_text()
    assert lines.count("{") == lines.count("}")
    [port] = re.findall(r"^EXPOSE (\d+)$", dockerfile(), flags=re.MULTILINE)
    assert f"set $server server:{port};" in lines
    assert "proxy_pass http://$server;" in lines
    assert f"listen {services['proxy']['ports'][0].rpartition(':')[2]};" in lines


def test_the_settings_of_image_and_compose_exist() -> None:
    named = set(re.findall(r"DITHER_([A-Z_]+)=", dockerfile())) | {
        name.removeprefix("DITHER_")
        for name in compose()["services"]["server"]["environment"]
        if name.startswith("DITHER_")
    }
    assert named
    assert {name.lower() for name in named} <= set(Settings.model_fields)


def test_the_image_copies_what_exists() -> None:
    for line in re.findall(r"^COPY (?!--from)(.+)$", dockerfile(), flags=re.MULTILINE):
        *sources, _ = line.split()
        for source in sources:
            assert (ROOT / source).exists(), source
            assert f"!{source}" in (ROOT / ".dockerignore").read_text()


def test_compose_confines_every_service() -> None:
    for name, service in compose()["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert "privileged" not in service, name
    added = {name: set(service.get("cap_add", ())) for name, service in compose()["services"].items()}
    as_root_then_not = {"CHOWN", "SETGID", "SETUID"}
    assert added == {
        "server": set(),
        "proxy": as_root_then_not,
        "database": as_root_then_not | {"DAC_OVERRIDE", "FOWNER"},
    }


def test_every_image_is_held_to_a_digest_that_a_setting_replaces() -> None:
    assert set(re.findall(r"^FROM (\S+)", dockerfile(), flags=re.MULTILINE)) == {"${PYTHON}"}
    [python] = re.findall(r"^ARG PYTHON=(\S+)$", dockerfile(), flags=re.MULTILINE)
    services = compose()["services"]
    assert services["server"]["build"]["args"]["PYTHON"] == f"${{PYTHON_IMAGE:-{python}}}"
    for image in (f"${{PYTHON_IMAGE:-{python}}}", services["database"]["image"], services["proxy"]["image"]):
        assert re.fullmatch(r"\$\{[A-Z]+_IMAGE:-[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}\}", image)


def locked(name: str) -> dict[str, str]:
    """The versions that a lock file names; each has to have a hash."""
    entries = (ROOT / "locks" / f"{name}.txt").read_text().replace("\\\n", "").splitlines()
    lines = [line for line in entries if not line.lstrip().startswith("#")]
    assert lines
    assert all("--hash=sha256:" in line for line in lines)
    assert not any("://" in line or line.startswith("-") for line in lines), "no address of an index"
    return {canonicalize_name(line.split("==")[0]): line.split("==")[1].split()[0] for line in lines}


def wanted(*extras: str) -> list[Requirement]:
    """What these extras of the project ask for, extras that they name among them."""
    found = [Requirement(line) for line in project()["dependencies"]] if extras else []
    for extra in extras:
        for requirement in map(Requirement, project()["optional-dependencies"][extra]):
            found += wanted(*requirement.extras) if requirement.name == "dither" else [requirement]
    return found


def test_the_image_is_built_from_locks_that_meet_what_the_project_asks_for() -> None:
    assert len(re.findall(r"--require-hashes", dockerfile())) == 2
    for install in re.findall(r"pip install [^&\n]+", dockerfile()):
        assert "--require-hashes" in install or "--no-deps --no-index" in install
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    for name, requirements in (("image", wanted("server", "postgres")), ("build", list(map(Requirement, build)))):
        versions = locked(name)
        for requirement in requirements:
            assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), requirement


@pytest.mark.slow
def test_the_bill_of_materials_names_every_locked_package(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "locks", tmp_path / "locks")
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    made = run("make", "sbom", f"BIN={Path(sys.executable).parent}", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    [bill] = (tmp_path / "dist").glob("*.cdx.json")
    document = json.loads(bill.read_text())
    assert document["bomFormat"] == "CycloneDX"
    assert document["metadata"]["component"]["name"] == "dither"
    named = {canonicalize_name(one["name"]): one["version"] for one in document["components"]}
    assert named == locked("image")
    assert all(one["externalReferences"][0]["hashes"] for one in document["components"])


def imports(package: Path) -> set[str]:
    """The top-level modules of others that a package imports, for types alone or not."""
    found = set()
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - set(PACKAGES)


@pytest.mark.parametrize(
    ("package", "extras"),
    [
        ("client/dither_client", ["cli", "receipts", "tables", "warehouse", "plot", "arviz"]),
        ("estimator/dither_estimator", ["estimator", "tables", "dask"]),
        ("estimator/dither_papers", ["papers", "dask", "demo"]),
        ("server/dither_server", ["server", "postgres", "loadgen", "demo", "papers", "plot"]),
        ("migrations/dither_migrations", ["server"]),
    ],
)
def test_what_is_imported_is_declared(package: str, extras: list[str]) -> None:
    """Each import is declared by its own name: what comes along with something else may stay away another day."""
    declared = {canonicalize_name(requirement.name) for requirement in wanted(*extras)}
    distributions = packages_distributions()
    for module in imports(ROOT / package):
        assert module in distributions, f"{module} is not installed"
        assert {canonicalize_name(name) for name in distributions[module]} & declared, module


def test_the_commands_of_the_image_run_here() -> None:
    [command] = re.findall(r'^CMD \["dither", "(\w+)"\]$', dockerfile(), flags=re.MULTILINE)
    assert command in COMMANDS
    helped = run(sys.executable, "-c", "from dither_client.commands import main; main()", command, "--help")
    assert helped.returncode == 0, helped.stderr
    [check] = re.findall(r'CMD \["python", "-c", "(.+)"\]$', dockerfile(), flags=re.MULTILINE)
    compile(check, "HEALTHCHECK", "exec")
    assert "/readyz" in check


# What developers run.


def test_make_knows_every_target() -> None:
    for target in ("setup", "demo", "test", "check", "bench", "npm-package"):
        planned = run("make", "--dry-run", target, cwd=ROOT)
        assert planned.returncode == 0, planned.stderr


def test_make_says_which_python_is_missing(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    refused = run("make", "setup", "PYTHON=/no/such/python", cwd=tmp_path)
    assert refused.returncode != 0
    assert "Dither needs Python 3.11 or newer" in refused.stderr


SETUP_STUB = """#!/bin/sh
[ "$1" = -c ] && exit 0
echo "pip was asked for $*"
case "$*" in *"$FAILS"*) echo "ERROR: no such package" >&2; exit 1;; esac
"""


@pytest.mark.parametrize("fails", ["server", "dev", "nothing at all"])
def test_make_setup_says_what_it_does_and_fails_where_pip_does(tmp_path: Path, fails: str) -> None:
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(SETUP_STUB)
    python.chmod(0o700)
    (tmp_path / ".venv" / ".installed").touch()
    os.utime(tmp_path / ".venv" / ".installed", (0, 0))
    done = run("make", "setup", cwd=tmp_path, env=os.environ | {"FAILS": fails})
    stages = [line for line in done.stdout.splitlines() if line.startswith("Installing ")]
    asked = [line for line in done.stdout.splitlines() if line.startswith("pip was asked")]
    assert len(stages) == len(asked) == (1 if fails == "server" else 3)
    if fails == "nothing at all":
        assert done.returncode == 0, done.stderr
        assert asked[-1].endswith(".[dev]")
    else:
        assert done.returncode != 0
        assert "ERROR: no such package" in done.stderr
        assert (tmp_path / ".venv" / ".installed").stat().st_mtime == 0


def test_the_pipeline_checks_and_tests() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    assert script.startswith("#!/usr/bin/env bash")
    assert "set -euo pipefail" in script
    assert [line for line in script.splitlines() if line.startswith("make")] == ["make check", "make test"]
    assert run("bash", "-n", ROOT / ".ci" / "run").returncode == 0


@pytest.mark.parametrize("find", [lambda: ROOT.glob("*.md"), lambda: (ROOT / "docs").rglob("*.md")])
def test_links_between_documents_lead_somewhere(find: Callable[[], Any]) -> None:
    for document in find():
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text()):
            if not link.startswith(("http:", "https:", "reference/")):  # the reference is built with the site
                assert (document.parent / link).exists(), f"{document.name}: {link}"
