"""Tables in Markdown."""

from collections.abc import Sequence

__all__ = ["code", "table"]


def code(text: object) -> str:
    return f"`{text}`"


def table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, or nothing if it has no rows."""
    if not rows:
        return ""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
