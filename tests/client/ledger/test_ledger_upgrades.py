"""A ledger's file of an earlier version is upgraded where it lies, once, and all of it or nothing."""

import sqlite3
import threading
from fractions import Fraction
from pathlib import Path

import pytest

from dither_client import Gaussian, Ledger, LedgerError, RandomizedResponse

TENTH = RandomizedResponse([0.1, 1e300], "0.1", "log")
SERVER = "https://example.org"

FIRST_VERSION = """
CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    server TEXT NOT NULL,
    collection TEXT NOT NULL,
    state TEXT NOT NULL,
    micro_epsilon INTEGER NOT NULL,
    ticket TEXT NOT NULL,
    query TEXT NOT NULL,
    answer INTEGER,
    receipt TEXT,
    CONSTRAINT one_entry_for_a_collection UNIQUE (server, collection),
    CONSTRAINT a_charge_is_positive CHECK (micro_epsilon > 0),
    CONSTRAINT the_state_is_what_is_stored CHECK (
        CASE state
            WHEN 'charged' THEN answer IS NULL AND receipt IS NULL
            WHEN 'drawn' THEN answer IS NOT NULL AND receipt IS NULL
            WHEN 'sent' THEN answer IS NOT NULL AND receipt IS NOT NULL
            WHEN 'expired' THEN answer IS NOT NULL AND receipt IS NULL
            ELSE 0
        END
    )
);
INSERT INTO entries VALUES (1, 'https://example.org', 'a', 'sent', 1000000, 'ticket-1',
    '{"low": 0.0, "high": 1.0, "levels": 4, "mechanism": "laplace", "epsilon": 1, "transform": "identity"}', 3, 'r');
INSERT INTO entries VALUES (2, 'https://example.org', 'b', 'drawn', 100000, 'ticket-2',
    '{"cuts": [0.1, 1e+300], "mechanism": "randomized_response", "epsilon": 0.1, "transform": "log"}', 1, NULL);
PRAGMA user_version = 1;
"""
"""A ledger as the first version made it, before there was a ρ."""


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    path = tmp_path / "old.sqlite"
    with sqlite3.connect(path) as db:
        db.executescript(FIRST_VERSION)
    db.close()
    return path


def test_a_file_of_the_first_version_is_upgraded_in_place(old_file: Path) -> None:
    keys: set[str | None] = set()
    for _ in range(2):
        with Ledger(old_file) as ledger:
            assert ledger.spent() == Fraction(11, 10)
            first, second = ledger.entries()[:2]
            assert (first.collection, first.state, first.receipt) == ("a", "sent", "r")
            assert first.epsilon == 1
            assert first.rho is None
            assert (second.state, second.rho) == ("drawn", None)
            (unsent,) = ledger.unsent(SERVER)
            assert (unsent.ticket, unsent.query, unsent.answer) == ("ticket-2", TENTH, 1)
            keys.add(unsent.retry_key)
            sent = ledger.find(SERVER, "a")
            assert sent is not None
            assert sent.retry_key is None
    [key] = keys  # drawn when the file was upgraded, and kept
    assert key is not None
    assert len(key) == 32
    with Ledger(old_file) as ledger:
        ledger.charge(SERVER, "c", "ticket-3", Gaussian(0, 1, 4, "0.25", "0.75"))
        assert [charge.rho for charge in ledger.entries()] == [None, None, Fraction(1, 4)]
        assert ledger.spent() == Fraction(185, 100)


def test_an_upgraded_file_is_one_that_was_made_anew(old_file: Path, tmp_path: Path) -> None:
    schemas = []
    for path in (old_file, tmp_path / "new.sqlite"):
        with Ledger(path) as ledger:
            schemas.append(
                [ledger._db.execute(f"PRAGMA {name}").fetchall() for name in ("user_version", "table_info(entries)")]
            )
    assert schemas[0] == schemas[1]


def test_many_open_an_old_file_at_once(old_file: Path) -> None:
    spent: list[Fraction] = []

    def work() -> None:
        with Ledger(old_file) as ledger:
            spent.append(ledger.spent())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert spent == [Fraction(11, 10)] * 8


def test_an_upgrade_that_fails_changes_nothing(old_file: Path) -> None:
    """A file that claims to be of the first version and has the column already."""
    with sqlite3.connect(old_file) as db:
        db.execute("ALTER TABLE entries ADD COLUMN micro_rho INTEGER")
    db.close()
    before = old_file.read_bytes()
    with pytest.raises(LedgerError, match="cannot be used"):
        Ledger(old_file)
    assert old_file.read_bytes() == before
