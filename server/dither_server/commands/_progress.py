"""A progress bar of the commands that simulate."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from dither_client.commands._shared import console

__all__ = ["progress_of"]


@contextmanager
def progress_of(total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error, if that is a terminal; it is told how many are done."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, completed=done)
