"""The thread that keeps up with the other processes on the database: what they changed, what they left behind.

It takes the leases of collections that belong to this process and that nobody alive holds, and finds those that
belong to others. It reads keys, collections, tokens, and what others have published. Nothing here depends on the order
in which transactions commit: each time, everything is compared with what the database holds.
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
from dither_server.owner.thread import Owner
from dither_server.replicas.leases import preferred, read_leases, take_leases
from dither_server.replicas.membership import Membership, Transact

__all__ = ["POLL_SECONDS", "Poller"]

POLL_SECONDS = 0.5
_STOP_SECONDS = 0.1
"""How long an end is waited for, at most."""
_COUNT_ALONE = 20
"""A process that is alone knows of every answer; it counts every so many times all the same."""

_log = logging.getLogger(__name__)


class Poller:
    """Polls, from `start` on."""

    def __init__(
        self,
        engine: Engine,
        transact: Transact,
        membership: Membership,
        store: Store,
        collections: Collections,
        access: Access,
        keys: TicketKeys,
        owner: Owner,
        notifications: Notifications,
    ) -> None:
        self._engine = engine
        self._transact = transact
        self._membership = membership
        self._store = store
        self._collections = collections
        self._access = access
        self._keys = keys
        self._owner = owner
        self._notifications = notifications
        self._alone = True
        self._leases = Refreshed(self._share_leases)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dither-poller", daemon=True)

    def start(self) -> None:
        """Polls once, and starts the thread. Raises what the database raises."""
        self._poll(counts=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread."""
        self._stopped.set()
        self._thread.join()
        self._notifications.close()

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive() and not self._stopped.is_set()

    def share_leases(self) -> None:
        """Finds out which leases this process holds, and takes those that belong to it and are free."""
        self._leases.refresh()

    def _run(self) -> None:
        failing = False
        for turn in count():
            try:
                if self._waited():
                    return
                self._poll(counts=not self._alone or turn % _COUNT_ALONE == 0)
            except Exception as error:  # whatever it was, the next time may go well
                if not failing:
                    _log.warning("polling failed", extra={"error": type(error).__name__})
                failing = True
                self._stopped.wait(POLL_SECONDS)
            else:
                failing = False

    def _waited(self) -> bool:
        """Waits until it is time to poll, and looks around meanwhile when another process says so. Whether to end."""
        until = time.monotonic() + POLL_SECONDS
        while not self._alone and (left := until - time.monotonic()) > 0 and not self._stopped.is_set():
            if self._notifications.wait(min(left, _STOP_SECONDS)):
                self.share_leases()
                self._owner.look_around(True)
        return self._stopped.wait(max(0.0, until - time.monotonic()))

    def _poll(self, counts: bool) -> None:
        self.share_leases()
        self._keys.refresh()
        self._keys.make_next()
        self._collections.refresh()
        self._access.refresh()
        limited = self._collections.limited()
        if limited:
            self._collections.note_totals(self._store.totals(limited))
        self._owner.look_around(counts)

    def _share_leases(self) -> None:
        with self._engine.connect() as connection:
            leases = read_leases(connection)
        me = self._membership.holder
        held = {number: lease for number, lease in leases.held.items() if lease.holder == me}
        surplus: list[int] = []
        if me in leases.alive:
            surplus = [number for number in held if preferred(number, leases.alive) != me]
            wanted = [number for number in leases.free if preferred(number, leases.alive) == me]
            if wanted:
                taken = self._transact(lambda connection: take_leases(connection, wanted, me))
                held |= {lease.collection: lease for lease in taken}
                _log.info("took over collections", extra={"collections": len(taken)})
        self._alone = len(leases.alive) <= 1
        self._owner.hold(held, surplus, self._alone)
