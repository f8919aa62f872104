"""Markdown tables."""

from collections.abc import Iterable, Sequence

__all__ = ["print_table"]


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Prints a table, row by row as they come."""
    print(f"\n## {title}\n")
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns), flush=True)
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
