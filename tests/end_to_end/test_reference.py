"""docs/reference says what the program says of itself now."""

import pytest

import dither_client
from dither_client.commands import run
from docs_build.reference import FOLDER, pages
from docs_build.tables import table


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    return pages()


def test_the_reference_is_not_stale(written: dict[str, str]) -> None:
    assert {file.name for file in FOLDER.iterdir()} == set(written)
    for name, text in written.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, f"{name} is stale: run make reference"


def test_every_exported_name_has_its_heading(written: dict[str, str]) -> None:
    headings = [line[3:] for line in written["python.md"].splitlines() if line.startswith("## ")]
    assert headings == sorted(dither_client.__all__)


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
