"""Keeps learning in pace with asking: tickets wait for better questions while stored answers would change them much.

A burst of respondents outruns the learner: thousands could be asked the first questions, and the busier a server is
with asking, the longer learning takes. So `Pace` counts, for each collection, the stored answers that the published
questions do not take into account. Once there are as many as a pool of questions is meant for (`Published.renew_at`),
tickets wait for the next publication, and the owner does not rest. A pool is meant for a share of the answers before
it, so this happens while a population is being located, and hardly ever afterwards.

Each ticket waits for what was stored when it was asked for: a publication that rests on the first few answers of a
burst is not good enough for those who come later. Nobody waits longer than `LONGEST_WAIT`. So where learning stalls,
people are asked what is stale, but only as many as come at one time in each of these waits. If there is no publication
for `LONGEST_STALL`, nobody waits until there is one.
"""

import asyncio
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from dither_server.owner.published import Published

__all__ = ["LONGEST_STALL", "LONGEST_WAIT", "Pace"]

LONGEST_WAIT = 0.25
"""The longest time in seconds that a ticket waits for better questions."""
LONGEST_STALL = 2.0
"""Learning that takes longer than so many seconds is not waited for."""


@dataclass(slots=True)
class _Course:
    """The counts of one collection. They include answers to check questions."""

    noted: int = 0
    """Answers that this process has stored since it started."""
    counted: int = 0
    """Answers in the database when they were last counted."""
    stored: int = 0
    """Answers that are stored, as far as this process knows."""
    learnt: int = 0
    """Answers that the published questions take into account."""
    left: float = 0.0
    """The number of further answers at which tickets begin to wait."""
    waited_since: float | None = None
    """When a ticket first waited for the next publication, on the clock `time.monotonic`."""
    told: bool = False
    """Whether the process that learns has been told that the present publication is behind."""
    loop: asyncio.AbstractEventLoop | None = None
    """The event loop of waiting tickets; None if none waits."""
    better: asyncio.Event = field(default_factory=asyncio.Event)
    """The event that they wait for."""

    def behind(self, stored: int) -> bool:
        return stored - self.learnt >= self.left > 0

    def tell(self) -> None:
        """Lets waiting tickets look again."""
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self.better.set)
            self.loop = None


class Pace:
    """The pace of all collections. Thread-safe, except `keep`, which is for one event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._courses: dict[int, _Course] = {}

    def note(self, added: Mapping[int, int]) -> None:
        """Records how many answers this process has committed, by collection number."""
        with self._lock:
            for number, more in added.items():
                course = self._course(number)
                course.noted += more
                course.stored += more

    def noted(self, number: int) -> int:
        """How many answers this process has stored since it started. Call this before they are learnt or counted."""
        with self._lock:
            return self._course(number).noted

    def found(self, number: int, stored: int, noted: int) -> None:
        """Records how many answers the database has, whichever process stored them.

        `noted` is what the method of this name returned before they were counted. Answers noted since then may be
        in the count already; counting some twice for a moment is better than forgetting them.
        """
        with self._lock:
            course = self._course(number)
            course.counted, course.stored = stored, stored + course.noted - noted
            course.tell()

    def published(self, number: int, published: Published, learnt: int, noted: int | None = None) -> None:
        """Records a publication that rests on `learnt` answers; of this process's own, on the first `noted`."""
        with self._lock:
            course = self._course(number)
            if noted is not None:
                course.stored = max(learnt + course.noted - noted, course.counted)
            course.learnt, course.left = learnt, published.renew_at - published.answers
            course.waited_since, course.told = None, False
            course.tell()

    def behind(self, number: int) -> bool:
        """Whether stored answers would change the questions much."""
        course = self._courses.get(number)
        return course is not None and course.behind(course.stored)

    def must_tell(self, number: int) -> bool:
        """Whether the process that learns is to be told that it is behind: once for each publication."""
        with self._lock:
            course = self._courses.get(number)
            if course is None or course.told or not course.behind(course.stored):
                return False
            course.told = True
            return True

    async def keep(self, number: int) -> None:
        """Waits until the questions take nearly all of the answers stored now into account, at most `LONGEST_WAIT`."""
        course = self._courses.get(number)
        if course is None or not course.behind(course.stored):
            return
        wanted = course.stored
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_WAIT):
                while (better := self._better(course, wanted)) is not None:
                    await better.wait()

    def _better(self, course: _Course, wanted: int) -> asyncio.Event | None:
        """The event that tells of new questions; None if the present ones nearly take `wanted` answers into account."""
        with self._lock:
            if not course.behind(min(wanted, course.stored)):
                return None
            now = time.monotonic()
            if course.waited_since is None:
                course.waited_since = now
            if now - course.waited_since >= LONGEST_STALL:
                return None
            if course.loop is None:
                course.loop, course.better = asyncio.get_running_loop(), asyncio.Event()
            return course.better

    def _course(self, number: int) -> _Course:
        return self._courses.setdefault(number, _Course())
