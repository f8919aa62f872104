"""`dither export --parquet-by-day`: whole days, each once, and the posterior of the folder is that of the counts."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pyarrow import parquet

from dither_client.commands import run
from dither_client.tables.counts import read_table
from dither_client.tables.days import ANSWER_COLUMNS
from dither_client.tables.warehouse import answer_counts
from testing.servers.defaults import ADMIN_TOKEN
from testing.servers.served import serving
from testing.servers.site import FakeClock, Site

MIDNIGHT = 1_800_057_600.0
"""2027-01-16T00:00:00Z, sixteen hours after the clock of tests starts."""
FIRST, SECOND = "2027-01-15", "2027-01-16"


class Folder:
    """A collection whose answers are exported, and its folder."""

    def __init__(self, site: Site, clock: FakeClock, url: str, folder: Path, **fields: Any) -> None:
        self.site, self.clock, self.url, self.folder = site, clock, url, folder
        self.id = site.create(**fields)

    def respond(self, tickets: list[str]) -> None:
        reply = self.site.batch(self.id, *((ticket, number % 2) for number, ticket in enumerate(tickets)))
        assert reply.status_code == 200

    def export(self, *options: object) -> None:
        command = ["export", self.id, *map(str, options), "--url", self.url, "--token", ADMIN_TOKEN]
        assert run([*command, "--json"]) == 0

    def by_day(self) -> dict[str, Any]:
        self.export("--parquet-by-day", self.folder)
        found: dict[str, Any] = json.loads((self.folder / "manifest.json").read_text())
        return found


@pytest.fixture
def server(sqlite_url: str) -> Iterator[tuple[Site, FakeClock, str]]:
    clock = FakeClock()
    with serving(sqlite_url, clock=clock) as (url, app), httpx2.Client(base_url=url) as client:
        client.app = app  # type: ignore[attr-defined]
        yield Site(client, clock, sqlite_url), clock, url  # type: ignore[arg-type]


@pytest.fixture
def exported(server: tuple[Site, FakeClock, str], tmp_path: Path) -> Folder:
    return Folder(*server, tmp_path / "answers")


def test_a_day_is_written_once_and_only_when_it_is_over(exported: Folder) -> None:
    """Answers that come after midnight to tickets from before it belong to the next day."""
    exported.respond(exported.site.tickets(exported.id, 30))
    exported.clock.now = MIDNIGHT - 10
    early, late = exported.site.tickets(exported.id, 12), exported.site.tickets(exported.id, 7)
    exported.clock.now = MIDNIGHT - 0.001
    exported.respond(early)
    exported.clock.now = MIDNIGHT
    exported.respond(late)
    exported.clock.now = MIDNIGHT + 599
    exported.export("--parquet-by-day", exported.folder)
    assert list(exported.folder.iterdir()) == []
    exported.clock.now = MIDNIGHT + 600
    [day] = exported.by_day()["days"]
    file = exported.folder / f"{exported.id}-{FIRST}.parquet"
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert day == {"day": FIRST, "rows": 42, "file": file.name, "sha256": digest}
    table = parquet.read_table(file)
    assert table.column_names == list(ANSWER_COLUMNS)
    assert len(set(table.column("ticket").to_pylist())) == 42
    assert max(table.column("received_at").to_pylist()) == "2027-01-15T23:59:59.999Z"
    written = file.stat().st_mtime_ns, file.stat().st_ino
    exported.clock.now = MIDNIGHT + 3 * 86_400 + 600
    manifest = exported.by_day()
    assert [(one["day"], one["rows"]) for one in manifest["days"]] == [
        (FIRST, 42), (SECOND, 7), ("2027-01-17", 0), ("2027-01-18", 0),
    ]  # fmt: skip
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == written
    assert {path.name for path in exported.folder.iterdir()} == {
        f"{exported.id}-{FIRST}.parquet", f"{exported.id}-{SECOND}.parquet", "manifest.json",
    }  # fmt: skip


def test_the_same_days_make_the_same_bytes(exported: Folder) -> None:
    exported.respond(exported.site.tickets(exported.id, 40))
    exported.clock.now = MIDNIGHT + 600
    exported.by_day()
    first = {path.name: path.read_bytes() for path in exported.folder.iterdir()}
    exported.folder = exported.folder.with_name("again")
    exported.by_day()
    assert {path.name: path.read_bytes() for path in exported.folder.iterdir()} == first


def test_a_run_that_was_stopped_is_taken_up(exported: Folder) -> None:
    """Between the file and the manifest, and while the file was written."""
    exported.respond(exported.site.tickets(exported.id, 40))
    exported.clock.now = MIDNIGHT + 600
    exported.by_day()
    whole = {path.name: path.read_bytes() for path in exported.folder.iterdir()}
    (exported.folder / "manifest.json").unlink()
    (exported.folder / f"{exported.id}-{FIRST}.parquet.part").write_bytes(b"half")
    exported.by_day()
    assert {path.name: path.read_bytes() for path in exported.folder.iterdir()} == whole


@pytest.mark.parametrize(
    "fields",
    [
        {"particles": 1_000},
        {"family": None, "range": None, "minimum": 0, "particles": 100},
        {"family": "gamma", "epsilon": 0.1, "epsilon_choices": [0.1, 2], "misfit_check": True, "range": [1, 100]},
        {"family": "categorical", "range": None, "categories": ["never", "often"], "particles": 100},
    ],
    ids=["normal", "none", "check", "categories"],
)
def test_the_folder_gives_the_posterior_of_the_counts(
    fields: dict[str, Any], server: tuple[Site, FakeClock, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To the last digit, and so do a table of all answers, and that table twice, whose tickets count once."""
    exported = Folder(*server, tmp_path / "answers", **fields)
    for _ in range(2):
        exported.respond(exported.site.tickets(exported.id, 60))
    exported.clock.now = MIDNIGHT + 600
    manifest = exported.by_day()
    specification = tmp_path / "spec.json"
    specification.write_text(json.dumps(manifest["specification"]))
    exported.export("--counts", tmp_path / "counts.csv", "--answers", tmp_path / "answers.csv")
    twice = tmp_path / "twice.csv"
    lines = (tmp_path / "answers.csv").read_text().splitlines(keepends=True)
    twice.write_text("".join(lines + lines[1:]))

    def estimated(*options: object) -> str:
        capsys.readouterr()
        assert run(["estimate", *map(str, options), "--json"]) == 0
        return capsys.readouterr().out

    expected = estimated("--counts", tmp_path / "counts.csv", "--spec", specification)
    assert json.loads(expected)["answers"] == sum(map(sum, read_table(tmp_path / "counts.csv").queries.values())) > 0
    assert estimated("--table", exported.folder) == expected
    assert estimated("--table", exported.folder, "--spec", specification) == expected
    for table in (tmp_path / "answers.csv", twice, f"{exported.folder}/*.parquet"):
        assert estimated("--table", table, "--spec", specification) == expected


def test_a_folder_of_another_collection_is_refused(exported: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    exported.respond(exported.site.tickets(exported.id, 4))
    exported.clock.now = MIDNIGHT + 600
    before = exported.by_day()
    other = exported.site.create()
    command = ["export", other, "--parquet-by-day", str(exported.folder), "--url", exported.url, "--token", ADMIN_TOKEN]
    assert run(command) == 2
    assert "has the answers of another collection" in capsys.readouterr().err
    assert exported.by_day() == before


def test_a_folder_that_lacks_rows_is_refused(exported: Folder) -> None:
    exported.respond(exported.site.tickets(exported.id, 4))
    exported.clock.now = MIDNIGHT + 600
    manifest = exported.by_day()
    manifest["days"][0]["rows"] = 5
    (exported.folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match="the files have 4 rows, and the manifest says 5"):
        answer_counts(str(exported.folder))


def test_answers_are_exported_and_counted_by_period(server: tuple[Site, FakeClock, str], tmp_path: Path) -> None:
    """A table and a folder by day have the week of each answer; with either the posterior is that of the counts."""
    exported = Folder(*server, tmp_path / "answers", period="week", drift=True)
    exported.respond(exported.site.tickets(exported.id, 30))
    exported.clock.now = MIDNIGHT + 7 * 86_400
    exported.respond(exported.site.tickets(exported.id, 20))
    exported.clock.now += 86_400 + 600
    exported.by_day()
    table = tmp_path / "answers.csv"
    exported.export("--answers", table, "--counts", tmp_path / "counts.csv")
    expected = read_table(tmp_path / "counts.csv")
    assert {label: sum(map(sum, rows.values())) for label, rows in expected.periods.items()} == {
        "2027-W02": 30, "2027-W03": 20,
    }  # fmt: skip
    for uri in (exported.folder, table):
        counted, _ = answer_counts(str(uri))
        assert counted.periods_in_order == expected.periods_in_order
