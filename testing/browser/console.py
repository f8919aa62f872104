"""What goes wrong in pages without a test looking for it: console errors, and exceptions that nothing catches."""

import re
from collections.abc import Iterable

from playwright.sync_api import BrowserContext, ConsoleMessage

__all__ = ["ConsoleErrors"]


class ConsoleErrors:
    """Collects the errors of the contexts that it follows."""

    def __init__(self) -> None:
        self._said: list[str] = []

    def follow(self, context: BrowserContext) -> None:
        """Collects from now on what goes wrong in the context's pages."""
        context.on("console", self._hear)
        context.on("weberror", lambda error: self._said.append(str(error.error)))

    def check(self, expected: Iterable[str] = ()) -> None:
        """Raises `AssertionError` unless one of the patterns `expected` is found in each error."""
        patterns = list(expected)
        others = [said for said in self._said if not any(re.search(pattern, said) for pattern in patterns)]
        assert not others, f"errors in the console of a page: {others}"

    def _hear(self, message: ConsoleMessage) -> None:
        """Keeps an error with where it comes from: of a request that failed, only that says which."""
        if message.type == "error":
            self._said.append(f"{message.text} ({message.location.get('url', '')})")
