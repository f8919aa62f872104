"""The ledger in a file keeps its account through everything that happens to files."""

import os
import sqlite3
import stat
from fractions import Fraction
from pathlib import Path

import pytest

from dither_client import Ledger, LedgerError, OverCap
from tests.client.ledger.test_ledger import ONE, SERVER, TENTH


def test_a_file_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path, max_epsilon=2) as ledger:
        ledger.charge(SERVER, "a", "ticket", TENTH)
        before = ledger.draw(SERVER, "a", 1)
    with Ledger(path, max_epsilon=2) as ledger:
        assert ledger.find(SERVER, "a") == before
        assert ledger.unsent(SERVER) == [before]
        assert ledger.spent() == Fraction(1, 10)
    with Ledger(path, max_epsilon="0.1") as ledger, pytest.raises(OverCap):
        ledger.charge(SERVER, "b", "ticket", TENTH)


def test_two_ledgers_on_one_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path, max_epsilon=1) as one, Ledger(str(path), max_epsilon=1) as two:
        one.charge(SERVER, "a", "ticket-1", ONE)
        assert two.charge(SERVER, "a", "ticket-2", ONE).ticket == "ticket-1"
        with pytest.raises(OverCap):
            two.charge(SERVER, "b", "ticket-3", TENTH)


def test_the_file_is_private_and_durable(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    before = os.umask(0)
    try:
        with Ledger(path) as ledger:
            ledger.charge(SERVER, "a", "ticket", ONE)
            assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}
            assert len(list(tmp_path.iterdir())) == 3, "the write-ahead log and its index are there too"
            assert ledger._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert ledger._db.execute("PRAGMA synchronous").fetchone() == (2,)
    finally:
        os.umask(before)


def test_the_default_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither_client.ledger.sqlite.user_data_folder", lambda: tmp_path / "data" / "dither")
    with Ledger() as ledger:
        assert ledger.path == tmp_path / "data" / "dither" / "ledger.sqlite"
        assert stat.S_IMODE(ledger.path.parent.stat().st_mode) == 0o700


def test_the_database_refuses_what_the_code_should_never_write(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.charge(SERVER, "a", "ticket", ONE)
        for statement in (
            "INSERT INTO entries (server, collection, state, micro_epsilon, ticket, query) "
            "SELECT server, collection, state, micro_epsilon, ticket, query FROM entries",
            "UPDATE entries SET micro_epsilon = 0",
            "UPDATE entries SET micro_rho = 0",
            "UPDATE entries SET state = 'drawn'",
            "UPDATE entries SET answer = 1",
            "UPDATE entries SET state = 'lost'",
            "UPDATE entries SET state = 'reserved', ticket = NULL, query = NULL",
            "UPDATE entries SET ticket = NULL",
        ):
            with pytest.raises(sqlite3.IntegrityError):
                ledger._db.execute(statement)


def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="written by a newer version of Dither: upgrade"):
        Ledger(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.sqlite"]


def test_another_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "photos.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE photos (name TEXT)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="is a database, but not a ledger"):
        Ledger(path)
    assert path.read_bytes() == before


def test_files_that_cannot_be_a_ledger(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Ana, " * 100)
    for path in (tmp_path, tmp_path / "letter.txt", tmp_path / "nowhere" / "ledger.sqlite"):
        with pytest.raises(LedgerError, match="cannot be used"):
            Ledger(path)
    assert (tmp_path / "letter.txt").read_text().startswith("Dear Ana")


def test_a_closed_ledger(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.spent()


def test_a_damaged_query_is_not_answered(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.charge(SERVER, "a", "ticket", ONE)
        ledger._db.execute("UPDATE entries SET query = '{}'")
        with pytest.raises(LedgerError, match="cannot read"):
            ledger.find(SERVER, "a")


def test_a_full_disk_charges_nothing(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger._db.execute("PRAGMA max_page_count = 1")
        with pytest.raises(LedgerError, match="full"):
            ledger.charge(SERVER, "a", "x" * 100_000, ONE)
        assert ledger.entries() == []
        ledger._db.execute("PRAGMA max_page_count = 1000")
        ledger.charge(SERVER, "a", "x" * 100_000, ONE)
