import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import SecretStr

from dither_server.errors import StartRefused
from dither_server.service.service import prepare
from dither_server.settings import Settings
from dither_server.tickets.secret import Keys, load_secret
from testing.servers.site import open_site


def on_sqlite(folder: Path) -> Settings:
    return Settings(database=f"sqlite:///{folder / 'test.sqlite'}")


def test_a_secret_is_made_beside_the_database_for_the_owner_alone_and_kept(tmp_path: Path) -> None:
    secret = load_secret(on_sqlite(tmp_path))
    file = tmp_path / "test.sqlite.secret"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(secret) >= 43  # 256 bits in base64
    assert load_secret(on_sqlite(tmp_path)) == secret
    assert [entry.name for entry in tmp_path.iterdir()] == [file.name]


def test_processes_that_start_together_agree_on_one_secret(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        secrets = set(pool.map(load_secret, [on_sqlite(tmp_path)] * 32))
    assert len(secrets) == 1


def test_a_given_secret_comes_first_and_needs_no_file(tmp_path: Path) -> None:
    settings = Settings(database=f"sqlite:///{tmp_path / 'test.sqlite'}", secret=SecretStr("given"))
    assert load_secret(settings) == "given"
    assert list(tmp_path.iterdir()) == []


def test_a_secret_that_others_can_read_is_refused(tmp_path: Path) -> None:
    load_secret(on_sqlite(tmp_path))
    (tmp_path / "test.sqlite.secret").chmod(0o640)
    with pytest.raises(StartRefused, match="chmod 600"):
        load_secret(on_sqlite(tmp_path))


def test_an_emptied_file_is_refused_and_not_filled_again(tmp_path: Path) -> None:
    load_secret(on_sqlite(tmp_path))
    (tmp_path / "test.sqlite.secret").write_text("")
    with pytest.raises(StartRefused, match="is empty"):
        load_secret(on_sqlite(tmp_path))


def test_a_missing_folder_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match="cannot be used"):
        load_secret(on_sqlite(tmp_path / "missing"))


def test_postgresql_needs_the_secret_to_be_set() -> None:
    with pytest.raises(StartRefused, match="DITHER_SECRET must be set"):
        load_secret(Settings(database="postgresql+psycopg://postgres@127.0.0.1/test"))


def test_each_use_has_a_key_of_its_own_and_no_key_is_shown() -> None:
    keys, others = Keys("one"), Keys("two")
    assert len({keys.receipt, *map(keys.ticket, range(100)), others.receipt, *map(others.ticket, range(100))}) == 202
    assert len(keys.ticket(1)) == len(keys.receipt) == 32
    assert repr(keys).startswith("<dither_server.tickets.secret.Keys object")


def test_a_server_with_another_secret_than_those_that_run_does_not_start(database_url: str) -> None:
    own, other = (Settings(database=database_url, secret=SecretStr(secret)) for secret in ("one", "another"))
    with open_site(database_url, secret="one"):
        prepare(own)[0].dispose()
        with pytest.raises(StartRefused, match=r"a different secret.+give both the same DITHER_SECRET"):
            prepare(other)
    prepare(other)[0].dispose()  # nobody is alive who would mind
