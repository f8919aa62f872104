"""`dither export --everything`: all of a collection in one file, from which its posterior comes again."""

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dither_client import Admin
from dither_client.commands import run
from dither_client.tables.counts import read_table
from testing.servers.defaults import ADMIN, ADMIN_TOKEN, SPEC
from testing.servers.served import serving
from testing.servers.site import Site, problem


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with serving(f"sqlite:///{tmp_path / 'dither.sqlite'}") as (url, _):
        yield url


def test_everything_is_in_it_and_is_what_it_says(any_site: Site, tmp_path: Path) -> None:
    site = any_site
    collection = site.create(misfit_check=0.5)
    tickets = site.tickets(collection, 40)
    items = site.batch(collection, *((ticket, i % 2) for i, ticket in enumerate(tickets))).json()["responses"]
    path = f"/v1/collections/{collection}"
    file = tmp_path / "archive.zip"
    assert problem(site.client.get(f"{path}/archive")) == (401, "unauthorized")
    file.write_bytes(site.client.get(f"{path}/archive", headers=ADMIN).content)
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    manifest = json.loads(texts.pop("manifest.json"))
    assert manifest["files"].keys() == texts.keys()
    assert json.loads(texts["specification.json"]) == SPEC | {"misfit_check": 0.5}
    assert json.loads(texts["terms.json"]) == site.client.get(path, headers=ADMIN).json()
    assert texts["receipts.txt"].split() == sorted(item["receipt"] for item in items)
    rows = [line.split(",") for line in texts["answers.csv"].splitlines()[1:]]
    questions = {(one["id"], one["purpose"]) for one in map(json.loads, texts["questions.jsonl"].splitlines())}
    assert len(rows) == 40
    assert {(name, purpose) for name, purpose, *_ in rows} == questions
    counted = 0
    for name, purpose in (("counts.csv", "training"), ("check-counts.csv", "check")):
        (tmp_path / name).write_text(texts[name])
        counts = sum(sum(row) for row in read_table(tmp_path / name).queries.values())
        assert counts == sum(row[1] == purpose for row in rows)
        counted += counts
    assert counted == 40
    assert [json.loads(line)["what"] for line in texts["audit.jsonl"].splitlines()] == [
        "collection created",
        "collection exported",
    ]
    for ticket in tickets:
        assert ticket not in "".join(texts.values())


def test_no_file_runs_anything_in_a_spreadsheet(site: Site, tmp_path: Path) -> None:
    collection = site.create(groups={"name": "region", "labels": ["=1+1", "-north"]})
    for group in ("=1+1", "-north"):
        asked = site.client.post(f"/v1/collections/{collection}/tickets", json={"group": group}).json()
        site.respond(collection, asked["ticket"], 0)
    (tmp_path / "archive.zip").write_bytes(
        site.client.get(f"/v1/collections/{collection}/archive", headers=ADMIN).content
    )
    with zipfile.ZipFile(tmp_path / "archive.zip") as archive:
        answers, counts = (archive.read(name).decode() for name in ("answers.csv", "counts.csv"))
    shown = site.client.get(f"/collections/{collection}/export/counts.csv", headers=ADMIN).text
    for text in (answers, counts, shown):
        groups = {row["group"] for row in csv.DictReader(io.StringIO(text))}
        assert groups == {"'=1+1", "'-north"}


def test_the_command_saves_it_and_refuses_what_is_not_whole(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Admin(url, ADMIN_TOKEN) as admin:
        collection = admin.create_collection(SPEC)["id"]
        whole = list(admin.archive(collection))
    file = tmp_path / "archive.zip"
    words = ["export", collection, "--everything", str(file), "--url", url, "--token", ADMIN_TOKEN]
    assert run([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["everything"] == {"file": str(file), "files": 13}
    assert file.stat().st_mode & 0o077 == 0
    assert run(words) == 2, "it does not write over a file"
    file.unlink()

    def cut(*_: Any) -> Iterator[bytes]:
        return iter([b"".join(whole)[:-50]])

    monkeypatch.setattr(Admin, "archive", cut)
    assert run(words) == 1
    assert "did not come whole" in capsys.readouterr().err
    assert not file.exists()
