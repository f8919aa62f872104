"""The public groups of a collection, one of which each respondent names: the label is sent as it is, without noise."""

from collections.abc import Mapping
from dataclasses import dataclass

from dither_client.errors import InvalidGroup

__all__ = ["MAX_GROUPS", "Groups"]

MAX_GROUPS = 500
"""The most groups that a collection has."""
_SHOWN = 20
"""The most labels that a sentence lists."""


@dataclass(frozen=True, slots=True)
class Groups:
    """What groups are called, such as `region`, and their labels."""

    name: str
    labels: tuple[str, ...]

    @staticmethod
    def from_json(data: object) -> "Groups":
        """Reads what `to_json` wrote; raises `ValueError` and the like for anything else."""
        assert isinstance(data, Mapping)
        return Groups(str(data["name"]), tuple(map(str, data["labels"])))

    def to_json(self) -> dict[str, object]:
        """The groups as a JSON object."""
        return {"name": self.name, "labels": list(self.labels)}

    @property
    def listed(self) -> str:
        """The labels in a sentence; of very many, the first ones."""
        more = len(self.labels) - _SHOWN
        return ", ".join(self.labels[:_SHOWN]) + (f" and {more} more, which the terms list" if more > 0 else "")

    @staticmethod
    def check(groups: "Groups | None", given: str | None) -> None:
        """Raises `InvalidGroup` unless `given` is one of the labels, or None where a collection has no `groups`.

        Nothing but a label of the terms is ever sent, and the text never repeats what was given.
        """
        if groups is None:
            if given is not None:
                raise InvalidGroup("the collection has no groups: leave the group out")
        elif given not in groups.labels:
            raise InvalidGroup(
                f"the group ({groups.name}), which is sent as it is, must be one of the collection's: {groups.listed}"
            )
