"""Which collections have not been used for long: what is in memory of them is let go, and made again when it is used.

A collection that was looked at once would otherwise be kept for as long as the process runs. Its counts, its snapshot
and its publication are in the database, so all that is lost is the hundredth of a second that it takes to read them.
"""

import time
from collections.abc import Callable, Collection

from dither_server.owner.publications import Edition

__all__ = ["MOST", "Uses"]

MOST = 256
"""How many collections are kept however long nobody has used them: a megabyte or two each, more with groups."""
_SECONDS = 30.0
"""For how long more than those are kept after they were used; for less, in proportion, where there are many more.

An open event stream uses its collection several times a second.
"""
_LOOK_SECONDS = 1.0
"""The least time in seconds between two looks for collections that are not used."""


class Uses:
    """When each collection was used last, and what is stored of those that were let go. Thread-safe, but for `unused`.

    Both are a few numbers for a collection. `known` tells whether there is still a collection with a number.
    """

    def __init__(self, known: Callable[[int], bool]) -> None:
        self._known = known
        self._last: dict[int, float] = {}
        """By the collection's number, on the clock `time.monotonic`."""
        self._stored: dict[int, Edition] = {}
        self._next_look = 0.0

    def note(self, number: int) -> None:
        """Records that the collection with this number is being used."""
        self._last[number] = time.monotonic()

    def unused(self, kept: Collection[int]) -> list[int]:
        """Those of the collections that need not be kept, the one used longest ago first; none if asked too often."""
        now, surplus = time.monotonic(), len(kept) - MOST
        if surplus <= 0 or now < self._next_look:
            return []
        self._next_look = now + _LOOK_SECONDS
        before = now - _SECONDS * MOST / len(kept)
        by_use = sorted((self._last.get(number, 0.0), number) for number in kept)
        return [number for last, number in by_use[:surplus] if last <= before]

    def let_go(self, number: int, stored: Edition | None) -> None:
        """Records that the collection is not kept; `stored` is the edition of a learner of this process."""
        self._last.pop(number, None)
        if stored is not None:
            self._stored[number] = stored

    def stored(self) -> set[int]:
        """The collections of this process that were let go and are stored as they were published."""
        return set(self._stored)

    def taken_up(self, number: int) -> Edition | None:
        """What is stored of a collection that is used again; None if it was not let go."""
        return self._stored.pop(number, None)

    def forget_removed(self) -> None:
        """Forgets collections of which nothing is left."""
        for kept in (self._last, self._stored):
            for number in [number for number in list(kept) if not self._known(number)]:
                kept.pop(number, None)
