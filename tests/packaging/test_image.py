"""The image and the services of docker-compose.yml: their settings, their limits, and the locks they are built from."""

import json
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dither_server.settings import Settings
from testing.project import COMMANDS, run, wanted
from testing.repository import ROOT


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


def test_the_commands_of_the_image_run_here() -> None:
    [command] = re.findall(r'^CMD \["dither", "(\w+)"\]$', dockerfile(), flags=re.MULTILINE)
    assert command in COMMANDS
    helped = run(sys.executable, "-c", "from dither_client.commands import main; main()", command, "--help")
    assert helped.returncode == 0, helped.stderr
    [check] = re.findall(r'CMD \["python", "-c", "(.+)"\]$', dockerfile(), flags=re.MULTILINE)
    compile(check, "HEALTHCHECK", "exec")
    assert "/readyz" in check
