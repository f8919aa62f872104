"""An SQLite file with damage in it: 503, and the log says what to do."""

import os
from pathlib import Path

import pytest

from testing.servers.defaults import ADMIN
from testing.servers.site import open_site, problem

PAGE = 4_096


def test_a_damaged_file_is_trouble_and_said_to_be(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "test.sqlite"
    with open_site(f"sqlite:///{file}") as site:
        collection = site.create()
        site.ticket(collection)
    whole = file.read_bytes()
    with open_site(f"sqlite:///{file}") as site:
        ticket = site.ticket(collection)
        site.close_connections()
        with file.open("r+b") as pages:
            pages.seek(PAGE)
            pages.write(os.urandom(len(whole) - PAGE))
        path = f"/v1/collections/{collection}"
        for _ in range(2):
            assert problem(site.client.get(f"{path}/queries", headers=ADMIN)) == (503, "unavailable")
            assert problem(site.respond(collection, ticket)) == (503, "unavailable")
        assert "the SQLite file is damaged" in caplog.text
        site.close_connections()
        file.write_bytes(whole)
