"""`dither doctor`: a healthy installation, and each thing that can be wrong with its line. Nothing is ever changed."""

import json
import shutil
import socket
import sqlite3
import stat
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dither_client.commands import run
from dither_server.doctor import database as database_module
from dither_server.doctor import machine
from dither_server.doctor.machine import examine_disk, examine_packages, examine_python, examine_time
from testing.servers.listening import listening
from testing.servers.process import ServerProcess, free_port, running
from testing.servers.site import open_site

SECRET = "a-secret-of-the-tests-that-is-long-enough"

Examine = Callable[..., dict[str, dict[str, Any]]]


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("DITHER_PORT", str(free_port()))
    # The machine may be busy.
    monkeypatch.setattr(machine, "_SLOW_SYNC_SECONDS", 60.0)
    monkeypatch.setattr(database_module, "_SLOW_COMMIT_SECONDS", 60.0)


@pytest.fixture
def examine(capsys: pytest.CaptureFixture[str]) -> Examine:
    """The findings of `dither doctor --json` by what was looked at; its status and its `ok` must agree with them."""

    def examined(*arguments: str) -> dict[str, dict[str, Any]]:
        status = run(["doctor", "--json", *arguments])
        said = capsys.readouterr()
        found = json.loads(said.out)
        sick = [one for one in found["findings"] if one["state"] == "mend"]
        assert status == (1 if sick else 0)
        assert found["ok"] == (not sick)
        assert all(one["advice"] and one["advice"][-1] for one in sick)
        assert SECRET not in said.out + said.err
        return {one["check"]: one for one in found["findings"]}

    return examined


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Everything below a folder: names, modes and contents."""
    return {
        str(file.relative_to(folder)): (file.stat().st_mode, file.read_bytes() if file.is_file() else b"")
        for file in folder.rglob("*")
    }


def state(found: dict[str, dict[str, Any]], check: str) -> str:
    return str(found[check]["state"])


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The file of a database that a server has made, stopped by now, with its secret's file beside it."""
    file = tmp_path / "test.sqlite"
    with open_site(f"sqlite:///{file}", secret=None) as site:
        site.respond(*(lambda c: (c, site.ticket(c)))(site.create()))
    return file


def test_a_new_installation_is_healthy_and_stays_new(tmp_path: Path, examine: Examine) -> None:
    before = tree(tmp_path)
    found = examine("--database", f"sqlite:///{tmp_path / 'new.sqlite'}")
    assert {one["state"] for one in found.values()} == {"ok"}
    assert {"Python", "Dither", "extras", "BLAS threads", "ledger", "database", "disk space"} <= set(found)
    assert {"disk latency", "secret", "port"} <= set(found)
    assert {"server", "postgres", "cli"} <= set(found["extras"]["found"].split(", "))
    assert tree(tmp_path) == before


def test_an_installation_in_use_is_healthy_and_is_not_touched(
    tmp_path: Path, examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "test.sqlite"
    with running(f"sqlite:///{file}", DITHER_SECRET="") as server:
        monkeypatch.setenv("DITHER_PORT", str(server.port))
        before = set(tree(tmp_path))
        found = examine("--database", f"sqlite:///{file}", "--url", server.url)
        assert set(tree(tmp_path)) == before  # the server itself writes that it is alive
    assert {one["state"] for one in found.values()} == {"ok"}, found
    assert "a Dither server is listening" in found["port"]["found"]
    assert found["metrics"]["found"] == "not public"
    assert {"server", "readiness", "schema"} <= set(found)


def test_a_stopped_installation_is_healthy_and_is_not_touched(
    installed: Path, tmp_path: Path, examine: Examine
) -> None:
    before = tree(tmp_path)
    found = examine("--database", f"sqlite:///{installed}")
    assert {one["state"] for one in found.values()} == {"ok"}
    assert tree(tmp_path) == before


@pytest.mark.postgres
def test_postgresql_is_healthy_and_is_not_touched(
    postgres_url: str, examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DITHER_SECRET", SECRET)
    found = examine("--database", postgres_url)
    assert {one["state"] for one in found.values()} == {"ok"}, found
    assert "none yet" in found["schema"]["found"]
    with open_site(postgres_url, secret=SECRET):
        found = examine("--database", postgres_url)
        monkeypatch.setenv("DITHER_SECRET", SECRET[::-1])
        assert state(examine("--database", postgres_url), "servers") == "mend"
    assert {one["state"] for one in found.values()} == {"ok"}, found
    assert {"clocks", "commit latency", "PostgreSQL"} <= set(found)
    with psycopg.connect(postgres_url.replace("+psycopg", "")) as connection:
        connection.execute("ALTER TABLE alembic_version RENAME TO others")
    assert found["schema"]["found"] != examine("--database", postgres_url)["schema"]["found"]


@pytest.mark.postgres
def test_a_postgresql_that_does_not_keep_what_it_says_is_seen(
    postgres_url: str, examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DITHER_SECRET", SECRET)
    name = postgres_url.rpartition("/")[2]
    with psycopg.connect(postgres_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    found = examine("--database", postgres_url)
    assert state(found, "PostgreSQL synchronous_commit") == "mend"
    assert "can be lost" in found["PostgreSQL synchronous_commit"]["advice"]


def test_a_database_that_does_not_answer_is_seen_without_its_password(
    examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DITHER_SECRET", SECRET)
    found = examine("--database", f"postgresql+psycopg://someone:swordfish@127.0.0.1:{free_port()}/test")
    assert state(found, "database") == "mend"
    assert "swordfish" not in str(found)
    assert "refused" in found["database"]["advice"]


@pytest.mark.parametrize(
    ("revision", "expected", "says"), [("9999", "mend", "Install the newer version"), ("0001", "ok", None)]
)
def test_another_schema_is_seen(
    installed: Path, revision: str, expected: str, says: str | None, examine: Examine
) -> None:
    with sqlite3.connect(installed) as connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))
    connection.close()
    found = examine("--database", f"sqlite:///{installed}")
    assert state(found, "schema") == expected
    if says:
        assert says in found["schema"]["advice"]
    else:
        assert "make a backup first" in found["schema"]["found"]


def test_files_that_are_not_dithers_are_seen(tmp_path: Path, examine: Examine) -> None:
    letter, other = tmp_path / "letter", tmp_path / "other.sqlite"
    letter.write_text("a letter to a friend" * 100)
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE songs (title TEXT)")
    connection.commit()
    connection.close()
    assert state(examine("--database", f"sqlite:///{letter}"), "database") == "mend"
    assert "database of its own" in examine("--database", f"sqlite:///{other}")["schema"]["advice"]
    assert state(examine("--database", "sqlite:////missing/folder/d.sqlite"), "database") == "mend"
    assert state(examine("--database", "mysql://localhost/d"), "database") == "mend"


def test_a_secret_that_others_read_or_that_is_gone_is_seen(installed: Path, examine: Examine) -> None:
    secret = Path(f"{installed}.secret")
    secret.chmod(0o644)
    assert "chmod 600" in examine("--database", f"sqlite:///{installed}")["secret"]["advice"]
    assert stat.S_IMODE(secret.stat().st_mode) == 0o644, "it only says so"
    secret.chmod(0o600)
    secret.write_text("")
    assert "Restore" in examine("--database", f"sqlite:///{installed}")["secret"]["advice"]
    secret.unlink()
    assert "backup" in examine("--database", f"sqlite:///{installed}")["secret"]["advice"]
    assert not secret.exists()


@pytest.mark.parametrize("value", ["secret of the tests", "short"])
def test_a_short_secret_is_seen(value: str, examine: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DITHER_SECRET", value)
    found = examine()
    assert state(found, "secret") == "mend"
    assert "openssl rand" in found["secret"]["advice"]


def test_settings_that_are_refused_are_seen(examine: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DITHER_LOGLEVEL", "info")
    assert "did you mean DITHER_LOG_LEVEL?" in examine()["settings"]["advice"]


def test_a_port_in_use_is_seen(tmp_path: Path, examine: Examine) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        found = examine("--port", str(taken.getsockname()[1]), "--host", "127.0.0.1")
    assert state(found, "port") == "mend"
    assert state(examine("--host", "nowhere.invalid"), "port") == "mend"


class _Other(BaseHTTPRequestHandler):
    """Another program's server."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_a_server_that_is_away_or_another_programs_is_seen(examine: Examine) -> None:
    assert "cannot be reached" in examine("--url", f"http://127.0.0.1:{free_port()}")["server"]["found"]
    with listening(ThreadingHTTPServer(("127.0.0.1", 0), _Other)) as url:
        assert "not a Dither server" in examine("--url", url)["server"]["found"]
        assert "require https" in examine("--url", "http://survey.invalid")["https"]["advice"]
    assert state(examine("--url", "https://survey.invalid"), "server") == "mend"


def test_a_server_that_is_not_ready_is_seen(tmp_path: Path, examine: Examine) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    with running(f"sqlite:///{folder / 'd.sqlite'}") as server:
        assert isinstance(server, ServerProcess)
        shutil.rmtree(folder)
        found = examine("--url", server.url)
    assert state(found, "readiness") == "mend"


def test_a_ledger_that_cannot_be_written_or_that_others_read_is_seen(tmp_path: Path, examine: Examine) -> None:
    file = tmp_path / "file"
    file.write_text("")
    file.chmod(0o644)
    assert state(examine("--ledger", str(file / "ledger.sqlite")), "ledger") == "mend"
    assert "chmod 600" in examine("--ledger", str(file))["ledger"]["advice"]


def test_a_full_or_slow_disk_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_MIN_FREE_BYTES", 2**80)
    monkeypatch.setattr(machine, "_SLOW_SYNC_SECONDS", 0.0)
    assert {one.check: one.state for one in examine_disk(tmp_path)} == {"disk space": "mend", "disk latency": "mend"}
    assert list(tmp_path.iterdir()) == []


def test_an_old_python_and_old_packages_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_MIN_PYTHON", (9, 9))
    assert [one.state for one in examine_python()] == ["mend"]
    monkeypatch.setattr(machine, "version", lambda name: "0.0.1" if name == "numpy" else version(name))
    found = {one.check: one for one in examine_packages()}
    assert found["package numpy"].state == "mend"
    assert "2.0 or newer" in str(found["package numpy"].advice)


def test_extras_that_are_not_there_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(name: str) -> str:
        if name == "psycopg":
            raise PackageNotFoundError
        return version(name)

    monkeypatch.setattr(machine, "version", found)
    [extras] = [one.found for one in examine_packages() if one.check == "extras"]
    assert "postgres" not in extras
    assert "dev" not in extras.split(", "), "it has postgres in it"
    assert "server" in extras.split(", ")


@pytest.mark.parametrize(("ahead", "expected"), [(0.3, "ok"), (6, "mend"), (-90, "mend")])
def test_clocks_that_differ_are_seen(ahead: float, expected: str) -> None:
    assert examine_time(1e9 + ahead, 1e9).state == expected


@pytest.mark.parametrize("arguments", [["--url", "ftp://survey.invalid"], ["--port", "70000"], ["--nonsense"]])
def test_bad_input_is_one_sentence_with_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1


def test_people_get_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert run(["doctor", "--database", f"sqlite:///{tmp_path / 'new.sqlite'}"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("Everything is well.")
    assert run(["doctor", "--database", "mysql://x/[y]"]) == 1
    said = capsys.readouterr().out
    assert "2 things to fix." in said  # no secret is kept beside such a database, either
    assert "WHAT TO DO" in said


def test_the_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--help"]) == 0
    assert capsys.readouterr().out.count("For example:") == 2
