"""`make reference`: writes docs/reference, the pages that the program describes itself in."""

from pathlib import Path

from docs_build.reference_commands import commands_page, settings_page
from docs_build.reference_http import http_page
from docs_build.reference_python import python_page

__all__ = ["FOLDER", "pages"]

FOLDER = Path(__file__).parent.parent / "docs" / "reference"


def pages() -> dict[str, str]:
    """Each file's name and content."""
    return {
        "commands.md": commands_page(),
        "http.md": http_page(),
        "python.md": python_page(),
        "settings.md": settings_page(),
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
