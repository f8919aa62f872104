"""What runs a server elsewhere: the systemd unit and the Kubernetes manifests are valid, and confine it."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from dither_server.settings import Settings, load_settings
from testing.patience import PATIENCE
from testing.repository import ROOT

UNIT = ROOT / "deploy" / "systemd" / "dither.service"
MANIFESTS = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
WORKLOADS = ("Deployment", "StatefulSet")
VERSIONS = ("1.30", kubernetes_validate.latest_version())
MOST_EXPOSED = 2.0
"""On systemd's scale from 0 to 10; a unit without any confinement has 9.6."""


def documents(*files: Path) -> Iterator[dict[str, Any]]:
    for file in files:
        yield from yaml.safe_load_all(file.read_text(encoding="utf-8"))


def pods() -> Iterator[dict[str, Any]]:
    """What the workloads say of their pods."""
    for document in documents(*MANIFESTS):
        if document["kind"] in WORKLOADS:
            yield document["spec"]["template"]["spec"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: file.stem)
def test_manifests_are_what_kubernetes_takes(file: Path, version: str) -> None:
    """Against the schemas that Kubernetes publishes, in which no field is unknown."""
    found = list(documents(file))
    assert found
    for document in found:
        kubernetes_validate.validate(document, version, strict=True)


def test_a_mistake_in_a_manifest_is_found() -> None:
    [pod] = [one for one in documents(ROOT / "deploy/kubernetes/sqlite.yaml") if one["kind"] == "StatefulSet"]
    pod["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(pod, VERSIONS[-1], strict=True)


def test_a_pod_is_not_root_and_writes_to_its_volumes_alone() -> None:
    found = list(pods())
    assert len(found) == len(WORKLOADS)
    user = re.search(r"--uid (\d+)", (ROOT / "Dockerfile").read_text())
    assert user is not None
    for pod in found:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] == int(user[1])
        assert pod["automountServiceAccountToken"] is False
        [container] = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["resources"]["limits"]["memory"]
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        claimed = {"data"} if len(pod["volumes"]) == 1 else set()
        assert mounted == {volume["name"] for volume in pod["volumes"]} | claimed


def test_a_service_and_its_policy_are_about_the_pods_that_there_are() -> None:
    labels = [
        one["spec"]["template"]["metadata"]["labels"] for one in documents(*MANIFESTS) if one["kind"] in WORKLOADS
    ]
    kinds = {one["kind"]: one for one in documents(*MANIFESTS)}
    assert [*labels] == [kinds["Service"]["spec"]["selector"]] * 2
    assert kinds["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels[0]
    assert {one["metadata"].get("namespace", one["metadata"]["name"]) for one in documents(*MANIFESTS)} == {"dither"}


def test_the_settings_are_the_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kubernetes adds variables for each service, DITHER_PORT among them, with which the server would not start."""
    [config] = [one["data"] for one in documents(*MANIFESTS) if one["kind"] == "ConfigMap"]
    for pod in pods():
        assert pod["enableServiceLinks"] is False
        [container] = pod["containers"]
        given = config | {one["name"]: one["value"] for one in container["env"]}
        with monkeypatch.context() as patch:
            for name, value in given.items():
                patch.setenv(name, value)
            assert load_settings(secret="s" * 32).public_url == "https://survey.example.org"
        [port] = container["ports"]
        assert port["containerPort"] == Settings.model_fields["port"].default


def test_the_unit_is_valid_and_confines_the_server(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/dither/bin/dither", "/bin/true"))  # which has to exist

    def analyzed(*arguments: str) -> str:
        done = subprocess.run(
            [analyze, *arguments, copy], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    assert UNIT.name not in analyzed("verify", "--man=no")
    said = re.search(r"exposure level for \S+: ([\d.]+)", analyzed("security", "--offline=yes", "--no-pager"))
    assert said is not None
    assert float(said[1]) <= MOST_EXPOSED


def test_the_unit_names_settings_that_there_are() -> None:
    named = set(re.findall(r"\bDITHER_([A-Z_]+)", UNIT.read_text()))
    assert {name.lower() for name in named} <= set(Settings.model_fields)
