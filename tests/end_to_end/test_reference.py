"""The reference that is built with the site says what the program says of itself."""

import pytest

import dither_client
from dither_client.commands import run
from dither_server.app import create_app
from dither_server.settings import Settings
from docs_build.reference import REFERENCE
from docs_build.tables import table
from testing.repository import DOCS


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    return {name.removeprefix("reference/"): page() for name, page in REFERENCE.items()}


def test_nothing_that_is_built_is_kept() -> None:
    assert not (DOCS / "reference").exists()


def test_every_exported_name_has_its_heading(written: dict[str, str]) -> None:
    headings = [line[3:] for line in written["python.md"].splitlines() if line.startswith("## ")]
    assert headings == sorted(dither_client.__all__)


def test_every_call_has_its_heading(written: dict[str, str]) -> None:
    paths = create_app(Settings(database="sqlite://")).openapi()["paths"]
    calls = {f"### `{method.upper()} {path}`" for path, methods in paths.items() for method in methods}
    assert calls <= set(written["http.md"].splitlines())


def test_every_setting_has_its_row(written: dict[str, str]) -> None:
    rows = [line.split("`")[1] for line in written["settings.md"].splitlines() if line.startswith("| `")]
    assert rows == [f"DITHER_{name.upper()}" for name in Settings.model_fields]


def test_every_option_of_a_command_is_there(
    written: dict[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run(["answer", "--help"]) == 0
    printed = {word for word in capsys.readouterr().out.split() if word.startswith("--")} - {"--help"}
    section = written["commands.md"].partition("## dither answer\n")[2].partition("\n## ")[0]
    assert len(printed) > 5
    assert all(f"`{option}`" in section for option in printed)


def test_a_cell_stays_in_its_column() -> None:
    assert table(["a", "b"], [["FILE|-", "two\nlines"]]).splitlines()[2] == "| FILE\\|- | two lines |"
