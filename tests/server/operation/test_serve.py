import contextlib
import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import func, select

from dither_client import Analyst
from dither_client.commands import run
from dither_server.access import first_admin
from dither_server.access.first_admin import make_first_admin
from dither_server.database.engine import make_engine, reading, upgrade
from dither_server.database.schema import tokens
from dither_server.settings import Settings
from testing.databases import check_counts
from testing.patience import PATIENCE
from testing.servers.defaults import ADMIN, SPEC
from testing.servers.process import UNHURRIED, ServerProcess, running
from testing.servers.site import open_site


def create(server: ServerProcess, **fields: Any) -> str:
    reply = httpx2.post(f"{server.url}/v1/collections", json=SPEC | fields, headers=ADMIN, timeout=PATIENCE)
    assert reply.status_code == 201, reply.text
    return str(reply.json()["id"])


Refused = Callable[..., str]


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """What a server that does not start says, which must be one sentence with the status of bad input."""

    def say(database: str, *arguments: str) -> str:
        assert run(["serve", "--database", database, *arguments]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert re.fullmatch(r"dither: [^\n]+[.?]\n", said.err)
        return said.err

    return say


def test_a_server_starts_serves_and_ends_with_status_0(database_url: str) -> None:
    with running(database_url) as server:
        collection = create(server)
        path = f"{server.url}/v1/collections/{collection}"
        with httpx2.Client(timeout=PATIENCE) as client:
            tickets = client.post(f"{path}/tickets", json={"count": 300}).json()["tickets"]
            responses = [{"ticket": item["ticket"], "answer": 1} for item in tickets]
            client.post(f"{path}/responses/batch", json={"responses": responses})
            server.terminate()
            assert server.wait() == 0, server.stderr
    assert "Traceback" not in server.stderr
    engine = make_engine(database_url)
    check_counts(engine)
    with reading(engine).connect() as connection:
        snapshots = connection.exec_driver_sql("SELECT answers FROM snapshots").scalars().all()
    engine.dispose()
    assert snapshots == [300]  # learnt and kept, though the signal came right after the answers


def test_requests_in_flight_are_finished(sqlite_url: str) -> None:
    with running(sqlite_url, before=UNHURRIED) as server:
        collection = create(server)
        path = f"/v1/collections/{collection}/responses"
        ticket = httpx2.post(f"{server.url}/v1/collections/{collection}/tickets", timeout=PATIENCE).json()["ticket"]
        body = json.dumps({"ticket": ticket, "answer": 1}).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(head.encode())
            assert connection.recv(65_536) == b"HTTP/1.1 100 Continue\r\n\r\n"  # it waits for the body
            server.terminate()
            server.wait_refused()
            connection.sendall(body)
            assert connection.recv(65_536).startswith(b"HTTP/1.1 201 ")
        assert server.wait() == 0, server.stderr


def test_a_stream_tells_of_changes_and_ends_with_the_server(sqlite_url: str) -> None:
    with running(sqlite_url) as server:
        collection = create(server, visibility="public")
        path = f"{server.url}/v1/collections/{collection}"
        seen = []
        with httpx2.stream("GET", f"{path}/posterior/stream", timeout=PATIENCE) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            for line in stream.iter_lines():
                if not line.startswith("data: "):
                    assert line in ("event: posterior", "event: state", "")
                    continue
                event = json.loads(line.removeprefix("data: "))
                if "state" in event:
                    assert event == {"state": "open"}
                    continue
                seen.append(event["answers"])
                if len(seen) == 1:
                    ticket = httpx2.post(f"{path}/tickets", timeout=PATIENCE).json()["ticket"]
                    httpx2.post(f"{path}/responses", json={"ticket": ticket, "answer": 1}, timeout=PATIENCE)
                else:
                    server.terminate()
        assert seen == [0, 1]
        assert server.wait() == 0, server.stderr


def test_a_stream_says_closed_once_every_answer_is_learnt(sqlite_url: str) -> None:
    with running(sqlite_url) as server:
        collection = create(server, visibility="public")
        path = f"{server.url}/v1/collections/{collection}"
        seen = []
        with Analyst(server.url) as analyst:
            for posterior in analyst.stream(collection):
                seen.append(posterior.answers)
                if len(seen) == 1:
                    ticket = httpx2.post(f"{path}/tickets", timeout=PATIENCE).json()["ticket"]
                    httpx2.post(f"{path}/responses", json={"ticket": ticket, "answer": 1}, timeout=PATIENCE)
                    closed = httpx2.patch(path, json={"state": "closed"}, headers=ADMIN, timeout=PATIENCE)
                    assert closed.status_code == 200
        assert seen == [0, 1]


def test_an_idle_connection_does_not_hold_up_the_end(sqlite_url: str) -> None:
    with running(sqlite_url) as server, socket.create_connection(("127.0.0.1", server.port)):
        server.terminate()
        assert server.wait() == 0


def test_an_endless_body_is_cut_off(sqlite_url: str) -> None:
    with running(sqlite_url) as server:
        collection = create(server)
        head = f"POST /v1/collections/{collection}/responses HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(head.encode())
            reader = threading.Thread(target=_send_for_ever, args=[connection], daemon=True)
            reader.start()
            assert connection.recv(65_536).startswith(b"HTTP/1.1 413 ")
        reader.join(PATIENCE)
        assert not reader.is_alive()
        assert httpx2.get(f"{server.url}/healthz", timeout=PATIENCE).status_code == 200


def _send_for_ever(connection: socket.socket) -> None:
    try:
        while True:
            connection.sendall(b"400\r\n" + b" " * 1024 + b"\r\n")
    except OSError:
        pass


def test_the_first_admins_token_is_in_a_file_and_not_in_the_log(sqlite_url: str, tmp_path: Path) -> None:
    file = tmp_path / "test.sqlite.admin-token"
    said = []
    for _ in range(2):  # the second start makes none
        with running(sqlite_url, DITHER_ADMIN_TOKEN="") as server:
            headers = {"Authorization": f"Bearer {file.read_text().strip()}"}
            assert httpx2.get(f"{server.url}/v1/tokens", headers=headers, timeout=PATIENCE).status_code == 200
            server.terminate()
            server.wait()
        said.append(server.stderr)
    assert file.stat().st_mode & 0o777 == 0o600
    assert f"cat {file}" in said[0]
    assert str(file) not in said[1]
    assert file.read_text().strip() not in "".join(said)
    assert "dither_admin_" not in "".join(said)


def test_two_first_starts_at_once_make_one_admin(database_url: str, tmp_path: Path) -> None:
    engine = make_engine(database_url)
    upgrade(engine)
    settings, begin, made = Settings(database=database_url), threading.Barrier(2), []

    def start() -> None:
        begin.wait(PATIENCE)
        made.append(make_first_admin(engine, settings, time.time))

    threads = [threading.Thread(target=start) for _ in range(2)]
    with contextlib.chdir(tmp_path):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    [file] = [one.file for one in made if one is not None]
    assert len(made) == 2
    assert file.parent == tmp_path
    with reading(engine).connect() as connection:
        assert connection.execute(select(func.count()).select_from(tokens)).scalar_one() == 1
    engine.dispose()


def test_a_token_that_has_no_place_is_not_made(
    sqlite_url: str, tmp_path: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "test.sqlite.admin-token"
    file.write_text("somebody's")
    assert "would overwrite" in refused(sqlite_url, "--port", "0")
    assert file.read_text() == "somebody's"
    file.unlink()
    file.symlink_to("/nowhere/at/all")
    assert "would overwrite" in refused(sqlite_url, "--port", "0")
    file.unlink()
    monkeypatch.setattr(first_admin, "token_file", lambda engine: Path("/nowhere/at/all"))
    assert "set DITHER_ADMIN_TOKEN instead" in refused(sqlite_url, "--port", "0")
    with sqlite3.connect(tmp_path / "test.sqlite") as database:
        assert database.execute("SELECT count(*) FROM tokens").fetchone() == (0,)
    database.close()


def test_the_files_of_the_database_are_the_servers_alone(sqlite_url: str, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        for start in range(2):
            with running(sqlite_url) as server:
                collection = create(server)
                httpx2.post(f"{server.url}/v1/collections/{collection}/tickets", timeout=PATIENCE)
                modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
                assert modes.keys() >= {"test.sqlite", "test.sqlite-wal", "test.sqlite-shm"}
                assert set(modes.values()) == {0o600}
            if start == 0:  # as an older version left them
                for file in tmp_path.iterdir():
                    file.chmod(0o644)
    finally:
        os.umask(before)


def test_logs_are_json_if_asked_and_hold_nothing_of_requests(sqlite_url: str) -> None:
    with running(sqlite_url, DITHER_LOG_FORMAT="json", DITHER_LOG_LEVEL="debug") as server:
        collection = create(server, name="zebra17")
        ticket = httpx2.post(f"{server.url}/v1/collections/{collection}/tickets", timeout=PATIENCE).json()["ticket"]
        httpx2.post(
            f"{server.url}/v1/collections/{collection}/responses",
            json={"ticket": ticket, "answer": "zebra18"},
            timeout=PATIENCE,
        )
        httpx2.get(f"{server.url}/zebra19", headers=ADMIN | {"User-Agent": "zebra20"}, timeout=PATIENCE)
        server.terminate()
        server.wait()
    lines = [json.loads(line) for line in server.stderr.splitlines()]
    assert {"serving", "request", "stopping", "stopped"} <= {line["event"] for line in lines}
    assert any(line.get("call") == "respond" and line["status"] == 422 for line in lines)
    for private in (ticket, "zebra", "the-admin-token", "secret of the tests"):
        assert private not in server.stderr


def test_a_port_in_use_is_refused(sqlite_url: str, refused: Refused) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refused(sqlite_url, "--port", str(port))
    assert said == f"dither: Port {port} on 127.0.0.1 is in use: choose another with --port.\n"


def test_an_address_that_does_not_exist_is_refused(sqlite_url: str, refused: Refused) -> None:
    assert "There is no address nowhere.invalid" in refused(sqlite_url, "--host", "nowhere.invalid")


def test_an_unknown_variable_is_refused(sqlite_url: str, refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DITHER_LOGLEVEL", "info")
    assert "did you mean DITHER_LOG_LEVEL?" in refused(sqlite_url)


def test_a_database_from_a_newer_version_is_refused(sqlite_url: str, tmp_path: Path, refused: Refused) -> None:
    with open_site(sqlite_url):
        pass
    database = sqlite3.connect(tmp_path / "test.sqlite")
    database.execute("UPDATE alembic_version SET version_num = '9999'")
    database.commit()
    database.close()
    assert "from a newer version of Dither (schema 9999)" in refused(sqlite_url)


@pytest.mark.parametrize(
    ("database", "says"),
    [
        ("sqlite:////missing/folder/test.sqlite", "There is no folder /missing/folder"),
        ("sqlite:////proc/test.sqlite", "cannot be used"),
        ("sqlite://", "must be a file"),
        ("mysql://localhost/test", "must be sqlite:///FILE or postgresql"),
        ("dither.sqlite", "must be sqlite:///FILE or postgresql"),
        ("postgresql+psycopg://someone:swordfish@127.0.0.1:1/test", "cannot be used"),
    ],
)
def test_a_database_that_cannot_be_used_is_refused(
    database: str, says: str, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DITHER_SECRET", "secret of the tests")
    said = refused(database)
    assert says in said
    assert "swordfish" not in said


def test_a_file_that_is_no_database_is_refused_and_left_alone(
    sqlite_url: str, tmp_path: Path, refused: Refused
) -> None:
    file = tmp_path / "test.sqlite"
    file.write_text("a letter to a friend" * 100)
    assert "cannot be used" in refused(sqlite_url)
    assert file.read_text() == "a letter to a friend" * 100


def test_importing_the_application_opens_nothing(tmp_path: Path) -> None:
    code = "import dither_server.app, threading; print(threading.active_count())"
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert result.stdout == "1\n"
    assert list(tmp_path.iterdir()) == []
