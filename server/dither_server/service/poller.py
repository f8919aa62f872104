"""The thread that follows the changes that other processes make to the database.

At each poll it

- takes the leases of collections that this process should own and no living process holds;
- finds the leases that it holds and other processes should, and which can be given up without anybody's waiting;
- reads keys, collections and tokens;
- reads what other processes have published.

The order in which transactions commit does not matter: each poll compares everything with the database.
"""

import logging
import threading
import time
from itertools import count

from sqlalchemy import Engine

from dither_server.access.ticket_keys import TicketKeys
from dither_server.access.tokens import Access
from dither_server.collections.collections import Collections
from dither_server.database.notifications import Notifications
from dither_server.database.reads import Store
from dither_server.database.refreshed import Refreshed
from dither_server.owner.thread import Learners
from dither_server.replicas.leases import preferred, read_leases, take_leases
from dither_server.replicas.membership import Membership, Transact

__all__ = ["POLL_SECONDS", "Poller"]

POLL_SECONDS = 0.5
_STOP_CHECK_SECONDS = 0.1
"""The longest wait for a notification before checking whether to stop."""
_LEASES_SECONDS = 0.1
"""Leases are read no more often: in a burst each publication is a notification, and none is about leases."""
_STAY_SECONDS = 2.0
"""A lease is not given up so soon after it was taken: a burst often follows at once when a collection is created."""
_POLLS_PER_COUNT_ALONE = 20
"""A process without others knows of every answer; it still reads the counts once in this many polls."""

_log = logging.getLogger(__name__)


class Poller:
    """Polls the database in a thread, from `start` until `stop`."""

    def __init__(
        self,
        engine: Engine,
        transact: Transact,
        membership: Membership,
        store: Store,
        collections: Collections,
        access: Access,
        keys: TicketKeys,
        learners: Learners,
        notifications: Notifications,
    ) -> None:
        self._engine = engine
        self._transact = transact
        self._membership = membership
        self._store = store
        self._collections = collections
        self._access = access
        self._keys = keys
        self._learners = learners
        self._notifications = notifications
        self._alone = True
        self._leases_due = 0.0
        """When notifications may next be about leases, on the clock `time.monotonic`."""
        self._held_since: dict[int, float] = {}
        """When the lease of each collection was first seen to be this process's, on the same clock."""
        self._leases = Refreshed(self._share_leases)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dither-poller", daemon=True)

    def start(self) -> None:
        """Polls once, and then starts the thread. Raises what the database raises."""
        self._poll(counts=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread and closes the notifications."""
        self._stopped.set()
        self._thread.join()
        self._notifications.close()

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive() and not self._stopped.is_set()

    def share_leases(self) -> None:
        """Reads which leases this process holds, and takes the free ones that it should own."""
        self._leases.refresh()

    def _run(self) -> None:
        failing = False
        for turn in count():
            try:
                if self._waited():
                    return
                self._poll(counts=not self._alone or turn % _POLLS_PER_COUNT_ALONE == 0)
            except Exception as error:  # the next poll may succeed
                if not failing:
                    _log.warning("polling failed", extra={"error": type(error).__name__})
                failing = True
                self._stopped.wait(POLL_SECONDS)
            else:
                failing = False

    def _waited(self) -> bool:
        """Waits until the next poll is due, and handles notifications meanwhile. Returns whether to stop."""
        until, unread = time.monotonic() + POLL_SECONDS, False
        while not self._alone and (left := until - time.monotonic()) > 0 and not self._stopped.is_set():
            heard = self._notifications.wait(min(left, _STOP_CHECK_SECONDS))
            unread = unread or heard
            if unread and time.monotonic() >= self._leases_due:
                self.share_leases()
                self._leases_due, unread = time.monotonic() + _LEASES_SECONDS, False
            if heard:
                self._learners.look_around(True)
        return self._stopped.wait(max(0.0, until - time.monotonic()))

    def _poll(self, counts: bool) -> None:
        self.share_leases()
        self._keys.refresh()
        self._keys.make_next()
        self._access.refresh()  # revoked tokens are refused even where a newer process's collection cannot be read
        self._collections.refresh()
        limited = self._collections.limited()
        if limited:
            self._collections.note_totals(self._store.totals(limited))
        self._learners.look_around(counts)

    def _share_leases(self) -> None:
        with self._engine.connect() as connection:
            leases = read_leases(connection)
        me = self._membership.holder
        held = {number: lease for number, lease in leases.held.items() if lease.holder == me}
        surplus: list[int] = []
        if me in leases.alive:
            surplus = [number for number in held if preferred(number, leases.alive) != me and self._may_leave(number)]
            wanted = [number for number in leases.free if preferred(number, leases.alive) == me]
            if wanted:
                taken = self._transact(lambda connection: take_leases(connection, wanted, me))
                held |= {lease.collection: lease for lease in taken}
                _log.info("took over collections", extra={"collections": len(taken)})
        now = time.monotonic()
        self._held_since = {number: self._held_since.get(number, now) for number in held}
        self._alone = len(leases.alive) <= 1
        self._learners.hold(held, surplus, self._alone)

    def _may_leave(self, number: int) -> bool:
        """Whether another process can take the collection over without tickets' waiting for it."""
        now = time.monotonic()
        return now - self._held_since.get(number, now) >= _STAY_SECONDS and not self._learners.behind(number)
