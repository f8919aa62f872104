"""The particles of a collection's last snapshot, for requests that no learner of this process can answer."""

import threading

from dither_estimator.families import FloatArray
from dither_estimator.learning.grouped_learner import GroupedLearner
from dither_server.collections.collection import Collection
from dither_server.database.reads import Store
from dither_server.errors import InvalidGroup
from dither_server.owner.collection_learner import stored_learner
from dither_server.owner.published import Particles

__all__ = ["SnapshotParticles"]


class SnapshotParticles:
    """Reads snapshots, which takes a moment. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._grouped: tuple[int, bytes | None, GroupedLearner] | None = None
        """The collection, the snapshot and the learner of the groups whose particles were asked for last.

        Whoever wants those of all groups asks for one after the other, and all follow from one estimate.
        """

    def of(self, collection: Collection) -> Particles:
        """The particles of the whole population."""
        learner = stored_learner(collection, self._store)
        return Particles(learner.particle_names, learner.posterior())

    def of_group(self, collection: Collection, group: str) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
        """The names, values and weights of one group's particles. Raises `InvalidGroup` without groups."""
        content = self._store.snapshot(collection.number)
        with self._lock:
            if self._grouped is None or self._grouped[:2] != (collection.number, content):
                learner = stored_learner(collection, self._store)
                if not isinstance(learner, GroupedLearner):
                    raise InvalidGroup
                self._grouped = collection.number, content, learner
            return self._grouped[2].group_particles(group)
