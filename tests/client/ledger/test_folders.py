"""The user's data folder on each platform."""

from pathlib import Path

import pytest

from dither_client.ledger.data_folder import user_data_folder

HOME = Path("/home/ana")


@pytest.mark.parametrize(
    ("platform", "environ", "folder"),
    [
        ("linux", {}, "/home/ana/.local/share/dither"),
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/dither"),
        ("linux", {"XDG_DATA_HOME": ""}, "/home/ana/.local/share/dither"),
        ("linux", {"XDG_DATA_HOME": "relative"}, "/home/ana/.local/share/dither"),
        ("freebsd14", {}, "/home/ana/.local/share/dither"),
        ("darwin", {"XDG_DATA_HOME": "/data"}, "/home/ana/Library/Application Support/dither"),
        ("win32", {"LOCALAPPDATA": "/Local"}, "/Local/dither"),
        ("win32", {}, "/home/ana/AppData/Local/dither"),
    ],
)
def test_folders(platform: str, environ: dict[str, str], folder: str) -> None:
    assert user_data_folder(platform, environ, HOME) == Path(folder)


def test_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ana")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert user_data_folder("linux") == Path("/home/ana/.local/share/dither")
