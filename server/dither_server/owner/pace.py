"""Keeps learning in pace with asking: tickets wait for better questions while stored answers would change them much.

A burst of respondents outruns the learner: thousands could be asked the first questions, and the busier a server is
with asking, the longer learning takes. So `Pace` counts, for each collection, the stored answers that the published
questions do not take into account. Once there are as many as a pool of questions is meant for (`Published.renew_at`),
tickets wait for the next publication, and the owner does not rest. A pool is meant for a share of the answers before
it, so this happens while a population is being located, and hardly ever afterwards.

Nobody waits longer than `LONGEST_WAIT`. So where learning stalls, people are asked what is stale, but only as many as
come at one time in each of these waits. If there is no publication after `_ROUNDS` of them, nobody waits until there is
one.
"""

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from dither_server.owner.collection_learner import Published

__all__ = ["LONGEST_WAIT", "Pace"]

LONGEST_WAIT = 0.25
"""The longest time in seconds that a ticket waits for better questions."""
_ROUNDS = 8
"""Learning that takes longer than so many of these waits is not waited for."""


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
    rounds: int = 0
    """How often tickets have waited their full time for the next publication."""
    told: bool = False
    """Whether the process that learns has been told that the present publication is behind."""
    loop: asyncio.AbstractEventLoop | None = None
    """The event loop of waiting tickets; None if none waits."""
    better: asyncio.Event = field(default_factory=asyncio.Event)
    """The event that they wait for."""
    wanted: int = 0
    """The number of answers stored when they began to wait."""

    def behind(self, stored: int) -> bool:
        return stored - self.learnt >= self.left > 0

    def release(self) -> None:
        """Releases waiting tickets once the questions take into account what was stored before they waited."""
        if self.loop is not None and not self.behind(min(self.wanted, self.stored)):
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
            course.release()

    def published(self, number: int, published: Published, learnt: int, noted: int | None = None) -> None:
        """Records a publication that rests on `learnt` answers; of this process's own, on the first `noted`."""
        with self._lock:
            course = self._course(number)
            if noted is not None:
                course.stored = max(learnt + course.noted - noted, course.counted)
            course.learnt, course.left = learnt, published.renew_at - published.answers
            course.rounds, course.told = 0, False
            course.release()

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
        with self._lock:
            course = self._courses.get(number)
            if course is None or course.rounds >= _ROUNDS or not course.behind(course.stored):
                return
            if course.loop is None:
                course.loop, course.better = asyncio.get_running_loop(), asyncio.Event()
                course.wanted = course.stored
                course.loop.call_later(LONGEST_WAIT, self._give_up, course, course.better)
            better = course.better
        await better.wait()

    def _give_up(self, course: _Course, better: asyncio.Event) -> None:
        with self._lock:
            if course.better is better and course.loop is not None:
                course.rounds, course.loop = course.rounds + 1, None
        better.set()

    def _course(self, number: int) -> _Course:
        return self._courses.setdefault(number, _Course())
