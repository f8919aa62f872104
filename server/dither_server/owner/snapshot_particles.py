"""The particles of a collection's last snapshot, for requests that no learner of this process can answer."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial

from dither_estimator.families import FloatArray
from dither_estimator.learning.any_learner import AnyLearner
from dither_estimator.learning.grouped_learner import GroupedLearner
from dither_server.collections.collection import Collection
from dither_server.database.reads import Store
from dither_server.errors import InvalidGroup
from dither_server.owner.collection_learner import stored_learner
from dither_server.owner.published import Particles

__all__ = ["SnapshotParticles"]

_MOST = 8
"""Snapshots whose learners are kept: one of hundreds of groups takes a second to estimate."""


class SnapshotParticles:
    """Reads snapshots, which takes a moment. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, _Snapshot] = OrderedDict()
        """By the collection's number, the one asked for last at the end."""

    def of(self, collection: Collection) -> Particles:
        """The particles of the whole population."""
        return self._snapshot(collection).particles()

    def of_group(self, collection: Collection, group: str) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
        """The names, values and weights of one group's particles. Raises `InvalidGroup` without groups."""
        return self._snapshot(collection).group_particles(group)

    def _snapshot(self, collection: Collection) -> "_Snapshot":
        number, content = collection.number, self._store.snapshot(collection.number)
        with self._lock:
            kept = self._kept.get(number)
            if kept is None or kept.content != content:
                kept = self._kept[number] = _Snapshot(content, partial(stored_learner, collection, self._store))
            self._kept.move_to_end(number)
            if len(self._kept) > _MOST:
                self._kept.popitem(last=False)
            return kept


class _Snapshot:
    """A snapshot's learner and particles, computed once for all who ask, and only when somebody does."""

    def __init__(self, content: bytes | None, read: Callable[[], AnyLearner]) -> None:
        self.content = content
        self._read = read
        self._lock = threading.Lock()
        self._learner: AnyLearner | None = None
        self._particles: Particles | None = None

    def particles(self) -> Particles:
        with self._lock:
            if self._particles is None:
                learner = self._known()
                self._particles = Particles(learner.particle_names, learner.posterior())
            return self._particles

    def group_particles(self, group: str) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
        with self._lock:
            learner = self._known()
            if not isinstance(learner, GroupedLearner):
                raise InvalidGroup
            return learner.group_particles(group)

    def _known(self) -> AnyLearner:
        if self._learner is None:
            self._learner = self._read()
        return self._learner
