"""`dither collection delete`, `restore`, `deleted` and `receipt`, and `dither audit`, on a real server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dither_client import Admin, Problem
from dither_client.commands.audit import app as audit
from dither_client.commands.collection import app
from testing.servers.defaults import ADMIN_TOKEN, SPEC
from testing.servers.served import serving


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with serving(f"sqlite:///{tmp_path / 'dither.sqlite'}") as (url, _):
        monkeypatch.setenv("DITHER_URL", url)
        monkeypatch.setenv("DITHER_TOKEN", ADMIN_TOKEN)
        yield url


def said(*arguments: str, given: str | None = None) -> Any:
    """What the command says, which has to succeed."""
    done = CliRunner().invoke(app, arguments, given)
    assert done.exit_code == 0, done.output
    return done


def test_it_asks_before_it_deletes_and_what_was_deleted_can_be_restored(url: str) -> None:
    with Admin(url, ADMIN_TOKEN) as admin:
        collection = admin.create_collection(SPEC)["id"]
        asked = CliRunner().invoke(app, ["delete", collection], "n\n")
        assert asked.exit_code == 1
        assert f"{SPEC['name']!r} with its 0 answers" in asked.output
        assert "nothing was deleted" in asked.output
        assert admin.deletions() == {"deleted": [], "removed": []}
        assert "works until" in said("delete", collection, given="y\n").output
        assert collection in said("deleted").output
        assert "is there again, and is open" in said("restore", collection).output
        assert admin.deletions() == {"deleted": [], "removed": []}


def test_a_receipt_is_printed_and_verified(url: str, tmp_path: Path) -> None:
    with Admin(url, ADMIN_TOKEN) as admin:
        collection = admin.create_collection(SPEC)["id"]
        receipt = json.loads(said("delete", collection, "--for-good", "--yes").stdout)
        assert json.loads(said("receipt", collection).stdout) == receipt
        file = tmp_path / "receipt.json"
        file.write_text(json.dumps(receipt))
        assert json.loads(said("receipt", "--verify", str(file), "--json").stdout)["genuine"] is True
        said("receipt", "--verify", str(file), "--key", admin.receipt_key())
        file.write_text(json.dumps(receipt | {"removed_by": "nobody"}))
        for key in ([], ["--key", "00" * 32], ["--key", "no key"]):
            refused = CliRunner().invoke(app, ["receipt", "--verify", str(file), *key])
            assert "was not signed with this key" in str(refused.exception)
        assert CliRunner().invoke(app, ["receipt"]).exit_code == 2
        with pytest.raises(Problem) as caught:
            admin.restore_collection(collection)
        assert caught.value.status == 410


def test_the_audit_is_read(url: str) -> None:
    with Admin(url, ADMIN_TOKEN) as admin:
        collection = admin.create_collection(SPEC)["id"]
        admin.create_token("analyst", "zebra-name")
        admin.set_state(collection, "paused")
        admin.delete_collection(collection)
        rows = list(admin.audit())
        assert [row["what"] for row in rows] == [
            "schema upgraded",
            "collection created",
            "token made",
            "state changed",
            "collection deleted",
        ]
        assert rows[3]["facts"] == {"state": "paused"}
        assert [row["what"] for row in admin.audit(collection)] == [rows[i]["what"] for i in (1, 3, 4)]
    shown = CliRunner().invoke(audit, ["--collection", collection, "--json"])
    assert json.loads(shown.stdout)["audit"] == [rows[i] for i in (1, 3, 4)]
    assert "token made" in CliRunner().invoke(audit, []).stdout
    assert "zebra-name" not in json.dumps(rows)
