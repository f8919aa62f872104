"""A ledger in one SQLite file that any number of processes and threads may share."""

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from dither_client.addresses import origin_of
from dither_client.errors import DitherError, LedgerError
from dither_client.ledger.data_folder import user_data_folder
from dither_client.ledger.protocol import Answer, Cap, Caps, Charge, Entry, check_reserved, new_retry_key
from dither_client.ledger.schema import FIRST_SCHEMA, UPGRADES, VERSION
from dither_client.mechanisms.epsilon import MICRO, micro_epsilon
from dither_client.mechanisms.member_counts import Asked
from dither_client.mechanisms.panel import NO_PERIOD
from dither_client.mechanisms.price import Price
from dither_client.mechanisms.registry import parse_asked
from dither_client.strict_json import decode_json

__all__ = ["Ledger"]

_COLUMNS = "server, collection, state, micro_epsilon, ticket, query, answer, receipt, retry_key, period"
_ONE = "server = ? AND collection = ? AND period = ?"

_BUSY_TIMEOUT = 30.0
"""Seconds to wait for another process to finish its transaction."""

# Closing any descriptor of a file drops every POSIX lock that this process holds on it, so no other thread may have
# the ledger open while its file is created.
_opening = threading.Lock()

_abandoned: list[sqlite3.Connection] = []
"""Connections inherited from a parent process, kept so that this process never closes them."""


class Ledger:
    """A `LedgerProtocol` in the file `path`, by default `ledger.sqlite` in Dither's folder of the user's data.

    `max_epsilon` caps the total ε spent, `max_epsilon_per_server` the ε spent on any one server, and
    `max_epsilon_per_answer` the ε of any one answer. The caps belong to this object, not to the file. Without
    `max_epsilon` the defaults are 10, 5 and 2; with it, the caps that are left out do not apply.

    The object may be shared between threads, and survives a fork. Raises `InvalidEpsilon` for a cap that is not an ε,
    and `LedgerError` whenever the file cannot be used.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        max_epsilon: Cap | None = None,
        max_epsilon_per_server: Cap | None = None,
        max_epsilon_per_answer: Cap | None = None,
    ) -> None:
        self.caps = Caps.read(max_epsilon, max_epsilon_per_server, max_epsilon_per_answer)
        self.path = (user_data_folder() / "ledger.sqlite" if path is None else Path(path).expanduser()).absolute()
        self._lock = threading.RLock()
        with self._ledger_errors():
            if path is None:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._open()

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    def close(self) -> None:
        if self._pid == os.getpid():
            with self._lock:
                self._db.close()

    def find(self, server: str, collection: str, period: int = NO_PERIOD) -> Entry | None:
        with self._reading() as db:
            return self._find(db, server, collection, period)

    def join(self, server: str, collection: str, periods: Sequence[int], epsilon: Fraction) -> tuple[int, ...]:
        with self._writing() as db:
            if not self._turns(db, server, collection):
                cost = micro_epsilon(epsilon)
                self.caps.check(cost, self._micro(db, None), self._micro(db, origin_of(server)), len(periods))
                db.executemany(
                    "INSERT INTO entries (server, collection, period, state, micro_epsilon) "
                    "VALUES (?, ?, ?, 'reserved', ?)",
                    [(server, collection, period, cost) for period in periods],
                )
            return self._turns(db, server, collection)

    def turns(self, server: str, collection: str) -> tuple[int, ...]:
        with self._reading() as db:
            return self._turns(db, server, collection)

    def charge(self, server: str, collection: str, ticket: str, query: Asked, period: int = NO_PERIOD) -> Entry:
        with self._writing() as db:
            entry = self._find(db, server, collection, period)
            if entry is not None:
                return entry
            cost = micro_epsilon(query.epsilon)
            reserved = self._reserved(db, server, collection, period)
            if reserved is None:
                self.caps.check(cost, self._micro(db, None), self._micro(db, origin_of(server)))
            else:
                cost = check_reserved(reserved, cost)
            rho = None if query.rho is None else micro_epsilon(query.rho)
            db.execute(
                "INSERT INTO entries (server, collection, period, state, micro_epsilon, micro_rho, ticket, query) "
                "VALUES (?, ?, ?, 'charged', ?, ?, ?, ?) ON CONFLICT (server, collection, period) DO UPDATE SET "
                "state = excluded.state, micro_rho = excluded.micro_rho, ticket = excluded.ticket, "
                "query = excluded.query",
                (server, collection, period, cost, rho, ticket, json.dumps(query.to_json())),
            )
            return self._entry(db, server, collection, period)

    def draw(self, server: str, collection: str, answer: Answer, period: int = NO_PERIOD) -> Entry:
        # SQLite stores a text unchanged in an INTEGER column, so several counts are kept as a JSON list.
        stored = answer if isinstance(answer, int) else json.dumps(answer)
        change = "state = 'drawn', answer = ?, retry_key = ?"
        self._advance(server, collection, period, "charged", change, stored, new_retry_key())
        with self._reading() as db:
            return self._entry(db, server, collection, period)

    def retry_key(self, server: str, collection: str) -> str:
        with self._writing() as db:
            db.execute(
                "INSERT OR IGNORE INTO retry_keys (server, collection, key) VALUES (?, ?, ?)",
                (server, collection, new_retry_key()),
            )
            statement = "SELECT key FROM retry_keys WHERE server = ? AND collection = ?"
            return str(db.execute(statement, (server, collection)).fetchone()[0])

    def price(self, server: str, collection: str) -> Price | None:
        with self._reading() as db:
            return self._price(db, server, collection)

    def keep_price(self, server: str, collection: str, told: Price) -> Price:
        known = self.price(server, collection)
        if known is not None:
            return known
        with self._writing() as db:
            db.execute(
                "INSERT OR IGNORE INTO prices (server, collection, price) VALUES (?, ?, ?)",
                (server, collection, json.dumps(told.to_json())),
            )
            return self._price(db, server, collection) or told

    def mark_sent(self, server: str, collection: str, receipt: str, period: int = NO_PERIOD) -> None:
        self._advance(server, collection, period, "drawn", "state = 'sent', receipt = ?", receipt)

    def mark_expired(self, server: str, collection: str, period: int = NO_PERIOD) -> None:
        self._advance(server, collection, period, "drawn", "state = 'expired'")

    def unsent(self, server: str) -> list[Entry]:
        statement = f"SELECT {_COLUMNS} FROM entries WHERE server = ? AND state = 'drawn' ORDER BY id"
        with self._reading() as db:
            return [_read_entry(row) for row in db.execute(statement, (server,))]

    def entries(self) -> list[Charge]:
        statement = (
            "SELECT server, collection, micro_epsilon, state, receipt, micro_rho, period FROM entries ORDER BY id"
        )
        with self._reading() as db:
            return [
                Charge(
                    server,
                    collection,
                    Fraction(micro, MICRO),
                    state,
                    receipt,
                    None if micro_rho is None else Fraction(micro_rho, MICRO),
                    period,
                )
                for server, collection, micro, state, receipt, micro_rho, period in db.execute(statement)
            ]

    def spent(self, server: str | None = None) -> Fraction:
        with self._reading() as db:
            return Fraction(self._micro(db, server), MICRO)

    def _advance(self, server: str, collection: str, period: int, before: str, change: str, *values: int | str) -> None:
        """Changes an entry that is in the state `before`; leaves any other unchanged."""
        with self._writing() as db:
            db.execute(
                f"UPDATE entries SET {change} WHERE {_ONE} AND state = ?", (*values, server, collection, period, before)
            )

    @staticmethod
    def _find(db: sqlite3.Connection, server: str, collection: str, period: int) -> Entry | None:
        statement = f"SELECT {_COLUMNS} FROM entries WHERE {_ONE} AND state <> 'reserved'"
        row = db.execute(statement, (server, collection, period)).fetchone()
        return None if row is None else _read_entry(row)

    @staticmethod
    def _reserved(db: sqlite3.Connection, server: str, collection: str, period: int) -> int | None:
        statement = f"SELECT micro_epsilon FROM entries WHERE {_ONE} AND state = 'reserved'"
        row = db.execute(statement, (server, collection, period)).fetchone()
        return None if row is None else int(row[0])

    @staticmethod
    def _turns(db: sqlite3.Connection, server: str, collection: str) -> tuple[int, ...]:
        statement = "SELECT period FROM entries WHERE server = ? AND collection = ? AND period > 0 ORDER BY period"
        return tuple(period for (period,) in db.execute(statement, (server, collection)))

    @staticmethod
    def _price(db: sqlite3.Connection, server: str, collection: str) -> Price | None:
        statement = "SELECT price FROM prices WHERE server = ? AND collection = ?"
        row = db.execute(statement, (server, collection)).fetchone()
        return None if row is None else Price.from_json(json.loads(row[0]))

    def _entry(self, db: sqlite3.Connection, server: str, collection: str, period: int) -> Entry:
        entry = self._find(db, server, collection, period)
        if entry is None:
            raise LedgerError("the ledger has no charge for this collection")
        return entry

    @staticmethod
    def _micro(db: sqlite3.Connection, server: str | None) -> int:
        statement = (
            "SELECT coalesce(sum(micro_epsilon), 0) FROM entries "
            "WHERE :server IS NULL OR server = :server OR substr(server, 1, length(:server) + 1) = :server || '/'"
        )
        return int(db.execute(statement, {"server": server}).fetchone()[0])

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        if self._pid != os.getpid():
            self._after_fork()
        with self._lock, self._ledger_errors():
            yield self._db

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that excludes other writers, and is rolled back if anything is raised."""
        with self._reading() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    @contextmanager
    def _ledger_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise LedgerError(f"the ledger {self.path} cannot be used: {reason}") from None

    def _after_fork(self) -> None:
        """Opens a connection and a lock for the child; the parent's may be in use, and must not even be closed here."""
        _abandoned.append(self._db)
        self._lock = threading.RLock()
        with self._ledger_errors():
            self._open()

    def _open(self) -> None:
        with _opening:
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(self.path, timeout=_BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)
        self._pid = os.getpid()
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        if self._version() < VERSION:
            with self._writing() as db:
                self._upgrade(db)
        if self._version() != VERSION:
            raise LedgerError(f"the ledger {self.path} was written by a newer version of Dither: upgrade this one")
        self._use_wal()
        self._db.execute("PRAGMA synchronous = FULL")

    def _upgrade(self, db: sqlite3.Connection) -> None:
        """Upgrades an empty or older file to this version, also if another process has done part of it meanwhile."""
        if self._version() == 0:
            if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise LedgerError(f"{self.path} is a database, but not a ledger")
            db.execute(FIRST_SCHEMA)
            db.execute("PRAGMA user_version = 1")
        db.create_function("new_retry_key", 0, new_retry_key)
        for version in range(self._version(), VERSION):
            for statement in UPGRADES[version]:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {version + 1}")

    def _use_wal(self) -> None:
        """Switches to WAL mode, waiting for other processes, which SQLite does not do for this statement."""
        deadline = time.monotonic() + _BUSY_TIMEOUT
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
            time.sleep(0.01)

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])


def _read_entry(row: tuple[Any, ...]) -> Entry:
    server, collection, state, micro, ticket, query, answer, receipt, retry_key, period = row
    try:
        question = parse_asked(decode_json(query.encode()))
    except DitherError:
        raise LedgerError("the ledger holds a query that this version cannot read") from None
    if isinstance(answer, str):
        answer = tuple(json.loads(answer))
    return Entry(server, collection, state, micro, ticket, question, answer, receipt, retry_key, period)
