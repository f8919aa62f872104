"""Log lines: in both formats they carry the request's id and nothing of a person.

A whole flow runs against a real process at the lowest level, with recognisable values, answers and tokens, from an
address that nothing else has; all that was written is then searched.
"""

import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from dither_client import Client, MemoryLedger
from dither_server.database.engine import make_engine, reading
from dither_server.database.reads import Store
from dither_server.logs import log_formatter
from testing.patience import PATIENCE
from testing.servers.defaults import ADMIN, SPEC
from testing.servers.process import ServerProcess, running
from testing.servers.site import Site, problem

ADDRESS = "127.0.0.77"
"""Where the respondents of the tests come from; this machine's, too."""
VALUE = 61.803398875
ANSWER = 173
FIELDS = {
    "timestamp",
    "level",
    "event",
    "request_id",
    "call",
    "status",
    "seconds",
    "url",
    "collection",
    "error",
    "where",
}
AUDITED = {"by", "what", "role", "token", "state"}
"""The fields of lines that say what an admin did; `token` is a token's id."""


def whole_flow(server: ServerProcess) -> list[str]:
    """Everything that may happen with respondents, analysts and attackers; what must be in no log line."""
    spec = SPEC | {"policy": "fixed:0:200", "levels": 200, "name": "zebra-survey"}
    with httpx2.Client(
        base_url=server.url, transport=httpx2.HTTPTransport(local_address=ADDRESS), timeout=PATIENCE
    ) as http:
        collection = http.post("/v1/collections", json=spec, headers=ADMIN).json()["id"]
        path = f"/v1/collections/{collection}"
        made = http.post("/v1/tokens", json={"role": "analyst", "name": "zebra-analyst"}, headers=ADMIN).json()
        analyst = {"Authorization": f"Bearer {made['token']}"}
        tickets = [item["ticket"] for item in http.post(f"{path}/tickets", json={"count": 30}).json()["tickets"]]
        for answer in (ANSWER, ANSWER, ANSWER + 1, "zebra-answer", 5000):
            http.post(f"{path}/responses", json={"ticket": tickets[0], "answer": answer})
        http.post(f"{path}/responses", json={"ticket": "zebra-ticket", "answer": ANSWER})
        http.post(f"{path}/responses", content=b'{"zebra": ')
        batch = [{"ticket": ticket, "answer": ANSWER, "retry_key": "zebra-retry-key-1"} for ticket in tickets]
        http.post(f"{path}/responses/batch", json={"responses": batch})
        for page in ("posterior", "posterior/history", "posterior/particles", "queries", "answers"):
            http.get(f"{path}/{page}", headers=analyst)
        http.get("/v1/tokens", headers={"Authorization": "Bearer zebra-token", "X-Request-ID": "zebra-id"})
        http.get("/zebra-path?zebra-name=zebra-query", headers={"User-Agent": "zebra", "Cookie": "zebra"})
        http.patch(path, json={"state": "paused"}, headers=ADMIN)
        http.patch(path, json={"state": "open"}, headers=ADMIN)
        http.delete(f"/v1/tokens/{made['id']}", headers=ADMIN)
    transport = httpx2.HTTPTransport(local_address=ADDRESS)
    ledger = MemoryLedger()
    with Client(server.url, ledger, transport=transport) as client:
        receipt = client.answer(collection, VALUE)
        entry = ledger.find(client.server, collection)
    assert entry is not None
    private = [
        made["token"],
        "the-admin-token",
        "secret of the tests",
        *tickets,
        entry.ticket,
        receipt.receipt,
        str(entry.retry_key),
    ]
    return [*private, "zebra", str(VALUE), str(VALUE)[:7], ADDRESS]


@pytest.fixture(params=["json", "console"])
def written(request: pytest.FixtureRequest, database_url: str) -> tuple[str, str, list[str]]:
    """The format, all that a server wrote, and what must not be in it."""
    with running(database_url, DITHER_LOG_FORMAT=request.param, DITHER_LOG_LEVEL="debug") as server:
        private = whole_flow(server)
        server.terminate()
        assert server.wait() == 0, server.stderr
    return request.param, server.stderr, private


def test_nothing_of_a_person_is_in_the_logs(written: tuple[str, str, list[str]]) -> None:
    log_format, text, private = written
    assert text.count("request") > 20
    for secret in private:
        assert secret not in text
    assert not re.search(rf"(?<![\w.])({ANSWER}|{ANSWER + 1}|5000)(?!\w)", text)
    if log_format == "json":
        lines = [json.loads(line) for line in text.splitlines()]
        assert {key for line in lines for key in line if line["event"] != "audit"} <= FIELDS
        audited = [line for line in lines if line["event"] == "audit"]
        assert {key for line in audited for key in line} <= FIELDS | AUDITED
        assert [line["what"] for line in audited] == [
            "collection created", "token made", "state changed", "state changed", "token revoked",
        ]  # fmt: skip
        requests = [line for line in lines if line["event"] == "request"]
        assert all(re.fullmatch("[0-9a-f]{16}", line["request_id"]) for line in requests)
        assert len({line["request_id"] for line in requests}) == len(requests)
        assert {"respond", "respond_batch", "issue_tickets"} <= {line["call"] for line in requests}


class Lines(logging.Handler):
    """Keeps lines as they would be written, at the time when they are."""

    def __init__(self, log_format: str) -> None:
        super().__init__()
        self.setFormatter(log_formatter(log_format))
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """The JSON lines of Dither's own loggers, at every level."""
    handler, logger = Lines("json"), logging.getLogger("dither_server")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield handler.lines
    logger.removeHandler(handler)
    logger.setLevel(before)


def test_every_line_of_a_request_has_its_id_also_from_other_threads(
    site: Site, monkeypatch: pytest.MonkeyPatch, lines: list[str]
) -> None:
    def talk(self: Store, *_: object) -> int:
        logging.getLogger("dither_server.database.reads").warning("reading")
        raise ValueError("zebra")

    site.client.post("/v1/collections", json=SPEC, headers=ADMIN)
    lines.clear()
    monkeypatch.setattr(Store, "totals", talk)
    reply = site.client.get("/v1/collections", headers={"X-Request-ID": "0123456789abcdef", **ADMIN})
    assert problem(reply) == (500, "internal")
    own = reply.headers["x-request-id"]
    assert own != "0123456789abcdef"
    said = [line for line in map(json.loads, lines) if line.get("request_id")]  # who polls for answers has none
    assert [line["event"] for line in said] == ["reading", "request failed", "request"]
    assert {line["request_id"] for line in said} == {own}
    site.client.get("/healthz")
    assert json.loads(lines[-1])["request_id"] not in (None, own)


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_what_an_exception_says_is_not_written(log_format: str) -> None:
    handler = Lines(log_format)
    logger = logging.Logger("any.library")
    logger.addHandler(handler)
    try:
        try:
            int("zebra")
        except ValueError as error:
            raise RuntimeError("zebra" * 2) from error
    except RuntimeError:
        logger.exception("it failed", stack_info=True)
    [line] = handler.lines
    assert "it failed" in line
    assert "RuntimeError" in line
    assert "in test_what_an_exception_says_is_not_written" in line
    assert "ValueError: " not in line
    assert "zebrazebra" not in line


def test_libraries_are_heard_from_warning_on(tmp_path: Path) -> None:
    code = """
import logging
from dither_server.logs import set_up_logs
from dither_server.settings import Settings
set_up_logs(Settings(log_level="debug"))
for name in ("sqlalchemy.engine", "asyncio", "psycopg", "uvicorn.error", "dither_server.x"):
    logging.getLogger(name).debug("low from " + name)
    logging.getLogger(name).warning("high from " + name)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert re.findall(r"low from (\S+)", done.stderr) == ["dither_server.x"]
    assert len(re.findall("high from", done.stderr)) == 5


def test_sql_is_not_written_at_any_level(sqlite_url: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        engine = make_engine(sqlite_url)
        with reading(engine).connect() as connection:
            connection.exec_driver_sql("SELECT 'zebra'")
        engine.dispose()
    assert "zebra" not in caplog.text
