"""The thread that runs the particle systems of the collections whose leases this process holds.

The writer tells it which collections got answers. It lets each collection's learner catch up with the count table, and
publishes the result as one immutable object, which requests read without locks; for other processes it stores that
object in the database, and reads their publications there. It writes only under the lease.
"""

import asyncio
import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from fractions import Fraction
from functools import partial

from sqlalchemy import Engine

from dither_server.answers.writer import Writer
from dither_server.clock import Clock, milliseconds
from dither_server.collections.collection import Collection
from dither_server.collections.collections import Collections
from dither_server.collections.institutions import Institutions
from dither_server.database.engine import DATABASE_TROUBLE
from dither_server.database.notifications import Notifications
from dither_server.database.reads import Store, add_look
from dither_server.database.shared_reads import SharedReads
from dither_server.errors import CollectionDeleted, Unavailable
from dither_server.metrics import Metrics
from dither_server.owner.collection_learner import CollectionLearner
from dither_server.owner.failures import Failures
from dither_server.owner.freed_memory import give_back
from dither_server.owner.pace import Pace
from dither_server.owner.persistence import PersistedLearner
from dither_server.owner.publications import Edition, read_editions, read_publication
from dither_server.owner.published import Pools, Published, Question, settle
from dither_server.owner.snapshot_particles import SnapshotParticles
from dither_server.owner.unhurried import Unhurried
from dither_server.owner.uses import Uses
from dither_server.replicas.leases import Lease, LeaseLost, free_leases, held
from dither_server.tickets.packing import NO_GROUP

__all__ = ["Learners"]

_LONGEST_REST = 2.0
_FIRST_STATE_TIMEOUT = 10.0
"""Seconds for which a request waits for a collection's first state."""

_log = logging.getLogger(__name__)


class Learners:
    """Runs the learners. `published` and `draw` are for the event loop, everything else for any thread."""

    def __init__(
        self,
        engine: Engine,
        collections: Collections,
        store: Store,
        institutions: Institutions,
        writer: Writer,
        clock: Clock,
        metrics: Metrics,
        notifications: Notifications,
    ) -> None:
        self._engine = engine
        self._collections = collections
        self._store = store
        self._institutions = institutions
        self._writer = writer
        self._clock = clock
        self._metrics = metrics
        self._notifications = notifications
        self._pace = Pace()
        self._published: dict[int, Published] = {}
        self._editions: dict[int, Edition] = {}
        """The editions of other processes that are in `_published`."""
        self._known: dict[int, int] = {}
        """The number of answers and institutions that each learner takes into account."""
        self._random = random.Random()
        self.snapshots = SnapshotParticles(store)
        self._unhurried = Unhurried(writer, clock, notifications)
        self._wake = threading.Condition()
        self._leases: dict[int, Lease] = {}
        self._surplus: frozenset[int] = frozenset()
        self._alone = True
        self._due: dict[int, None] = {}
        self._waiting: dict[int, list[Future[Published]]] = {}
        self._reads = SharedReads(self._read_published)
        self._stopping = False
        self._learners: dict[int, PersistedLearner] = {}
        self._uses = Uses(collections.known)
        self._failures = Failures()
        self._thread = threading.Thread(target=self._run, name="dither-learners", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Learns what is left, stores snapshots, gives up the leases, and ends the thread."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()
        self._unhurried.close()

    @property
    def alive(self) -> bool:
        """Whether answers are being learnt."""
        return self._thread.is_alive() and not self._stopping

    def stored(self, added: Mapping[int, int]) -> None:
        """Records how many answers are committed, by collection number."""
        self._pace.note(added)
        self.notify(added)
        self._tell(added)

    def prepare(self, number: int) -> None:
        """Makes the first questions of a new collection that this process holds, which others would wait for longer."""
        if not self._alone:
            self._first_state(number)

    def notify(self, collections: Iterable[int]) -> None:
        """Tells the thread that these collections have new, committed counts."""
        with self._wake:
            self._due.update((number, None) for number in collections if number in self._leases)
            self._wake.notify()

    def _tell(self, collections: Iterable[int]) -> None:
        """Tells other processes about those of these collections that they learn, and where they are behind."""
        if any(number not in self._leases and self._pace.must_tell(number) for number in collections):
            self._notifications.send()

    def hold(self, leases: Mapping[int, Lease], surplus: Iterable[int], alone: bool) -> None:
        """Sets the leases that this process holds, those to give up, and whether it is the only process."""
        with self._wake:
            # What was published without a lease may be older than what is learnt, even by this process.
            new = {number for number, lease in leases.items() if self._leases.get(number) != lease}
            self._leases = dict(leases)
            self._surplus = frozenset(surplus)
            self._alone = alone
            due = new & self._published.keys() | leases.keys() & self._waiting.keys()
            self._due.update(dict.fromkeys(due))
            self._wake.notify()
        names: dict[int, str] = {}
        for number in leases:
            with suppress(CollectionDeleted):
                names[number] = self._collections.numbered(number).id
        self._metrics.holds(names)

    def look_around(self, count: bool) -> None:
        """Reads what other processes have published and, with `count`, which collections got answers through them."""
        self._forget_removed()
        owned = list(self._leases)
        noted = {number: self._pace.noted(number) for number in owned}
        totals = self._totals(owned if count else [])
        editions = read_editions(self._engine)
        for number in {*self._published, *self._waiting} - self._leases.keys() & editions.keys():
            if self._editions.get(number) != editions[number]:
                self._read_published(number)
            elif self._pace.behind(number):
                noted_before = self._pace.noted(number)
                self._pace.found(number, self._totals([number])[number], noted_before)
        if count:
            nothing = Edition(0, 0, -1)
            known = {number: self._known.get(number, editions.get(number, nothing).answers) for number in owned}
            unlearnt = [number for number in owned if totals[number] != known[number]]
            for number in unlearnt:
                self._pace.found(number, totals[number], noted[number])
            self.notify(unlearnt)

    def has(self, number: int) -> bool:
        """Whether anything is published of the collection with this number."""
        return number in self._published

    def behind(self, number: int) -> bool:
        """Whether stored answers would change the collection's questions much."""
        return self._pace.behind(number)

    def _forget_removed(self) -> None:
        """Drops what was published of collections of which nothing else is left."""
        for number in [number for number in list(self._published) if not self._collections.known(number)]:
            self._published.pop(number, None)
            self._editions.pop(number, None)
        self._uses.forget_removed()

    async def published(self, collection: Collection) -> Published:
        """The newest state of the collection's learner, which is created if necessary. Raises `Unavailable`."""
        number = collection.number
        self._uses.note(number)
        published = self._published.get(number)
        if published is None and number not in self._leases:
            published = await self._reads.of(number)
        if published is not None:
            return published
        try:
            return await asyncio.wait_for(asyncio.wrap_future(self._first_state(number)), _FIRST_STATE_TIMEOUT)
        except TimeoutError:
            raise Unavailable("The collection's estimator is not ready yet: try again later.") from None

    def _first_state(self, number: int) -> Future[Published]:
        """What will be published first of the collection, which is urgent."""
        future: Future[Published] = Future()
        with self._wake:
            self._waiting.setdefault(number, []).append(future)
            if number in self._leases:
                self._due[number] = None
            self._wake.notify()
        return future

    async def questions(self, collection: Collection) -> Published:
        """The state to draw questions from; waits for a moment if better questions are about to come."""
        await self._pace.keep(collection.number)
        return await self.published(collection)

    def draw(self, published: Published, epsilon: Fraction, group: int = NO_GROUP) -> Question:
        """A uniform draw from the group's pool at `epsilon`, or with probability `check_share` a check question."""
        if published.check_pools and self._random.random() < published.check_share:
            return self._drawn(published.check_pools, epsilon)
        return self._drawn(published.group_pools.get(group, published.pools), epsilon).asked_of(group)

    def _drawn(self, pools: Pools, epsilon: Fraction) -> Question:
        # Most collections have a single ε, and to find the pool of a fraction takes longer than to draw from it.
        questions = pools[epsilon] if len(pools) > 1 else next(iter(pools.values()))
        return questions[int(self._random.random() * len(questions))]

    def _totals(self, collections: Sequence[int]) -> Counter[int]:
        """The number of stored answers and of institutions, by collection."""
        if not collections:
            return Counter()
        shared = [number for number in collections if self._collections.may_have_shares(number)]
        return Counter(self._store.totals(collections)) + Counter(self._institutions.totals(shared))

    def _read_published(self, number: int) -> Published | None:
        """Reads another process's publication of a collection."""
        found = read_publication(self._engine, number)
        if found is None:
            return None
        with self._wake:
            read = number not in self._leases  # or else what is here is newer
            if read:
                self._editions[number], self._published[number] = found
                self._pace.published(number, found[1], found[0].answers)
            waiting = self._waiting.pop(number, [])
        if read:
            noted = self._pace.noted(number)
            self._pace.found(number, self._totals([number])[number], noted)
        self._tell([number])  # of answers that came while the owner learnt
        settle(waiting, found[1])
        return found[1]

    def _run(self) -> None:
        while True:
            with self._wake:
                until_store = self._unhurried.until_due(self._learners.values(), self._alone)
                self._wake.wait_for(lambda: self._due or self._surplus or self._stopping, until_store)
                due, self._due = self._due, {}
                surplus, self._surplus = self._surplus, frozenset()
                leases, stopping = self._leases, self._stopping
            for number in [each for each, known in self._learners.items() if leases.get(each) != known.lease]:
                self._drop(number)
            # Whoever gets a collection is to find something published, so that nobody waits for a first question.
            due |= dict.fromkeys(surplus - self._learners.keys() - self._uses.stored())
            rest = sum(self._attend(leases[number]) for number in due if number in leases)
            leaving = frozenset(leases) if stopping else surplus & leases.keys()
            for number, error in self._unhurried.store(self._learners, leaving, self._alone).items():
                self._begin_anew(number, error)
                rest = _LONGEST_REST
            self._give_up(leaving)
            if stopping:
                return
            self._let_go(leases)
            with self._wake:
                self._wake.wait_for(self._urgent, min(rest, _LONGEST_REST))

    def _urgent(self) -> bool:
        """Whether something must not wait until the owner has rested."""
        return bool(self._due.keys() & self._waiting) or self._stopping or any(map(self._pace.behind, self._due))

    def _attend(self, lease: Lease) -> float:
        """Lets one collection's learner catch up, and publishes. Returns the seconds to rest afterwards."""
        number = lease.collection
        self._uses.note(number)
        outcome: Published | Unavailable
        began, noted, urgent = time.perf_counter(), self._pace.noted(number), self._pace.behind(number)
        try:
            outcome = self._caught_up(lease)
        except (LeaseLost, CollectionDeleted):  # whoever has it now publishes, and those who wait get that
            self._drop(number)
            return 0.0
        except Exception as error:
            self._begin_anew(number, error)
            outcome = Unavailable("The collection's estimator is not available at present: try again later.")
        else:
            self._failures.over()
        with self._wake:
            if self._leases.get(number) != lease:
                # It may come back with the same term: what was not published then is not known either.
                self._drop(number)
            elif isinstance(outcome, Published):
                self._published[number] = outcome
                self._pace.published(number, outcome, self._known[number], noted)
            waiting = self._waiting.pop(number, [])
        settle(waiting, outcome)
        if urgent:
            self._unhurried.note_urgent(time.monotonic())
        if not isinstance(outcome, Published):
            return _LONGEST_REST
        if (persisted := self._learners.get(number)) is not None and persisted.learner.owes_questions:
            self.notify([number])
        # Answering respondents comes first; but while answers are few, each changes what to ask next. The time that has
        # passed, not that which was worked: where much else runs, it is longer, and so is the rest.
        effort = min(max(outcome.answers / 100, 1), 100)
        return effort * (time.perf_counter() - began)

    def _caught_up(self, lease: Lease) -> Published:
        number = lease.collection
        persisted = self._learners.get(number)
        if persisted is None:
            collection = self._collections.numbered(number)
            learner = CollectionLearner(collection, self._store, self._institutions, self._clock)
            persisted = self._learners[number] = PersistedLearner(lease, learner)
        learner = persisted.learner
        began = self._metrics.learning(number)
        update = learner.catch_up()
        if update is None and persisted.published is not None and not learner.owes_questions:
            self._note(learner, began, persisted.published)
            return persisted.published
        if update is not None:
            self._metrics.updated(update.moves, update.seconds)
        look = learner.look()
        if look is not None:
            # Nobody hears of a look before it is stored for good.
            job = partial(add_look, collection=number, look=look, at=milliseconds(self._clock()))
            learner.keep_looks(self._writer.submit(held(lease, job)).result())
        first, persisted.published = persisted.published is None, learner.publish()
        published = persisted.published
        self._known[number] = learner.known
        if first and (stored := self._uses.taken_up(number)) is not None:
            persisted.resume(stored)
        self._note(learner, began, published)
        self._unhurried.add_row(persisted)
        return published

    def _note(self, learner: CollectionLearner, began: tuple[int, float], published: Published) -> None:
        collection, ess = learner.collection, published.posterior.ess
        self._metrics.learnt(collection.id, collection.number, began, published.answers, ess, published.width)

    def _begin_anew(self, number: int, error: Exception) -> None:
        """After a failure: what was published stays; the learner is made anew from what is stored, in a while."""
        self._failures.note(number, error)
        self._drop(number)
        self.notify([number])

    def _drop(self, number: int) -> None:
        self._learners.pop(number, None)
        self._known.pop(number, None)

    def _let_go(self, leases: Mapping[int, Lease]) -> None:
        """Drops what has not been used for long, unless the database lacks any of it: whoever asks gets it again."""
        unused = self._uses.unused(list(self._published))
        try:
            if unused:
                self._store.ping()  # while it does not answer, everything is served from memory
        except (*DATABASE_TROUBLE, Unavailable):
            return
        gone = 0
        for number in unused:
            persisted = self._learners.get(number)
            stored = None if persisted is None else persisted.settled
            with self._wake:
                due = number in self._due or number in self._waiting or self._leases.get(number) != leases.get(number)
                if due or (number in leases and stored is None):
                    continue
                self._published.pop(number, None)
                self._editions.pop(number, None)
            self._drop(number)
            self._uses.let_go(number, stored)
            gone += 1
        if gone:
            give_back()

    def _give_up(self, leaving: frozenset[int]) -> None:
        """Frees leases after everything under them is stored."""
        if not leaving:
            return
        with self._wake:
            freed = [self._leases[number] for number in leaving & self._leases.keys()]
            self._leases = {number: lease for number, lease in self._leases.items() if number not in leaving}
        for number in leaving:
            self._drop(number)
            self._uses.taken_up(number)
        error = self._writer.submit(lambda connection: free_leases(connection, freed)).exception()
        if error is not None:
            _log.warning("leases are left to expire", extra={"error": type(error).__name__})
        self._notifications.send()
