"""Learning keeps pace with asking: tickets wait for better questions while stored answers would change them much.

A burst of respondents outruns the learner: thousands could be asked the first questions, and the busier a server is
with asking, the longer learning takes. So it counts, for each collection, the answers that are stored and that the
published questions do not follow from. Once they are as many as a pool of questions is made for (`Published.renew_at`),
tickets wait for the next publication, and the owner does not rest. A pool is made for a share of the answers before it,
so all of this happens while a population is searched for, and hardly ever afterwards.

Nobody waits longer than `LONGEST_WAIT`, and where there is nothing new by then, nobody waits until there is.
"""

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from dither_server.owner.collection_learner import Published

__all__ = ["LONGEST_WAIT", "Pace"]

LONGEST_WAIT = 0.25
"""Seconds that a ticket waits for better questions, at most."""


@dataclass(slots=True)
class _Course:
    """One collection's. Answers are counted from its first, those of check questions too."""

    noted: int = 0
    """Those that this process has stored since it began."""
    counted: int = 0
    """Those that the database had when it was asked last."""
    stored: int = 0
    """Those that are stored, as far as is known here."""
    learnt: int = 0
    """Those that the published questions follow from."""
    left: float = 0.0
    """How many more there may be before tickets wait."""
    given_up: bool = False
    """Whether tickets have waited for the next publication for as long as they do."""
    loop: asyncio.AbstractEventLoop | None = None
    """That of those who wait; None if nobody does."""
    better: asyncio.Event = field(default_factory=asyncio.Event)
    """What they wait for."""
    wanted: int = 0
    """How many answers were stored when they began to wait."""

    def behind(self, stored: int) -> bool:
        return stored - self.learnt >= self.left > 0

    def release(self) -> None:
        """Lets go of those who wait, once the questions follow from what was stored before."""
        if self.loop is not None and not self.behind(min(self.wanted, self.stored)):
            self.loop.call_soon_threadsafe(self.better.set)
            self.loop = None


class Pace:
    """For any thread, but for `keep`, which is for one event loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._courses: dict[int, _Course] = {}

    def note(self, added: Mapping[int, int]) -> None:
        """This process has committed so many answers of the collections with these numbers."""
        with self._lock:
            for number, more in added.items():
                course = self._course(number)
                course.noted += more
                course.stored += more

    def noted(self, number: int) -> int:
        """How many answers this process has stored since it began: to be called before they are learnt."""
        with self._lock:
            return self._course(number).noted

    def found(self, number: int, stored: int) -> None:
        """The database has so many answers, whoever stored them."""
        with self._lock:
            course = self._course(number)
            course.stored = course.counted = stored
            course.release()

    def published(self, number: int, published: Published, learnt: int, noted: int | None = None) -> None:
        """Questions are published that follow from so many answers, of this process's own from those `noted` before."""
        with self._lock:
            course = self._course(number)
            if noted is not None:
                course.stored = max(learnt + course.noted - noted, course.counted)
            course.learnt, course.left, course.given_up = learnt, published.renew_at - published.answers, False
            course.release()

    def behind(self, number: int) -> bool:
        """Whether answers are stored that would change the questions much."""
        course = self._courses.get(number)
        return course is not None and course.behind(course.stored)

    async def keep(self, number: int) -> None:
        """Returns once the questions follow from the answers that are stored now, nearly; or after `LONGEST_WAIT`."""
        with self._lock:
            course = self._courses.get(number)
            if course is None or course.given_up or not course.behind(course.stored):
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
                course.given_up, course.loop = True, None
        better.set()

    def _course(self, number: int) -> _Course:
        return self._courses.setdefault(number, _Course())
